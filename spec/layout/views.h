/// A view of the array: each dimension written as several, the slowest first.
///
/// Of the dimensions that become several, blocks and rounds end where a dimension of the view does
/// [WF-VIEW]. So what a device holds is a box of the view, and its elements stand in the same order.
#pragma once

#include "boxes.h"

namespace spec {

/// The dimensions of the view that each dimension of `global` becomes, or nullopt where they do not multiply
/// up to it.
inline std::optional<Rows> groups_of(const Sizes& view, const Sizes& global) {
  Rows out;
  Index next = 0;
  for (Size left : global) {
    out.emplace_back();
    do {
      if (next == view.size() || left % view[next] != 0) return std::nullopt;
      left /= view[next];
      out.back().push_back(view[next++]);
    } while (left > 1);
  }
  return next == view.size() ? std::optional(out) : std::nullopt;
}

/// Index i is in tile (i div block) mod N, and n is so many rounds of length block N.
struct Rounds {
  Size block, length;
};

/// The same of chunks.
inline std::optional<Rounds> rounds_of_chunks(const Cuts& C, Size N, Size n) {
  const std::vector<Sizes> held = tiles(C, N, n);
  Size block = 0;  // how many indices tile 0 has before any other
  while (block < static_cast<Size>(held[0].size()) && held[0][static_cast<Index>(block)] == block)
    ++block;
  const auto length = times(block, N);
  if (block == 0 || !length || n % *length != 0) return std::nullopt;
  for (Index t = 0; t < held.size(); ++t) {
    for (const Size i : held[t]) {
      if (i / block % N != static_cast<Size>(t)) return std::nullopt;
    }
  }
  return Rounds{block, *length};
}

/// Nothing where a block or a round is cut short, or a tile is something else.
inline std::optional<Rounds> rounds(const LayoutDim& dim) {
  const Cuts& C = dim.C;
  const Size N = tile_count(dim.xs).value();
  if (N == 1) return Rounds{dim.n, dim.n};
  if (C.lo != 0 || C.hi != 0) return std::nullopt;
  if (!C.L.empty()) return rounds_of_chunks(C, N, dim.n);
  const Sizes sections = C.sections.empty() ? Sizes{dim.n} : C.sections;
  const bool deals = C.mark == '@';
  const bool says_block = deals || C.mark == '~';
  const Size block = C.o ? (*C.o)[1] : says_block ? C.c : sections.front() / N;
  const auto length = times(block, N);
  if (block == 0 || !length) return std::nullopt;
  for (const Size n : sections) {
    if (deals ? n % *length != 0 : n != *length) return std::nullopt;
  }
  for (Index t = 0; C.o && t < C.o->size(); ++t) {
    if ((*C.o)[t] != block * static_cast<Size>(t)) return std::nullopt;
  }
  return Rounds{block, *length};
}

/// WF-VIEW
inline bool wf_view(const Layout& L, const Sizes& view) {
  Sizes global;
  for (const LayoutDim& dim : L.dims) global.push_back(dim.n);
  const auto groups = groups_of(view, global);
  if (!groups || L.at || L.root) return false;
  for (Index i = 0; i < groups->size(); ++i) {
    const Sizes& group = (*groups)[i];
    if (group.size() == 1) continue;
    const auto R = rounds(L.dims[i]);
    if (!R) return false;
    Size below = 1;
    for (Index j = group.size(); j-- > 0;) {
      const Size top = below * group[j];
      if (below < R->block && R->block < top) return false;
      if (below < R->length && R->length < top) return false;
      below = top;
    }
  }
  return true;
}

/// Whether a dimension of a view may give a tile several stretches of indices. One that becomes several gives one
/// in each.
inline bool deals(const Layout& L, const Sizes& view) {
  Sizes global;
  for (const LayoutDim& dim : L.dims) global.push_back(dim.n);
  const Rows groups = groups_of(view, global).value();
  Layout same = L;
  same.dims.clear();
  for (Index i = 0; i < groups.size(); ++i) {
    if (groups[i].size() == 1) same.dims.push_back(L.dims[i]);
  }
  return deals(same);
}

/// The box of the view that has the elements of one of the array.
inline Box viewed(const Box& box, const Sizes& global, const Sizes& view) {
  const Rows groups = groups_of(view, global).value();
  Box out;
  for (Index i = 0; i < box.size(); ++i) {
    Size weight = global[i];
    for (const Size extent : groups[i]) {
      weight /= extent;
      Sizes side;
      for (const Size index : box[i]) side.push_back(index / weight % extent);
      std::sort(side.begin(), side.end());
      side.erase(std::unique(side.begin(), side.end()), side.end());
      out.push_back(std::move(side));
    }
  }
  return out;
}

}  // namespace spec
