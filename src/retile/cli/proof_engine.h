// Proofs by a solver.
#pragma once

#include "retile/cli/engines.h"

namespace retile::cli {

/// A verdict for each Program that is meant: those of a file, or the plan of a problem.
[[nodiscard]] Outcome prove_programs(const ProveArguments& arguments);

}  // namespace retile::cli
