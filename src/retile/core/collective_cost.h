// What a collective costs, whichever language names it.
#pragma once

#include "retile/core/size.h"

namespace retile {

/// By what a device's tile becomes.
enum class CollectiveKind {
  slice,           ///< a part of itself, or what it was
  gather,          ///< all tiles of the group
  all_to_all,      ///< a part of each
  permute,         ///< another one's
  reduce_scatter,  ///< a part of their sum
  all_reduce,      ///< their sum
  broadcast,       ///< the first one's
};

/// In elements: the larger of the two tiles, and what adds counts as the collectives that it is made of.
/// \param before, after  elements of the largest tile before it and after it
/// \paper Fig. 11; sums: docs/ledger/statements.md, "Addends"
template <class Number>
[[nodiscard]] constexpr Number collective_cost(CollectiveKind kind, Number before, Number after) {
  switch (kind) {
    case CollectiveKind::slice:
      return Number{0};
    case CollectiveKind::gather:
      return after;
    case CollectiveKind::all_reduce:
      return Number{2} * before;
    case CollectiveKind::all_to_all:
    case CollectiveKind::permute:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
      break;
  }
  return before;
}

/// Elements that a device of a group of n gets of others; of a broadcast one that is not the first.
/// \param tile  elements that each has before it
/// \paper docs/ledger/statements.md, "Costs in bytes"
template <class Number>
[[nodiscard]] constexpr Number collective_received(CollectiveKind kind, Number tile, Number n) {
  switch (kind) {
    case CollectiveKind::slice:
      return Number{0};
    case CollectiveKind::gather:
      return tile * (n - Number{1});
    case CollectiveKind::all_reduce:
      // A reduce-scatter and an all-gather, of pieces as equal as can be.
      return Number{2} * (tile - tile / n);
    case CollectiveKind::permute:
    case CollectiveKind::broadcast:
      return tile;
    case CollectiveKind::all_to_all:
    case CollectiveKind::reduce_scatter:
      break;
  }
  return tile - tile / n;
}

}  // namespace retile
