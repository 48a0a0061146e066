// The simulator as an executor: all devices in one process.
#pragma once

#include <memory>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"

namespace retile::sim {

/// Figures are those of devices: the most that one of them held and received. The Program outlives
/// the executor.
/// \error as tile_shapes, Adder::make; size_overflow (the tiles of all devices together)
[[nodiscard]] Result<std::unique_ptr<Executor>> make_executor(const Program& program,
                                                              const ElementType& type);

}  // namespace retile::sim
