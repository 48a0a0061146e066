/// Normal forms of sequences over several axes.
///
/// Paper: Sec. 7.1, "our results from Sections 4-6 carry over". Errata: Lemmas 4.6 and 4.7 do not
/// carry over as printed. A peak may need five steps, D P A P G, and an edge two final allgathers,
/// P A P G G, or in the mirror image two first dynslices; Theorem 4.8 holds all the same.
///
/// The weak lemmas say how much moves where. Here their steps get axes: dynslices forwards from
/// σ_0, allgathers backwards from σ_2, and no more allpermutes than any realisation of them needs.
#pragma once

#include "sec4_normal_form.h"
#include "sec4_weak_normal_form.h"
#include "sec7_multi_axis.h"

namespace spec {

using MultiReplacement = Replacement<MultiCollective>;

/// σ_0 = τ, σ_1, ..., σ_n; nullopt when a step does not apply.
inline std::optional<Sequence> sequence(const Mesh& H, const Type& tau,
                                        const std::vector<MultiCollective>& p) {
  Sequence s = {{tau}, {}};
  for (const MultiCollective& q : p) {
    const auto next = apply(H, q, s.sigma.back());
    if (!next) return std::nullopt;
    s.sigma.push_back(*next);
    s.p.push_back(q.p);
  }
  return s;
}

/// What is left of a step when only localtypes are looked at.
inline WeakCollective weak(const Mesh& H, const MultiCollective& p) {
  return {p.p, p.i, p.j, lookup(H, p.x).value_or(1)};
}

/// Every list of distinct axes of H, none of them in `used`, of product n.
inline std::vector<Names> lists_of(const Mesh& H, const Names& used, Size n) {
  if (n == 1) return {Names()};
  std::vector<Names> out;
  for (const auto& [x, k] : H) {
    if (n % k != 0 || std::find(used.begin(), used.end(), x) != used.end()) continue;
    for (const Names& xs : lists_of(H, cons(x, used), n / k)) out.push_back(cons(x, xs));
  }
  return out;
}

/// The shortest prefix of x̄ of product n or more.
inline Names prefix(const Mesh& H, const Names& xs, Size n) {
  Names out;
  for (Size product = 1; product < n && out.size() < xs.size();) {
    out.push_back(xs[out.size()]);
    product *= *lookup(H, out.back());
  }
  return out;
}

/// A sequence and the type to which it leads.
struct Path {
  Type sigma;
  std::vector<MultiCollective> p;
};

/// Each path, continued by each list of axes that realises the weak steps.
inline std::vector<Path> continued(const Mesh& H, std::vector<Path> paths,
                                   const std::vector<WeakCollective>& p) {
  for (const auto& [op, i, j, n] : p) {
    std::vector<Path> longer;
    for (const Path& path : paths) {
      std::vector<Names> lists = {prefix(H, path.sigma[i].xs, n)};
      if (op == Op::dynslice) lists = lists_of(H, axes(path.sigma), n);
      for (const Names& x : lists) {
        const MultiCollective q = {op, i, j, x, {}};
        const auto next = lookup(H, x) == n ? apply(H, q, path.sigma) : std::nullopt;
        if (!next) continue;
        longer.push_back({*next, path.p});
        longer.back().p.push_back(q);
      }
    }
    paths = longer;
  }
  return paths;
}

/// from, then where the types differ an allpermute, then back along the path `to`.
inline std::vector<MultiCollective> met(const Path& from, const Path& to) {
  std::vector<MultiCollective> out = from.p;
  if (from.sigma != to.sigma) out.push_back({Op::allpermute, 0, 0, {}, to.sigma});
  for (Index k = to.p.size(); k-- > 0;) {  // there is no allpermute in `to`
    const auto& [op, i, j, x, none] = to.p[k];
    if (op == Op::allgather) out.push_back({Op::dynslice, i, 0, x, {}});
    if (op == Op::dynslice) out.push_back({Op::allgather, i, 0, x, {}});
    if (op == Op::alltoall) out.push_back({Op::alltoall, j, i, x, {}});
  }
  return out;
}

/// σ_0 -> ... -> σ_2 along the weak normal form  dynslices, at most one alltoall, allgathers  with
/// as few allpermutes as possible. nullopt: it does not lead from σ_0 to σ_2. H must be prime.
inline std::optional<std::vector<MultiCollective>> realised(const Mesh& H, const Type& sigma_0,
                                                            const Type& sigma_2,
                                                            const std::vector<WeakCollective>& p) {
  std::vector<WeakCollective> slices, flat, gathers;
  for (const WeakCollective& q : p) {
    (q.p == Op::dynslice ? slices : q.p == Op::alltoall ? flat : gathers).push_back(q);
  }
  const auto down = continued(H, {{sigma_0, {}}}, slices);
  const auto up = continued(H, {{sigma_2, {}}}, reversed(gathers));
  const auto after = continued(H, down, flat), before = continued(H, up, reversed(flat));
  for (const Path& from : after) {
    for (const Path& to : up) {
      if (from.sigma == to.sigma) return met(from, to);  // D A G
    }
  }
  if (down.empty() || up.empty()) return std::nullopt;
  if (!before.empty()) return met(down.front(), before.front());  // D P A G
  if (!after.empty()) return met(after.front(), up.front());      // D A P G
  Path middle = {down.front().sigma, {}};                         // D P A P G
  auto& [c, xs, s] = middle.sigma[flat.front().i];
  Size b = flat.front().n;
  std::stable_partition(xs.begin(), xs.end(), [&](const Name& x) {
    const Size k = *lookup(H, x);
    const bool moves = b % k == 0;
    if (moves) b /= k;
    return moves;
  });
  const Path permuted = {middle.sigma, met(down.front(), middle)};
  return met(continued(H, {permuted}, flat).front(), up.front());
}

/// A peak or edge σ_0 -p-> σ_1 -q-> σ_2. nullopt: it is none, or H is not prime.
/// Paper: Lemmas 4.6 and 4.7, carried over by Sec. 7.1.
inline std::optional<MultiReplacement> multi_lemma_4(const Mesh& H, const Type& sigma_0,
                                                     const MultiCollective& p,
                                                     const MultiCollective& q) {
  const auto s = sequence(H, sigma_0, std::vector<MultiCollective>{p, q});
  if (!is_prime(H) || !s || redexes({p.p, q.p}).empty()) return std::nullopt;
  WeakReplacement r = {"Lemma 4.7, allpermute", {}};
  if (p.p == Op::allpermute) {
    r.p = {weak(H, q)};
  } else if (q.p == Op::allpermute) {
    r.p = {weak(H, p)};
  } else {
    const Size delta = *device_count(H);
    r = *weak_lemma_4(delta, globaltype(sigma_0), localtype(sigma_0), weak(H, p), weak(H, q));
  }
  const auto realisation = realised(H, sigma_0, s->sigma[2], r.p);
  if (!realisation) return std::nullopt;
  return MultiReplacement{r.lemma, *realisation};
}

/// What the rewriting may be told to use in place of `multi_lemma_4`: mutants, in tests.
using MultiLemma = std::function<std::optional<MultiReplacement>(
    const Mesh&, const Type&, const MultiCollective&, const MultiCollective&)>;

/// As `normalize` of sec4_normal_form.h, over several axes. Paper: Theorem 4.8, Sec. 7.1.
inline std::optional<Rewriting<MultiCollective>> normalize(const Mesh& H, const Type& tau,
                                                           const std::vector<MultiCollective>& p,
                                                           const Choose& choose = first,
                                                           const MultiLemma& lemma = multi_lemma_4,
                                                           const MeasureOf& measure_of = measure) {
  if (!is_prime(H)) return std::nullopt;
  return rewrite(
      tau, p, choose,
      [&](const Type& sigma, const auto& q) { return types_of(sequence(H, sigma, q)); }, localsize,
      [&](const Type& sigma, const MultiCollective& q, const MultiCollective& r) {
        return lemma(H, sigma, q, r);
      },
      measure_of);
}

}  // namespace spec
