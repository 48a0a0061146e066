// Plans of problems with addends. Private to this room.
#pragma once

#include "retile/core/problem.h"
#include "retile/plan/plan.h"

namespace retile {

/// As plan(), of a problem of which an end has addends.
[[nodiscard]] Result<Plan> plan_adding(const Problem& problem, const PlanOptions& options);

/// As smallest_feasible_bytes(), likewise.
/// \param options  without a memory limit
/// \error limit_reached
[[nodiscard]] Result<Size> smallest_feasible_adding(const Problem& problem,
                                                    const PlanOptions& options);

}  // namespace retile
