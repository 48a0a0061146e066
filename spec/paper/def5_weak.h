/// The weak interpretation: base offset maps up to permutation.
///
/// Paper: Defs. 5.2, 5.3, Lemma 5.1, Sec. 7.1. Errata: E11 (Def. 5.3 is meant existentially: some
/// representatives are related by →).
///
/// For one mesh with δ devices and one globaltype g, a weak type is its localtype c (Lemma 5.1),
/// and N_i = g_i / c_i is the number of tiles along dimension i. A weak step moves a factor n: a
/// prime for the rules with one axis, any n ≥ 2 for those with several. Axis sizes must be prime
/// (Principle 1).
#pragma once

#include "fig07_base_offsets.h"

namespace spec {

/// β_1 ~ β_2 iff β_2 = β_1 ∘ π for a permutation π of |H|: each offset has as many points in both.
/// Paper: Def. 5.2.
inline bool equivalent(BaseOffsetMap beta_1, BaseOffsetMap beta_2) {
  std::sort(beta_1.begin(), beta_1.end());
  std::sort(beta_2.begin(), beta_2.end());
  return beta_1 == beta_2;
}

/// allgather(i), dynslice(i) or alltoall(i, j) of a factor n.
struct WeakCollective {
  Op p = Op::allgather;
  Index i = 0, j = 0;
  Size n = 1;
};

/// Whether c is the localtype of some type: c_i | g_i, ∏ N_i | δ.
inline bool is_localtype(Size delta, const Sizes& g, const Sizes& c) {
  if (c.size() != g.size()) return false;
  Sizes N;
  for (Index i = 0; i < g.size(); ++i) {
    if (c[i] < 1 || g[i] < 1 || g[i] % c[i] != 0) return false;  // c_i | g_i
    N.push_back(g[i] / c[i]);
  }
  const auto tiles = product(N);
  return tiles && delta % *tiles == 0;  // ∏ N_i | δ
}

/// ▶: the localtype to which p leads from c, or nullopt when a premise fails.
/// Paper: Def. 5.3, Sec. 7.1.
inline std::optional<Sizes> weak_step(Size delta, const Sizes& g, const WeakCollective& p,
                                      const Sizes& c) {
  const auto& [op, i, j, n] = p;
  if (!is_localtype(delta, g, c) || i >= c.size() || n < 2) return std::nullopt;
  Sizes out = c;
  if (op == Op::allgather) {
    if (g[i] / c[i] % n != 0) return std::nullopt;  // n | N_i
    out[i] = c[i] * n;                              // c_i := c_i · n
    return out;
  }
  if (op == Op::dynslice) {
    if (c[i] % n != 0) return std::nullopt;                 // n | c_i
    out[i] = c[i] / n;                                      // c_i := c_i / n
    if (!is_localtype(delta, g, out)) return std::nullopt;  // n · ∏ N | δ
    return out;
  }
  if (op == Op::alltoall) {
    if (j >= c.size() || i == j) return std::nullopt;  // i ≠ j
    if (g[i] / c[i] % n != 0) return std::nullopt;     // n | N_i
    if (c[j] % n != 0) return std::nullopt;            // n | c_j
    out[i] = c[i] * n;                                 // c_i := c_i · n
    out[j] = c[j] / n;                                 // c_j := c_j / n
    return out;
  }
  return std::nullopt;  // there is no weak allpermute
}

/// Every step that ▶ allows from c, with any factor n or, if asked, prime n only.
inline std::vector<WeakCollective> weak_steps(Size delta, const Sizes& g, const Sizes& c,
                                              bool one_axis = false) {
  const auto is_prime = [](Size n) {
    for (Size d = 2; d <= n / d; ++d) {
      if (n % d == 0) return false;
    }
    return n >= 2;
  };
  std::vector<WeakCollective> out;
  for (Size n = 2; n <= delta; ++n) {
    if (delta % n != 0 || (one_axis && !is_prime(n))) continue;  // a factor of δ
    for (Index i = 0; i < c.size(); ++i) {
      for (const Op op : {Op::allgather, Op::dynslice}) {
        if (weak_step(delta, g, {op, i, 0, n}, c)) out.push_back({op, i, 0, n});
      }
      for (Index j = 0; j < c.size(); ++j) {
        if (weak_step(delta, g, {Op::alltoall, i, j, n}, c)) out.push_back({Op::alltoall, i, j, n});
      }
    }
  }
  return out;
}

}  // namespace spec
