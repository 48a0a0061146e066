// Plans between layouts whose tiles are not all alike. Private to this room.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/plan/plan.h"

namespace retile {

/// As plan(), of a problem whose ends are even and compact, without addends.
/// \param ties  whether to look for one that costs as much and sends less; on tiles cut off at the end of an
///     array it may cost more
[[nodiscard]] Result<Plan> plan_even(Problem problem, const PlanOptions& options,
                                     bool ties = false);

/// Plans of one problem, one at least.
struct EvenPlans {
  std::optional<Plan> single;  ///< the cheapest of steps along one dimension each
  /// With steps along several dimensions, where those make it cheaper and are not the steps of `single`,
  /// joined.
  std::optional<Plan> cheaper;
};

/// As plan_even(), of steps along one dimension and of those along several.
[[nodiscard]] Result<EvenPlans> plan_even_twice(Problem problem, PlanOptions options);

/// As plan(), of a problem with an end that is not even.
[[nodiscard]] Result<Plan> plan_uneven(const Problem& problem, const PlanOptions& options);

/// As smallest_feasible_bytes(), likewise.
/// \param options  without a memory limit
[[nodiscard]] Result<Size> smallest_feasible_uneven(const Problem& problem,
                                                    const PlanOptions& options);

}  // namespace retile
