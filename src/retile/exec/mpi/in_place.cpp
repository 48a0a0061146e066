// The Program's steps where the tiles lie.
#include "retile/exec/team/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "retile/exec/mpi/node_part.h"

namespace retile::mpi {
namespace {

class InPlaceMover final : public Mover {
 public:
  explicit InPlaceMover(team::InPlace in_place) : in_place_(std::move(in_place)) {}

  /// Collective; fails on all processes or on none.
  [[nodiscard]] Result<void> share(const Task& task) {
    const Size memory_bytes = in_pages(in_place_.memory_bytes());
    if (auto made = team_.make(task.comm, memory_bytes); !made) return made;
    task.meter.add(memory_bytes + in_place_.scratch_bytes() +
                   TeamOfProcesses::control_bytes(task.comm.processes()));
    return {};
  }
  [[nodiscard]] Result<void> move(std::span<const std::byte>, std::span<std::byte>) override {
    return in_place_.run(team_.team());
  }
  [[nodiscard]] Size received_bytes() const override { return in_place_.received_bytes(); }
  [[nodiscard]] std::span<std::byte> input() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_.in_bytes()));
  }
  [[nodiscard]] std::span<std::byte> output() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_.out_bytes()));
  }

 private:
  team::InPlace in_place_;
  TeamOfProcesses team_;
};

Result<std::unique_ptr<Mover>> make(const Task& task, Size panel_bytes) {
  std::unique_ptr<InPlaceMover> mover;
  const auto ready = or_out_of_memory([&]() -> Result<void> {
    auto made = team::InPlace::make(task.program, task.element_bytes, task.comm.process(),
                                    panel_bytes);
    if (!made) return tl::unexpected(made.error());
    mover = std::make_unique<InPlaceMover>(std::move(*made));
    return {};
  });
  if (auto agreed = agree(task.comm, ready); !agreed) return tl::unexpected(agreed.error());
  if (auto shared = mover->share(task); !shared) return tl::unexpected(shared.error());
  return mover;
}

}  // namespace

Result<Prepared> prepare_in_place(const Task& task) {
  const auto unsupported = [](std::string message) {
    return refuse({.code = Code::unsupported, .message = std::move(message)});
  };
  if (task.nodes.count > 1) {
    return unsupported(fmt::format(
        "the processes do not all share memory: they are on {} nodes", task.nodes.count));
  }
  if (!task.own_buffers) {
    return unsupported("in place needs buffers of the library's own (own_buffers)");
  }
  for (std::size_t i = 0; i < task.program.steps.size(); ++i) {
    if (is_exchange(task.program.steps[i])) {
      return unsupported(fmt::format("step {} (exchange) is not run in place", i));
    }
  }
  Size memory = 0;
  for (const Shape& shape : task.shapes) {
    memory = std::max(memory, box_bytes(shape, task.element_bytes));
  }
  const Size panel_bytes =
      std::max(team::default_panel_bytes, task.program.devices * task.element_bytes);
  return Prepared{.limit_bytes = in_pages(memory) + team::in_place_scratch_bytes(panel_bytes) +
                                 TeamOfProcesses::control_bytes(task.comm.processes()),
                  .make = [task, panel_bytes] { return make(task, panel_bytes); }};
}

}  // namespace retile::mpi
