// A whole run of a Program on GPUs: generated arrays are moved between processes, and every element
// is compared on the device.
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
#include "retile/exec/cuda/transport.h"
#include "retile/program/program.h"

namespace retile::cuda {

struct RunOptions {
  Size element_bytes = 4;
  Size repetitions = 1;
  DeviceOptions exchange = {};
  /// Makes the device of a process, in that process. Nothing: open_cuda_device().
  std::function<Result<std::unique_ptr<Device>>(int place_on_machine)> open = {};
};

/// The first wrong element that was found.
struct Mismatch {
  Size device = 0;
  Size local_index = 0;  ///< linear, in the device's tile
};

struct RunReport {
  bool right = false;
  Path path = Path::automatic;       ///< the one that was chosen
  std::vector<std::string> reasons;  ///< DeviceExchange::reasons()
  Size processes = 0;
  Size repetitions = 0;
  Size elements_checked = 0;   ///< summed over processes
  double seconds = 0;          ///< median over repetitions of the slowest process, between barriers
  Size bytes_per_process = 0;  ///< most received from others by one, per repetition
  Size peak_bytes_per_process = 0;  ///< most held by one, on its device and pinned on the host
  Size peak_limit_bytes = 0;        ///< most that one said beforehand
  std::optional<Mismatch> mismatch = {};  ///< of the lowest process that found one
};

/// Collective over the transport's members. Runs the whole of `program` (which should be one that
/// `check` calls right) as one exchange, device d of the Program on member d. The report is the
/// same on all members, but for the reasons, which are a member's own.
/// \error as direct() and DeviceExchange::create(), on all members; cuda_error; unsupported (built
///     without CUDA); bad_argument (repetitions, element size, number of members)
[[nodiscard]] Result<RunReport> run(Transport& transport, const Program& program,
                                    const RunOptions& options);

/// The same on processes that this one forks; the reasons are those of member 0. Call it from a
/// process with one thread that has not used CUDA: neither survives a fork.
/// \error the same; cuda_error also where a process ends early
[[nodiscard]] Result<RunReport> run(const Program& program, const RunOptions& options);

}  // namespace retile::cuda
