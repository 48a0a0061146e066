// The verbs. Each reads its arguments, does its work and hands back what to print and the exit
// code.
#pragma once

#include "retile/cli/arguments.h"
#include "retile/cli/common.h"

namespace retile::cli {

[[nodiscard]] Outcome plan_verb(const PlanArguments& arguments);
[[nodiscard]] Outcome lower_verb(const LowerArguments& arguments);
[[nodiscard]] Outcome check_verb(const CheckArguments& arguments);
[[nodiscard]] Outcome prove_verb(const ProveArguments& arguments);
[[nodiscard]] Outcome run_verb(const RunArguments& arguments);

/// The answer when no plan keeps to the memory limit: exit code no, with the least limit that
/// suffices.
[[nodiscard]] Outcome infeasible(const Problem& problem, const PlanOptions& options,
                                 std::string_view schema, bool json);

}  // namespace retile::cli
