// What stands in for cuda_device.cpp where the toolkit is missing.
#include "retile/exec/cuda/cuda_device.h"

namespace retile::cuda {

bool cuda_is_built() { return false; }

Result<std::unique_ptr<Device>> open_cuda_device(int) {
  return refuse({.code = Code::unsupported,
                 .message = "no CUDA device: this program was built without CUDA"});
}

}  // namespace retile::cuda
