// Whether the types of an operation fit together, so that it can be evaluated. Room-internal.
#pragma once

#include <optional>
#include <string>

#include "retile/whole/module.h"

namespace retile::whole {

/// What is wrong with the types of an instruction, if anything is: numbers of operands, dimensions and
/// bounds of its details included.
/// Precondition: its operands, results and calls are there; those of the computations it calls fit.
[[nodiscard]] std::optional<std::string> type_fault(const Module& module, const Computation& in,
                                                    const Instruction& instruction);

}  // namespace retile::whole
