#include "retile/exec/mpi/device_transport.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/exec/mpi/agreement.h"
#include "retile/exec/mpi/mpi_wrapper.h"

namespace retile::mpi {
namespace {

class MpiTransport final : public cuda::Transport {
 public:
  /// \param machines  by process, the lowest process that runs on the same machine
  MpiTransport(Communicator comm, int place_on_machine, std::vector<int> machines)
      : comm_(std::move(comm)),
        place_on_machine_(place_on_machine),
        machines_(std::move(machines)) {}

  [[nodiscard]] int member() const override { return comm_.process(); }
  [[nodiscard]] int members() const override { return comm_.processes(); }
  [[nodiscard]] int place_on_machine() const override { return place_on_machine_; }
  [[nodiscard]] bool on_same_machine(int member) const override {
    return machines_[static_cast<std::size_t>(member)] ==
           machines_[static_cast<std::size_t>(comm_.process())];
  }
  [[nodiscard]] bool takes_device_memory() const override { return takes_cuda_memory(); }

  [[nodiscard]] Result<void> barrier() override {
    comm_.barrier();
    return {};
  }

  [[nodiscard]] Result<void> gather(std::span<const std::byte> mine,
                                    std::span<std::byte> all) override {
    RETILE_ASSERT(all.size() == mine.size() * static_cast<std::size_t>(members()),
                  "a gather of other sizes");
    comm_.gather(mine, all);
    return {};
  }

  [[nodiscard]] Result<void> send_receive(int target, std::span<const std::byte> out, int source,
                                          std::span<std::byte> in) override {
    auto moved = comm_.send_receive(out, out.empty() ? MPI_PROC_NULL : target, in,
                                    in.empty() ? MPI_PROC_NULL : source);
    if (!moved) give_up(moved.error());
    return {};
  }

  void give_up(const Diagnostic& why) override { comm_.abort(environment_failed, why.message); }

 private:
  Communicator comm_;
  int place_on_machine_;
  std::vector<int> machines_;
};

}  // namespace

Result<std::unique_ptr<cuda::Transport>> device_transport(MPI_Comm comm) {
  auto own = Communicator::duplicate(comm);
  if (!own) return refuse(own.error());
  const Communicator machine = own->node();
  int lowest = own->process();
  machine.broadcast(std::as_writable_bytes(std::span(&lowest, 1)), 0);
  std::vector<int> machines(static_cast<std::size_t>(own->processes()));
  own->gather(std::as_bytes(std::span(&lowest, 1)), std::as_writable_bytes(std::span(machines)));
  return std::make_unique<MpiTransport>(std::move(*own), machine.process(), std::move(machines));
}

}  // namespace retile::mpi
