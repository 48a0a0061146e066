// The arrays of a kind as one array, with a dimension more.
#pragma once

#include <vector>

#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::many {

/// A problem over `devices` devices in which array n of `count` is what has index n in a first dimension that nothing cuts.
/// \param at  where the devices of the problem stand among all
/// \error unsupported (addends, blocks that are dealt out), size_overflow
[[nodiscard]] Result<Problem> stacked(const Problem& problem, Size count,
                                      const std::vector<Size>& at, Size devices);

}  // namespace retile::many
