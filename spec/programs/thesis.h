/// Schedules of statements: which elements the process of each rank touches, by every iteration point.
///
/// The thesis on distributed SDFGs. An access is a list of subscripts, a subscript an affine sum of
/// iteration variables. Rank tiling (with the ceil rule, erratum T4): of n values in p pieces, rank t
/// does those with i div b = t, b = n / p rounded up. The constraint of an access (Def. 4.3.1) is said
/// there by intervals. Here it is the set of indices that are touched, and what surrounds it.
#pragma once

#include <algorithm>
#include <set>

#include "tensor.h"

namespace spec::thesis {

struct AffineSum {
  Size constant = 0;
  Sizes factors;  // by variable
};
using Subscripts = std::vector<AffineSum>;

/// The values of a variable that rank t of p does.
inline Sizes rank_tiling(Size n, Size p, Size t) {
  Sizes out;
  const Size b = n / p + (n % p != 0 ? 1 : 0);
  for (Size i = 0; i < n; ++i) {
    if (i / b == t) out.push_back(i);
  }
  return out;
}

/// The index that an access touches at one iteration point.
inline Sizes index_at(const Subscripts& access, const Sizes& point) {
  Sizes out;
  for (const AffineSum& s : access) {
    out.push_back(s.constant);
    for (Index v = 0; v < point.size(); ++v) out.back() += s.factors[v] * point[v];
  }
  return out;
}

/// All indices that an access touches, at the points whose variables have these values.
inline std::set<Sizes> touched(const Subscripts& access, const std::vector<Sizes>& values) {
  std::set<Sizes> out;
  Sizes extents;
  for (const Sizes& of_variable : values) extents.push_back(static_cast<Size>(of_variable.size()));
  for_each_index(extents, [&](Sizes point) {
    for (Index v = 0; v < point.size(); ++v) point[v] = values[v][static_cast<Index>(point[v])];
    out.insert(index_at(access, point));
  });
  return out;
}

/// The smallest box around indices: in each dimension the first, and the one behind the last.
inline std::vector<std::pair<Size, Size>> box_around(const std::set<Sizes>& indices) {
  std::vector<std::pair<Size, Size>> out;
  for (const Sizes& index : indices) {
    for (Index d = 0; d < index.size(); ++d) {
      if (d == out.size()) out.emplace_back(index[d], index[d] + 1);
      out[d] = {std::min(out[d].first, index[d]), std::max(out[d].second, index[d] + 1)};
    }
  }
  return out;
}

}  // namespace spec::thesis
