// Meshes: named axes over which devices are numbered.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile {

/// One axis x:k of a mesh.
struct Axis {
  std::string name;
  Size size = 1;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A digit of the device number d: (d div stride) mod size. A mesh axis is the digit of its stride.
struct Digit {
  Size stride = 1;
  Size size = 1;
  friend bool operator==(const Digit&, const Digit&) = default;
};

/// A refusal of a list of axes without a place, and the axis that it is about.
struct MeshViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> axis;  ///< its number in the list; nothing: the mesh as a whole
};

/// The first rule that `axes` breaks as a mesh, or nothing: what `Mesh::make` refuses, for readers
/// who know where each axis stands.
[[nodiscard]] std::optional<MeshViolation> find_violation(const std::vector<Axis>& axes);

/// The mesh H = {x1:k1, ..., xm:km}: axes in declaration order, names distinct, sizes >= 1, at most
/// 2^31 devices.
///
/// Device d is the row-major position, last axis fastest: over `x:4,y:6`, d = 6x + y.
/// Axes of size 1 are kept for printing and mean nothing. The mesh without axes has one device.
/// Paper: Fig. 6.
class Mesh {
 public:
  Mesh() = default;

  /// \error syntax (a name with a quote or a control character), duplicate_axis, bad_number (a size
  ///     below 1), too_many_devices. An empty list is fine here; readers of text refuse it.
  [[nodiscard]] static Result<Mesh> make(std::vector<Axis> axes);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] Size device_count() const { return device_count_; }

  /// The digit of the device number that axis `name` is, or nothing when there is no such axis.
  [[nodiscard]] std::optional<Digit> digit(std::string_view name) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<Axis> axes_;
  Size device_count_ = 1;
};

}  // namespace retile
