// Lowering: from a plan's weak steps to device-level steps with groups (Lemma 6.3, Theorem 6.4 on
// tile maps).
#pragma once

#include <vector>

#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"

namespace retile {

/// The Program of a plan of steps, with `tile` claims at every step and `map` claims where digits can say
/// them.
///
/// Chooses nothing but replicas: in a permutation a device that already holds its new tile keeps it
/// where that leaves the table regular. Tables are iota chains; their size depends on the number of
/// axes, not of devices.
/// Precondition (asserted): the plan is no exchange; program_of() takes those, too.
[[nodiscard]] Program lower(const Plan& plan);

/// Of steps between the ends of an even problem makes the same steps on what lies in the array of every
/// tile (docs/ledger/statements.md, U1). False where some tile cannot be cut so; then they are no good.
/// Precondition: `even` is what planning made of `ends` (Plan::uneven).
[[nodiscard]] bool clip_steps(std::vector<Step>& steps, const Problem& even, const Problem& ends);

/// The Program of any plan: lower() of its steps, or the exchange that it is.
/// \error of an exchange limit_reached (too many boxes), inapplicable (an element of a new tile that no
///     device holds at the start)
[[nodiscard]] Result<Program> program_of(const Plan& plan);

}  // namespace retile
