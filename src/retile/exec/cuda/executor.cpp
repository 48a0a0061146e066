#include "retile/exec/cuda/executor.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "retile/core/element_type.h"
#include "retile/exec/cuda/boxes.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/exchange/direct.h"
#include "retile/program/tile_shapes.h"

namespace retile::cuda {
namespace {

/// Destroyed from the last to the first: the exchange meets the others over the transport.
class DeviceExecutor final : public Executor {
 public:
  DeviceExecutor(const Processes& processes, std::unique_ptr<Transport> transport,
                 std::unique_ptr<Device> device, std::unique_ptr<DeviceExchange> exchange)
      : processes_(processes),
        transport_(std::move(transport)),
        device_(std::move(device)),
        exchange_(std::move(exchange)) {}

  [[nodiscard]] const Processes& processes() const override { return processes_; }
  [[nodiscard]] Devices devices() const override { return {.first = transport_->member()}; }
  [[nodiscard]] std::span<std::byte> input(Size) override { return {}; }
  [[nodiscard]] std::span<std::byte> output(Size) override { return {}; }
  [[nodiscard]] Result<void> generate(const Layout& from, Size device,
                                      Size element_bytes) override {
    const auto tile = pattern_tile(from, device, element_bytes);
    if (!tile) return refuse(tile.error());
    return device_->fill(*tile, exchange_->input());
  }
  [[nodiscard]] Result<std::optional<Size>> find_mismatch(const Layout& to, Size device,
                                                          Size element_bytes) override {
    const auto tile = pattern_tile(to, device, element_bytes);
    if (!tile) return refuse(tile.error());
    return device_->find_mismatch(*tile, exchange_->output());
  }
  [[nodiscard]] Result<void> clear_output() override {
    auto cleared = device_->clear(Lane::out, exchange_->output(), exchange_->out_bytes());
    return cleared ? device_->wait_for_all() : cleared;
  }
  [[nodiscard]] Result<void> move() override { return exchange_->run(); }
  [[nodiscard]] std::string_view way() const override { return path_name(exchange_->path()); }
  [[nodiscard]] std::vector<std::string> reasons() const override { return exchange_->reasons(); }
  [[nodiscard]] ExecutorFigures figures() const override {
    return {.received = exchange_->received_bytes(),
            .peak = exchange_->held_bytes(),
            .limit = exchange_->limit_bytes()};
  }

 private:
  const Processes& processes_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceExchange> exchange_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_executor(const Processes& processes,
                                                std::unique_ptr<Transport> transport,
                                                const Program& program, Size element_bytes,
                                                const DeviceOptions& options,
                                                const OpenDevice& open) {
  if (program.devices != transport->members()) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("{} devices for {} processes", program.devices,
                                          transport->members())});
  }
  if (auto good = check_element_size(element_bytes); !good) return refuse(good.error());
  const auto shapes = tile_shapes(program, element_bytes);
  if (!shapes) return refuse(shapes.error());
  if (const auto more = traits_of(program).beyond_first_version()) {
    return refuse({.code = Code::unsupported,
                   .message = fmt::format("a Program with {} is not run on GPUs", *more)});
  }
  const auto composed = direct(program);
  if (!composed) return refuse(composed.error());
  const TileExchange whole{.exchange = std::get<Exchange>(composed->steps.front().op),
                           .in_tiles = program.from.tile(),
                           .out_tiles = program.to.tile(),
                           .element_bytes = element_bytes};
  const int place = transport->place_on_machine();
  auto device = open ? open(place) : open_cuda_device(place);
  auto opened = agree(*transport, device ? Result<void>() : refuse(device.error()));
  if (!opened) return refuse(opened.error());
  auto exchange = DeviceExchange::create(**device, *transport, whole, options);
  if (!exchange) return refuse(exchange.error());
  return std::make_unique<DeviceExecutor>(processes, std::move(transport), std::move(*device),
                                          std::move(*exchange));
}

}  // namespace retile::cuda
