#include "retile/exec/mpi/executor.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "retile/exec/cuda/executor.h"
#include "retile/exec/mpi/device_transport.h"
#include "retile/exec/mpi/redistribute.h"

namespace retile::mpi {
namespace {

class MpiExecutor final : public Executor {
 public:
  MpiExecutor(const Processes& processes, Redistributor redistributor)
      : processes_(processes), redistributor_(std::move(redistributor)) {}

  [[nodiscard]] const Processes& processes() const override { return processes_; }
  [[nodiscard]] Devices devices() const override { return {.first = processes_.process()}; }
  [[nodiscard]] std::span<std::byte> input(Size) override { return redistributor_.input(); }
  [[nodiscard]] std::span<std::byte> output(Size) override { return redistributor_.output(); }
  [[nodiscard]] bool keeps_input() const override {
    return redistributor_.strategy() != Strategy::in_place;
  }
  [[nodiscard]] Result<void> clear_output() override {
    if (!keeps_input()) return {};  // in place it is the input
    const std::span<std::byte> tile = redistributor_.output();
    std::fill(tile.begin(), tile.end(), std::byte{0});
    return {};
  }
  [[nodiscard]] Result<void> move() override { return redistributor_.run(); }
  [[nodiscard]] std::string_view way() const override {
    return strategy_name(redistributor_.strategy());
  }
  [[nodiscard]] std::vector<std::string> reasons() const override {
    return redistributor_.reasons();
  }
  [[nodiscard]] ExecutorFigures figures() const override {
    return {.received = redistributor_.received_bytes(),
            .peak = redistributor_.peak_bytes(),
            .limit = redistributor_.peak_limit_bytes()};
  }

 private:
  const Processes& processes_;
  Redistributor redistributor_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_executor(const Processes& processes, const Program& program,
                                                Size element_bytes, const Options& options) {
  Options own = options;
  own.own_buffers = true;
  std::optional<Program> counted;  // process p runs device p, whatever it is called
  if (program.numbers.are_listed()) {
    counted = program;
    counted->numbers = {};
  }
  auto made = Redistributor::make(MPI_COMM_WORLD, counted ? *counted : program, element_bytes, own);
  if (!made) return tl::unexpected(made.error());
  return std::make_unique<MpiExecutor>(processes, std::move(*made));
}

Result<std::unique_ptr<Executor>> make_device_executor(const Processes& processes,
                                                       const Program& program, Size element_bytes,
                                                       const Options& options) {
  auto transport = device_transport(MPI_COMM_WORLD);
  if (!transport) return tl::unexpected(transport.error());
  return cuda::make_executor(processes, std::move(*transport), program, element_bytes,
                             {.memory_limit_bytes = options.memory_limit_bytes});
}

}  // namespace retile::mpi
