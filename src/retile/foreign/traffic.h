// What the collectives of a function cost and move, as their types say.
#pragma once

#include "retile/core/size.h"
#include "retile/foreign/module.h"

namespace retile::foreign {

struct Traffic {
  Size cost = 0;            ///< Fig. 11, and docs/reference/program.md of sums: elements per device
  Size received = 0;        ///< most elements that a device gets of others, in all
  Size received_bytes = 0;  ///< likewise; 0 for types of unknown size
};

/// A reduction is counted as a ring does it: a device of n gets all parts but its own of a
/// reduce-scatter, and twice as many of an all-reduce. What does not fit in 63 bits is the largest number.
[[nodiscard]] Traffic traffic_of(const Function& function);

}  // namespace retile::foreign
