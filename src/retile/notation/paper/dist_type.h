// Distributed types in the paper's notation: which axes cut which dimension.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile {

/// One dimension c{x1,..,xm}n: tiles of extent c, axes minor to major (the left-most changes
/// fastest), global extent n.
struct DistDim {
  Size tile = 1;
  std::vector<std::string> axes;  ///< never an axis of size 1: those are dropped on the way in
  Size global = 1;
  friend bool operator==(const DistDim&, const DistDim&) = default;
};

/// A distributed type [d0, .., d(r-1)]; rank 0 is one element. Only well-formed types exist: `make`
/// checks. Paper: Fig. 6, Fig. 7b.
class DistType {
 public:
  DistType() = default;

  /// \error unknown_axis, axis_used_twice, ill_formed_type (WF-DIM, WF-TYPE), bad_number (a size
  ///     below 1), size_overflow (the global size does not fit in 63 bits). `where` is left empty:
  ///     readers, who know the text, fill it in.
  [[nodiscard]] static Result<DistType> make(const Mesh& mesh, std::vector<DistDim> dims);

  [[nodiscard]] const std::vector<DistDim>& dims() const { return dims_; }
  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] Shape localtype() const;
  [[nodiscard]] Shape globaltype() const;
  [[nodiscard]] Size localsize() const;
  [[nodiscard]] Size globalsize() const;

  friend bool operator==(const DistType&, const DistType&) = default;

 private:
  std::vector<DistDim> dims_;
};

/// The compact layout of a type: which box each device holds. Paper: Fig. 7a with device d for the
/// mesh point. Precondition (asserted): a type of this mesh.
[[nodiscard]] Layout layout_of(const Mesh& mesh, const DistType& type);

}  // namespace retile
