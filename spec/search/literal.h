/// Brute force: the cheapest sequence of Fig. 10 as it is printed, with one device map at both ends.
///
/// Paper: Sec. 6.2 asks for a sequence from ⟨φ, T⟦τ_1⟧⟩ to ⟨φ, T⟦τ_2⟧⟩, one φ at both ends. tiles.h
/// works modulo Def. 6.2: it asks for the tile map of the second. Here the states are the pairs
/// (φ, τ) themselves, with every bijection φ, so only a few devices can be looked at. How the two
/// optima differ is in docs/dev/errata.md (E30).
///
/// A step that changes nothing costs what Fig. 11 says; nothing is free but a dynslice.
#pragma once

#include <numeric>
#include <queue>
#include <set>

#include "../paper/fig11_cost.h"
#include "../paper/sec7_low_level.h"
#include "types.h"

namespace spec {

/// What a search over pairs (φ, τ) may use.
struct LiteralSearch {
  bool one_axis = true;  // Fig. 10 as printed; otherwise the lists of Sec. 7.1
  bool bounded = true;   // localsize ≤ max(localsize(τ_1), localsize(τ_2))  (4)
  bool modulo = false;   // equivalent pairs (Def. 6.2) may be exchanged at any time, for nothing
};

/// All pairs (φ, τ) over one mesh and one globaltype.
class LiteralPairs {
 public:
  LiteralPairs(Mesh H, const Sizes& g) : H_(std::move(H)), types_(all_types(H_, g)) {
    DeviceMap phi(static_cast<Index>(*device_count(H_)));
    std::iota(phi.begin(), phi.end(), Size{0});
    do phis_.push_back(phi);
    while (std::next_permutation(phi.begin(), phi.end()));
    for (Index a = 0; a < types_.size(); ++a) {
      for (Index k = 0; k < phis_.size(); ++k) {
        const auto f = *tile_map(H_, {phis_[k], types_[a]});
        maps_[a][f].push_back(k);
      }
    }
  }

  const std::vector<Type>& types() const { return types_; }
  const std::vector<DeviceMap>& phis() const { return phis_; }
  Size pairs() const { return static_cast<Size>(types_.size() * phis_.size()); }

  /// The least cost from ⟨φ, T⟦τ_1⟧⟩ to ⟨φ, T⟦τ_2⟧⟩ by numbers of types; nullopt: no sequence. Which
  /// φ it is does not matter: with σ ∘ φ in place of φ every rule holds as before.
  std::optional<Size> cost(Index tau_1, Index tau_2, const LiteralSearch& search) const {
    const Size bound = std::max(localsize(types_[tau_1]), localsize(types_[tau_2]));
    std::vector<std::vector<std::optional<Size>>> settled(
        types_.size(), std::vector<std::optional<Size>>(phis_.size()));
    std::set<Sizes> permuted;  // localtypes from which an allpermute has led everywhere
    using Node = std::tuple<Size, Index, Index>;  // cost, type, device map
    std::priority_queue<Node, std::vector<Node>, std::greater<>> open;
    open.emplace(0, tau_1, 0);
    while (!open.empty()) {
      const Size now = std::get<0>(open.top());
      const Index a = std::get<1>(open.top()), k = std::get<2>(open.top());
      open.pop();
      if (settled[a][k]) continue;
      if (a == tau_2 && k == 0) return now;
      settled[a][k] = now;
      const auto reach = [&](Size price, Index b, Index phi) {
        if (search.bounded && localsize(types_[b]) > bound) return;  // (4)
        if (!settled[b][phi]) open.emplace(now + price, b, phi);
      };
      visit_steps(a, k, search.one_axis, reach);
      if (search.modulo) visit_equivalent(a, k, reach);
      if (permuted.insert(localtype(types_[a])).second) visit_permutes(types_[a], reach);
    }
    return std::nullopt;
  }

  /// reach(cost, b, m) for each step from (φ_k, τ_a) to (φ_m, τ_b): ALLGATHER, ALLTOALL, DYNSLICE of
  /// Fig. 10, resp. Sec. 7.1.
  template <class Reach>
  void visit_steps(Index a, Index k, bool one_axis, const Reach& reach) const {
    const Type& e = types_[a];
    const auto f = *tile_map(H_, {phis_[k], e});
    for (Index i = 0; i < rank(e); ++i) {
      for (const Names& x : lists_of_axes(H_, axes(e), one_axis)) {  // DYNSLICE: φ stays
        if (const auto next = t_dynslice(H_, i, x, e)) reach(0, number(*next), k);
      }
      for (const Names& x : blocks(e[i].xs, one_axis)) {
        Type e_1 = e;
        e_1[i] = *to_front(x, e[i]);
        const auto at = maps_.at(number(e_1)).find(f);  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
        if (at == maps_.at(number(e_1)).end()) continue;
        if (const auto next = t_allgather(H_, i, x, e_1))
          visit(Op::allgather, a, *next, at->second, reach);
        for (Index j = 0; j < rank(e); ++j) {
          const auto next = i == j ? std::nullopt : t_alltoall(H_, i, j, x, e_1);
          if (next) visit(Op::alltoall, a, *next, at->second, reach);
        }
      }
    }
  }

 private:
  Index number(const Type& tau) const {
    return static_cast<Index>(std::find(types_.begin(), types_.end(), tau) - types_.begin());
  }

  /// PERMUTE: any φ', and any τ' of that localtype; π is then determined, or one of several.
  template <class Reach>
  void visit_permutes(const Type& tau, const Reach& reach) const {
    for (Index b = 0; b < types_.size(); ++b) {
      if (localtype(types_[b]) != localtype(tau)) continue;
      for (Index phi = 0; phi < phis_.size(); ++phi) {
        reach(spec::cost(Op::allpermute, localsize(tau), localsize(tau)), b, phi);
      }
    }
  }

  /// Equivalent pairs: β' ∘ φ'⁻¹ = β ∘ φ⁻¹. Paper: Def. 6.2.
  template <class Reach>
  void visit_equivalent(Index a, Index k, const Reach& reach) const {
    const auto f = *tile_map(H_, {phis_[k], types_[a]});
    for (Index b = 0; b < types_.size(); ++b) {
      const auto at = maps_.at(b).find(f);
      if (at == maps_.at(b).end()) continue;
      for (const Index phi : at->second) reach(0, b, phi);
    }
  }

  template <class Reach>
  void visit(Op p, Index a, const Type& to, const std::vector<Index>& phis,
             const Reach& reach) const {
    const Size price = spec::cost(p, localsize(types_[a]), localsize(to));
    for (const Index phi : phis) reach(price, number(to), phi);  // every φ' that the rule allows
  }

  /// The blocks of neighbouring axes in a list.
  static std::vector<Names> blocks(const Names& xs, bool one_axis) {
    std::vector<Names> out;
    for (Index begin = 0; begin < xs.size(); ++begin) {
      for (Index end = begin + 1; end <= (one_axis ? begin + 1 : xs.size()); ++end) {
        out.emplace_back(xs.begin() + static_cast<std::ptrdiff_t>(begin),
                         xs.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
    return out;
  }

  Mesh H_;
  std::vector<Type> types_;
  std::vector<DeviceMap> phis_;
  /// Of a type, by tile map: the φ with T⟦τ⟧ ∘ φ⁻¹ = f.
  std::map<Index, std::map<std::vector<Offset>, std::vector<Index>>> maps_;
};

}  // namespace spec
