// The plan that takes the least time on a network.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/network/network.h"
#include "retile/network/times.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"

namespace retile::network {

struct NetworkPlan {
  Program program;
  std::vector<StepTime> steps;  ///< of the Program
  Size time = 0;                ///< picoseconds
  /// No sequence of steps along one dimension each takes less; picoseconds.
  Size lower_bound = 0;
  bool optimal = false;   ///< time == lower_bound
  bool complete = false;  ///< the search ended before its limit
  Size usual_time = 0;    ///< of the plan that does not know the network
  Size work = 0;
};

/// \param options  its cost model is not looked at. With a memory limit a plan may hold tiles larger than
///     both ends', where that takes less time.
/// Ends that are not whole and in digits of the device number go as the usual plan does, and so do those with a
/// digit that a link ends within. Of uneven tiles steps are those of the tiles filled up, and nothing is proved.
/// \error as plan(), program_of() and times_of()
[[nodiscard]] Result<NetworkPlan> plan(const Problem& problem, const Network& network,
                                       const PlanOptions& options);

}  // namespace retile::network
