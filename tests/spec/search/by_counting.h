/// OPT by counting (S4): weak types and numbers of holders, with no search over tile maps. So it also
/// serves meshes where brute force ends.
#pragma once

#include <limits>
#include <map>
#include <set>

#include "spec/search/path.h"

namespace spec {

/// A weak normal form without its slices: from bottom b by alltoalls to top t, by gathers to c_2.
/// `to` leads from bottom tiles to tiles of c_2, by number.
struct Tail {
  Size cost = 0;
  Index alltoalls = 0;
  std::vector<Index> to;
};

/// t gathered to c_2, one gather per dimension.
inline TileMap gathered(TileMap f, const Sizes& c_2) {
  for (Index i = 0; i < c_2.size(); ++i) {
    if (f.c[i] != c_2[i]) f = allgather(f, i, c_2[i] / f.c[i]).value();
  }
  return f;
}
/// The cheapest gathers from t to c_2: one per dimension, the smallest factor first (S8).
inline Size gather_cost(const Sizes& t, const Sizes& c_2) {
  Sizes factors;
  for (Index i = 0; i < t.size(); ++i) factors.push_back(c_2[i] / t[i]);
  std::sort(factors.begin(), factors.end());
  Size size = size_of(t), sum = 0;
  for (const Size n : factors) {
    size *= n;
    sum += n > 1 ? size : 0;
  }
  return sum;
}
inline bool divides(const Sizes& a, const Sizes& b) {
  for (Index i = 0; i < a.size(); ++i) {
    if (b[i] % a[i] != 0) return false;
  }
  return true;
}

/// For each pair (u, v) of a tile of c_1 and a tile of c_2, by number.
using Contingency = std::map<std::pair<Index, Index>, Size>;

inline Contingency devices_by_pair(const TileMap& f_1, const TileMap& f_2) {
  Contingency out;
  for (Index d = 0; d < f_1.t.size(); ++d) {
    ++out[{tile_number(f_1.g, f_1.c, f_1.t[d]), tile_number(f_2.g, f_2.c, f_2.t[d])}];
  }
  return out;
}
/// S4: the same for the holders of bottom tiles, `each` of every tile.
inline Contingency holders_by_pair(const Sizes& g, const Sizes& b, const Sizes& c_1,
                                   const Tail& tail, Size each) {
  const TileMap bottom = every_tile(g, b), up = gathered(bottom, c_1);
  Contingency out;
  for (Index o = 0; o < bottom.t.size(); ++o) {
    out[{tile_number(g, c_1, up.t[o]), tail.to[o]}] += each;
  }
  return out;
}

/// S4, the other way round: what normal forms cost, by weak types and contingency counts alone,
/// with no search over tile maps. Of the alltoalls between a bottom b and a top t only the fewest
/// are listed, since one more is no cheaper than an allpermute.
class ByCounting {
 public:
  ByCounting(Size delta, Sizes g) : delta_(delta), g_(std::move(g)) {
    for (const Sizes& b : all_localtypes(delta_, g_)) {
      std::map<Sizes, std::set<std::vector<Sizes>>> seen = {{b, {every_tile(g_, b).t}}};
      for (Index k = 0; !seen.empty(); ++k) {
        std::map<Sizes, std::set<std::vector<Sizes>>> next;
        for (const auto& [t, maps] : seen) {
          auto& of_ends = tails_[{b, t}];
          for (const auto& map : maps) {
            of_ends.push_back({static_cast<Size>(k) * size_of(b), k, {}});
            for (const Sizes& u : map) of_ends.back().to.push_back(tile_number(g_, t, u));
          }
        }
        for (const auto& [t, maps] : seen) {
          for (const WeakCollective& p : weak_steps(delta_, g_, t)) {
            const Sizes to = *weak_step(delta_, g_, p, t);
            if (p.p != Op::alltoall || tails_.count({b, to}) != 0) continue;
            for (const auto& map : maps) {
              next[to].insert(alltoall(TileMap{g_, t, map}, p.i, p.j, p.n)->t);
            }
          }
        }
        seen = std::move(next);
      }
    }
  }

  /// What is known of normal forms from localtype c_1 to c_2.
  struct Costs {
    Size weak = std::numeric_limits<Size>::max();          // W
    Size with_permute = std::numeric_limits<Size>::max();  // least cost + valley
    std::map<Contingency, Size> no_permute;  // what realises these counts, below with_permute
  };
  const Costs& costs(const Sizes& c_1, const Sizes& c_2) {
    const auto [at, is_new] = kept_.try_emplace({c_1, c_2});
    Costs& out = at->second;
    if (!is_new) return out;
    const auto each_tail = [&](const auto& visit) {
      for (const auto& [ends, of_ends] : tails_) {
        if (!divides(ends.first, c_1) || !divides(ends.second, c_2)) continue;
        const Size cost = of_ends.front().cost + gather_cost(ends.second, c_2);
        visit(ends.first, ends.second, of_ends, cost);
      }
    };
    each_tail([&](const Sizes& b, const Sizes&, const std::vector<Tail>&, Size cost) {
      out.weak = std::min(out.weak, cost);
      out.with_permute = std::min(out.with_permute, cost + size_of(b));
    });
    each_tail([&](const Sizes& b, const Sizes& t, const std::vector<Tail>& of_ends, Size cost) {
      if (cost >= out.with_permute) return;
      const TileMap up = gathered(every_tile(g_, t), c_2);
      for (Tail tail : of_ends) {
        for (Index& o : tail.to) o = tile_number(g_, c_2, up.t[o]);
        const Size each = delta_ / static_cast<Size>(tail.to.size());
        const auto counts = holders_by_pair(g_, b, c_1, tail, each);
        const auto known = out.no_permute.emplace(counts, cost).first;
        known->second = std::min(known->second, cost);
      }
    });
    return out;
  }

  /// The least cost of a normal form without an allpermute, if it is below that of all with one.
  std::optional<Size> no_permute(const TileMap& f_1, const TileMap& f_2) {
    const auto& known = costs(f_1.c, f_2.c).no_permute;
    const auto at = known.find(devices_by_pair(f_1, f_2));
    return at != known.end() ? std::optional(at->second) : std::nullopt;
  }

 private:
  Size delta_;
  Sizes g_;
  std::map<std::pair<Sizes, Sizes>, std::vector<Tail>> tails_;  // by bottom and top
  std::map<std::pair<Sizes, Sizes>, Costs> kept_;
};

}  // namespace spec
