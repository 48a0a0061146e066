/// Every sequence of collectives has a normal form: the paper's proof as a program.
///
/// Paper: Lemmas 4.6, 4.7, Theorem 4.8, Appendix A. One axis at a time, on meshes of prime axes.
///
/// Theorem 4.8 follows from Lemmas 4.6 and 4.7 as printed, by the multiset of the interior localsizes
/// (sec4_rewriting.h). The replacements here are sharper: they are normal forms themselves. A peak
/// becomes one of  nothing, P, A, D G, D P G;  a rising edge one of  G, P G, A G, A P G, P A G;  a
/// falling edge the mirror image of these.
#pragma once

#include "def4_sequences.h"
#include "sec3_factor.h"
#include "sec4_rewriting.h"

namespace spec {

using StrongReplacement = Replacement<Collective>;

/// The premise of Sec. 4: every axis is prime (Principle 1).
inline bool is_prime(const Mesh& H) {
  return std::all_of(H.begin(), H.end(),
                     [](const Axis& alpha) { return prime_factors(alpha.k) == Sizes{alpha.k}; });
}

/// σ_0 <- ... <- σ_n: the steps that lead back from the end of s to its start.
inline std::vector<Collective> reversed(const Sequence& s, const std::vector<Collective>& p) {
  std::vector<Collective> out;
  for (Index k = p.size(); k-- > 0;) {
    const auto& [op, i, j, x, to] = p[k];
    const Type& sigma_k = s.sigma[k];
    if (op == Op::allgather) out.push_back({Op::dynslice, i, 0, sigma_k[i].xs.front(), {}});
    if (op == Op::dynslice) out.push_back({Op::allgather, i, 0, "", {}});
    if (op == Op::alltoall) out.push_back({Op::alltoall, j, i, "", {}});
    if (op == Op::allpermute) out.push_back({Op::allpermute, 0, 0, "", sigma_k});
  }
  return out;
}

/// allpermute to τ with the two minor-most axes of dimension i exchanged.
inline Collective permute_within(Type tau, Index i) {
  std::swap(tau[i].xs[0], tau[i].xs[1]);
  return {Op::allpermute, 0, 0, "", tau};
}

/// allpermute to τ with the minor-most axes of dimensions i and k exchanged.
inline Collective permute_across(Type tau, Index i, Index k) {
  std::swap(tau[i].xs[0], tau[k].xs[0]);
  return {Op::allpermute, 0, 0, "", tau};
}

/// The peak σ_0 -allgather(i)-> σ_1 -dynslice(j, x)-> σ_2. nullopt: there is none.
/// Paper: Lemma 4.6; the cases are those of Appendix A.
inline std::optional<StrongReplacement> lemma_4_6(const Mesh& H, const Type& sigma_0,
                                                  const Collective& p, const Collective& q) {
  if (!is_prime(H) || p.p != Op::allgather || q.p != Op::dynslice) return std::nullopt;
  const auto s = sequence(H, sigma_0, {p, q});
  if (!s) return std::nullopt;
  const Index i = p.i, j = q.i;
  const Name &y = sigma_0[i].xs.front(), &x = q.x;
  const Size m = *lookup(H, y), n = *lookup(H, x);                      // y : m ∈ H, x : n ∈ H
  if (i == j && x == y) return StrongReplacement{"Lemma 4.6 (1)", {}};  // σ_0 = σ_2
  if (i == j && m == n) {  // localtype(σ_0) = localtype(σ_2)
    return StrongReplacement{"Lemma 4.6 (2), m = n", {{Op::allpermute, 0, 0, "", s->sigma[2]}}};
  }
  if (i == j) {
    const Type sliced = *apply(H, q, sigma_0);  // c_i/n {x, y, x̄_i}: n | c_i as n ≠ m are prime
    return StrongReplacement{"Lemma 4.6 (2), m != n", {q, permute_within(sliced, i), p}};
  }
  if (x == y) return StrongReplacement{"Lemma 4.6 (3)", {{Op::alltoall, i, j, "", {}}}};
  return StrongReplacement{"Lemma 4.6 (4)", {q, p}};
}

/// An axis of size m that τ does not use, if possible x; it exists when the paper's premises hold.
inline std::optional<Name> unused(const Mesh& H, const Type& tau, const Name& x, Size m) {
  const Names used = axes(tau);
  const auto is_free = [&](const Name& z) {
    return std::find(used.begin(), used.end(), z) == used.end();
  };
  if (is_free(x)) return x;
  for (const Axis& alpha : H) {
    if (alpha.k == m && is_free(alpha.x)) return alpha.x;
  }
  return std::nullopt;
}

/// The rising edge σ_0 -allgather(i)-> σ_1 -q-> σ_2 with q an alltoall(k, l) or an allpermute.
/// nullopt: there is none. Paper: Lemma 4.7; cases (1) to (3) are those of Appendix A.
inline std::optional<StrongReplacement> lemma_4_7_rising(const Mesh& H, const Type& sigma_0,
                                                         const Collective& p, const Collective& q) {
  const bool is_edge = p.p == Op::allgather && (q.p == Op::alltoall || q.p == Op::allpermute);
  const auto s = sequence(H, sigma_0, {p, q});
  if (!is_prime(H) || !is_edge || !s) return std::nullopt;
  const Index i = p.i, k = q.i, l = q.j;
  const Name& x = sigma_0[i].xs.front();
  const Size m = *lookup(H, x);  // x : m ∈ H
  if (q.p == Op::allpermute) {
    // σ_1 and σ_2 use as many axes of size m as each other, and x is unused in σ_1. So some z is
    // unused in σ_2, and σ' = σ_2 with z prepended in dimension i has the localtype of σ_0.
    const auto z = unused(H, s->sigma[2], x, m);
    const Type sigma = *t_dynslice(H, i, z.value(), s->sigma[2]);
    if (sigma == sigma_0) return StrongReplacement{"Lemma 4.7, allpermute, identity", {p}};
    return StrongReplacement{"Lemma 4.7, allpermute", {{Op::allpermute, 0, 0, "", sigma}, p}};
  }
  if (i == k) {  // σ_0 = [.., c_i{x, y, x̄}s_i, ..]
    return StrongReplacement{"Lemma 4.7 (1)", {permute_within(sigma_0, i), q, p}};
  }
  const Size n = *lookup(H, s->sigma[1][k].xs.front());  // y : n ∈ H
  if (i == l && m == n) {  // σ_0 = [.., c_i{x, x̄_i}s_i, .., c_k{y, x̄_k}s_k, ..]
    return StrongReplacement{"Lemma 4.7 (2), m = n",
                             {permute_across(sigma_0, i, k), {Op::allgather, k, 0, "", {}}}};
  }
  if (i == l) {
    const Type moved = *apply(H, q, sigma_0);  // c_i/n {y, x, x̄_i}: n | c_i as n ≠ m are prime
    return StrongReplacement{"Lemma 4.7 (2), m != n", {q, permute_within(moved, i), p}};
  }
  return StrongReplacement{"Lemma 4.7 (3)", {q, p}};
}

/// The falling edge σ_0 -p-> σ_1 -dynslice(j, x)-> σ_2: seen from its end it is a rising edge.
/// Paper: Lemma 4.7, "in an entirely dual fashion".
inline std::optional<StrongReplacement> lemma_4_7_falling(const Mesh& H, const Type& sigma_0,
                                                          const Collective& p,
                                                          const Collective& q) {
  const auto s = sequence(H, sigma_0, {p, q});
  if (!s || q.p != Op::dynslice) return std::nullopt;
  const auto back = reversed(*s, {p, q});
  const Type& sigma_2 = s->sigma[2];
  const auto r = lemma_4_7_rising(H, sigma_2, back[0], back[1]);
  if (!r) return std::nullopt;
  return StrongReplacement{r->lemma + ", mirrored", reversed(*sequence(H, sigma_2, r->p), r->p)};
}

/// Whichever of the lemmas applies to σ_0 -p-> σ_1 -q-> σ_2.
inline std::optional<StrongReplacement> lemma_4(const Mesh& H, const Type& sigma_0,
                                                const Collective& p, const Collective& q) {
  if (p.p == Op::allgather && q.p == Op::dynslice) return lemma_4_6(H, sigma_0, p, q);
  if (p.p == Op::allgather) return lemma_4_7_rising(H, sigma_0, p, q);
  return lemma_4_7_falling(H, sigma_0, p, q);
}

/// What the rewriting may be told to use in place of `lemma_4`: mutants, in tests.
using StrongLemma = std::function<std::optional<StrongReplacement>(
    const Mesh&, const Type&, const Collective&, const Collective&)>;

inline std::optional<std::vector<Type>> types_of(const std::optional<Sequence>& s) {
  return s ? std::optional(s->sigma) : std::nullopt;
}

/// Rewrites τ -p_0-> ... to normal form, keeping both ends. The last rewriting has the result; if
/// there is none, p is in normal form already. nullopt: p does not apply to τ, or H is not prime.
/// Throws std::logic_error when a lemma is wrong or the measure does not fall.
/// Paper: Theorem 4.8.
inline std::optional<Rewriting<Collective>> normalize(const Mesh& H, const Type& tau,
                                                      const std::vector<Collective>& p,
                                                      const Choose& choose = first,
                                                      const StrongLemma& lemma = lemma_4,
                                                      const MeasureOf& measure_of = measure) {
  if (!is_prime(H)) return std::nullopt;
  return rewrite(
      tau, p, choose,
      [&](const Type& sigma, const auto& q) { return types_of(sequence(H, sigma, q)); }, localsize,
      [&](const Type& sigma, const Collective& q, const Collective& r) {
        return lemma(H, sigma, q, r);
      },
      measure_of);
}

}  // namespace spec
