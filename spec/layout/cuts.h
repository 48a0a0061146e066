/// How a dimension is cut into tiles that need not be alike, and which indices each tile holds.
///
/// Version 2 of docs/reference/program.md. A dimension C{x̄}n has N = ∏ k tiles, and C says where they end:
///   c{x̄}n               index i is in tile i div c, where c is n / N, rounded up
///   c~{x̄}n              index i is in tile i div c, whatever c is
///   c={x̄}n              balanced: every tile has n div N indices, the first n mod N one more; c as of c{x̄}n
///   (o_0,..,o_N){x̄}n    index i is in tile t when o_t <= i < o_{t+1}
///   c@{x̄}n              dealt out: index i is in tile (i div c) mod N
///   L_1*..*L_m@{x̄}n     chunks: lists L_j that end with n_j cut an array of n_1 x .. x n_m, whose elements are the
///                       indices in C order, into a grid of chunks; chunk k, counted likewise, is in tile k mod N,
///                       or with a list (t_0,..) behind @ in tile t_k
/// Of n_1+n_2+.. in the place of n each section is cut so by itself, in c{x̄}n or c@{x̄}n. There c of the first
/// is how many indices the largest tile has.
/// A halo <lo,hi> adds indices before and behind those of a tile that has any.
/// Left out: which device holds which tile (boxes.h), and the text (program/layout_text.h).
#pragma once

#include <algorithm>

#include "../paper/notation.h"

namespace spec {

/// Thrown where nothing can be decided: a limit, or a size that is not below 2^63.
struct TooLarge {
  const char* why;
};
constexpr TooLarge too_many_tags = {"more than 2^28 tags on all devices together"};
constexpr Size most_tags_in_all = Size{1} << 28;

/// C<lo,hi>
struct Cuts {
  Size c = 1;
  char mark = ' ';              // '~' of c~{x̄}n, '=' of c={x̄}n, '@' of c@{x̄}n
  std::optional<Sizes> o = {};  // (o_0,..,o_N){x̄}n, and c means nothing
  Size lo = 0, hi = 0;
  Sizes sections = {};        // n_1, n_2, .. where there are several; else none
  std::vector<Sizes> L = {};  // of chunks, and c means nothing; else none
  Sizes t = {};               // the tiles of chunks where they are listed; else none
};

/// n <= c N. A product that is not below 2^63 is above every n.
inline bool covers(Size c, Size N, Size n) {
  const auto c_N = times(c, N);
  return !c_N || n <= *c_N;
}

/// WF-DIM-CEIL: c is n / N, rounded up.
inline bool wf_ceil(Size c, Size N, Size n) {
  return c >= 1 && !covers(c - 1, N, n)  // (c-1) N < n
         && covers(c, N, n);             // n <= c N
}

/// 0 = o_0 <= o_1 <= .. <= o_N = n
inline bool wf_list(const Sizes& o, Size N, Size n) {
  return !o.empty() && static_cast<Size>(o.size() - 1) == N && o.front() == 0 && o.back() == n &&
         std::is_sorted(o.begin(), o.end());
}

/// Every L_j goes from 0 to its n_j and never down, n is the product of the n_j, and a listed tile for every chunk exists.
inline bool wf_chunks(const std::vector<Sizes>& L, const Sizes& t, Size N, Size n) {
  Sizes n_j, counts;
  for (const Sizes& o : L) {
    if (!wf_list(o, static_cast<Size>(o.size()) - 1, o.back())) return false;
    n_j.push_back(o.back());
    counts.push_back(static_cast<Size>(o.size()) - 1);
  }
  const bool exist = std::all_of(t.begin(), t.end(), [N](Size tile) { return tile < N; });
  return product(n_j) == n && exist &&
         (t.empty() || product(counts) == static_cast<Size>(t.size()));
}

/// The number of the chunk that index i is in.
inline Size chunk_of(const std::vector<Sizes>& L, Size i) {
  Size k = 0, unit = 1;
  for (Index j = L.size(); j-- > 0;) {
    const Sizes& o = L[j];
    const Size i_j = i % o.back();
    i /= o.back();
    Size k_j = 0;
    while (o[static_cast<Index>(k_j + 1)] <= i_j) ++k_j;  // o_k <= i_j < o_{k+1}
    k += k_j * unit;
    unit *= static_cast<Size>(o.size()) - 1;
  }
  return k;
}

/// The tile of chunks that index i is in.
inline Size tile_of(const std::vector<Sizes>& L, const Sizes& t, Size N, Size i) {
  const Size k = chunk_of(L, i);
  return t.empty() ? k % N : t[static_cast<Index>(k)];
}

/// n / N, rounded up.
inline Size ceil_of(Size n, Size N) { return n / N + (n % N != 0 ? 1 : 0); }

/// The same of sections: their c together.
inline bool wf_sections(Size c, const Sizes& sections, Size N) {
  for (const Size n : sections) c -= ceil_of(n, N);
  return c == 0;
}

/// How many of n indices tile t of N has, where they are balanced.
inline Size balanced_width(Size t, Size N, Size n) { return n / N + (t < n % N ? 1 : 0); }

/// The indices of every tile, ascending, by its number t < N. Throws TooLarge above 2^28 of them.
inline std::vector<Sizes> tiles(const Cuts& C, Size N, Size n) {
  if (n > most_tags_in_all || N > most_tags_in_all) throw too_many_tags;
  std::vector<Sizes> out(static_cast<Index>(N));
  for (Index t = 0; C.o && t < out.size(); ++t) {
    for (Size i = (*C.o)[t]; i < (*C.o)[t + 1]; ++i) out[t].push_back(i);  // o_t <= i < o_{t+1}
  }
  Size next = 0;
  for (Index t = 0; C.mark == '=' && t < out.size(); ++t) {
    const Size width = balanced_width(static_cast<Size>(t), N, n);
    while (static_cast<Size>(out[t].size()) < width) out[t].push_back(next++);
  }
  for (Size i = 0; !C.L.empty() && i < n; ++i) {
    out[static_cast<Index>(tile_of(C.L, C.t, N, i))].push_back(i);
  }
  const bool deals = C.mark == '@';
  Size begin = 0;
  for (const Size n_s : C.sections.empty() ? Sizes{n} : C.sections) {
    const Size c = C.sections.empty() || deals ? C.c : ceil_of(n_s, N);
    for (Size i = 0; !C.o && C.L.empty() && C.mark != '=' && i < n_s; ++i) {
      out[static_cast<Index>(deals ? i / c % N : i / c)].push_back(begin + i);
    }
    begin += n_s;
  }
  Size room = most_tags_in_all;
  for (Sizes& tile : out) {
    if (tile.empty() || (C.lo == 0 && C.hi == 0)) continue;  // a halo needs a tile
    const Size first = std::max<Size>(0, tile.front() - C.lo);
    const Size last = std::min(n - 1, tile.back() + C.hi);
    if (last - first >= room) throw too_many_tags;
    room -= last - first + 1;
    tile.clear();
    for (Size i = first; i <= last; ++i) tile.push_back(i);
  }
  return out;
}

}  // namespace spec
