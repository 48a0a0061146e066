// One exchange in place of a sequence: boxes of elements that go straight from tile to tile.
#pragma once

#include <vector>

#include "retile/core/size.h"

namespace retile {

/// A box of elements of the source device's tile that the target device gets. All in elements, one
/// number per dimension; both tiles lie in C order.
struct Transfer {
  Size target = 0;
  Size source = 0;     ///< may be the target itself
  Shape target_start;  ///< where the box lies in the target's tile after the step
  Shape source_start;  ///< where it lies in the source's tile before the step
  Shape shape;         ///< extents of the box, >= 1
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Every device's new tile is put together from boxes of old tiles; each of its elements comes from
/// exactly one transfer. The step's `tile` claim says the shape of the new tiles, so it is
/// required.
struct Exchange {
  std::vector<Transfer> transfers;
  friend bool operator==(const Exchange&, const Exchange&) = default;
};

}  // namespace retile
