// One exchange in place of a sequence: boxes of elements that go straight from tile to tile.
#pragma once

#include <cstddef>
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

/// The row of a transfer in the forms: target, source, the two starts, the shape.
[[nodiscard]] std::vector<Size> row_of(const Transfer& transfer);

/// Every device's new tile is put together from boxes of old tiles; each of its elements comes from
/// exactly one transfer. The step's `tile` claim says the shape of the new tiles, so it is
/// required.
struct Exchange {
  std::vector<Transfer> transfers;
  friend bool operator==(const Exchange&, const Exchange&) = default;
};

/// Numbers of transfers, those of one target together: the lowest target first, in the order of
/// the list within one.
[[nodiscard]] std::vector<std::size_t> by_target(const std::vector<Transfer>& transfers);

}  // namespace retile
