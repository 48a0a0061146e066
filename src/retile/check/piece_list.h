// One array as boxes of elements that lie together. Private to this room.
//
// Slicing and concatenating arrays that start as boxes only ever gives arrays that are made of
// translated boxes. Such a piece is {origin, extent, shift}: the local indices origin .. origin +
// extent - 1 hold the global indices local + shift.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/size.h"

namespace retile {

/// The pieces of one array: origin, extent and shift, rank numbers each, piece after piece. Every
/// local index is in one piece.
using PieceList = std::vector<Size>;
using PieceListView = std::span<const Size>;

struct PieceView {
  std::span<const Size> origin;
  std::span<const Size> extent;
  std::span<const Size> shift;
};

[[nodiscard]] PieceView piece_at(PieceListView pieces, std::size_t rank, std::size_t number);

/// The first local index, in C order, that does not hold local index + shift; and the shift there.
struct OtherShift {
  Shape at;
  Shape shift;
};
[[nodiscard]] std::optional<OtherShift> first_difference(PieceListView pieces,
                                                         std::span<const Size> shift);

/// Makes an array of shape `tile` one piece iff it is one box, and few pieces otherwise.
/// False when the deadline passes; the pieces are then still those of the array.
/// \complexity O(pieces * log(pieces)) for each dimension along which some piece is cut, as long as
///     that joins many; O(pieces * rank) else
[[nodiscard]] bool merge(const Shape& tile, PieceList& pieces, Watch& watch);

}  // namespace retile
