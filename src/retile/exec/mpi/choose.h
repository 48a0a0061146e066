// Which strategy a Redistributor takes. Not a public header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/options.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// A strategy that was made, and what is to be said of it (Redistributor says what it means).
struct Chosen {
  std::unique_ptr<Mover> mover;
  Strategy strategy = Strategy::collectives;
  Size peak_limit_bytes = 0;
  Size preparing_limit_bytes = 0;
  std::vector<std::string> reasons;
};

/// Tries the strategies in their order and makes the first that is possible. Collective, and the same
/// on all processes.
/// \error infeasible (the memory limit); unsupported, shared_memory_error, limit_reached,
///     inapplicable (why the last one could not be taken); mpi_error (out of memory)
[[nodiscard]] Result<Chosen> choose(const Task& task);

}  // namespace retile::mpi
