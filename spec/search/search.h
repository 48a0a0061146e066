/// Brute force: all types of a mesh and a globaltype, and the cheapest weak sequence between two.
///
/// Paper: Secs. 6.2 (finitely many types), 7.2 (shortest path over localtypes within the bound
/// (4)). The searches over types and over tile maps are types.h and tiles.h.
#pragma once

#include <map>
#include <set>

#include "../paper/def4_sequences.h"
#include "../paper/def5_weak.h"

namespace spec {

/// Every τ with H ⊢ τ and globaltype(τ) = g, each once.
inline std::vector<Type> all_types(const Mesh& H, const Sizes& g) {
  Type unsplit;
  for (const Size s : g) unsplit.push_back({s, {}, s});
  std::vector<Type> out;
  std::set<std::vector<Names>> seen;
  const auto visit = [&](const auto& self, const Type& tau) -> void {
    std::vector<Names> lists;
    for (const Dim& d : tau) lists.push_back(d.xs);
    if (!wf_type(H, tau) || !seen.insert(lists).second) return;
    out.push_back(tau);
    for (const Axis& alpha : H) {  // every type is reached by dynslices alone
      for (Index i = 0; i < g.size(); ++i) {
        if (const auto next = t_dynslice(H, i, alpha.x, tau)) self(self, *next);
      }
    }
  };
  visit(visit, unsplit);
  return out;
}

/// Every localtype over δ devices and the globaltype g, in lexicographic order.
inline std::vector<Sizes> all_localtypes(Size delta, const Sizes& g) {
  std::vector<Sizes> out = {Sizes()};
  for (const Size g_i : g) {
    std::vector<Sizes> longer;
    for (const Sizes& c : out) {
      for (Size N_i = delta; N_i >= 1; --N_i) {
        if (delta % N_i != 0 || g_i % N_i != 0) continue;
        longer.push_back(c);
        longer.back().push_back(g_i / N_i);
      }
    }
    out = std::move(longer);
  }
  const auto is_none = [&](const Sizes& c) { return !is_localtype(delta, g, c); };
  out.erase(std::remove_if(out.begin(), out.end(), is_none), out.end());
  return out;
}

/// ξ_0 ▶p_0 ξ_1 ... ▶ ξ_n by localtypes.
struct WeakSequence {
  std::vector<Sizes> c;
  std::vector<WeakCollective> p;
  Size cost = 0;
};

/// Which steps and which states a weak search may use.
struct WeakSearch {
  bool one_axis = false;  // prime factors only
  bool bounded = true;    // localsize ≤ max(localsize(τ_1), localsize(τ_2))  (4)
};

/// A cheapest weak sequence from localtype c_1 to c_2; nullopt when there is none or an end is no
/// localtype. Its cost is W. Paper: Sec. 7.2.
inline std::optional<WeakSequence> cheapest_weak(Size delta, const Sizes& g, const Sizes& c_1,
                                                 const Sizes& c_2, WeakSearch search = {}) {
  if (!product(g) || !is_localtype(delta, g, c_1) || !is_localtype(delta, g, c_2)) {
    return std::nullopt;
  }
  struct Arrival {
    Size cost = 0;
    Sizes c;  // the localtype before
    WeakCollective p;
  };
  const Size bound = std::max(size_of(c_1), size_of(c_2));
  std::map<Sizes, Arrival> best = {{c_1, {}}};
  std::set<std::pair<Size, Sizes>> open = {{0, c_1}};
  while (!open.empty() && open.begin()->second != c_2) {
    const auto [cost_c, c] = *open.begin();
    open.erase(open.begin());
    for (const WeakCollective& p : weak_steps(delta, g, c, search.one_axis)) {
      const Sizes next = *weak_step(delta, g, p, c);
      if (search.bounded && size_of(next) > bound) continue;
      Size total = cost(p.p, size_of(c), size_of(next));
      if (__builtin_add_overflow(total, cost_c, &total)) continue;
      const auto known = best.find(next);
      if (known != best.end() && known->second.cost <= total) continue;
      if (known != best.end()) open.erase({known->second.cost, next});
      best[next] = {total, c, p};
      open.insert({total, next});
    }
  }
  const auto end = best.find(c_2);
  if (end == best.end()) return std::nullopt;
  WeakSequence out = {{c_2}, {}, end->second.cost};
  while (out.c.front() != c_1) {
    const Arrival& last = best[out.c.front()];
    out.c.insert(out.c.begin(), last.c);
    out.p.insert(out.p.begin(), last.p);
  }
  return out;
}

}  // namespace spec
