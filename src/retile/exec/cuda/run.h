// A Program on the GPUs of this machine: processes that this one forks move generated arrays, and
// compare every element on the device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/device.h"
#include "retile/exec/cuda/device_exchange.h"
#include "retile/program/program.h"

namespace retile::cuda {

struct RunOptions {
  Size element_bytes = 4;
  Size repetitions = 1;
  DeviceOptions exchange = {};
  /// Makes the device of a member, in its process. Nothing: open_cuda_device().
  std::function<Result<std::unique_ptr<Device>>(int member)> open = {};
};

/// The first wrong element that was found.
struct Mismatch {
  Size device = 0;
  Size local_index = 0;  ///< linear, in the device's tile
};

struct RunReport {
  bool right = false;
  Path path = Path::automatic;       ///< the one that was chosen
  std::vector<std::string> reasons;  ///< DeviceExchange::reasons() of member 0
  Size processes = 0;
  Size repetitions = 0;
  Size elements_checked = 0;   ///< summed over processes
  double seconds = 0;          ///< median over repetitions of the slowest process, between barriers
  Size bytes_per_process = 0;  ///< most received from others by one, per repetition
  Size peak_bytes_per_process = 0;  ///< most held by one, on its device and pinned on the host
  Size peak_limit_bytes = 0;        ///< most that one said beforehand
  std::optional<Mismatch> mismatch = {};  ///< of the lowest process that found one
};

/// Runs the whole of `program` (which should be one that `check` calls right) as one exchange, a
/// process per device, process d on the GPU of open_cuda_device(d). Call it from a process with one
/// thread that has not used CUDA: neither survives a fork.
/// \error as direct() and DeviceExchange::create(); cuda_error also where a process ends early;
///        unsupported (built without CUDA); bad_argument (repetitions, element size)
[[nodiscard]] Result<RunReport> run(const Program& program, const RunOptions& options);

}  // namespace retile::cuda
