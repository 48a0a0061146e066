// The Program's steps where the tiles lie.
#include "retile/exec/team/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "retile/exec/mpi/node_part.h"

namespace retile::mpi {
namespace {

class InPlaceMover final : public Mover {
 public:
  InPlaceMover(const Task& task, std::vector<Shape> shapes)
      : task_(task),
        shapes_(std::move(shapes)),
        panel_bytes_(
            std::max(team::default_panel_bytes, task.program.devices * task.element_bytes)) {}

  [[nodiscard]] Size limit_bytes() const override {
    Size memory = 0;
    for (const Shape& shape : shapes_) {
      memory = std::max(memory, box_bytes(shape, task_.element_bytes));
    }
    return in_pages(memory) + team::in_place_scratch_bytes(panel_bytes_) +
           TeamOfProcesses::control_bytes(task_.comm.processes());
  }
  [[nodiscard]] Result<void> make_ready() override {
    const auto compiled = or_out_of_memory([&]() -> Result<void> {
      in_place_.emplace(task_.program, shapes_, task_.element_bytes, task_.comm.process(),
                        panel_bytes_);
      return {};
    });
    if (auto agreed = task_.comm.agree(compiled); !agreed) return agreed;
    const Size memory_bytes = in_pages(in_place_->memory_bytes());
    if (auto made = team_.make(task_.comm, memory_bytes); !made) return made;
    task_.meter.add(memory_bytes + in_place_->scratch_bytes() +
                    TeamOfProcesses::control_bytes(task_.comm.processes()));
    return {};
  }

  [[nodiscard]] Result<void> move(std::span<const std::byte>, std::span<std::byte>) override {
    return in_place_->run(team_.team());
  }
  [[nodiscard]] Size received_bytes() const override { return in_place_->received_bytes(); }
  [[nodiscard]] std::span<std::byte> input() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_->in_bytes()));
  }
  [[nodiscard]] std::span<std::byte> output() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_->out_bytes()));
  }

 private:
  const Task task_;
  std::vector<Shape> shapes_;  // before the first step and after each
  Size panel_bytes_;
  std::optional<team::InPlace> in_place_;
  TeamOfProcesses team_;
};

}  // namespace

Result<std::unique_ptr<Mover>> in_place(const Task& task) {
  const auto unsupported = [](std::string message) {
    return refuse({.code = Code::unsupported, .message = std::move(message)});
  };
  if (task.nodes.count > 1) {
    return unsupported(fmt::format("the processes do not all share memory: they are on {} nodes",
                                   task.nodes.count));
  }
  if (!task.options.own_buffers) {
    return unsupported("in place needs buffers of the library's own (own_buffers)");
  }
  for (std::size_t i = 0; i < task.program.steps.size(); ++i) {
    if (is_exchange(task.program.steps[i])) {
      return unsupported(fmt::format("step {} (exchange) is not run in place", i));
    }
  }
  auto shapes = task.alike();
  if (!shapes) return tl::unexpected(shapes.error());
  return std::make_unique<InPlaceMover>(task, *std::move(shapes));
}

}  // namespace retile::mpi
