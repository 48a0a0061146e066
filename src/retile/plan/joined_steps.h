// Steps along one dimension each that one step along several can do (S13 (a)). Private to this room.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/plan/plan.h"

namespace retile {

using StepParts = std::vector<PlanStep::Part>;

/// Calls `visit` with what a step does along each dimension, one that goes along a single one, too.
/// A Step has the members op, dim, to_dim, factor and parts of a PlanStep.
template <typename Step, typename Visit>
void for_each_part(const Step& step, const Visit& visit) {
  if (step.parts.empty()) visit(PlanStep::Part{step.dim, step.to_dim, step.factor});
  for (const PlanStep::Part& part : step.parts) visit(part);
}

/// The same as a list.
template <typename Step>
[[nodiscard]] StepParts parts_of(const Step& step) {
  if (step.parts.empty()) return {{step.dim, step.to_dim, step.factor}};
  return step.parts;
}

/// A step along the dimensions of its parts, one at least; without its tile and its cost.
template <typename Step = PlanStep>
[[nodiscard]] Step step_of(Collective op, StepParts parts) {
  Step step;
  step.op = op;
  step.dim = parts.front().dim;
  step.to_dim = parts.front().to_dim;
  for (const PlanStep::Part& part : parts) step.factor *= part.factor;
  if (parts.size() > 1) step.parts = std::move(parts);
  return step;
}

/// What the steps of a plan cost but for permutations.
[[nodiscard]] Size cost_without_permutations(const Plan& plan);

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
