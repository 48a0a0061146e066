// An executor that moves wrongly, for tests of whoever compares.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/exec/executor/executor.h"
#include "retile/run/report.h"

namespace retile::test {

/// Another executor, after whose moves some elements of the end are changed.
class Spoiling final : public Executor {
 public:
  Spoiling(std::unique_ptr<Executor> inner, std::vector<run::Mismatch> spoiled, Size width)
      : inner_(std::move(inner)), spoiled_(std::move(spoiled)), width_(width) {}
  [[nodiscard]] const Processes& processes() const override { return inner_->processes(); }
  [[nodiscard]] Devices devices() const override { return inner_->devices(); }
  [[nodiscard]] std::span<std::byte> input(Size device) override { return inner_->input(device); }
  [[nodiscard]] std::span<std::byte> output(Size device) override { return inner_->output(device); }
  [[nodiscard]] bool keeps_input() const override { return inner_->keeps_input(); }
  [[nodiscard]] Result<void> clear_output() override { return inner_->clear_output(); }
  [[nodiscard]] Result<void> move() override {
    auto moved = inner_->move();
    const auto [first, count] = devices();
    for (const run::Mismatch& it : spoiled_) {
      if (it.device < first || it.device >= first + count) continue;
      const auto last_byte = static_cast<std::size_t>((it.local_index + 1) * width_ - 1);
      output(it.device)[last_byte] ^= std::byte{1};
    }
    return moved;
  }
  [[nodiscard]] std::string_view way() const override { return inner_->way(); }
  [[nodiscard]] ExecutorFigures figures() const override { return inner_->figures(); }
  [[nodiscard]] bool counts_processes() const override { return inner_->counts_processes(); }

 private:
  std::unique_ptr<Executor> inner_;
  std::vector<run::Mismatch> spoiled_;
  Size width_;
};

}  // namespace retile::test
