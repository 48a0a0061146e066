/// The cost of collectives: elements that one device receives, own elements counted as received.
///
/// Paper: Fig. 11, Appendix B. The same for →, ▶ and ⇒, and verbatim for several axes (Sec. 7.1).
/// Left out: the factor 1 - 1/n by which exact traffic is smaller (E24).
#pragma once

#include "notation.h"

namespace spec {

/// Elements per device moved by the step τ_1 -p-> τ_2, from the two localsizes.
inline Size cost(Op p, Size localsize_1, Size localsize_2) {
  if (p == Op::allpermute) return localsize_1;
  if (p == Op::dynslice) return 0;
  if (p == Op::allgather) return localsize_2;
  return localsize_1;  // alltoall
}

/// cost(σ_0 -p_0-> ... -> σ_n) = Σ cost(σ_i -p_i-> σ_{i+1}), from n labels and n + 1 localsizes.
/// nullopt: the lengths do not fit, or the sum is not below 2^63.
inline std::optional<Size> cost(const std::vector<Op>& p, const Sizes& localsizes) {
  if (localsizes.size() != p.size() + 1) return std::nullopt;
  Size sum = 0;
  for (Index i = 0; i < p.size(); ++i) {
    const Size step = cost(p[i], localsizes[i], localsizes[i + 1]);
    if (__builtin_add_overflow(sum, step, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace spec
