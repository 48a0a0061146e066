// Plans between layouts whose tiles are not all alike. Private to this room.
#pragma once

#include "retile/core/problem.h"
#include "retile/plan/plan.h"

namespace retile {

/// As plan(), of a problem with an end that is not even.
[[nodiscard]] Result<Plan> plan_uneven(const Problem& problem, const PlanOptions& options);

/// As smallest_feasible_bytes(), likewise.
[[nodiscard]] Result<Size> smallest_feasible_uneven(const Problem& problem, Size element_bytes,
                                                    bool collectives);

}  // namespace retile
