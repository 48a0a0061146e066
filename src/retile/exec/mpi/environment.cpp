#include "retile/exec/mpi/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {

Environment::Environment(std::unique_ptr<Processes> job, bool ends_mpi)
    : job_(std::move(job)), ends_mpi_(ends_mpi) {}

Result<Environment> Environment::start(int* argc, char*** argv) {
  const auto started = start_mpi(argc, argv);
  if (!started) return tl::unexpected(started.error());
  auto world = Communicator::duplicate(MPI_COMM_WORLD);
  if (!world) return tl::unexpected(world.error());
  return Environment(std::make_unique<Communicator>(std::move(*world)), *started);
}

Environment::~Environment() {
  if (job_ == nullptr) return;
  job_.reset();  // frees the communicator
  if (ends_mpi_) end_mpi();
}

void Environment::abort(int exit_code, const std::string& message) const {
  abort_job(job_->process(), exit_code, message);
}

bool Environment::started_by_launcher() {
  constexpr std::array<const char*, 5> names{"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                                             "PMIX_RANK", "MPI_LOCALRANKID"};
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace retile::mpi
