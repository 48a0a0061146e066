/// The rules of Fig. 10 over a list of axes at once.
///
/// Paper: Sec. 7.1, which replaces the axis x in ALLGATHER, ALLTOALL and DYNSLICE by axes x̄'. In
/// the first two x̄' is a block {ȳ_i, x̄', x̄_i} that moves to the front as it stands; in DYNSLICE it
/// comes to stand in front. n is the product of the sizes. Errata as in fig10_low_level.h.
#pragma once

#include "fig10_low_level.h"
#include "sec7_multi_axis.h"

namespace spec {

/// c{ȳ, x̄', x̄}s ↦ c{x̄', ȳ, x̄}s, or nullopt when x̄' does not stand in e as a block.
inline std::optional<Dim> to_front(const Names& x, Dim e) {
  const auto at = std::search(e.xs.begin(), e.xs.end(), x.begin(), x.end());
  if (x.empty() || at == e.xs.end()) return std::nullopt;
  std::rotate(e.xs.begin(), at, at + static_cast<std::ptrdiff_t>(x.size()));
  return e;
}

/// ALLGATHER for x̄' in dimension i. Paper: Sec. 7.1; E12.
inline bool low_level_allgather(const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                                const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return false;  // x̄' : n ∈ H
  const auto front = to_front(x, e[i]);  // e_i  = c_i{ȳ_i, x̄', x̄_i}s_i
  if (!front) return false;
  Type e_1 = e, e_2 = e;
  e_1[i] = *front;                                           // e'_i = c_i{x̄', ȳ_i, x̄_i}s_i
  if (!same_tile_map(H, {to.phi, e_1}, from)) return false;  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
  e_2[i] = {e[i].c * *n, *after(x, front->xs), e[i].s};
  return to.tau == e_2;  // e''_i = (c_i · n){ȳ_i, x̄_i}s_i
}

/// ALLTOALL for x̄' in dimension i. Paper: Sec. 7.1; E4.
inline bool low_level_alltoall(const Mesh& H, Index i, Index j, const Names& x,
                               const TypedAssignment& from, const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e) || j >= rank(e)) return false;  // x̄' : n ∈ H
  if (i == j) return false;                              // E4
  if (e[j].c % *n != 0) return false;                    // c_j mod n = 0
  const auto front = to_front(x, e[i]);                  // e_i  = c_i{ȳ_i, x̄', x̄_i}s_i
  if (!front) return false;
  Type e_1 = e, e_2 = e;
  e_1[i] = *front;                                           // e'_i = c_i{x̄', ȳ_i, x̄_i}s_i
  if (!same_tile_map(H, {to.phi, e_1}, from)) return false;  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
  e_2[i] = {e[i].c * *n, *after(x, front->xs), e[i].s};
  e_2[j] = {e[j].c / *n, append(x, e[j].xs), e[j].s};
  return to.tau == e_2;  // e''_i = (c_i · n){ȳ_i, x̄_i}s_i, e''_j = (c_j div n){x̄', x̄_j}s_j
}

/// DYNSLICE for x̄' in dimension i. Paper: Sec. 7.1.
inline bool low_level_dynslice(const Mesh& H, Index i, const Names& x, const TypedAssignment& from,
                               const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return false;                      // x̄' : n ∈ H
  if (!pairwise_distinct(append(x, axes(e)))) return false;  // x̄' # axes(ē)
  if (e[i].c % *n != 0) return false;                        // e_i  = (c_i · n){x̄_i}s_i
  Type e_1 = e;
  e_1[i] = {e[i].c / *n, append(x, e[i].xs), e[i].s};  // e'_i = c_i{x̄', x̄_i}s_i
  return to.tau == e_1 && to.phi == from.phi;
}

}  // namespace spec
