/// Meshes, distributed types and the functions that read them.
///
/// Paper: Fig. 6. Errata: E1 (dimensions are numbered from 0; rank 0 exists).
#pragma once

#include <stdexcept>

#include "notation.h"

namespace spec {

using Names = std::vector<Name>;

/// α ::= x : k
struct Axis {
  Name x;
  Size k = 1;
  bool operator==(const Axis&) const = default;
};

/// H ::= {α_1, ..., α_m}
using Mesh = std::vector<Axis>;

/// d, e ::= c{x̄}s
struct Dim {
  Size c = 1;
  Names xs;
  Size s = 1;
  bool operator==(const Dim&) const = default;
};

/// τ, σ ::= [d_0, ..., d_{r-1}]
using Type = std::vector<Dim>;

/// k with x : k ∈ H, or nullopt when H has no axis x.
inline std::optional<Size> lookup(const Mesh& H, const Name& x) {
  for (const Axis& alpha : H) {
    if (alpha.x == x) return alpha.k;
  }
  return std::nullopt;
}

/// axes(c{x̄}s) = x̄
inline const Names& axes(const Dim& e) { return e.xs; }

/// axes(τ) = ⋃ x̄_i, dimension by dimension.
inline Names axes(const Type& tau) {
  Names out;
  for (const Dim& e : tau) out.insert(out.end(), e.xs.begin(), e.xs.end());
  return out;
}

/// rank(τ)
inline Index rank(const Type& tau) { return tau.size(); }

/// globaltype(τ) = [s_0, ..., s_{r-1}]
inline Sizes globaltype(const Type& tau) {
  Sizes out;
  for (const Dim& e : tau) out.push_back(e.s);
  return out;
}

/// localtype(τ) = [c_0, ..., c_{r-1}]
inline Sizes localtype(const Type& tau) {
  Sizes out;
  for (const Dim& e : tau) out.push_back(e.c);
  return out;
}

/// ∏ c_i. Throws std::overflow_error from 2^63 on, which a well-formed type excludes.
inline Size size_of(const Sizes& sizes) {
  const auto out = product(sizes);
  if (!out) throw std::overflow_error("a size is not below 2^63");
  return *out;
}

/// globalsize(τ) = ∏ s_i
inline Size globalsize(const Type& tau) { return size_of(globaltype(tau)); }

/// localsize(τ) = ∏ c_i, the elements that one device holds.
inline Size localsize(const Type& tau) { return size_of(localtype(tau)); }

}  // namespace spec
