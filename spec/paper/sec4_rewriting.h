/// Rewriting to normal form, for any kind of collective, with the measure that makes it end.
///
/// Paper: Theorem 4.8, whose proof is "repeated application of Lemmas 4.6, 4.7" until there are no
/// more peaks or edges. The measure is ours: it shows that this ends.
///
/// Conventions: G allgather, D dynslice, F a flat step (alltoall A or allpermute P).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "notation.h"

namespace spec {

/// What falls with every rewriting: the localsizes of the interior states, the largest first, compared
/// as multisets. A lemma takes one interior state away, the top of a peak or the upper end of an edge.
/// What it puts in its place is smaller: no higher than the ends of a peak (Lemma 4.6), at the height of
/// the lower end of an edge (Lemma 4.7), or below. So the multiset falls, one axis at a time and over
/// several (Dershowitz and Manna).
using Measure = Sizes;

/// The measure of σ_0, ..., σ_n, from their localsizes.
inline Measure measure(const Sizes& localsizes) {
  Measure out =
      localsizes.size() < 3 ? Sizes() : Sizes(localsizes.begin() + 1, localsizes.end() - 1);
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

/// What the rewriting may be told to use in place of `measure`: mutants, in tests.
using MeasureOf = std::function<Measure(const Sizes&)>;

/// The k at which p_k p_{k+1} is a peak G D, a rising edge G F or a falling edge F D. A sequence
/// is in normal form iff there is none.
inline std::vector<Index> redexes(const std::vector<Op>& p) {
  std::vector<Index> out;
  for (Index k = 0; k + 1 < p.size(); ++k) {
    const bool rises = p[k] == Op::allgather && p[k + 1] != Op::allgather;  // G D, G F
    const bool falls = p[k] != Op::dynslice && p[k + 1] == Op::dynslice;    // G D, F D
    if (rises || falls) out.push_back(k);
  }
  return out;
}

/// Which of the redexes is rewritten.
using Choose = std::function<Index(const std::vector<Index>&)>;
inline Index first(const std::vector<Index>& redexes) { return redexes.front(); }

/// What a lemma puts in the place of two steps, and which case of which lemma it was.
template <class P>
struct Replacement {
  std::string lemma;
  std::vector<P> p;
};

/// One rewriting: the two steps at `at` were replaced; p and measure are those afterwards.
template <class P>
struct Rewrite {
  std::string lemma;
  Index at = 0;
  std::vector<P> p;
  Measure measure;
};

/// All rewritings, and the measure before them.
template <class P>
struct Rewriting {
  Measure measure;
  std::vector<Rewrite<P>> rewrites;
};

template <class P>
std::vector<Op> labels(const std::vector<P>& p) {
  std::vector<Op> out;
  for (const P& q : p) out.push_back(q.p);
  return out;
}

/// p_from ... p_{to-1}
template <class P>
std::vector<P> part(const std::vector<P>& p, Index from, Index to) {
  const auto at = [&](Index k) { return p.begin() + static_cast<std::ptrdiff_t>(k); };
  return std::vector<P>(at(from), at(to));
}

/// p_0 ... p_{k-1} r p_{k+2} ...: the two steps at k replaced by r.
template <class P>
std::vector<P> replaced(const std::vector<P>& p, Index k, const std::vector<P>& r) {
  std::vector<P> out = part(p, 0, k);
  out.insert(out.end(), r.begin(), r.end());
  const std::vector<P> rest = part(p, k + 2, p.size());
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

/// Rewrites the sequence p from τ until nothing is left to rewrite, keeping both ends. states(τ, p)
/// are σ_0 = τ, ..., σ_n, localsize_of(σ) is the size of a tile, and lemma(σ_k, p_k, p_{k+1}) is
/// what replaces two steps. nullopt: p does not apply to τ. Throws std::logic_error when no lemma
/// applies, a replacement leads elsewhere, or the measure does not fall. Paper: Theorem 4.8.
template <class State, class P, class States, class LocalsizeOf, class Lemma>
std::optional<Rewriting<P>> rewrite(const State& tau, std::vector<P> p, const Choose& choose,
                                    const States& states, const LocalsizeOf& localsize_of,
                                    const Lemma& lemma, const MeasureOf& measure_of) {
  auto sigma = states(tau, p);
  if (!sigma) return std::nullopt;
  const auto measure_now = [&] {
    Sizes localsizes;
    for (const State& sigma_k : *sigma) localsizes.push_back(localsize_of(sigma_k));
    return measure_of(localsizes);
  };
  Rewriting<P> out = {measure_now(), {}};
  Measure before = out.measure;
  for (auto ks = redexes(labels(p)); !ks.empty(); ks = redexes(labels(p))) {
    const Index k = choose(ks);
    const State sigma_k = (*sigma)[k], sigma_k_2 = (*sigma)[k + 2];
    const auto r = lemma(sigma_k, p[k], p[k + 1]);
    const auto s_r = r ? states(sigma_k, r->p) : std::nullopt;
    if (!s_r) throw std::logic_error("no lemma applies");
    if (s_r->back() != sigma_k_2) throw std::logic_error("another end");
    p = replaced(p, k, r->p);
    sigma = states(tau, p);
    const Measure after = measure_now();
    if (!(after < before)) throw std::logic_error(r->lemma + ": the measure does not fall");
    out.rewrites.push_back({r->lemma, k, p, after});
    before = after;
  }
  return out;
}

}  // namespace spec
