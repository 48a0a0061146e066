// Which step along several dimensions makes these tiles of those.
#pragma once

#include <optional>

#include "retile/foreign/evaluator.h"
#include "retile/foreign/module.h"
#include "retile/program/ops.h"

namespace retile::foreign {

/// What the devices hold: tiles of tags.
struct Tiles {
  Shape extents;
  std::vector<Block> blocks;
};

/// The step along several dimensions, or over one in another order of its members, that makes `after` of
/// `before`, element by element. Where pieces lie is read off the tiles of the first row of devices.
/// Preconditions: tags of one rank >= 1, no tile empty; every device in one row of `groups`, all rows of
/// one length
[[nodiscard]] std::optional<Op> grid_step(const Groups& groups, const Tiles& before,
                                          const Tiles& after);

}  // namespace retile::foreign
