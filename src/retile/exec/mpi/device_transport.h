// How processes that exchange tiles on GPUs (exec/cuda) reach each other over MPI. One of the
// headers that show <mpi.h>; who does not want to see it includes executor.h.
#pragma once

#include <memory>

#include "retile/core/result.h"
#include "retile/exec/cuda/transport.h"
#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {

/// Collective over `comm`: its processes as members, in their order. Holds a duplicate of the
/// communicator, so its messages meet no others; destroy it on all processes, before MPI_Finalize.
///
/// An error of MPI ends the job with a message, and so does give_up(): nothing else reaches a
/// process that waits inside MPI. Messages may lie on a GPU where the library says so
/// (MPIX_Query_cuda_support).
/// \error bad_argument (MPI not running, null, an inter-communicator), mpi_error
[[nodiscard]] Result<std::unique_ptr<cuda::Transport>> device_transport(MPI_Comm comm);

}  // namespace retile::mpi
