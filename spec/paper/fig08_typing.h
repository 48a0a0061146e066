/// The typing rules of the collectives, and what they mean for base offset maps.
///
/// Paper: Fig. 8, Def. 4.3. Errata: E4 (i ≠ j in T-ALLTOALL), E5 (T-PERMUTE needs equal
/// globaltypes). The rules say how a type changes; that the types are well-formed is said once, in
/// `apply`.
#pragma once

#include "fig07_base_offsets.h"

namespace spec {

/// x, x̄
inline Names cons(const Name& x, const Names& xs) {
  Names out = {x};
  out.insert(out.end(), xs.begin(), xs.end());
  return out;
}

/// x̄ of a non-empty x, x̄
inline Names tail(const Names& x_xs) { return Names(x_xs.begin() + 1, x_xs.end()); }

/// T-ALLGATHER: removes the minor-most axis of dimension i.
/// Result: the type after the step, or nullopt when a premise fails.
/// Paper: Fig. 8.
inline std::optional<Type> t_allgather(const Mesh& H, Index i, const Type& e) {
  if (i >= rank(e)) return std::nullopt;
  const auto& [c_i, x_xs_i, s_i] = e[i];
  if (x_xs_i.empty()) return std::nullopt;  // e_i = c_i{x, x̄_i}s_i
  const auto n = lookup(H, x_xs_i.front());
  if (!n) return std::nullopt;  // x : n ∈ H
  const auto c_n = times(c_i, *n);
  if (!c_n) return std::nullopt;
  Type out = e;
  out[i] = {*c_n, tail(x_xs_i), s_i};  // e'_i = (c_i · n){x̄_i}s_i
  return out;
}

/// T-DYNSLICE: splits dimension i over axis x, which becomes its minor-most axis.
/// Result: the type after the step, or nullopt when a premise fails.
/// Paper: Fig. 8.
inline std::optional<Type> t_dynslice(const Mesh& H, Index i, const Name& x, const Type& e) {
  if (i >= rank(e)) return std::nullopt;
  const auto& [c_n, xs_i, s_i] = e[i];
  const auto n = lookup(H, x);
  if (!n || *n < 1) return std::nullopt;  // x : n ∈ H
  const Names used = axes(e);
  if (std::find(used.begin(), used.end(), x) != used.end()) return std::nullopt;  // x ∉ axes(τ)
  if (c_n % *n != 0) return std::nullopt;  // e_i = (c_i · n){x̄_i}s_i
  Type out = e;
  out[i] = {c_n / *n, cons(x, xs_i), s_i};  // e'_i = c_i{x, x̄_i}s_i
  return out;
}

/// T-ALLTOALL: moves the minor-most axis of dimension i to dimension j.
/// Result: the type after the step, or nullopt when a premise fails.
/// Paper: Fig. 8. Errata: E4 (the printed rule does not exclude i = j).
inline std::optional<Type> t_alltoall(const Mesh& H, Index i, Index j, const Type& e) {
  if (i >= rank(e) || j >= rank(e) || i == j) return std::nullopt;  // E4
  const auto& [c_i, x_xs_i, s_i] = e[i];
  const auto& [c_j, xs_j, s_j] = e[j];      // e_j = c_j{x̄_j}s_j
  if (x_xs_i.empty()) return std::nullopt;  // e_i = c_i{x, x̄_i}s_i
  const Name& x = x_xs_i.front();
  const auto n = lookup(H, x);
  if (!n || *n < 1) return std::nullopt;   // x : n ∈ H
  if (c_j % *n != 0) return std::nullopt;  // c_j mod n = 0
  const auto c_n = times(c_i, *n);
  if (!c_n) return std::nullopt;
  Type out = e;                             // ē' = ē[i ↦ e'_i, j ↦ e'_j]
  out[i] = {*c_n, tail(x_xs_i), s_i};       // e'_i = (c_i · n){x̄_i}s_i
  out[j] = {c_j / *n, cons(x, xs_j), s_j};  // e'_j = (c_j div n){x, x̄_j}s_j
  return out;
}

/// T-PERMUTE: whether allpermute leads from τ_1 to τ_2.
/// Paper: Fig. 8, Sec. 2.6. Errata: E5 (the printed rule omits the globaltypes).
inline bool t_permute(const Type& tau_1, const Type& tau_2) {
  if (globaltype(tau_1) != globaltype(tau_2)) return false;  // E5
  return localtype(tau_1) == localtype(tau_2);
}

/// p with its parameters: allgather(i), dynslice(i, x), alltoall(i, j), or allpermute to a type.
struct Collective {
  Op p = Op::allgather;
  Index i = 0, j = 0;
  Name x;
  Type to;
};

/// The type to which p leads from τ, both well-formed in H; nullopt when the rule does not apply.
inline std::optional<Type> apply(const Mesh& H, const Collective& p, const Type& tau) {
  if (!wf_mesh(H) || !wf_type(H, tau)) return std::nullopt;  // H ⊢ τ
  if (p.p == Op::allgather) return t_allgather(H, p.i, tau);
  if (p.p == Op::dynslice) return t_dynslice(H, p.i, p.x, tau);
  if (p.p == Op::alltoall) return t_alltoall(H, p.i, p.j, tau);
  if (!wf_type(H, p.to) || !t_permute(tau, p.to)) return std::nullopt;
  return p.to;
}

/// T⟦τ_1⟧ -p-> T⟦τ_2⟧ iff H ⊢ p : τ_1 → τ_2.
/// Paper: Def. 4.3. Errata: E6 (the types must have one globaltype; then T is injective).
inline bool strong_step(const Mesh& H, const Collective& p, const Type& tau_1, const Type& tau_2) {
  return globaltype(tau_1) == globaltype(tau_2) && apply(H, p, tau_1) == tau_2;
}

}  // namespace spec
