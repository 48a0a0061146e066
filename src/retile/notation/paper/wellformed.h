// The rules that types must obey, and in which part of a type somebody broke them. `make` asks
// whether, readers also ask where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/notation/paper/dist_type.h"

namespace retile {

/// A refusal without a place, and the part that it is about.
struct TypeViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> dim;  ///< number of the dimension; nothing: the type as a whole
  /// number of the axis within the dimension; nothing: the dimension as a whole
  std::optional<std::size_t> axis;
};

/// The first rule of Fig. 7b that `dims` breaks over `mesh`, or nothing. Axes of size 1 may stand
/// in `dims`: they must be axes of the mesh and mean nothing else.
[[nodiscard]] std::optional<TypeViolation> find_violation(const Mesh& mesh,
                                                          const std::vector<DistDim>& dims);

/// The refusal of an axis that the mesh does not have, without a place; lists the axes and the one
/// most like it. [WF-DIM]
[[nodiscard]] Diagnostic unknown_axis(const Mesh& mesh, const std::string& axis);

/// The refusal of a size that is repeated wrongly: `x:3` where the mesh has x:4. [WF-DIM]
[[nodiscard]] Diagnostic wrong_axis_size(const std::string& axis, Size in_mesh, Size written);

/// The refusal of an axis that stands in two places, without notes. [WF-DIM, WF-TYPE]
[[nodiscard]] Diagnostic axis_used_twice(const std::string& axis, std::size_t first_dim,
                                         std::size_t second_dim);

/// What splits a dimension: an axis, or another digit of the device number.
struct Splitter {
  std::string text;  ///< as written in a dimension: `x`, `6:4`
  Size size = 1;
  bool is_axis = true;
};

/// The refusal of a dimension whose tile times splitters is not its global size, or does not fit in
/// 63 bits. [WF-DIM]
[[nodiscard]] Diagnostic wrong_tile(Size tile, const std::vector<Splitter>& splitters, Size global);

/// `64{x}256 is well formed`: the note that completes a dimension without its global size; nothing
/// where that does not fit in 63 bits.
[[nodiscard]] std::optional<std::string> completed(Size tile,
                                                   const std::vector<Splitter>& splitters);

/// What splits a dimension of a type. Precondition: axes of the mesh.
[[nodiscard]] std::vector<Splitter> splitters_of(const Mesh& mesh, const DistDim& dim);

/// tile times axes of a dimension, or nothing when it does not fit in 63 bits. Preconditions: axes
/// of the mesh, tile >= 1.
[[nodiscard]] std::optional<Size> covered(const Mesh& mesh, const DistDim& dim);

/// The product of the sizes of `axes`. Precondition: distinct axes of the mesh, so that it is at
/// most max_devices.
[[nodiscard]] Size axes_product(const Mesh& mesh, const std::vector<std::string>& axes);

}  // namespace retile
