// What the steps of a Program take on a network.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/network/network.h"
#include "retile/program/program.h"

namespace retile::network {

struct StepTime {
  std::vector<Size> bytes;  ///< that the busiest device gets or sends, by level
  Size time = 0;            ///< picoseconds
};

/// Those of every step.
/// Tiles that differ count as the largest one, but in exchanges and permutations, whose boxes are counted.
/// \error size_overflow (2^63 picoseconds, some 106 days), limit_reached (an exchange of more than 2^24 boxes, more
///     than 2^20 devices in a group or a permutation),
///     inapplicable (a step that fits no tiles)
[[nodiscard]] Result<std::vector<StepTime>> times_of(const Program& program, const Network& network,
                                                     Size element_bytes);

/// Together. \error size_overflow
[[nodiscard]] Result<Size> time_of(const std::vector<StepTime>& steps);

}  // namespace retile::network
