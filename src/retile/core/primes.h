// Prime factors. The planner splits axes into them, so that a step may move part of an axis
// (Principle 1).
#pragma once

#include <vector>

#include "retile/core/size.h"

namespace retile {

/// A prime and how often it divides, `exponent` >= 1.
struct PrimePower {
  Size prime = 2;
  Size exponent = 1;
  friend bool operator==(const PrimePower&, const PrimePower&) = default;
};

/// The prime factors of n, smallest first; none for 1. Precondition: n >= 1.
///
/// 12 -> {2,2},{3,1}.
/// \complexity  O(sqrt(n)) divisions by trial: microseconds up to max_devices, which is what it is
/// for. Sizes of arrays
///              work, too, but a prime near 2^63 takes 10^9 divisions.
[[nodiscard]] std::vector<PrimePower> factorize(Size n);

}  // namespace retile
