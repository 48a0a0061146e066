/// Tiles of any shape: how they are taken from a box, cut into pieces and concatenated.
///
/// What a tile holds are tags, the row-major numbers of elements in the global array.
#pragma once

#include "boxes.h"

namespace spec {

/// The next local index of a tile of shape c, in C order, if there is one.
inline bool next(Sizes& l, const Sizes& c) {
  for (Index i = c.size(); i-- > 0;) {
    if (++l[i] < c[i]) return true;
    l[i] = 0;
  }
  return false;
}

/// What a device holds. An empty tile has only zeros for its shape, whatever made it empty.
struct Tile {
  Sizes shape, tags;
  bool operator==(const Tile&) const = default;
};

inline bool is_empty(const Tile& a) { return a.tags.empty(); }
inline Size elements_of(const Tile& a) { return static_cast<Size>(a.tags.size()); }

inline Tile with_shape(Sizes shape, Sizes tags) {
  if (tags.empty()) shape.assign(shape.size(), 0);
  return {std::move(shape), std::move(tags)};
}

/// The indices of a box in C order.
inline Tile tile_of(const Box& box, const Sizes& global) {
  Sizes shape, tags = {0};
  for (Index i = 0; i < box.size(); ++i) {
    shape.push_back(static_cast<Size>(box[i].size()));
    Sizes longer;
    for (const Size tag : tags) {
      for (const Size index : box[i]) longer.push_back(tag * global[i] + index);
    }
    tags = std::move(longer);
  }
  return with_shape(std::move(shape), std::move(tags));
}

/// What stands at the local indices for which `is_kept(l_i)`.
template <class Kept>
Tile kept(const Tile& a, Index i, Kept is_kept) {
  Sizes shape = a.shape, tags, l(a.shape.size(), 0);
  shape[i] = 0;
  for (Size l_i = 0; l_i < a.shape[i]; ++l_i) shape[i] += is_kept(l_i) ? 1 : 0;
  for (const Size tag : a.tags) {
    if (is_kept(l[i])) tags.push_back(tag);
    next(l, a.shape);
  }
  return with_shape(std::move(shape), std::move(tags));
}

/// Piece q: what stands at the local indices with l_i div s = q.
inline Tile piece_of(const Tile& a, Index i, Size s, Size q) {
  return kept(a, i, [&](Size l_i) { return l_i / s == q; });
}

/// Piece q of n balanced ones: what stands behind those of the pieces before it.
inline Tile balanced_piece(const Tile& a, Index i, Size n, Size q) {
  Size begin = 0;
  for (Size p = 0; p < q; ++p) begin += balanced_width(p, n, a.shape[i]);
  const Size end = begin + balanced_width(q, n, a.shape[i]);
  return kept(a, i, [&](Size l_i) { return begin <= l_i && l_i < end; });
}

/// The tiles that are not empty, one behind the other along dimension i. In all other dimensions
/// their extents must agree. In C order what stands left of i changes the slowest.
inline Tile concatenated(const std::vector<Tile>& parts, Index i) {
  Tile out = parts.front();
  Size slow = 1;
  for (const Tile& a : parts) {
    if (is_empty(a)) continue;
    out.shape = a.shape;
    slow = *product(Sizes(a.shape.begin(), a.shape.begin() + static_cast<std::ptrdiff_t>(i)));
  }
  out.tags.clear();
  if (!out.shape.empty()) out.shape[i] = 0;
  for (const Tile& a : parts) out.shape[i] += a.shape[i];
  for (Size o = 0; o < slow; ++o) {
    for (const Tile& a : parts) {
      const auto chunk = static_cast<std::ptrdiff_t>(elements_of(a) / slow);
      const auto begin = a.tags.begin() + o * chunk;
      out.tags.insert(out.tags.end(), begin, begin + chunk);
    }
  }
  return out;
}

}  // namespace spec
