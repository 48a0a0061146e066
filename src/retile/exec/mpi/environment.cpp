#include "retile/exec/mpi/environment.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "retile/exec/mpi/agreement.h"
#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {

struct Environment::State {
  State(Communicator communicator, bool ends) : comm(std::move(communicator)), ends_mpi(ends) {}
  Communicator comm;  // of all processes of the job
  bool ends_mpi;
};

Environment::Environment(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Environment>> Environment::start(int* argc, char*** argv) {
  auto startup = start_mpi(argc, argv);
  if (!startup) return tl::unexpected(startup.error());
  auto world = Communicator::world();
  if (!world) return tl::unexpected(world.error());
  // Private constructor, so no make_unique.
  return std::unique_ptr<Environment>(new Environment(
      std::make_unique<State>(std::move(*world), startup->ends_mpi)));
}

Environment::~Environment() {
  const bool ends_mpi = state_->ends_mpi;
  state_.reset();  // frees the communicator
  if (ends_mpi) end_mpi();
}

int Environment::process() const { return state_->comm.process(); }
int Environment::processes() const { return state_->comm.processes(); }

Result<void> Environment::agree(const Result<void>& mine) const {
  return mpi::agree(state_->comm, mine);
}

void Environment::barrier() const { or_abort(state_->comm, state_->comm.barrier()); }

std::string Environment::broadcast(const std::string& text) const {
  return or_abort(state_->comm, state_->comm.broadcast_text(text, 0));
}

std::uint64_t Environment::broadcast(std::uint64_t number, int root) const {
  or_abort(state_->comm,
           state_->comm.broadcast(std::as_writable_bytes(std::span(&number, 1)), root));
  return number;
}

std::vector<bool> Environment::gather(bool mine) const {
  std::vector<char> flags(static_cast<std::size_t>(processes()), 0);
  const char flag = mine ? 1 : 0;
  or_abort(state_->comm,
           state_->comm.allgather(std::as_bytes(std::span(&flag, 1)).data(),
                                  std::as_writable_bytes(std::span(flags)).data(), 1));
  return {flags.begin(), flags.end()};
}

void Environment::maximum(std::span<std::uint64_t> numbers) const {
  or_abort(state_->comm, state_->comm.maximum(numbers));
}

void Environment::sum(std::span<std::uint64_t> numbers) const {
  or_abort(state_->comm, state_->comm.sum(numbers));
}

double Environment::maximum(double number) const {
  return or_abort(state_->comm, state_->comm.maximum(number));
}

void Environment::send(std::span<const std::byte> bytes, int target) const {
  or_abort(state_->comm, state_->comm.send(bytes, target));
}

void Environment::receive(std::span<std::byte> bytes, int source) const {
  or_abort(state_->comm, state_->comm.receive(bytes, source));
}

void Environment::abort(int exit_code, const std::string& message) const {
  state_->comm.abort(exit_code, message);
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
