// A whole run of a Program on GPUs, between the processes of the job. Does not include <mpi.h>.
#pragma once

#include "retile/core/result.h"
#include "retile/exec/cuda/run.h"
#include "retile/exec/mpi/environment.h"
#include "retile/program/program.h"

namespace retile::mpi {

/// Collective over all processes of the job: cuda::run() with process d as member d. Processes of a
/// machine take its GPUs in turn.
/// \error as cuda::run(); mpi_error. What fails while tiles are under way ends the job
[[nodiscard]] Result<cuda::RunReport> run_on_devices(const Environment& environment,
                                                     const Program& program,
                                                     const cuda::RunOptions& options);

}  // namespace retile::mpi
