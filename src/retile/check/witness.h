// What shows that a Program is wrong, for those who give verdicts.
#pragma once

#include <functional>
#include <optional>

#include "retile/check/check.h"
#include "retile/core/size.h"
#include "retile/program/program.h"
#include "retile/program/tile_shapes.h"

namespace retile {

/// Of tiles with another shape than the expected one: a local index of device 0 that only one of
/// the two has. No index when no element is known there, or in another rank.
/// \param base  where the expected tile of device 0 lies, if that is known
/// \param held  the global index that device 0 holds at a local index of its tile
[[nodiscard]] Witness shape_witness(const Shape& tile, const Shape& expected,
                                    const std::optional<Shape>& base,
                                    const std::function<Shape(const Shape&)>& held);

/// The first device whose tile has another shape than expected.
[[nodiscard]] std::optional<Witness> other_tile(const TileShapes& shapes,
                                                const TileShapes& expected);

/// The first device whose tile has another shape than a step claims, if it claims shapes.
[[nodiscard]] std::optional<Witness> broken_shapes(const Claims& claims, const TileShapes& shapes);

/// Where the tile of device 0 lies when tiles of this shape lie as a step claims, if it claims
/// that.
[[nodiscard]] std::optional<Shape> claimed_base(const Claims& claims, const Shape& tile);

}  // namespace retile
