/// Sequences of collectives: height, normal form, the memory bound.
///
/// Paper: Defs. 4.4, 4.5, eq. (4). The three speak of labels and localsizes only, so they hold
/// unchanged for →, ▶ and ⇒.
#pragma once

#include "fig08_typing.h"
#include "fig11_cost.h"

namespace spec {

/// σ_0 -p_0-> σ_1 -> ... -> σ_n
struct Sequence {
  std::vector<Type> sigma;
  std::vector<Op> p;
};

/// The sequence that applies p_0, p_1, .. to τ; nullopt when one of them does not apply.
inline std::optional<Sequence> sequence(const Mesh& H, const Type& tau,
                                        const std::vector<Collective>& collectives) {
  Sequence s = {{tau}, {}};
  for (const Collective& p : collectives) {
    const auto next = apply(H, p, s.sigma.back());
    if (!next) return std::nullopt;
    s.sigma.push_back(*next);
    s.p.push_back(p.p);
  }
  return s;
}

/// localsize(σ_0), ..., localsize(σ_n)
inline Sizes localsizes(const Sequence& s) {
  Sizes out;
  for (const Type& sigma_k : s.sigma) out.push_back(localsize(sigma_k));
  return out;
}

/// 𝔥 = max localsize(σ_k), both ends included. At least one localsize is needed. Paper: Def. 4.4.
inline Size height(const Sizes& localsizes) {
  return *std::max_element(localsizes.begin(), localsizes.end());
}
inline Size height(const Sequence& s) { return height(localsizes(s)); }

/// dynslice* (alltoall | allpermute)* allgather*. Paper: Def. 4.5.
inline bool is_normal_form(const std::vector<Op>& p) {
  Index k = 0;
  while (k < p.size() && p[k] == Op::dynslice) ++k;
  while (k < p.size() && (p[k] == Op::alltoall || p[k] == Op::allpermute)) ++k;
  while (k < p.size() && p[k] == Op::allgather) ++k;
  return k == p.size();
}

/// 𝔥 ≤ max(localsize(σ_0), localsize(σ_n)). Paper: eq. (4).
inline bool is_memory_constrained(const Sizes& localsizes) {
  return height(localsizes) <= std::max(localsizes.front(), localsizes.back());
}
inline bool is_memory_constrained(const Sequence& s) {
  return is_memory_constrained(localsizes(s));
}

/// The least localsize of a sequence (ours; where a permutation is cheapest).
inline Size valley(const Sizes& localsizes) {
  return *std::min_element(localsizes.begin(), localsizes.end());
}

/// cost(σ_0 -p_0-> ... -> σ_n) = Σ cost(σ_i -p_i-> σ_{i+1}), from n labels and n + 1 localsizes.
/// nullopt: the lengths do not fit, or the sum is not below 2^63.
inline std::optional<Size> cost(const std::vector<Op>& p, const Sizes& localsizes) {
  if (localsizes.size() != p.size() + 1) return std::nullopt;
  Size sum = 0;
  for (Index i = 0; i < p.size(); ++i) {
    const Size step = cost(p[i], localsizes[i], localsizes[i + 1]);
    if (__builtin_add_overflow(sum, step, &sum)) return std::nullopt;
  }
  return sum;
}

/// cost(σ_0 -> ... -> σ_n). Paper: Fig. 11.
inline std::optional<Size> cost(const Sequence& s) { return cost(s.p, localsizes(s)); }

}  // namespace spec
