/// The rules of Fig. 8 over a list of axes at once.
///
/// Paper: Sec. 7.1. The single axis x becomes a non-empty list x̄' whose order is kept: alltoall of
/// {x, y} in one step gives {x, y, ...}, in two steps {y, x, ...}. n is the product of the sizes.
/// As in fig08_typing.h, well-formedness is said once, in `apply`.
#pragma once

#include "fig08_typing.h"

namespace spec {

/// n with n = ∏ k over x̄', each x : k ∈ H; nullopt for an empty list or an unknown axis.
inline std::optional<Size> lookup(const Mesh& H, const Names& xs) {
  std::optional<Size> n = 1;
  for (const Name& x : xs) {
    const auto k = lookup(H, x);
    if (!k || *k < 1) return std::nullopt;
    n = n ? times(*n, *k) : n;
  }
  return xs.empty() ? std::nullopt : n;
}

/// x̄ when xs = x̄', x̄
inline std::optional<Names> after(const Names& first, const Names& xs) {
  if (xs.size() < first.size() || !std::equal(first.begin(), first.end(), xs.begin())) {
    return std::nullopt;
  }
  return Names(xs.begin() + static_cast<std::ptrdiff_t>(first.size()), xs.end());
}

/// x̄', x̄
inline Names append(Names first, const Names& xs) {
  first.insert(first.end(), xs.begin(), xs.end());
  return first;
}

/// T-ALLGATHER for x̄'. Result: the type after the step, or nullopt when a premise fails.
inline std::optional<Type> t_allgather(const Mesh& H, Index i, const Names& x, const Type& e) {
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return std::nullopt;  // x̄' : n ∈ H
  const auto xs_i = after(x, e[i].xs);          // e_i = c_i{x̄', x̄_i}s_i
  const auto c_n = times(e[i].c, *n);
  if (!xs_i || !c_n) return std::nullopt;
  Type out = e;
  out[i] = {*c_n, *xs_i, e[i].s};  // e'_i = (c_i · n){x̄_i}s_i
  return out;
}

/// T-DYNSLICE for x̄'. Result: the type after the step, or nullopt when a premise fails.
inline std::optional<Type> t_dynslice(const Mesh& H, Index i, const Names& x, const Type& e) {
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return std::nullopt;                      // x̄' : n ∈ H
  if (!pairwise_distinct(append(x, axes(e)))) return std::nullopt;  // x̄' # axes(τ)
  if (e[i].c % *n != 0) return std::nullopt;                        // e_i = (c_i · n){x̄_i}s_i
  Type out = e;
  out[i] = {e[i].c / *n, append(x, e[i].xs), e[i].s};  // e'_i = c_i{x̄', x̄_i}s_i
  return out;
}

/// T-ALLTOALL for x̄'. Result: the type after the step, or nullopt when a premise fails.
inline std::optional<Type> t_alltoall(const Mesh& H, Index i, Index j, const Names& x,
                                      const Type& e) {
  const auto n = lookup(H, x);
  if (!n || i >= rank(e) || j >= rank(e)) return std::nullopt;  // x̄' : n ∈ H
  if (i == j) return std::nullopt;                              // E4
  const auto xs_i = after(x, e[i].xs);                          // e_i = c_i{x̄', x̄_i}s_i
  if (e[j].c % *n != 0) return std::nullopt;                    // c_j mod n = 0
  const auto c_n = times(e[i].c, *n);
  if (!xs_i || !c_n) return std::nullopt;
  Type out = e;
  out[i] = {*c_n, *xs_i, e[i].s};                      // e'_i = (c_i · n){x̄_i}s_i
  out[j] = {e[j].c / *n, append(x, e[j].xs), e[j].s};  // e'_j = (c_j div n){x̄', x̄_j}s_j
  return out;
}

/// p over a list of axes x̄'; allpermute to a type.
struct MultiCollective {
  Op p = Op::allgather;
  Index i = 0, j = 0;
  Names x;
  Type to;
};

/// The type to which p leads from τ, both well-formed in H; nullopt when the rule does not apply.
inline std::optional<Type> apply(const Mesh& H, const MultiCollective& p, const Type& tau) {
  if (!wf_mesh(H) || !wf_type(H, tau)) return std::nullopt;  // H ⊢ τ
  if (p.p == Op::allgather) return t_allgather(H, p.i, p.x, tau);
  if (p.p == Op::dynslice) return t_dynslice(H, p.i, p.x, tau);
  if (p.p == Op::alltoall) return t_alltoall(H, p.i, p.j, p.x, tau);
  if (!wf_type(H, p.to) || !t_permute(tau, p.to)) return std::nullopt;
  return p.to;
}

}  // namespace spec
