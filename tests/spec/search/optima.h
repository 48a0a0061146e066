/// All pairs of types of a mesh and a globaltype, with what they cost.
#pragma once

#include <map>

#include "spec/paper/sec3_factor.h"
#include "spec/search/path.h"
#include "tests/spec/values.h"

namespace spec {

/// All global shapes of rank 1 to `most_rank` with these sizes.
inline std::vector<Sizes> shapes(const Sizes& sizes, Index most_rank) {
  std::vector<Sizes> out, last = {Sizes()};
  for (Index r = 1; r <= most_rank; ++r) {
    std::vector<Sizes> longer;
    for (const Sizes& g : last) {
      for (const Size s : sizes) {
        longer.push_back(g);
        longer.back().push_back(s);
      }
    }
    last = longer;
    out.insert(out.end(), last.begin(), last.end());
  }
  return out;
}

constexpr Size unreachable = Size{1} << 60;

/// W between all localtypes, in the order of `all_localtypes`: the Floyd-Warshall algorithm. As a
/// control, without dynslice.
inline std::vector<std::vector<Size>> weak_costs(Size delta, const Sizes& g,
                                                 const std::vector<Sizes>& c, bool slices = true) {
  std::map<Sizes, Index> number;
  for (Index a = 0; a < c.size(); ++a) number[c[a]] = a;
  std::vector<std::vector<Size>> W(c.size(), std::vector<Size>(c.size(), unreachable));
  for (Index a = 0; a < c.size(); ++a) {
    W[a][a] = 0;
    for (const WeakCollective& p : weak_steps(delta, g, c[a])) {
      if (p.p == Op::dynslice && !slices) continue;
      const Sizes next = *weak_step(delta, g, p, c[a]);
      Size& known = W[a][number.at(next)];
      known = std::min(known, cost(p.p, size_of(c[a]), size_of(next)));
    }
  }
  for (Index m = 0; m < c.size(); ++m) {
    for (Index a = 0; a < c.size(); ++a) {
      for (Index b = 0; b < c.size(); ++b) W[a][b] = std::min(W[a][b], W[a][m] + W[m][b]);
    }
  }
  return W;
}

/// The optima of one kind of search between tile maps of one globaltype: searches are kept.
class Optima {
 public:
  Optima(Size delta, Sizes g, TileSearch search)
      : delta_(delta), g_(std::move(g)), search_(search) {}

  std::optional<Size> operator()(const TileMap& f_1, const TileMap& f_2) {
    const Size L_1 = size_of(f_1.c), L_2 = size_of(f_2.c);
    const Size most = search_.bounded ? std::max(L_1, L_2) : 0;
    const Size least = search_.over_partition ? 0 : std::min(L_1, L_2);
    auto at = kept_.find({f_2.c, least, most});
    if (at == kept_.end()) {
      at = kept_.try_emplace({f_2.c, least, most}, delta_, g_, f_2.c, L_1, search_).first;
    }
    return at->second.cost(f_1, f_2);
  }

 private:
  Size delta_;
  Sizes g_;
  TileSearch search_;
  std::map<std::tuple<Sizes, Size, Size>, TileDistances> kept_;
};

}  // namespace spec
