// Boxes that lie in regular steps, as the blocks of a block-cyclic layout do: described once and
// copied as one box of two dimensions more.
#pragma once

#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile::copy {

/// `outer` rows of `inner` transfers each, all of one shape and between the same two devices. One is so
/// far from the one before it, in either tile, as all are in their rows, and so are rows.
struct Repeats {
  const Transfer* first = nullptr;
  const Transfer* next = nullptr;      ///< the one behind the first, where a row has several
  const Transfer* next_row = nullptr;  ///< the first of the second row, if there is one
  const Transfer* last_row = nullptr;  ///< and that of the last row
  Size inner = 1;
  Size outer = 1;
};

/// The transfers in their order, in as few as one walk finds. No step goes back in any dimension.
[[nodiscard]] std::vector<Repeats> repeats_of(std::span<const Transfer* const> transfers);

/// How far `to` lies behind `from` in a tile of these strides: in the old tile, or in the new one.
[[nodiscard]] Size step_of(const Transfer& from, const Transfer& to, Shape Transfer::*start,
                           const Shape& strides);

/// How far apart the neighbours along each dimension of a tile lie, in bytes.
[[nodiscard]] Shape byte_strides(const Shape& tile, Size element_bytes);

}  // namespace retile::copy
