/// Addends: which of the arrays that make up another one each device holds, and formal sums.
///
/// An array may be given by K others: by v_0, .., v_{K-1}, whose sum it is, or maximum or minimum.
/// The digits z̄ of a device's position are the number of the v_k of which it holds a box.
#pragma once

#include <map>

#include "boxes.h"

namespace spec {

/// How often element g of v_k is added, by (k, tag of g). What is never added is left out.
using FormalSum = std::map<std::pair<Size, Size>, Size>;

inline Size count_of(const FormalSum& sum, Size k, Size tag) {
  const auto found = sum.find({k, tag});
  return found == sum.end() ? 0 : found->second;
}

/// sum + other; of maxima and minima, sum ∪ other. Whether all counts are below 2^63.
inline bool add(Addition O, FormalSum& sum, const FormalSum& other) {
  bool fits = true;
  for (const auto& [term, count] : other) {
    Size& there = sum[term];
    const bool is_set = O == Addition::max || O == Addition::min;
    if (is_set) {
      there = 1;
    } else if (__builtin_add_overflow(there, count, &there)) {
      fits = false;
    }
  }
  return fits;
}

/// K: how many arrays there are.
inline Size addend_count(const Layout& L) { return tile_count(L.zs).value(); }

/// What devices share that should hold the same: the numbers t of their tile, and κ, that of their
/// addend. Where no digits cut the array the box stands in the place of t.
struct Share {
  Sizes t;
  Size kappa = 0;
};

/// The share of every device. A device that stands at no position has none.
inline std::vector<std::optional<Share>> shares(const Layout& L, Size D) {
  std::vector<std::optional<Share>> out(static_cast<Index>(D));
  if (L.at || L.root) {
    const std::vector<Box> all = boxes(L, D);
    for (Index d = 0; d < out.size(); ++d) {
      out[d].emplace();
      for (const Sizes& side : all[d]) {
        out[d]->t.push_back(side.empty() ? 0 : side.front());
        out[d]->t.push_back(static_cast<Size>(side.size()));
      }
    }
    return out;
  }
  const Sizes order = L.order ? row(*L.order, 0) : Sizes();
  for (Size p = 0; p < L.positions; ++p) {
    Share share;
    for (const LayoutDim& dim : L.dims) share.t.push_back(tile_number(dim.xs, p));
    share.kappa = tile_number(L.zs, p);
    out[static_cast<Index>(L.order ? order[static_cast<Index>(p)] : p)] = share;
  }
  return out;
}

}  // namespace spec
