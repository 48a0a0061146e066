// Who makes which sums, where several processes have them at the same time.
#pragma once

#include <vector>

#include "retile/core/size.h"
#include "retile/exec/add/sums.h"

namespace retile::add {

/// A part of a box that one process adds up: elements of the box in C order.
struct Share {
  std::size_t box = 0;
  Size begin = 0;
  Size end = 0;
};

/// By process, in the order of the boxes. Every sum is made once, by one of those who need it: these
/// share it out in equal parts, of whole lines of 64 bytes but for the last.
[[nodiscard]] std::vector<std::vector<Share>> shares_of(const Sums& sums, Size element_bytes);

/// What a process gets from others: addends for its shares, and the sums of others that it needs.
[[nodiscard]] Size received_bytes(const Sums& sums, Size process, Size element_bytes);

}  // namespace retile::add
