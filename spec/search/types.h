/// Brute force: the cheapest sequence of strong collectives from one type to another.
///
/// Paper: Sec. 4 with the costs of Fig. 11, rules of Fig. 8 over one axis or, as Sec. 7.1 has it,
/// over several. The states are the types of one mesh and one globaltype, so T is injective on them
/// (E6). What tile maps can do beyond this tiles.h shows (S10).
#pragma once

#include "../paper/sec7_multi_axis.h"
#include "search.h"

namespace spec {

/// τ_1 -p_0-> ... -> τ_2
struct StrongSequence {
  std::vector<Type> sigma;
  std::vector<MultiCollective> p;
  Size cost = 0;
};

/// Which steps and which states a search over types may use.
struct StrongSearch {
  bool one_axis = false;  // rules of Fig. 8 only
  bool bounded = true;    // localsize ≤ max(localsize(τ_1), localsize(τ_2))  (4)
  bool permute = true;    // allpermute is allowed
};

/// Every list of axes of H, pairwise distinct and not in `used`, that is not empty.
inline std::vector<Names> lists_of_axes(const Mesh& H, const Names& used, bool one_axis) {
  std::vector<Names> out;
  const auto visit = [&](const auto& self, const Names& xs) -> void {
    if (!xs.empty()) out.push_back(xs);
    if (one_axis && !xs.empty()) return;
    for (const Axis& alpha : H) {
      const Names longer = append(xs, {alpha.x});
      if (pairwise_distinct(append(longer, used))) self(self, longer);
    }
  };
  visit(visit, {});
  return out;
}

/// Every collective that applies to τ, with the type to which it leads; `types` are all the types.
inline std::vector<std::pair<MultiCollective, Type>> strong_steps(const Mesh& H, const Type& tau,
                                                                  const std::vector<Type>& types,
                                                                  const StrongSearch& search) {
  std::vector<MultiCollective> all;
  const Names used = axes(tau);
  for (Index i = 0; i < rank(tau); ++i) {
    for (const Names& x : lists_of_axes(H, used, search.one_axis)) {
      all.push_back({Op::dynslice, i, 0, x, {}});
    }
    const Index most = search.one_axis ? std::min<Index>(tau[i].xs.size(), 1) : tau[i].xs.size();
    for (Index m = 1; m <= most; ++m) {
      const Names x(tau[i].xs.begin(), tau[i].xs.begin() + static_cast<std::ptrdiff_t>(m));
      all.push_back({Op::allgather, i, 0, x, {}});
      for (Index j = 0; j < rank(tau); ++j) all.push_back({Op::alltoall, i, j, x, {}});
    }
  }
  for (const Type& to : types) {
    if (search.permute && to != tau) all.push_back({Op::allpermute, 0, 0, {}, to});
  }
  std::vector<std::pair<MultiCollective, Type>> out;
  for (const MultiCollective& p : all) {
    if (const auto next = apply(H, p, tau)) out.emplace_back(p, *next);
  }
  return out;
}

/// The types of a mesh and a globaltype, and the steps between them.
class StrongTypes {
 public:
  StrongTypes(Mesh H, const Sizes& g, StrongSearch search)
      : H_(std::move(H)), search_(search), types_(all_types(H_, g)), steps_(types_.size()) {
    for (Index a = 0; a < types_.size(); ++a) number_[lists(types_[a])] = a;
  }

  const std::vector<Type>& types() const { return types_; }

  /// A cheapest sequence from τ_1 to each type, by its number; nullopt when there is none or the
  /// type's localsize is not L_2.
  std::vector<std::optional<StrongSequence>> cheapest(const Type& tau_1, Size L_2) {
    const Size bound = std::max(localsize(tau_1), L_2);
    std::vector<std::optional<Arrival>> best(types_.size());
    std::set<std::pair<Size, Index>> open = {{0, number(tau_1)}};
    best[number(tau_1)] = Arrival();
    while (!open.empty()) {
      const auto [cost_a, a] = *open.begin();
      open.erase(open.begin());
      for (const auto& [p, b] : steps(a)) {
        if (search_.bounded && localsize(types_[b]) > bound) continue;  // (4)
        Size total = cost(p.p, localsize(types_[a]), localsize(types_[b]));
        if (__builtin_add_overflow(total, cost_a, &total)) continue;
        if (best[b] && best[b]->cost <= total) continue;
        if (best[b]) open.erase({best[b]->cost, b});
        best[b] = Arrival{total, a, p};
        open.insert({total, b});
      }
    }
    std::vector<std::optional<StrongSequence>> out(types_.size());
    for (Index b = 0; b < types_.size(); ++b) {
      if (!best[b] || localsize(types_[b]) != L_2) continue;
      out[b] = StrongSequence{{types_[b]}, {}, best[b]->cost};
      for (Index at = b; at != number(tau_1); at = best[at]->before) {
        out[b]->sigma.insert(out[b]->sigma.begin(), types_[best[at]->before]);
        out[b]->p.insert(out[b]->p.begin(), best[at]->p);
      }
    }
    return out;
  }

  Index number(const Type& tau) const { return number_.at(lists(tau)); }

 private:
  struct Arrival {
    Size cost = 0;
    Index before = 0;
    MultiCollective p;
  };
  static std::vector<Names> lists(const Type& tau) {
    std::vector<Names> out;
    for (const Dim& d : tau) out.push_back(d.xs);
    return out;
  }
  const std::vector<std::pair<MultiCollective, Index>>& steps(Index a) {
    if (!steps_[a]) {
      steps_[a].emplace();
      for (auto& [p, tau] : strong_steps(H_, types_[a], types_, search_)) {
        steps_[a]->emplace_back(std::move(p), number(tau));
      }
    }
    return *steps_[a];
  }

  Mesh H_;
  StrongSearch search_;
  std::vector<Type> types_;
  std::map<std::vector<Names>, Index> number_;
  std::vector<std::optional<std::vector<std::pair<MultiCollective, Index>>>> steps_;
};

/// A cheapest sequence of strong collectives from τ_1 to τ_2. nullopt: one of them is not
/// well-formed, or no sequence leads there.
inline std::optional<StrongSequence> cheapest_strong(const Mesh& H, const Type& tau_1,
                                                     const Type& tau_2, StrongSearch search = {}) {
  if (!wf_mesh(H) || !wf_type(H, tau_1) || !wf_type(H, tau_2)) return std::nullopt;  // H ⊢ τ
  if (globaltype(tau_1) != globaltype(tau_2)) return std::nullopt;
  StrongTypes all(H, globaltype(tau_1), search);
  return all.cheapest(tau_1, localsize(tau_2))[all.number(tau_2)];
}

}  // namespace spec
