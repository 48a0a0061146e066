/// From weak sequences to low-level ones and back, with one permutation at most.
///
/// Paper: Lemma 6.3, Theorem 6.4, eqs. (7), (8), Lemma 6.6, Theorem 6.7. Errata: Lemma 6.3 is false
/// as printed, because Fig. 10 speaks of semantic types only and names the axis of a dynslice. Here
/// it is stated for tile maps (Def. 6.2): for every f of class ℰ⟦τ_1⟧ and every weak step p there
/// is f =p=> f' with f' of class ℰ⟦τ_2⟧. Ours (S2): the permutation may stand anywhere.
#pragma once

#include "fig10_low_level.h"
#include "sec4_weak_normal_form.h"

namespace spec {

/// p with its parameters: factor n, for dynslice the digit e(d) of each device, for allpermute π.
struct PhysicalStep {
  Op p = Op::allgather;
  Index i = 0, j = 0;
  Size n = 1;
  Sizes e, pi;
};

/// The tile map to which p leads from f, or nullopt when a premise of Fig. 10 fails.
inline std::optional<TileMap> apply(const PhysicalStep& p, const TileMap& f) {
  if (p.p == Op::allgather) return allgather(f, p.i, p.n);
  if (p.p == Op::dynslice) return dynslice(f, p.i, p.n, p.e);
  if (p.p == Op::alltoall) return alltoall(f, p.i, p.j, p.n);
  return allpermute(f, p.pi);
}

/// f_0 = f, f_1, ..., f_n; nullopt when a step does not apply.
inline std::optional<std::vector<TileMap>> physical_sequence(const TileMap& f,
                                                             const std::vector<PhysicalStep>& p) {
  std::vector<TileMap> out = {f};
  for (const PhysicalStep& q : p) {
    const auto next = apply(q, out.back());
    if (!next) return std::nullopt;
    out.push_back(*next);
  }
  return out;
}

inline Sizes localsizes(const std::vector<TileMap>& f) {
  Sizes out;
  for (const TileMap& f_k : f) out.push_back(size_of(f_k.c));
  return out;
}
inline std::vector<Op> ops(const std::vector<PhysicalStep>& p) {
  std::vector<Op> out;
  for (const PhysicalStep& q : p) out.push_back(q.p);
  return out;
}

/// Lemma 6.3, repaired: the step that realises p on f. The digits of a dynslice number the holders
/// of each tile; there are δ / ∏ N_i of them, a multiple of n.
inline PhysicalStep lowered(const TileMap& f, const WeakCollective& p) {
  PhysicalStep out = {p.p, p.i, p.j, p.n, {}, {}};
  if (p.p != Op::dynslice) return out;
  std::map<Sizes, Size> holders;
  for (const Sizes& t : f.t) out.e.push_back(holders[t]++ % p.n);
  return out;
}

/// Theorem 6.4: f =p_0=> ... for a weak sequence p that starts at the class of f; same cost.
/// nullopt: it does not.
inline std::optional<std::vector<PhysicalStep>> lowered(TileMap f,
                                                        const std::vector<WeakCollective>& p) {
  std::vector<PhysicalStep> out;
  for (const WeakCollective& q : p) {
    out.push_back(lowered(f, q));
    const auto next = apply(out.back(), f);
    if (!next) return std::nullopt;
    f = *next;
  }
  return out;
}

/// (7): a permutation π of the devices with f_2 = f_1 ∘ π; nullopt when f_1 and f_2 are of
/// different classes. It leaves every device alone if f_1 = f_2.
inline std::optional<Sizes> permutation(const TileMap& f_1, const TileMap& f_2) {
  if (f_1.g != f_2.g || f_1.c != f_2.c || !equivalent(f_1.t, f_2.t)) return std::nullopt;
  std::map<Sizes, Sizes> holders;  // of each tile under f_1, and how many of them are used
  std::map<Sizes, Index> used;
  for (Index d = 0; d < f_1.t.size(); ++d) holders[f_1.t[d]].push_back(static_cast<Size>(d));
  Sizes pi;
  for (const Sizes& t : f_2.t) pi.push_back(holders[t][used[t]++]);
  return pi;
}

/// The allpermute from f_1 to f_2, or no step when they are equal.
inline std::optional<std::vector<PhysicalStep>> permuted(const TileMap& f_1, const TileMap& f_2) {
  const auto pi = permutation(f_1, f_2);
  if (!pi) return std::nullopt;
  if (f_1 == f_2) return std::vector<PhysicalStep>();
  return std::vector<PhysicalStep>{{Op::allpermute, 0, 0, 1, {}, *pi}};
}

/// p_0 ... p_{n-1} q_0 ... q_{m-1}
inline std::vector<PhysicalStep> joined(std::vector<PhysicalStep> p,
                                        const std::vector<PhysicalStep>& q) {
  p.insert(p.end(), q.begin(), q.end());
  return p;
}

/// f_0 <= ... <= f_n: the steps that lead back along p. The digits that an allgather forgets are
/// those of its tiles before.
inline std::vector<PhysicalStep> reversed(const std::vector<TileMap>& f,
                                          const std::vector<PhysicalStep>& p) {
  std::vector<PhysicalStep> out;
  for (Index k = p.size(); k-- > 0;) {
    const auto& [op, i, j, n, e, pi] = p[k];
    if (op == Op::dynslice) out.push_back({Op::allgather, i, 0, n, {}, {}});
    if (op == Op::alltoall) out.push_back({Op::alltoall, j, i, n, {}, {}});
    if (op == Op::allpermute) {
      Sizes inverse(pi.size());
      for (Index d = 0; d < pi.size(); ++d)
        inverse[static_cast<Index>(pi[d])] = static_cast<Size>(d);
      out.push_back({Op::allpermute, 0, 0, 1, {}, inverse});
    }
    if (op == Op::allgather) {
      Sizes digits;
      for (const Sizes& t : f[k].t) digits.push_back(t[i] % n);
      out.push_back({Op::dynslice, i, 0, n, digits, {}});
    }
  }
  return out;
}

/// (8), with the permutation after k steps of the weak sequence p (S2): what comes before is
/// realised forwards from f_1, what comes after backwards from f_2. The paper's (8) is k = |p|.
/// Result: f_1 => ... => f_2 of the cost of p and, unless the two halves meet, localsize at k.
/// nullopt: p does not lead from the class of f_1 to that of f_2, or k > |p|.
inline std::optional<std::vector<PhysicalStep>> realised(const TileMap& f_1, const TileMap& f_2,
                                                         const std::vector<WeakCollective>& p,
                                                         Index k) {
  if (k > p.size()) return std::nullopt;
  const auto first = lowered(f_1, part(p, 0, k));
  const auto last = lowered(f_2, reversed(part(p, k, p.size())));
  if (!first || !last) return std::nullopt;
  const auto f = *physical_sequence(f_1, *first), back = *physical_sequence(f_2, *last);
  const auto pi = permuted(f.back(), back.back());
  return pi ? std::optional(joined(joined(*first, *pi), reversed(back, *last))) : std::nullopt;
}

/// Lemma 6.6: the weak sequence below a low-level one. The allpermutes vanish.
inline std::vector<WeakCollective> lifted(const std::vector<PhysicalStep>& p) {
  std::vector<WeakCollective> out;
  for (const auto& [op, i, j, n, e, pi] : p) {
    if (op != Op::allpermute) out.push_back({op, i, j, n});
  }
  return out;
}

/// Theorem 6.7: from any f_1 => ... => f_2 one in normal form, except for at most one allpermute at
/// its end, that costs at most localsize(f_2) more. nullopt: p does not lead to f_2.
inline std::optional<std::vector<PhysicalStep>> nearly_optimal(const TileMap& f_1,
                                                               const TileMap& f_2,
                                                               const std::vector<PhysicalStep>& p) {
  const auto f = physical_sequence(f_1, p);
  if (!f || f->back() != f_2) return std::nullopt;
  const auto s_w = lifted(p);  // cost(s_w) ≤ cost(s), Lemma 6.6
  const auto r = normalize(static_cast<Size>(f_1.t.size()), f_1.g, f_1.c, s_w);
  if (!r) return std::nullopt;
  const auto s_nf = r->rewrites.empty() ? s_w : r->rewrites.back().p;  // ≤ cost(s_w), Lemma 6.5
  return realised(f_1, f_2, s_nf, s_nf.size());                        // Theorem 6.4, (8)
}

}  // namespace spec
