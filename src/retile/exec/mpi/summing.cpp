// All steps of a Program with addends as one: every sum is made once, by one of those who need it.
// On one node its addends are read where they lie, elsewhere they come in messages.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "retile/exec/mpi/node_part.h"
#include "retile/exec/mpi/sum_messages.h"
#include "retile/exec/team/shared_sums.h"

namespace retile::mpi {
namespace {

constexpr Size most_sums_bytes = Size{2} << 20;  // more would leave the caches

class Summing final : public Mover {
 public:
  Summing(const Task& task, const add::Sums& sums, bool by_messages) : task_(task), sums_(&sums) {
    received_ = add::received_bytes(sums, task.comm.process(), task.element_bytes);
    if (by_messages) {
      messages_.emplace(task, sums);
      return;
    }
    if (task.options.own_buffers) {
      places_.out_offset = in_pages(task.most_in_bytes());
      segment_bytes_ = *places_.out_offset + in_pages(task.most_out_bytes());
      return;
    }
    const Size least = team::SharedSums::least_slots_bytes(tiles());
    segment_bytes_ = in_pages(std::max(std::min(task.chunk_bytes, most_sums_bytes), least));
    places_.slots_bytes = segment_bytes_;
  }

  [[nodiscard]] Size limit_bytes() const override {
    const Size ends = task_.most_in_bytes() + task_.most_out_bytes();
    if (messages_) return ends + messages_->limit_bytes();
    return (task_.options.own_buffers ? 0 : ends) + segment_bytes_ +
           team::SharedSums::bound_bytes(tiles(), places_) +
           TeamOfProcesses::control_bytes(task_.comm.processes());
  }

  [[nodiscard]] Result<void> make_ready() override {
    if (messages_) {
      return task_.comm.agree(or_out_of_memory([&] { return messages_->make_ready(); }));
    }
    if (auto made = team_.make(task_.nodes.mine, segment_bytes_); !made) return made;
    const auto made = or_out_of_memory([&]() -> Result<void> {
      shared_.emplace(team_.team(), tiles(), places_);
      return {};
    });
    if (auto agreed = task_.comm.agree(made); !agreed) return agreed;
    if (places_.out_offset) {
      const auto memory = team_.memory();
      input_ = memory.first(static_cast<std::size_t>(task_.in_bytes()));
      output_ = memory.subspan(static_cast<std::size_t>(*places_.out_offset),
                               static_cast<std::size_t>(task_.out_bytes()));
    }
    task_.meter.add(segment_bytes_ + shared_->held_bytes() +
                    TeamOfProcesses::control_bytes(task_.comm.processes()));
    return {};
  }

  [[nodiscard]] bool agrees() const override { return !messages_; }
  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    return messages_ ? messages_->run(in, out) : shared_->run(in, out);
  }
  [[nodiscard]] Size received_bytes() const override { return received_; }
  [[nodiscard]] std::span<std::byte> input() const override { return input_; }
  [[nodiscard]] std::span<std::byte> output() const override { return output_; }

 private:
  [[nodiscard]] team::TileSums tiles() const {
    return {*sums_, task_.shapes.front(), task_.shapes.back(), task_.element_bytes, task_.adder};
  }

  const Task task_;
  const add::Sums* sums_;  // until make_ready() is through
  std::optional<SumMessages> messages_;
  TeamOfProcesses team_;
  std::optional<team::SharedSums> shared_;
  team::SumPlaces places_;
  Size segment_bytes_ = 0;
  Size received_ = 0;
  std::span<std::byte> input_, output_;
};

}  // namespace

std::unique_ptr<Mover> summing(const Task& task, const add::Sums& sums, bool by_messages) {
  return std::make_unique<Summing>(task, sums, by_messages);
}

}  // namespace retile::mpi
