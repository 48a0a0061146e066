// Steps along one dimension each that one step along several can do (S13 (a)). Private to this room.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "retile/core/size.h"
#include "retile/plan/plan.h"

namespace retile {

using StepParts = std::vector<PlanStep::Part>;

/// What a step does along each dimension, one that goes along a single one, too.
[[nodiscard]] StepParts parts_of(const PlanStep& step);

/// A step along the dimensions of its parts, one at least; without its tile and its cost.
[[nodiscard]] PlanStep step_of(Collective op, StepParts parts);

/// Asked of an allgather's parts one by one, and of all parts of an alltoall together: whether tiles
/// allow such a step in the place of those from step number `first` on.
using MayJoin = std::function<bool(Collective op, const StepParts& parts, std::size_t first)>;

/// The steps, of which allgathers in a row are one, and alltoalls in a row where one alltoall does what
/// they do. Gathers stand smallest factor first, as they are cheapest (S8). Where something changed,
/// tiles and costs of the steps are to be found anew.
[[nodiscard]] std::vector<PlanStep> joined(const std::vector<PlanStep>& steps,
                                           const MayJoin& may_join);

/// What the step makes of the tile of an even problem.
void run_on_tile(const PlanStep& step, Shape& tile);

}  // namespace retile
