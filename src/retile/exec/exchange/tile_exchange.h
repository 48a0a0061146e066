// An exchange with the tiles that it is between: what everyone is given who moves one.
#pragma once

#include "retile/core/size.h"
#include "retile/program/ops.h"
#include "retile/program/tile_shapes.h"

namespace retile {

/// What is exchanged; the same on all members. Whoever made it has seen that its boxes lie inside the
/// tiles, that no two write the same element, and that a tile has fewer than 2^63 bytes
/// (tile_shapes()). What the exchange does not write is left as it is.
struct TileExchange {
  Exchange exchange;
  DeviceShapes in_tiles;   ///< the members' tiles before
  DeviceShapes out_tiles;  ///< and after
  Size element_bytes = 0;
};

/// Bytes of a tile or of a box. Precondition: they fit.
[[nodiscard]] inline Size box_bytes(const Shape& shape, Size element_bytes) {
  for (const Size extent : shape) element_bytes *= extent;
  return element_bytes;
}

}  // namespace retile
