#include "retile/exec/cuda/cuda_device.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "retile/core/hash.h"
#include "retile/exec/cuda/copy_kernels.h"

namespace retile::cuda {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(MemoryHandle));

Diagnostic failure(cudaError_t error, const std::string& what) {
  static_cast<void>(cudaGetLastError());  // it has been told, so no later call is to tell it again
  return {.code = Code::cuda_error,
          .message = fmt::format("{}: {}", what, cudaGetErrorString(error))};
}

Result<void> checked(cudaError_t error, const char* what) {
  if (error != cudaSuccess) return refuse(failure(error, what));
  return {};
}

class CudaDevice final : public Device {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Device>> open(int place_on_machine);
  ~CudaDevice() override;

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::uint64_t identity() const override { return identity_; }
  [[nodiscard]] Result<std::byte*> allocate(Size bytes) override;
  void release(std::byte* memory) override { static_cast<void>(cudaFree(memory)); }
  [[nodiscard]] Result<std::byte*> allocate_pinned(Size bytes) override;
  void release_pinned(std::byte* memory) override { static_cast<void>(cudaFreeHost(memory)); }
  // As the CUDA programming guide recommends.
  [[nodiscard]] Size share_unit_bytes() const override { return Size{2} << 20; }
  [[nodiscard]] Result<MemoryHandle> share(std::byte* memory) override;
  [[nodiscard]] Result<std::byte*> open(const MemoryHandle& handle) override;
  void close(std::byte* memory) override { static_cast<void>(cudaIpcCloseMemHandle(memory)); }
  [[nodiscard]] Result<void> upload(Lane lane, std::byte* device, const std::byte* host,
                                    Size bytes) override;
  [[nodiscard]] Result<void> download(Lane lane, std::byte* host, const std::byte* device,
                                      Size bytes) override;
  [[nodiscard]] Result<void> copy(Lane lane, const Batch& batch) override;
  [[nodiscard]] Result<void> clear(Lane lane, std::byte* memory, Size bytes) override;
  [[nodiscard]] Result<void> wait(Lane lane) override;
  [[nodiscard]] Result<void> wait_for_all() override;
  [[nodiscard]] Result<void> fill(const PatternTile& tile, std::byte* memory) override;
  [[nodiscard]] Result<std::optional<Size>> find_mismatch(const PatternTile& tile,
                                                          const std::byte* memory) override;

 private:
  CudaDevice() = default;
  [[nodiscard]] cudaStream_t stream(Lane lane) const {
    return streams_[static_cast<std::size_t>(lane)];
  }

  std::string name_;
  std::uint64_t identity_ = 0;
  unsigned blocks_ = 1;  // of a small kernel that the device runs at once
  std::array<cudaStream_t, lanes> streams_{};
  std::uint64_t* first_mismatch_ = nullptr;  // on the device
};

Result<std::unique_ptr<Device>> CudaDevice::open(int place_on_machine) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    const cudaError_t reason = error == cudaSuccess ? cudaErrorNoDevice : error;
    Diagnostic diagnostic = failure(reason, "no CUDA device");
    diagnostic.notes = {"--backend sim runs all devices in one process"};
    return refuse(std::move(diagnostic));
  }
  const int number = place_on_machine % count;
  if (auto set = checked(cudaSetDevice(number), "cannot use the CUDA device"); !set) {
    return refuse(set.error());
  }
  cudaDeviceProp properties{};
  auto read = checked(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
  if (!read) return refuse(read.error());

  std::unique_ptr<CudaDevice> out(new CudaDevice());
  out->name_ = properties.name;
  out->identity_ = hash_bytes(hash_start, std::as_bytes(std::span(properties.uuid.bytes)));
  const int resident =
      std::max(1, properties.maxThreadsPerMultiProcessor / static_cast<int>(block_threads));
  out->blocks_ = static_cast<unsigned>(std::max(1, properties.multiProcessorCount * resident));
  auto found = checked(static_cast<cudaError_t>(find_kernels()),
                       "this build has no kernels for the CUDA device");
  if (!found) return refuse(found.error());
  for (cudaStream_t& stream : out->streams_) {
    auto made = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                        "cannot make a CUDA stream");
    if (!made) return refuse(made.error());
  }
  void* place = nullptr;
  auto made = checked(cudaMalloc(&place, sizeof(std::uint64_t)), "cannot allocate on the device");
  if (!made) return refuse(made.error());
  out->first_mismatch_ = static_cast<std::uint64_t*>(place);
  return out;
}

CudaDevice::~CudaDevice() {
  for (cudaStream_t stream : streams_) {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  }
  static_cast<void>(cudaFree(first_mismatch_));
}

Result<std::byte*> CudaDevice::allocate(Size bytes) {
  void* out = nullptr;
  const cudaError_t error = cudaMalloc(&out, static_cast<std::size_t>(bytes));
  if (error == cudaSuccess) return static_cast<std::byte*>(out);
  return refuse(failure(error, fmt::format("cannot allocate {} bytes on the device", bytes)));
}

Result<std::byte*> CudaDevice::allocate_pinned(Size bytes) {
  void* out = nullptr;
  const cudaError_t error = cudaMallocHost(&out, static_cast<std::size_t>(bytes));
  if (error == cudaSuccess) return static_cast<std::byte*>(out);
  return refuse(failure(error, fmt::format("cannot pin {} bytes of host memory", bytes)));
}

Result<MemoryHandle> CudaDevice::share(std::byte* memory) {
  cudaIpcMemHandle_t handle{};
  auto got = checked(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
  if (!got) return refuse(got.error());
  MemoryHandle out;
  std::memcpy(out.data(), &handle, sizeof handle);
  return out;
}

Result<std::byte*> CudaDevice::open(const MemoryHandle& handle) {
  cudaIpcMemHandle_t theirs{};
  std::memcpy(&theirs, handle.data(), sizeof theirs);
  void* out = nullptr;
  auto opened = checked(cudaIpcOpenMemHandle(&out, theirs, cudaIpcMemLazyEnablePeerAccess),
                        "cudaIpcOpenMemHandle");
  if (!opened) return refuse(opened.error());
  return static_cast<std::byte*>(out);
}

Result<void> CudaDevice::upload(Lane lane, std::byte* device, const std::byte* host, Size bytes) {
  return checked(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes),
                                 cudaMemcpyHostToDevice, stream(lane)),
                 "cannot copy to the device");
}

Result<void> CudaDevice::download(Lane lane, std::byte* host, const std::byte* device, Size bytes) {
  return checked(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes),
                                 cudaMemcpyDeviceToHost, stream(lane)),
                 "cannot copy from the device");
}

Result<void> CudaDevice::copy(Lane lane, const Batch& batch) {
  if (batch.portions == 0) return {};
  return checked(static_cast<cudaError_t>(launch_copy(batch, stream(lane))),
                 "cannot launch the copy");
}

Result<void> CudaDevice::clear(Lane lane, std::byte* memory, Size bytes) {
  return checked(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream(lane)),
                 "cannot clear memory of the device");
}

Result<void> CudaDevice::wait(Lane lane) {
  return checked(cudaStreamSynchronize(stream(lane)), "the device failed");
}

Result<void> CudaDevice::wait_for_all() {
  return checked(cudaDeviceSynchronize(), "the device failed");
}

Result<void> CudaDevice::fill(const PatternTile& tile, std::byte* memory) {
  const int error = launch_fill(tile, memory, blocks_, stream(Lane::out));
  auto put = checked(static_cast<cudaError_t>(error), "cannot launch the filling");
  if (!put) return put;
  return wait(Lane::out);
}

Result<std::optional<Size>> CudaDevice::find_mismatch(const PatternTile& tile,
                                                      const std::byte* memory) {
  std::uint64_t first = no_mismatch;
  auto* const place = reinterpret_cast<std::byte*>(first_mismatch_);
  auto* const there = reinterpret_cast<std::byte*>(&first);
  if (auto put = upload(Lane::out, place, there, sizeof first); !put) return refuse(put.error());
  const int error = launch_find_mismatch(tile, memory, first_mismatch_, blocks_, stream(Lane::out));
  auto put = checked(static_cast<cudaError_t>(error), "cannot launch the comparison");
  if (!put) return refuse(put.error());
  if (auto got = download(Lane::out, there, place, sizeof first); !got) return refuse(got.error());
  if (auto waited = wait(Lane::out); !waited) return refuse(waited.error());
  if (first == no_mismatch) return std::optional<Size>();
  return std::optional<Size>(static_cast<Size>(first));
}

}  // namespace

bool cuda_is_built() { return true; }

Result<std::unique_ptr<Device>> open_cuda_device(int place_on_machine) {
  return CudaDevice::open(place_on_machine);
}

}  // namespace retile::cuda
