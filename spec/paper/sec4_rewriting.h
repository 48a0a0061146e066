/// Rewriting to normal form, for any kind of collective, with the measure that makes it end.
///
/// Paper: Theorem 4.8, whose proof is "repeated application of Lemmas 4.6, 4.7" until there are no
/// more peaks or edges. That this ends the paper does not show; the measure does (ours).
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

/// A label with the number of primes, counted with repetition, in the factor that it moves.
struct Label {
  Op p = Op::allgather;
  Size primes = 1;
};

/// What falls with every rewriting, lexicographically. Every peak lemma takes pairs away. Every
/// edge lemma keeps the primes of all G and of all D, so it adds no pair, and puts in the place of
/// an F others of smaller weight. Weights are compared as multisets, largest first.
struct Measure {
  Size pairs = 0;  // Σ primes(G) · primes(D) over all G before D
  Sizes weights;  // of each F: primes of all G left of it + primes of all D right of it; descending
  bool operator==(const Measure&) const = default;
};
inline bool operator<(const Measure& a, const Measure& b) {
  return std::tie(a.pairs, a.weights) < std::tie(b.pairs, b.weights);
}

inline Measure measure(const std::vector<Label>& p) {
  Measure out;
  Size gathered = 0, sliced = 0;  // left of here, right of here
  for (const Label& q : p) sliced += q.p == Op::dynslice ? q.primes : 0;
  for (const Label& q : p) {
    if (q.p == Op::dynslice) {
      out.pairs += gathered * q.primes;
      sliced -= q.primes;
    } else if (q.p == Op::allgather) {
      gathered += q.primes;
    } else {
      out.weights.push_back(gathered + sliced);
    }
  }
  std::sort(out.weights.begin(), out.weights.end(), std::greater<>());
  return out;
}

/// What the rewriting may be told to use in place of `measure`: mutants, in tests.
using MeasureOf = std::function<Measure(const std::vector<Label>&)>;

/// The k at which p_k p_{k+1} is a peak G D, a rising edge G F or a falling edge F D. A sequence
/// is in normal form iff there is none.
inline std::vector<Index> redexes(const std::vector<Label>& p) {
  std::vector<Index> out;
  for (Index k = 0; k + 1 < p.size(); ++k) {
    const bool rises = p[k].p == Op::allgather && p[k + 1].p != Op::allgather;  // G D, G F
    const bool falls = p[k].p != Op::dynslice && p[k + 1].p == Op::dynslice;    // G D, F D
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
std::vector<Label> labels(const std::vector<P>& p) {
  std::vector<Label> out;
  for (const P& q : p) out.push_back(label(q));
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
/// are σ_0 = τ, ..., σ_n, and lemma(σ_k, p_k, p_{k+1}) is what replaces two steps. nullopt: p does
/// not apply to τ. Throws std::logic_error when no lemma applies, a replacement leads elsewhere, or
/// the measure does not fall. Paper: Theorem 4.8.
template <class State, class P, class States, class Lemma>
std::optional<Rewriting<P>> rewrite(const State& tau, std::vector<P> p, const Choose& choose,
                                    const States& states, const Lemma& lemma,
                                    const MeasureOf& measure_of) {
  auto sigma = states(tau, p);
  if (!sigma) return std::nullopt;
  Rewriting<P> out = {measure_of(labels(p)), {}};
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
    const Measure after = measure_of(labels(p));
    if (!(after < before)) throw std::logic_error(r->lemma + ": the measure does not fall");
    out.rewrites.push_back({r->lemma, k, p, after});
    before = after;
  }
  return out;
}

}  // namespace spec
