// What the executor asks of a device. CUDA is one; tests have another that is host memory, so that
// everything but the kernels and the calls of the runtime is tested where there is no GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/box_math.h"
#include "retile/exec/cuda/pattern_math.h"

namespace retile::cuda {

/// How another process finds memory of a device.
using MemoryHandle = std::array<std::byte, 64>;

/// Queues of work. What is put into one is done in order, without waiting for the others.
enum class Lane : std::size_t { out, in_even, in_odd };
inline constexpr std::size_t lanes = 3;

/// A device as one process sees it. Addresses of device memory are not to be followed on the host.
/// One thread at a time. All errors are cuda_error.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// As people know it: `NVIDIA H100`.
  [[nodiscard]] virtual std::string name() const = 0;
  /// The same number for the same physical device, whichever process asks.
  [[nodiscard]] virtual std::uint64_t identity() const = 0;

  /// Memory of the device, aligned to 256 bytes. bytes >= 1.
  [[nodiscard]] virtual Result<std::byte*> allocate(Size bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  /// Host memory that the device can reach by itself.
  [[nodiscard]] virtual Result<std::byte*> allocate_pinned(Size bytes) = 0;
  virtual void release_pinned(std::byte* memory) = 0;

  /// Allocations that are shared have a multiple of this many bytes: smaller ones may lie in a
  /// block with others, which would be shared along with them.
  [[nodiscard]] virtual Size share_unit_bytes() const = 0;
  /// A handle by which other processes open what allocate() returned.
  [[nodiscard]] virtual Result<MemoryHandle> share(std::byte* memory) = 0;
  /// Memory of another process's device, as this device addresses it.
  [[nodiscard]] virtual Result<std::byte*> open(const MemoryHandle& handle) = 0;
  /// Before its owner releases it.
  virtual void close(std::byte* memory) = 0;

  /// Host to device, and back. Host memory from allocate_pinned() is copied while others work.
  [[nodiscard]] virtual Result<void> upload(Lane lane, std::byte* device, const std::byte* host,
                                            Size bytes) = 0;
  [[nodiscard]] virtual Result<void> download(Lane lane, std::byte* host, const std::byte* device,
                                              Size bytes) = 0;
  /// Copies boxes. The batch's arrays lie in device memory. No portions: nothing.
  [[nodiscard]] virtual Result<void> copy(Lane lane, const Batch& batch) = 0;
  /// Writes zeros.
  [[nodiscard]] virtual Result<void> clear(Lane lane, std::byte* memory, Size bytes) = 0;

  /// Waits until a lane, or all that this process put on the device, is done.
  [[nodiscard]] virtual Result<void> wait(Lane lane) = 0;
  [[nodiscard]] virtual Result<void> wait_for_all() = 0;

  /// Writes a tile of the generated array; waits until it is there.
  [[nodiscard]] virtual Result<void> fill(const PatternTile& tile, std::byte* memory) = 0;
  /// The first element that is not the generated array's, recomputed on the device.
  [[nodiscard]] virtual Result<std::optional<Size>> find_mismatch(const PatternTile& tile,
                                                                  const std::byte* memory) = 0;
};

}  // namespace retile::cuda
