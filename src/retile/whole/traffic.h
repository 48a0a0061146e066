// What a collective of a whole program costs and moves, as its types say. Room-internal.
#pragma once

#include "retile/whole/module.h"
#include "retile/whole/movement.h"

namespace retile::whole {

/// Its bytes and its cost, once; of what does not exchange nothing but zeros.
[[nodiscard]] Transfer transfer_of(const Computation& in, const Instruction& instruction,
                                   Size devices);

}  // namespace retile::whole
