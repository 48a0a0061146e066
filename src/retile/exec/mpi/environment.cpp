#include "retile/exec/mpi/environment.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {

Result<Environment> Environment::start(int* argc, char*** argv) {
  auto startup = start_mpi(argc, argv);
  if (!startup) return tl::unexpected(startup.error());
  Environment environment;
  environment.process_ = startup->process;
  environment.processes_ = startup->processes;
  environment.ends_mpi_ = startup->ends_mpi;
  return environment;
}

Environment::~Environment() {
  if (ends_mpi_) end_mpi();
}

Environment::Environment(Environment&& other) noexcept
    : process_(other.process_),
      processes_(other.processes_),
      ends_mpi_(std::exchange(other.ends_mpi_, false)) {}

Result<std::string> Environment::broadcast(const std::string& text) const {
  auto world = Communicator::world();
  if (!world) return tl::unexpected(world.error());
  return world->broadcast_text(text, 0);
}

Result<int> Environment::largest(int value) const {
  auto world = Communicator::world();
  if (!world) return tl::unexpected(world.error());
  // Shifted, so that negative numbers compare as they should.
  constexpr std::int64_t shift = std::int64_t{1} << 32;
  auto number = static_cast<std::uint64_t>(shift + value);
  if (auto reduced = world->maximum(std::span(&number, 1)); !reduced)
    return tl::unexpected(reduced.error());
  return static_cast<int>(static_cast<std::int64_t>(number) - shift);
}

void Environment::abort(int exit_code, const std::string& message) const {
  // No communicator of our own here: making one is collective, and the others are elsewhere.
  abort_job(process_, exit_code, message);
}

bool Environment::started_by_launcher() {
  constexpr std::array<const char*, 5> names{"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                                             "PMIX_RANK", "MPI_LOCALRANKID"};
  for (const char* name : names) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace retile::mpi
