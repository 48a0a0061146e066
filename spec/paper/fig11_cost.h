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

}  // namespace spec
