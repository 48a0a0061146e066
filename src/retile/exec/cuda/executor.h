// GPUs as an executor: generated arrays are moved between devices, and every element is compared
// there. Files are not read.
#pragma once

#include <functional>
#include <memory>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/device.h"
#include "retile/exec/cuda/device_exchange.h"
#include "retile/exec/cuda/transport.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"

namespace retile::cuda {

/// Makes the device of a process, in that process.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>(int place_on_machine)>;

/// Collective. Runs the whole of `program` (which should be one that `check` calls right) as one
/// exchange, device d of the Program on process d.
/// \param processes  the transport's members, in their order; outlive the executor
/// \param open       nothing: open_cuda_device()
/// \error as tile_shapes(), direct() and DeviceExchange::create(), on all members; cuda_error; unsupported (built
///     without CUDA; a Program that the first version of the forms cannot say); bad_argument (element size, number of processes)
[[nodiscard]] Result<std::unique_ptr<Executor>> make_executor(
    const Processes& processes, std::unique_ptr<Transport> transport, const Program& program,
    Size element_bytes, const DeviceOptions& options, const OpenDevice& open = {});

}  // namespace retile::cuda
