/// A cheapest sequence of low-level collectives from one type to another, step by step.
///
/// Paper: Sec. 6.2. The sequence is found by walking along the distances of tiles.h: from a
/// tile map at distance l, a step of cost k leads to a tile map at distance l - k.
#pragma once

#include <numeric>

#include "tiles.h"

namespace spec {

/// f_k =p=> f, where p is allgather(i,n), dynslice(i,n), alltoall(i,j,n) or allpermute.
struct TileStep {
  Op p = Op::allgather;
  Index i = 0, j = 0;
  Size n = 1;
  TileMap f;
};

/// f_0 =p_0=> f_1 ... => f_n
struct TilePath {
  TileMap from;
  std::vector<TileStep> steps;
  Size cost = 0;
};

/// T⟦τ⟧ as a tile map: device d sits at point d of |H|.
inline std::optional<TileMap> tiles(const Mesh& H, const Type& tau) {
  if (!wf_mesh(H) || !wf_type(H, tau)) return std::nullopt;  // H ⊢ τ
  DeviceMap phi(static_cast<Index>(*device_count(H)));
  std::iota(phi.begin(), phi.end(), Size{0});
  return physical(H, {phi, tau});
}

/// The devices, ordered by what they hold in f_2 and then in f: the order of `pairs`.
inline std::vector<Index> by_pairs(const TileMap& f_2, const TileMap& f) {
  std::vector<Index> devices(f.t.size());
  std::iota(devices.begin(), devices.end(), Index{0});
  std::stable_sort(devices.begin(), devices.end(), [&](Index d, Index e) {
    return std::tie(f_2.t[d], f.t[d]) < std::tie(f_2.t[e], f.t[e]);
  });
  return devices;
}

class TileWalk {
 public:
  TileWalk(const TileDistances& distances, const TileMap& f_2) : near_(distances), f_2_(f_2) {}

  TilePath walk(const TileMap& f_1, Size cost) const {
    TilePath out = {f_1, {}, cost};
    for (Size left = cost; out.steps.empty() ? f_1 != f_2_ : out.steps.back().f != f_2_;) {
      const auto [step, price] = next(out.steps.empty() ? f_1 : out.steps.back().f, left);
      out.steps.push_back(step);
      left -= price;
    }
    return out;
  }

 private:
  using Priced = std::pair<TileStep, Size>;

  Priced next(const TileMap& f, Size left) const {
    const Index a = near_.number(f.c);
    const Pairs f_pairs = pairs(f_2_, f);
    const auto known = near_.near(a).find(f_pairs);
    if (known != near_.near(a).end() && known->second == left) return next_near(f, f_pairs, left);
    const auto& nearest = near_.nearest(a);  // left is the distance of "any f"
    if (nearest && near_.near(a).at(*nearest) + size_of(f.c) == left) {
      return {{Op::allpermute, 0, 0, 1, arranged(f.c, *nearest, by_pairs(f_2_, f_2_))},
              size_of(f.c)};
    }
    for (Index b = 0; b < near_.into().size(); ++b) {
      for (const TileStepRule& rule : near_.into()[b]) {
        if (rule.from != a || near_.any(b) != left - rule.cost) continue;
        return {{rule.p.p, rule.p.i, rule.p.j, rule.p.n, *apply(rule.p, f)}, rule.cost};
      }
    }
    throw std::logic_error("a distance without a step");
  }

  /// The step from f to a tile map that is nearer by the cost of the step.
  Priced next_near(const TileMap& f, const Pairs& f_pairs, Size left) const {
    for (Index b = 0; b < near_.into().size(); ++b) {
      for (const TileStepRule& rule : near_.into()[b]) {
        if (rule.from != near_.number(f.c)) continue;
        TileStep step = {rule.p.p, rule.p.i, rule.p.j, rule.p.n, f};
        if (rule.p.p == Op::dynslice) {
          const auto g = refinement(f_pairs, rule, left);
          if (!g) continue;
          step.f = refined(f, *g, rule);
        } else {
          step.f = *apply(rule.p, f);
          const auto at = near_.near(b).find(pairs(f_2_, step.f));
          if (at == near_.near(b).end() || at->second != left - rule.cost) continue;
        }
        return {step, rule.cost};
      }
    }
    throw std::logic_error("a distance without a step");
  }

  /// The first g at distance `left` that a dynslice makes of f.
  std::optional<Pairs> refinement(const Pairs& f, const TileStepRule& rule, Size left) const {
    std::optional<Pairs> out;
    for (const auto& [g, distance] : near_.near(rule.to)) {
      Pairs coarse = g;
      for (char& t : coarse) t = rule.tile[static_cast<Index>(t)];
      if (distance != left || sorted(coarse, near_.holders()) != f) continue;
      if (!out || g < *out) out = g;
    }
    return out;
  }

  /// The tile map g for devices in the order given, from the pairs of g.
  TileMap arranged(const Sizes& c, const Pairs& g, const std::vector<Index>& devices) const {
    const TileMap tile = every_tile(f_2_.g, c);
    TileMap out = {f_2_.g, c, std::vector<Sizes>(devices.size())};
    for (Index k = 0; k < g.size(); ++k) out.t[devices[k]] = tile.t[static_cast<Index>(g[k])];
    return out;
  }

  /// g on f's devices: among those of one tile of f_2, a finer tile goes to a holder of its coarser
  /// one in f.
  TileMap refined(const TileMap& f, Pairs g, const TileStepRule& rule) const {
    const auto holders = static_cast<std::ptrdiff_t>(near_.holders());
    for (auto u = g.begin(); u != g.end(); u += holders) {
      std::stable_sort(u, u + holders, [&](char s, char t) {
        return rule.tile[static_cast<Index>(s)] < rule.tile[static_cast<Index>(t)];
      });
    }
    return arranged(near_.localtypes()[rule.to], g, by_pairs(f_2_, f));
  }

  /// The step on f; a dynslice takes any digits: the holders of a tile are cut into n runs.
  static std::optional<TileMap> apply(const WeakCollective& p, const TileMap& f) {
    if (p.p == Op::allgather) return allgather(f, p.i, p.n);
    if (p.p == Op::alltoall) return alltoall(f, p.i, p.j, p.n);
    std::map<Sizes, Size> holders, seen;
    for (const Sizes& t : f.t) ++holders[t];
    Sizes e;
    for (const Sizes& t : f.t) e.push_back(seen[t]++ * p.n / holders[t]);
    return dynslice(f, p.i, p.n, e);
  }

  const TileDistances& near_;
  TileMap f_2_;
};

/// A cheapest sequence from f_1 to f_2. nullopt: they are not of one globaltype and one number of
/// devices, or not balanced, or no sequence of the kind asked for leads there. Throws SearchLimit,
/// or std::invalid_argument if normal forms are asked for: of those only the cost is to be had.
inline std::optional<TilePath> optimum(const TileMap& f_1, const TileMap& f_2,
                                       const TileSearch& search = {}) {
  if (search.normal_form) throw std::invalid_argument("a path is not searched as a normal form");
  if (f_1.g != f_2.g || f_1.t.size() != f_2.t.size()) return std::nullopt;
  if (!is_balanced(f_1) || !is_balanced(f_2)) return std::nullopt;
  TileDistances distances(static_cast<Size>(f_1.t.size()), f_1.g, f_2.c, size_of(f_1.c), search);
  const auto cost = distances.cost(f_1, f_2);
  return cost ? std::optional(TileWalk(distances, f_2).walk(f_1, *cost)) : std::nullopt;
}

/// A cheapest sequence between two types. nullopt: they are not well-formed, or not of one
/// globaltype, or no sequence of the kind asked for leads there. Throws as above.
inline std::optional<TilePath> optimum(const Mesh& H, const Type& tau_1, const Type& tau_2,
                                       const TileSearch& search = {}) {
  if (search.normal_form) throw std::invalid_argument("a path is not searched as a normal form");
  if (!wf_mesh(H) || !wf_type(H, tau_1) || !wf_type(H, tau_2)) return std::nullopt;  // H ⊢ τ
  if (globaltype(tau_1) != globaltype(tau_2)) return std::nullopt;
  if (*device_count(H) > most_searched_devices) throw SearchLimit();
  return optimum(*tiles(H, tau_1), *tiles(H, tau_2), search);
}

}  // namespace spec
