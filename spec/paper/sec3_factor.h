/// Axes of prime size: splitting axes without moving anything.
///
/// Paper: Principle 1 (Sec. 3), Example 3.1. An axis x : k with k = k_1 · ... · k_m becomes the
/// axes x_1, ..., x_m, minor to major. Points keep their row-major numbers and types their base
/// offset maps. No order of the factors is preferred: the caller may give any (E17).
#pragma once

#include <map>

#include "fig07_base_offsets.h"

namespace spec {

/// The primes of n ≥ 1 in ascending order, with repetition.
inline Sizes prime_factors(Size n) {
  Sizes out;
  for (Size p = 2; p <= n / p; ++p) {
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  if (n > 1) out.push_back(n);
  return out;
}

/// The factors of each axis, minor to major; an axis that is not named stays whole.
using Factors = std::map<Name, Sizes>;

/// Every axis into its primes, in ascending order.
inline Factors into_primes(const Mesh& H) {
  Factors out;
  for (const auto& [x, k] : H) out[x] = prime_factors(k);
  return out;
}

/// A mesh with split axes, and the names x_1, ..., x_m of the parts of each axis, minor to major.
struct FactoredMesh {
  Mesh H;
  std::map<Name, Names> parts;
};

/// Splits the axes of H. nullopt when the factors of an axis do not multiply to its size.
inline std::optional<FactoredMesh> factor(const Mesh& H, const Factors& factors) {
  FactoredMesh out;
  Names taken;
  for (const auto& [x, k] : H) taken.push_back(x);
  for (const auto& [x, k] : H) {
    const auto given = factors.find(x);
    const Sizes k_i = given == factors.end() ? Sizes{k} : given->second;
    if (product(k_i) != k) return std::nullopt;  // k = k_1 · ... · k_m
    Names x_i(k_i.size(), x);
    for (Index m = 0; m < x_i.size() && x_i.size() > 1; ++m) {
      do x_i[m] += "." + std::to_string(m + 1);
      while (std::find(taken.begin(), taken.end(), x_i[m]) != taken.end());
      taken.push_back(x_i[m]);
    }
    for (Index m = k_i.size(); m-- > 0;) out.H.push_back({x_i[m], k_i[m]});  // x_m ... x_1
    out.parts[x] = x_i;
  }
  return out;
}

/// τ over the split axes: x becomes x_1, ..., x_m in every list. nullopt for an unknown axis.
inline std::optional<Type> factor(const FactoredMesh& mesh, const Type& tau) {
  Type out = tau;
  for (Dim& d : out) {
    Names xs;
    for (const Name& x : d.xs) {
      const auto x_i = mesh.parts.find(x);
      if (x_i == mesh.parts.end()) return std::nullopt;
      xs.insert(xs.end(), x_i->second.begin(), x_i->second.end());
    }
    d.xs = xs;
  }
  return out;
}

}  // namespace spec
