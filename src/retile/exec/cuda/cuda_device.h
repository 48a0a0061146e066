// The GPU that this process works on. CUDA's own headers are seen by no one who includes this.
#pragma once

#include <memory>

#include "retile/core/result.h"
#include "retile/exec/cuda/device.h"

namespace retile::cuda {

/// Whether this library was built with the toolkit. Without it open_cuda_device() always refuses.
[[nodiscard]] bool cuda_is_built();

/// Processes take the GPUs of their machine in turn, so several may share one. Begins to use CUDA:
/// a process that forks does so before.
/// \param place_on_machine  of this process: Transport::place_on_machine()
/// \error cuda_error (`no CUDA device: ..`, with CUDA's reason), unsupported (not built)
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda_device(int place_on_machine);

}  // namespace retile::cuda
