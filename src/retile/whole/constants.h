// Constants that a compiler made of others, and rounded. Room-internal.
#pragma once

#include "retile/core/size.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// Compilers compute what is made of constants alone, and round it. In both modules a constant that only
/// `after` has takes the place of operations that round to it.
/// \return in how many places of `before`
[[nodiscard]] Size with_computed_constants(Module& before, Module& after);

/// Compilers turn a division by a constant into a product with its reciprocal, rounded to its type. In
/// both modules a constant that rounds the reciprocal of a constant of `before` becomes that reciprocal,
/// so that the two stay the same where only this rounding is between them.
/// \return how many constants of `after` became such
[[nodiscard]] Size with_whole_reciprocals(Module& before, Module& after);

/// Whether `after` has constants with a point that `before` has not and that may be rounded, or may have
/// some: operations of `before` on constants alone are rounded.
[[nodiscard]] bool has_computed_constants(Module& before, const Module& after);

}  // namespace retile::whole
