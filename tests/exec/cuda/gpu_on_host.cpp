// Stands in for the GPU of cuda_device.h: linked with gpu_test.cpp, whose tests then run
// everywhere.
#include "exec/cuda/host_device.h"
#include "retile/exec/cuda/cuda_device.h"

namespace retile::cuda {

bool cuda_is_built() { return true; }

Result<std::unique_ptr<Device>> open_cuda_device(int) {
  return std::make_unique<test::HostDevice>(true);
}

}  // namespace retile::cuda
