// The run of a module, wherever its devices are.
#pragma once

#include "retile/cli/engines.h"

namespace retile::cli {

/// Collective. Told of on process 0; the exit code is the same on all.
[[nodiscard]] Outcome run_module(const Processes& processes, const ModuleRequest& request,
                                 const MakeMover& make);

}  // namespace retile::cli
