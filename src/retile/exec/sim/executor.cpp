#include "retile/exec/sim/executor.h"

#include <algorithm>
#include <utility>

#include "retile/exec/add/order.h"
#include "retile/exec/sim/sim.h"
#include "retile/program/tile_shapes.h"

namespace retile::sim {
namespace {

class Simulator final : public Executor {
 public:
  Simulator(const Program& program, const DeviceShapes& tiles, const ElementType& type, Size limit)
      : program_(program), type_(type) {
    figures_.limit = limit;
    for (Size d = 0; d < program.devices; ++d) {
      const Size elements = checked_product(tiles.of(d)).value();
      inputs_.emplace_back(static_cast<std::size_t>(elements * type.bytes));
    }
  }

  [[nodiscard]] const Processes& processes() const override { return process_; }
  [[nodiscard]] Devices devices() const override { return {.first = 0, .count = program_.devices}; }
  [[nodiscard]] std::span<std::byte> input(Size device) override {
    return inputs_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] std::span<std::byte> output(Size device) override {
    return tiles_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] Result<void> clear_output() override {
    tiles_ = inputs_;  // what a move makes into the outputs
    return {};
  }
  [[nodiscard]] Result<void> move() override {
    auto outcome = run(program_, std::exchange(tiles_, {}), type_);
    if (!outcome) return tl::unexpected(outcome.error());
    tiles_ = std::move(outcome->tiles);
    figures_.received = outcome->received_bytes;
    figures_.peak = outcome->peak_bytes_per_device;
    return {};
  }
  [[nodiscard]] ExecutorFigures figures() const override { return figures_; }
  [[nodiscard]] bool counts_processes() const override { return false; }

 private:
  OneProcess process_;
  const Program& program_;
  ElementType type_;
  ExecutorFigures figures_;
  Tiles inputs_;
  Tiles tiles_;
};

tl::unexpected<Diagnostic> too_large() {
  return refuse({.code = Code::size_overflow, .message = "the array is larger than 2^63 bytes"});
}

}  // namespace

Result<std::unique_ptr<Executor>> make_executor(const Program& program, const ElementType& type) {
  const Size element_bytes = type.bytes;
  if (auto adder = add::adder_of(program, type); !adder) return tl::unexpected(adder.error());
  const auto tile_bytes = checked_mul(program.from.tile_size(), element_bytes);
  if (!tile_bytes || !checked_mul(*tile_bytes, program.devices)) return too_large();
  const auto shapes = tile_shapes(program, element_bytes);
  if (!shapes) return tl::unexpected(shapes.error());
  Size limit = 0;
  for (std::size_t k = 0; k < shapes->size(); ++k) {
    // tile_shapes() has seen that eight of these fit.
    const Size tile = *checked_product((*shapes)[k].largest()) * element_bytes;
    const Size before = k == 0 ? 0 : *checked_product((*shapes)[k - 1].largest()) * element_bytes;
    if (!checked_mul(tile, program.devices)) return too_large();
    limit = std::max(limit, before + tile);
  }
  return std::make_unique<Simulator>(program, shapes->front(), type, limit);
}

}  // namespace retile::sim
