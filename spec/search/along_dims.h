/// Allgathers and alltoalls along several dimensions at once, as functions of tiles.
///
/// They are no steps of the paper, but of Programs: `allgather_dims` and `alltoall_dims` (docs/reference/program.md).
/// One gathers t_i := t_i div n_i in every dimension and costs the tile after it. The other takes digits
/// q_1, q_2, .. off dimensions and puts them on others, all at once, and costs its tile: q_1 is the
/// slowest. Off dimension i, t_i mod r_i is the number in the digits that it loses; on dimension j,
/// t_j := t_j s_j + the number in those that it gains. A dimension that did both would not hold boxes.
#pragma once

#include <set>

#include "../paper/def5_weak.h"
#include "pairs.h"

namespace spec {

/// A step from localtype c to another one: by the number of each tile before it, the tile after it.
struct AlongDims {
  Sizes to;
  OfTiles after;
  bool operator<(const AlongDims& other) const {
    return std::tie(to, after) < std::tie(other.to, other.after);
  }
};

/// The allgathers along two or more dimensions.
inline std::vector<AlongDims> allgathers_along_dims(const Sizes& g, const Sizes& c,
                                                    const std::vector<Sizes>& localtypes) {
  std::vector<AlongDims> out;
  for (const Sizes& to : localtypes) {
    Index grown = 0;
    bool gathers = true;
    for (Index i = 0; i < g.size(); ++i) {
      gathers = gathers && to[i] % c[i] == 0;
      if (to[i] != c[i]) ++grown;
    }
    if (!gathers || grown < 2) continue;
    AlongDims step = {to, {}};
    for (Sizes t : every_tile(g, c).t) {
      for (Index i = 0; i < g.size(); ++i) t[i] /= to[i] / c[i];
      step.after += static_cast<char>(tile_number(g, to, t));
    }
    out.push_back(step);
  }
  return out;
}

/// One digit of an alltoall along several dimensions: of size n, off dimension i and onto j.
struct AlongDigit {
  Index i, j;
  Size n;
};

/// The alltoall of these digits, the slowest first; nullopt where it does not apply to c.
inline std::optional<AlongDims> alltoall_along_dims(const Sizes& g, const Sizes& c,
                                                    const std::vector<AlongDigit>& digits) {
  Sizes r(g.size(), 1), s(g.size(), 1), to = c;
  for (const AlongDigit& q : digits) r[q.i] *= q.n, s[q.j] *= q.n;
  for (Index i = 0; i < g.size(); ++i) {
    if ((r[i] > 1 && s[i] > 1) || g[i] / c[i] % r[i] != 0 || c[i] % s[i] != 0) return std::nullopt;
    to[i] = c[i] * r[i] / s[i];
  }
  AlongDims out = {to, {}};
  for (const Sizes& before : every_tile(g, c).t) {
    Sizes t = before, weight = r;
    for (Index i = 0; i < g.size(); ++i) t[i] /= r[i];
    for (const AlongDigit& q : digits) {
      weight[q.i] /= q.n;
      t[q.j] = t[q.j] * q.n + before[q.i] / weight[q.i] % q.n;
    }
    out.after += static_cast<char>(tile_number(g, to, t));
  }
  return out;
}

/// The alltoalls of two or more digits of prime size, of which any other is made; each once.
inline std::vector<AlongDims> alltoalls_along_dims(const Sizes& g, const Sizes& c) {
  std::set<AlongDims> out;
  std::vector<AlongDigit> digits;
  const auto visit = [&](const auto& self) -> void {
    for (Index i = 0; i < g.size(); ++i) {
      for (Index j = 0; j < g.size(); ++j) {
        for (Size n = 2; n <= g[i] / c[i] && i != j; ++n) {
          Size d = 2;
          while (n % d != 0) ++d;
          if (d != n) continue;
          digits.push_back({i, j, n});
          const auto step = alltoall_along_dims(g, c, digits);
          if (step && digits.size() >= 2) out.insert(*step);
          if (step) self(self);
          digits.pop_back();
        }
      }
    }
  };
  visit(visit);
  return {out.begin(), out.end()};
}

}  // namespace spec
