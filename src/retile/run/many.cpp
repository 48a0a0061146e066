#include "retile/run/many.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

namespace retile::run {
namespace {

/// The run of one process.
class ManyRunner {
 public:
  ManyRunner(const std::vector<Batch>& batches, Size repetitions, const Progress& progress)
      : batches_(batches), processes_(batches.front().executor->processes()) {
    report_.repetitions = repetitions;
    if (processes_.is_first()) progress_ = progress;
  }

  Result<ManyReport> run() {
    for (const auto stage : {&ManyRunner::move, &ManyRunner::verify}) {
      const Result<void> mine = (this->*stage)();
      if (!mine) return tl::unexpected(mine.error());
    }
    measure();
    return std::move(report_);
  }

 private:
  void tell(std::string_view stage, Size done, Size total) const {
    if (progress_) progress_(stage, done, total);
  }
  /// Calls use(batch, device), with what it says of the bytes before it, until one fails; all agree on that.
  template <typename Use>
  Result<void> each_tile(std::string_view stage, bool new_tiles, const Use& use) {
    Result<void> mine;
    Size total = 0;
    for (const bool counting : {true, false}) {
      Size done = 0;
      for (const Batch& batch : batches_) {
        const Executor::Devices devices = batch.executor->devices();
        for (Size d = devices.first; d < devices.first + devices.count && mine; ++d) {
          if (!counting) {
            tell(stage, done, total);
            mine = use(batch, d);
          }
          const Layout& layout = new_tiles ? batch.program->to : batch.program->from;
          done += layout.tile_size(d) * batch.element_bytes;
        }
      }
      total = done;
    }
    tell(stage, total, total);
    return processes_.agree(mine);
  }

  Result<void> fill() {
    return each_tile("generate", false, [](const Batch& batch, Size device) {
      return batch.executor->generate(batch.program->from, device, batch.element_bytes);
    });
  }

  Result<void> move() {
    const bool keeps = std::all_of(batches_.begin(), batches_.end(), [](const Batch& batch) {
      return batch.executor->keeps_input();
    });
    std::vector<double> seconds;
    for (Size repetition = 0; repetition < report_.repetitions; ++repetition) {
      if (repetition == 0 || !keeps) {
        if (auto filled = fill(); !filled) return filled;
      }
      tell("move", repetition, report_.repetitions);
      for (const Batch& batch : batches_) {
        if (auto done = processes_.agree(batch.executor->clear_output()); !done) return done;
      }
      processes_.barrier();
      const auto start = std::chrono::steady_clock::now();
      for (const Batch& batch : batches_) {
        if (auto moved = batch.executor->move(); !moved) return moved;
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      seconds.push_back(processes_.maximum(taken.count()));
    }
    tell("move", report_.repetitions, report_.repetitions);
    report_.seconds = median(std::move(seconds));
    return {};
  }

  Result<void> verify() {
    return each_tile("verify", true, [this](const Batch& batch, Size device) -> Result<void> {
      const Layout& to = batch.program->to;
      const auto mismatch = batch.executor->find_mismatch(to, device, batch.element_bytes);
      if (!mismatch) return tl::unexpected(mismatch.error());
      const Size elements = to.tile_size(device) / batch.arrays;
      if (*mismatch && !report_.wrong) {
        report_.wrong = {static_cast<std::size_t>(&batch - batches_.data()), **mismatch / elements,
                         device, **mismatch % elements};
      }
      report_.elements_checked +=
          *mismatch ? **mismatch / elements * elements : elements * batch.arrays;
      return {};
    });
  }

  /// Sums and maxima over all processes.
  void measure() {
    Size received = 0;
    Size peak = 0;
    Size limit = 0;
    for (const Batch& batch : batches_) {
      const ExecutorFigures figures = batch.executor->figures();
      received += figures.received;
      peak += figures.peak;
      limit += figures.limit;
      const std::string way(batch.executor->way());
      const bool is_said =
          std::find(report_.ways.begin(), report_.ways.end(), way) != report_.ways.end();
      if (!way.empty() && !is_said) report_.ways.push_back(way);
    }
    const auto number = [](Size value) { return static_cast<std::uint64_t>(value); };
    const auto processes = static_cast<std::uint64_t>(processes_.processes());
    // The largest of the last number belongs to the lowest process with a mismatch.
    std::array<std::uint64_t, 4> most{
        number(received), number(peak), number(limit),
        report_.wrong ? processes - static_cast<std::uint64_t>(processes_.process()) : 0};
    processes_.maximum(most);
    std::array<std::uint64_t, 1> checked{number(report_.elements_checked)};
    processes_.sum(checked);
    report_.bytes_per_process = static_cast<Size>(most[0]);
    report_.peak_bytes_per_process = static_cast<Size>(most[1]);
    report_.peak_limit_bytes = static_cast<Size>(most[2]);
    report_.elements_checked = static_cast<Size>(checked[0]);
    if (most[3] > 0) share_wrong(static_cast<int>(processes - most[3]));
  }
  void share_wrong(int finder) {
    const auto told = [&](std::uint64_t mine) { return processes_.broadcast(mine, finder); };
    WrongArray wrong = report_.wrong.value_or(WrongArray{});
    wrong.batch = told(wrong.batch);
    for (Size* const number : {&wrong.array, &wrong.device, &wrong.local_index}) {
      *number = static_cast<Size>(told(static_cast<std::uint64_t>(*number)));
    }
    report_.wrong = wrong;
  }

  const std::vector<Batch>& batches_;
  const Processes& processes_;
  Progress progress_;
  ManyReport report_;
};

}  // namespace

Result<ManyReport> run_many(const std::vector<Batch>& batches, Size repetitions,
                            const Progress& progress) {
  return ManyRunner(batches, repetitions, progress).run();
}

}  // namespace retile::run
