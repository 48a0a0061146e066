// The shapes of tiles, and those that a Program makes on its way.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// The shape of every device's tile; all zeros for an empty one.
using TileShapes = std::vector<Shape>;

/// The shapes of the boxes of a layout.
[[nodiscard]] TileShapes shapes_of(const Layout& layout);
/// As many shapes as there are rows of `rank` numbers.
[[nodiscard]] TileShapes shapes_of_rows(const std::vector<Size>& rows, std::size_t rank);

[[nodiscard]] bool is_empty(const Shape& tile);
/// The largest extent over all devices, dimension by dimension.
[[nodiscard]] Shape largest_extents(const TileShapes& shapes);
/// The most elements that a device has.
[[nodiscard]] Size largest_tile(const TileShapes& shapes);

/// The shapes of the tiles of all devices: one for all of them, or one for each.
class DeviceShapes {
 public:
  DeviceShapes() = default;
  DeviceShapes(Shape alike) : largest_(std::move(alike)) {}  // NOLINT(google-explicit-constructor)
  DeviceShapes(std::initializer_list<Size> alike) : largest_(alike) {}
  /// Of at least one device; all zeros for an empty tile.
  explicit DeviceShapes(TileShapes each);

  /// Whether all have one shape, and it is said so.
  [[nodiscard]] bool alike() const { return each_.empty(); }
  [[nodiscard]] const Shape& of(Size device) const {
    return alike() ? largest_ : each_[static_cast<std::size_t>(device)];
  }
  /// Of so many devices, which are all of them.
  [[nodiscard]] TileShapes of_all(Size devices) const {
    return alike() ? TileShapes(static_cast<std::size_t>(devices), largest_) : each_;
  }
  /// That with the most elements.
  [[nodiscard]] const Shape& largest() const { return largest_; }

  friend bool operator==(const DeviceShapes&, const DeviceShapes&) = default;

 private:
  Shape largest_;
  TileShapes each_;
};

/// The shapes before the first step and after each; eight tiles of every shape have fewer than 2^63
/// bytes together, so that sums of buffers need no checks.
///
/// \param element_bytes  >= 1
/// \error bad_program (ends that do not fit the devices or each other; a step that names a
/// dimension
///        or a device that does not exist), inapplicable (with the reason of the verdict as the
///        rule; the rule `end` when the last tiles are not of the shape of `to`, `addends` when a step
///        does not add as the Program does), size_overflow
[[nodiscard]] Result<std::vector<DeviceShapes>> tile_shapes(const Program& program,
                                                            Size element_bytes);

/// The shapes of tiles that are all alike, which steps may be made of; nothing for others.
[[nodiscard]] std::optional<std::vector<Shape>> shapes_alike(
    const std::vector<DeviceShapes>& shapes);

}  // namespace retile
