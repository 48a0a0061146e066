/// Every weak sequence has a normal form that costs no more.
///
/// Paper: Lemmas 4.6, 4.7, Theorem 4.8 for ▶ (Sec. 5), Lemma 6.5, and all of them over several axes
/// (Sec. 7.1). A factor may be any number ≥ 2; when all factors are prime, so are those of the
/// result. Errata: over several axes both lemmas need longer replacements than the paper's:
///   a peak becomes a part of D A G, a rising edge a part of A G G, a falling edge of D D A.
/// With prime factors: nothing, A or D G;  G or A G;  D or D A.
#pragma once

#include <numeric>

#include "def4_sequences.h"
#include "def5_weak.h"
#include "sec3_factor.h"
#include "sec4_rewriting.h"

namespace spec {

using WeakReplacement = Replacement<WeakCollective>;

/// c_0, ..., c_n with c_0 = c; nullopt when a step does not apply.
inline std::optional<std::vector<Sizes>> weak_sequence(Size delta, const Sizes& g, const Sizes& c,
                                                       const std::vector<WeakCollective>& p) {
  std::vector<Sizes> out = {c};
  for (const WeakCollective& q : p) {
    const auto next = weak_step(delta, g, q, out.back());
    if (!next) return std::nullopt;
    out.push_back(*next);
  }
  return is_localtype(delta, g, c) ? std::optional(out) : std::nullopt;
}

/// localsizes and cost of a weak sequence. Paper: Def. 4.4, Fig. 11.
inline Sizes localsizes(const std::vector<Sizes>& c) {
  Sizes out;
  for (const Sizes& c_k : c) out.push_back(size_of(c_k));
  return out;
}
inline std::vector<Op> ops(const std::vector<WeakCollective>& p) {
  std::vector<Op> out;
  for (const WeakCollective& q : p) out.push_back(q.p);
  return out;
}

/// The steps that lead back.
inline WeakCollective reversed(const WeakCollective& p) {
  if (p.p == Op::allgather) return {Op::dynslice, p.i, 0, p.n};
  if (p.p == Op::dynslice) return {Op::allgather, p.i, 0, p.n};
  return {Op::alltoall, p.j, p.i, p.n};
}
inline std::vector<WeakCollective> reversed(const std::vector<WeakCollective>& p) {
  std::vector<WeakCollective> out;
  for (Index k = p.size(); k-- > 0;) out.push_back(reversed(p[k]));
  return out;
}

/// A step of factor 1 is none.
inline std::vector<WeakCollective> without_units(std::vector<WeakCollective> p) {
  std::erase_if(p, [](const WeakCollective& q) { return q.n == 1; });
  return p;
}

/// The peak c_0 ▶allgather(i, m) c_1 ▶dynslice(j, n) c_2. nullopt: there is none.
/// Paper: Lemma 4.6 for ▶; the cases are those of Appendix A, several axes included.
inline std::optional<WeakReplacement> weak_lemma_4_6(Size delta, const Sizes& g, const Sizes& c_0,
                                                     const WeakCollective& p,
                                                     const WeakCollective& q) {
  if (p.p != Op::allgather || q.p != Op::dynslice) return std::nullopt;
  if (!weak_sequence(delta, g, c_0, {p, q})) return std::nullopt;
  const Index i = p.i, j = q.i;
  const Size m = p.n, n = q.n;
  if (i == j) {
    const Size e = std::gcd(m, n);  // what is gathered and sliced again; n/e | c_i as n | c_i · m
    return WeakReplacement{"Lemma 4.6 (1, 2)", without_units({{Op::dynslice, i, 0, n / e},
                                                              {Op::allgather, i, 0, m / e}})};
  }
  Size unused = delta;  // δ / ∏ N_i
  for (Index k = 0; k < g.size(); ++k) unused /= g[k] / c_0[k];
  const Size a = std::gcd(n, unused);  // what devices are left for
  const Size b = n / a;                // the rest, which the allgather set free: b | m
  return WeakReplacement{"Lemma 4.6 (3, 4)", without_units({{Op::dynslice, j, 0, a},
                                                            {Op::alltoall, i, j, b},
                                                            {Op::allgather, i, 0, m / b}})};
}

/// The rising edge c_0 ▶allgather(i, m) c_1 ▶alltoall(k, l, n) c_2. nullopt: there is none.
/// Paper: Lemma 4.7 for ▶; the cases are those of Appendix A, several axes included.
inline std::optional<WeakReplacement> weak_lemma_4_7_rising(Size delta, const Sizes& g,
                                                            const Sizes& c_0,
                                                            const WeakCollective& p,
                                                            const WeakCollective& q) {
  if (p.p != Op::allgather || q.p != Op::alltoall) return std::nullopt;
  if (!weak_sequence(delta, g, c_0, {p, q})) return std::nullopt;
  const Index i = p.i, k = q.i, l = q.j;
  const Size m = p.n, n = q.n;
  if (i != l) return WeakReplacement{"Lemma 4.7 (1, 3)", {q, p}};
  const Size e = std::gcd(m, n);  // what goes from k to i for what is gathered: n/e | c_i
  WeakCollective less = {Op::allgather, i, 0, m / e}, more = {Op::allgather, k, 0, e};
  if (more.n < less.n) std::swap(less, more);  // the smaller first: it costs less
  return WeakReplacement{"Lemma 4.7 (2)", without_units({{Op::alltoall, k, i, n / e}, less, more})};
}

/// The falling edge c_0 ▶alltoall c_1 ▶dynslice c_2: seen from its end it is a rising edge.
inline std::optional<WeakReplacement> weak_lemma_4_7_falling(Size delta, const Sizes& g,
                                                             const Sizes& c_0,
                                                             const WeakCollective& p,
                                                             const WeakCollective& q) {
  const auto c = weak_sequence(delta, g, c_0, {p, q});
  if (!c || p.p != Op::alltoall || q.p != Op::dynslice) return std::nullopt;
  const auto r = weak_lemma_4_7_rising(delta, g, (*c)[2], reversed(q), reversed(p));
  if (!r) return std::nullopt;
  return WeakReplacement{r->lemma + ", mirrored", reversed(r->p)};
}

/// Whichever of the lemmas applies to c_0 ▶p c_1 ▶q c_2.
inline std::optional<WeakReplacement> weak_lemma_4(Size delta, const Sizes& g, const Sizes& c_0,
                                                   const WeakCollective& p,
                                                   const WeakCollective& q) {
  if (p.p == Op::allgather && q.p == Op::dynslice) return weak_lemma_4_6(delta, g, c_0, p, q);
  if (p.p == Op::allgather) return weak_lemma_4_7_rising(delta, g, c_0, p, q);
  return weak_lemma_4_7_falling(delta, g, c_0, p, q);
}

/// What the rewriting may be told to use in place of `weak_lemma_4`: mutants, in tests.
using WeakLemma = std::function<std::optional<WeakReplacement>(
    Size, const Sizes&, const Sizes&, const WeakCollective&, const WeakCollective&)>;

/// Rewrites c ▶p_0 ... to normal form, keeping both ends. Its cost is never larger (Lemma 6.5).
/// The last rewriting has the result; if there is none, p is in normal form already. nullopt: p
/// does not apply to c. Throws std::logic_error when a lemma is wrong or the measure does not fall.
/// Paper: Theorem 4.8 for ▶, Lemma 6.5.
inline std::optional<Rewriting<WeakCollective>> normalize(Size delta, const Sizes& g,
                                                          const Sizes& c,
                                                          const std::vector<WeakCollective>& p,
                                                          const Choose& choose = first,
                                                          const WeakLemma& lemma = weak_lemma_4,
                                                          const MeasureOf& measure_of = measure) {
  return rewrite(
      c, p, choose,
      [&](const Sizes& c_k, const auto& q) { return weak_sequence(delta, g, c_k, q); }, size_of,
      [&](const Sizes& c_k, const WeakCollective& q, const WeakCollective& r) {
        return lemma(delta, g, c_k, q, r);
      },
      measure_of);
}

}  // namespace spec
