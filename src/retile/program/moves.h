// What a step moves, as boxes, whatever it is called and whatever the shapes of the tiles: the one meaning
// that all steps have. Those that name groups have a shorter one where all tiles are alike (ops.h).
#pragma once

#include <functional>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/program/apply.h"
#include "retile/program/program.h"
#include "retile/program/tile_shapes.h"

namespace retile {

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
/// \param device  only transfers to or from this one are listed, and no others count
/// \complexity O(transfers * rank); more than `most_transfers` are a limit
[[nodiscard]] tl::expected<Moves, Refusal> moves_of(const Step& step, const TileShapes& before,
                                                    const Deadline& deadline = {},
                                                    const std::optional<Size>& device = {});
inline constexpr Size most_transfers = Size{1} << 24;

/// The same one by one, so that there may be any number: the tiles after the step.
[[nodiscard]] tl::expected<TileShapes, Refusal> each_move(
    const Step& step, const TileShapes& before, const std::function<void(Transfer&&)>& visit);

/// The tiles alone; errors as of moves_of.
[[nodiscard]] tl::expected<TileShapes, Refusal> tiles_after(const Step& step,
                                                            const TileShapes& before);

}  // namespace retile
