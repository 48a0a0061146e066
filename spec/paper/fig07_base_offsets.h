/// Where each device's tile begins, and which types are well-formed.
///
/// Paper: Fig. 7, Sec. 4.1. Errata: E2 (the base case is D⟦c{}s⟧), E3 (i ≠ j in both rules).
/// Points of |H| are numbered row-major, the last axis fastest.
#pragma once

#include <algorithm>

#include "fig06_syntax.h"

namespace spec {

/// ī ∈ |H|: the coordinate of each axis, in the order of H.
using Point = Sizes;

/// A base offset, one number per dimension.
using Offset = Sizes;

/// β : |H| → ℕ^r, listed by the number of the point.
using BaseOffsetMap = std::vector<Offset>;

/// δ(H) = ∏ k, the number of devices; nullopt when it is not below 2^63.
inline std::optional<Size> device_count(const Mesh& H) {
  Sizes k;
  for (const Axis& alpha : H) k.push_back(alpha.k);
  return product(k);
}

/// |H| in row-major order. The empty mesh has one point.
inline std::vector<Point> points(const Mesh& H) {
  std::vector<Point> out = {Point()};
  for (const Axis& alpha : H) {
    std::vector<Point> longer;
    for (const Point& i : out) {
      for (Size i_x = 0; i_x < alpha.k; ++i_x) {
        longer.push_back(i);
        longer.back().push_back(i_x);
      }
    }
    out = std::move(longer);
  }
  return out;
}

/// i_x, the coordinate of axis x at ī; nullopt when H has no axis x.
inline std::optional<Size> coordinate(const Mesh& H, const Point& i, const Name& x) {
  for (Index a = 0; a < H.size(); ++a) {
    if (H[a].x == x) return i[a];
  }
  return std::nullopt;
}

/// D⟦d⟧(ī), or nullopt for an axis that is not in H or an offset that is not below 2^63.
/// Paper: Fig. 7a; the recursion over x̄ is a loop.
inline std::optional<Size> base_offset(const Mesh& H, const Dim& d, const Point& i) {
  Size c = d.c, offset = 0;
  for (const Name& x : d.xs) {
    const auto i_x = coordinate(H, i, x);
    const auto k = lookup(H, x);
    if (!i_x || !k) return std::nullopt;  // x : k ∈ H
    const auto c_ix = times(c, *i_x);     // D⟦c{x, x̄}s⟧(ī) = c · i_x +
    if (!c_ix || __builtin_add_overflow(offset, *c_ix, &offset)) return std::nullopt;
    const auto c_k = times(c, *k);  //   D⟦(c · k){x̄}s⟧(ī)
    if (!c_k) return std::nullopt;
    c = *c_k;
  }
  return offset;  // D⟦c{}s⟧(ī) = 0  (E2)
}

/// T⟦τ⟧ = (D⟦d_0⟧, ..., D⟦d_{r-1}⟧), or nullopt as for `base_offset`.
inline std::optional<BaseOffsetMap> base_offset_map(const Mesh& H, const Type& tau) {
  BaseOffsetMap beta;
  for (const Point& i : points(H)) {
    Offset offset;
    for (const Dim& d : tau) {
      const auto D_d = base_offset(H, d, i);
      if (!D_d) return std::nullopt;
      offset.push_back(*D_d);
    }
    beta.push_back(std::move(offset));
  }
  return beta;
}

/// Whether no name stands twice.
inline bool pairwise_distinct(Names xs) {
  std::sort(xs.begin(), xs.end());
  return std::adjacent_find(xs.begin(), xs.end()) == xs.end();
}

/// WF-MESH (ours): axis names are pairwise distinct, sizes at least 2, δ below 2^63.
/// Axes of size 1 are dropped by readers, before any definition applies (E6).
inline bool wf_mesh(const Mesh& H) {
  Names xs;
  for (const Axis& alpha : H) {
    if (alpha.k < 2) return false;  // k ≥ 2
    xs.push_back(alpha.x);
  }
  return pairwise_distinct(xs) && device_count(H);  // x_i ≠ x_j
}

/// WF-DIM: H ⊢ c{x̄}s. Paper: Fig. 7b. Errata: E3.
inline bool wf_dim(const Mesh& H, const Dim& d) {
  const auto& [c, xs, s] = d;
  if (c < 1) return false;  // c ≥ 1
  std::optional<Size> c_k = c;
  for (const Name& x_i : xs) {
    const auto k_i = lookup(H, x_i);
    if (!k_i) return false;  // x_i : k_i ∈ H
    c_k = c_k ? times(*c_k, *k_i) : c_k;
  }
  if (c_k != s) return false;    // c · ∏ k_i = s
  return pairwise_distinct(xs);  // x_i ≠ x_j for i ≠ j  (E3)
}

/// WF-TYPE: H ⊢ τ. Paper: Fig. 7b. Errata: E3. The globalsize must be below 2^63.
inline bool wf_type(const Mesh& H, const Type& tau) {
  for (const Dim& d : tau) {
    if (!wf_dim(H, d)) return false;  // H ⊢ d_i
  }
  if (!pairwise_distinct(axes(tau))) return false;  // x̄_i # x̄_j for i ≠ j  (E3)
  return product(globaltype(tau)).has_value();
}

}  // namespace spec
