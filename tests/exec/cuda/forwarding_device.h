// A device that passes everything on to another, for devices that differ from one in a single
// point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "retile/exec/cuda/device.h"

namespace retile::test {

class ForwardingDevice : public cuda::Device {
 public:
  /// Others may pass on to the same device, one at a time.
  explicit ForwardingDevice(std::shared_ptr<cuda::Device> device) : device_(std::move(device)) {}
  [[nodiscard]] std::string name() const override { return device_->name(); }
  [[nodiscard]] std::uint64_t identity() const override { return device_->identity(); }
  [[nodiscard]] Result<std::byte*> allocate(Size bytes) override {
    return device_->allocate(bytes);
  }
  void release(std::byte* memory) override { device_->release(memory); }
  [[nodiscard]] Result<std::byte*> allocate_pinned(Size bytes) override {
    return device_->allocate_pinned(bytes);
  }
  void release_pinned(std::byte* memory) override { device_->release_pinned(memory); }
  [[nodiscard]] Size share_unit_bytes() const override { return device_->share_unit_bytes(); }
  [[nodiscard]] Result<cuda::MemoryHandle> share(std::byte* memory) override {
    return device_->share(memory);
  }
  [[nodiscard]] Result<std::byte*> open(const cuda::MemoryHandle& handle) override {
    return device_->open(handle);
  }
  void close(std::byte* memory) override { device_->close(memory); }
  [[nodiscard]] Result<void> upload(cuda::Lane lane, std::byte* device, const std::byte* host,
                                    Size bytes) override {
    return device_->upload(lane, device, host, bytes);
  }
  [[nodiscard]] Result<void> download(cuda::Lane lane, std::byte* host, const std::byte* device,
                                      Size bytes) override {
    return device_->download(lane, host, device, bytes);
  }
  [[nodiscard]] Result<void> copy(cuda::Lane lane, const cuda::Batch& batch) override {
    return device_->copy(lane, batch);
  }
  [[nodiscard]] Result<void> clear(cuda::Lane lane, std::byte* memory, Size bytes) override {
    return device_->clear(lane, memory, bytes);
  }
  [[nodiscard]] Result<void> wait(cuda::Lane lane) override { return device_->wait(lane); }
  [[nodiscard]] Result<void> wait_for_all() override { return device_->wait_for_all(); }
  [[nodiscard]] Result<void> fill(const cuda::PatternTile& tile, std::byte* memory) override {
    return device_->fill(tile, memory);
  }
  [[nodiscard]] Result<std::optional<Size>> find_mismatch(const cuda::PatternTile& tile,
                                                          const std::byte* memory) override {
    return device_->find_mismatch(tile, memory);
  }

 private:
  std::shared_ptr<cuda::Device> device_;
};

}  // namespace retile::test
