// Steps on tiles that are not all alike: what each of them moves, as boxes.
//
// On such tiles every step is put together from boxes, whatever it is called. Who replays or runs a
// Program that is not even follows the boxes.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/program/apply.h"
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

/// A step as boxes. Of one that adds, boxes may meet: an element is the sum of all that write it, or
/// zero.
struct Moves {
  TileShapes after;
  /// Those of one device together, the lowest first. An exchange's own, in its order.
  std::vector<Transfer> transfers;
};

/// What a step moves, or why it cannot be applied; Refusal::device is one whose tile cannot be cut
/// (indivisible), or differs from another in its row (ragged).
/// Order of checks: as shape_after, with ragged behind indivisible.
/// \param keeps  whether transfers are wanted: else tiles alone
/// \complexity O(transfers * rank); more than `most_transfers` are a limit
[[nodiscard]] tl::expected<Moves, Refusal> moves_of(const Step& step, const TileShapes& before,
                                                    const Deadline& deadline = {},
                                                    bool keeps = true);
inline constexpr Size most_transfers = Size{1} << 24;

/// The tiles after a step alone; errors as there.
[[nodiscard]] tl::expected<TileShapes, Refusal> tiles_after(const Step& step,
                                                            const TileShapes& before);

}  // namespace retile
