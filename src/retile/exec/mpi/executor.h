// MPI processes as executors, with tiles in host memory or on GPUs. Does not include <mpi.h>.
#pragma once

#include <functional>
#include <memory>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::mpi {

/// Collective over all processes of the job, which outlive the executor: a Redistributor with tiles
/// of its own (own_buffers is taken as true).
/// \error as Redistributor::make
[[nodiscard]] Result<std::unique_ptr<Executor>> make_executor(const Processes& processes,
                                                              const Program& program,
                                                              Size element_bytes,
                                                              const Options& options);

/// Collective: device d of the Program on a GPU of process d's machine; processes of a machine take
/// its GPUs in turn. Of the options only the memory limit is looked at.
/// \error as cuda::make_executor(); mpi_error. What fails while tiles are under way ends the job
[[nodiscard]] Result<std::unique_ptr<Executor>> make_device_executor(const Processes& processes,
                                                                     const Program& program,
                                                                     Size element_bytes,
                                                                     const Options& options);

}  // namespace retile::mpi
