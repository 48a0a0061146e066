/// What an allgather or alltoall does along several dimensions at once.
///
/// The numbers of a grid are the digits of a member's position q in its group, the last one the
/// fastest. Digit k says which piece along splits[k] the member gets, and where along concats[k] the
/// pieces that it gives lie. Of a dimension that is named several times the first digit is the slowest.
#pragma once

#include "tiles.h"

namespace spec {

struct Grid {
  std::vector<Index> splits = {}, concats = {};  // each none, or one for each digit
  Sizes counts = {};
};

/// How many parts each dimension has along `dims`, which are the splits or the concats.
inline Sizes parts_along(const std::vector<Index>& dims, const Sizes& counts, Index rank) {
  Sizes out(rank, 1);
  for (Index k = 0; k < dims.size(); ++k) out[dims[k]] *= counts[k];
  return out;
}

/// Which of these parts is that of position q.
inline Sizes part_along(const std::vector<Index>& dims, const Sizes& counts, Index rank, Size q) {
  Sizes digits(counts.size()), out(rank, 0);
  for (Index k = counts.size(); k-- > 0; q /= counts[k]) digits[k] = q % counts[k];
  for (Index k = 0; k < dims.size(); ++k) out[dims[k]] = out[dims[k]] * counts[k] + digits[k];
  return out;
}

/// The shape of what the members get, whose tiles are of the given one and can be cut; nullopt when it
/// is too large.
inline std::optional<Sizes> shape_along(const Grid& grid, Sizes shape) {
  const Sizes cuts = parts_along(grid.splits, grid.counts, shape.size());
  const Sizes joins = parts_along(grid.concats, grid.counts, shape.size());
  for (Index i = 0; i < shape.size(); ++i) {
    const auto extent = times(shape[i] / cuts[i], joins[i]);
    if (!extent) return std::nullopt;
    shape[i] = *extent;
  }
  return shape;
}

/// Puts what the member at position q gets of tile a, that of the member at p, into its place. Neither
/// is empty.
inline void put_piece(const Grid& grid, const Tile& a, Size p, Size q, Tile& out) {
  const auto& [splits, concats, counts] = grid;
  const Index r = a.shape.size();
  const Sizes cuts = parts_along(splits, counts, r);
  const Sizes from = part_along(splits, counts, r, q), to = part_along(concats, counts, r, p);
  Sizes extent = a.shape, l(r, 0);
  for (Index i = 0; i < r; ++i) extent[i] /= cuts[i];
  do {
    Size here = 0, there = 0;
    for (Index i = 0; i < r; ++i) {
      here = here * a.shape[i] + from[i] * extent[i] + l[i];
      there = there * out.shape[i] + to[i] * extent[i] + l[i];
    }
    out.tags[static_cast<Index>(there)] = a.tags[static_cast<Index>(here)];
  } while (next(l, extent));
}

}  // namespace spec
