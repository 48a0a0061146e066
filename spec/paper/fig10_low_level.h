/// Low-level collectives, as relations on device assignments and as functions of tile maps.
///
/// Paper: Fig. 10, Sec. 6. Errata: E4 (i ≠ j in ALLTOALL), E12 (ALLGATHER: β' ∘ φ'⁻¹ in the third
/// premise; PERMUTE: one mesh, equal globaltypes), E14 (φ' is not unique under replication). Repair
/// (R): we work modulo Def. 6.2, that is on f = β ∘ φ⁻¹. There allgather and alltoall are functions
/// (S1), and ⇒ is the physical form in the second half of this file. That both halves agree is
/// tested by enumeration.
///
/// As for Fig. 8 only well-formed types count: each rule begins with `is_assignment`, which says
/// H ⊢ ē. That the rules then lead to well-formed types is tested.
#pragma once

#include <map>

#include "def5_weak.h"
#include "def6_devices.h"
#include "fig08_typing.h"

namespace spec {

/// ⟨φ, T⟦τ⟧⟩
struct TypedAssignment {
  DeviceMap phi;
  Type tau;
};

/// H ⊢ τ, and φ : |H| → D is a bijection.
inline bool is_assignment(const Mesh& H, const TypedAssignment& a) {
  return wf_mesh(H) && wf_type(H, a.tau) && is_device_map(a.phi) &&
         static_cast<Size>(a.phi.size()) == device_count(H);
}

/// The tile map of ⟨φ, T⟦τ⟧⟩ as base offsets by device.
inline std::optional<std::vector<Offset>> tile_map(const Mesh& H, const TypedAssignment& a) {
  const auto beta = base_offset_map(H, a.tau);
  return beta ? tile_map({a.phi, *beta}) : std::nullopt;
}

/// β ∘ φ⁻¹ = β' ∘ φ'⁻¹, both defined.
inline bool same_tile_map(const Mesh& H, const TypedAssignment& a, const TypedAssignment& b) {
  const auto f = tile_map(H, a), f_b = tile_map(H, b);
  return f && f_b && *f == *f_b;
}

/// c{ȳ, x, x̄}s ↦ c{x, ȳ, x̄}s, or nullopt when x does not stand in e.
inline std::optional<Dim> to_front(const Name& x, Dim e) {
  const auto at = std::find(e.xs.begin(), e.xs.end(), x);
  if (at == e.xs.end()) return std::nullopt;
  std::rotate(e.xs.begin(), at, at + 1);
  return e;
}

/// ALLGATHER: ⟨φ, T⟦ē⟧⟩ =allgather(x)=> ⟨φ', T⟦ē''⟧⟩ with x in dimension i. Paper: Fig. 10; E12.
inline bool low_level_allgather(const Mesh& H, Index i, const Name& x, const TypedAssignment& from,
                                const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return false;  // x : n ∈ H
  const auto front = to_front(x, e[i]);  // e_i  = c_i{ȳ_i, x, x̄_i}s_i
  if (!front) return false;
  Type e_1 = e, e_2 = e;
  e_1[i] = *front;                                           // e'_i = c_i{x, ȳ_i, x̄_i}s_i
  if (!same_tile_map(H, {to.phi, e_1}, from)) return false;  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
  e_2[i] = {e[i].c * *n, tail(front->xs), e[i].s};
  return to.tau == e_2;  // e''_i = (c_i · n){ȳ_i, x̄_i}s_i
}

/// ALLTOALL: ⟨φ, T⟦ē⟧⟩ =alltoall(x, j)=> ⟨φ', T⟦ē''⟧⟩ with x in dimension i. Paper: Fig. 10; E4.
inline bool low_level_alltoall(const Mesh& H, Index i, Index j, const Name& x,
                               const TypedAssignment& from, const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e) || j >= rank(e)) return false;  // x : n ∈ H
  if (i == j) return false;                              // E4
  if (e[j].c % *n != 0) return false;                    // c_j mod n = 0
  const auto front = to_front(x, e[i]);                  // e_i  = c_i{ȳ_i, x, x̄_i}s_i
  if (!front) return false;
  Type e_1 = e, e_2 = e;
  e_1[i] = *front;                                           // e'_i = c_i{x, ȳ_i, x̄_i}s_i
  if (!same_tile_map(H, {to.phi, e_1}, from)) return false;  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
  e_2[i] = {e[i].c * *n, tail(front->xs), e[i].s};
  e_2[j] = {e[j].c / *n, cons(x, e[j].xs), e[j].s};
  return to.tau == e_2;  // e''_i = (c_i · n){ȳ_i, x̄_i}s_i, e''_j = (c_j div n){x, x̄_j}s_j
}

/// DYNSLICE: ⟨φ, T⟦ē⟧⟩ =dynslice(i, x)=> ⟨φ, T⟦ē'⟧⟩. Paper: Fig. 10.
inline bool low_level_dynslice(const Mesh& H, Index i, const Name& x, const TypedAssignment& from,
                               const TypedAssignment& to) {
  if (!is_assignment(H, from)) return false;  // H ⊢ ē
  const Type& e = from.tau;
  const auto n = lookup(H, x);
  if (!n || i >= rank(e)) return false;  // x : n ∈ H
  const Names used = axes(e);
  if (std::find(used.begin(), used.end(), x) != used.end()) return false;  // x ∉ axes(ē)
  if (e[i].c % *n != 0) return false;  // e_i  = (c_i · n){x̄_i}s_i
  Type e_1 = e;
  e_1[i] = {e[i].c / *n, cons(x, e[i].xs), e[i].s};  // e'_i = c_i{x, x̄_i}s_i
  return to.tau == e_1 && to.phi == from.phi;
}

/// PERMUTE: β' ∘ φ'⁻¹ = β ∘ φ⁻¹ ∘ π for a bijection π : D → D. Paper: Fig. 10. Errata: E12 (as
/// printed it is silent on globaltypes, the gap of Fig. 8 (E5), and relates [4] and [2]: offset 0
/// everywhere). With them π exists iff the localtypes are equal: Lemma 5.1.
inline bool low_level_allpermute(const Mesh& H, const TypedAssignment& from,
                                 const TypedAssignment& to) {
  if (!is_assignment(H, from) || !is_assignment(H, to)) return false;  // H ⊢ τ, H ⊢ τ'
  if (globaltype(from.tau) != globaltype(to.tau)) return false;        // E12
  return equivalent(*tile_map(H, from), *tile_map(H, to));             // some π
}

/// Physical form: f : D → tiles. Device d holds tile t[d], 0 ≤ t_i < N_i = g_i / c_i.
struct TileMap {
  Sizes g, c;
  std::vector<Sizes> t;
  bool operator==(const TileMap&) const = default;
};

/// The tile map of ⟨φ, T⟦τ⟧⟩ with tile numbers in place of base offsets.
inline std::optional<TileMap> physical(const Mesh& H, const TypedAssignment& a) {
  auto f = tile_map(H, a);
  if (!f) return std::nullopt;
  for (Offset& t : *f) {
    for (Index i = 0; i < t.size(); ++i) t[i] /= a.tau[i].c;
  }
  return TileMap{globaltype(a.tau), localtype(a.tau), *f};
}

/// Whether f has a localtype, and each of the ∏ N_i tiles is held by equally many devices.
inline bool is_balanced(const TileMap& f) {
  Size holders = static_cast<Size>(f.t.size());
  if (holders == 0 || !is_localtype(holders, f.g, f.c)) return false;  // c_i | g_i, ∏ N_i | δ
  for (Index i = 0; i < f.g.size(); ++i) holders /= f.g[i] / f.c[i];   // δ / ∏ N_i
  std::map<Sizes, Size> holders_of;
  for (const Sizes& t : f.t) {
    if (t.size() != f.g.size()) return false;
    for (Index i = 0; i < t.size(); ++i) {
      if (t[i] < 0 || t[i] >= f.g[i] / f.c[i]) return false;  // 0 ≤ t_i < N_i
    }
    ++holders_of[t];
  }
  for (const auto& [t, count] : holders_of) {
    if (count != holders) return false;
  }
  return true;  // δ / (δ / ∏ N_i) tiles are held, and so are all
}

/// allgather(i, n): n | N_i; t_i := t_i div n.
inline std::optional<TileMap> allgather(TileMap f, Index i, Size n) {
  if (i >= f.g.size() || n < 2 || f.g[i] / f.c[i] % n != 0) return std::nullopt;
  f.c[i] *= n;
  for (Sizes& t : f.t) t[i] /= n;
  return f;
}

/// alltoall(i, j, n): i ≠ j, n | N_i, n | c_j; the digit t_i mod n moves to dimension j.
inline std::optional<TileMap> alltoall(TileMap f, Index i, Index j, Size n) {
  if (i >= f.g.size() || j >= f.g.size() || i == j || n < 2) return std::nullopt;
  if (f.g[i] / f.c[i] % n != 0 || f.c[j] % n != 0) return std::nullopt;
  f.c[i] *= n;
  f.c[j] /= n;
  for (Sizes& t : f.t) {
    t[j] = t[j] * n + t[i] % n;
    t[i] /= n;
  }
  return f;
}

/// dynslice(i, n) with digits e : D → {0..n-1}: n | c_i; t_i := t_i · n + e(d). The result must be
/// balanced: e takes each value equally often on each tile.
inline std::optional<TileMap> dynslice(TileMap f, Index i, Size n, const Sizes& e) {
  if (i >= f.g.size() || n < 2 || f.c[i] % n != 0 || e.size() != f.t.size()) return std::nullopt;
  f.c[i] /= n;
  for (Index d = 0; d < e.size(); ++d) {
    if (e[d] < 0 || e[d] >= n) return std::nullopt;
    f.t[d][i] = f.t[d][i] * n + e[d];
  }
  return is_balanced(f) ? std::optional(f) : std::nullopt;
}

/// allpermute(π): f := f ∘ π.
inline std::optional<TileMap> allpermute(const TileMap& f, const Sizes& pi) {
  if (!is_device_map(pi) || pi.size() != f.t.size()) return std::nullopt;
  TileMap out = f;
  for (Index d = 0; d < pi.size(); ++d) out.t[d] = f.t[static_cast<Index>(pi[d])];
  return out;
}

}  // namespace spec
