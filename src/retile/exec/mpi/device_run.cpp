#include "retile/exec/mpi/device_run.h"

#include "retile/exec/mpi/device_transport.h"

namespace retile::mpi {

Result<cuda::RunReport> run_on_devices(const Environment& /*environment*/, const Program& program,
                                       const cuda::RunOptions& options) {
  const auto transport = device_transport(MPI_COMM_WORLD);
  if (!transport) return refuse(transport.error());
  return cuda::run(**transport, program, options);
}

}  // namespace retile::mpi
