/// Device maps and device assignments.
///
/// Paper: Defs. 6.1, 6.2. What is physical about an assignment ⟨φ, β⟩ is its tile map f = β ∘ φ⁻¹.
#pragma once

#include "fig07_base_offsets.h"

namespace spec {

/// φ : |H| → D, bijective, listed by the row-major number of the point.
using DeviceMap = Sizes;

/// ⟨φ, β⟩. Paper: Def. 6.1.
struct DeviceAssignment {
  DeviceMap phi;
  BaseOffsetMap beta;
};

/// Whether φ is a bijection of δ points to the devices 0..δ-1.
inline bool is_device_map(DeviceMap phi) {
  std::sort(phi.begin(), phi.end());
  for (Index d = 0; d < phi.size(); ++d) {
    if (phi[d] != static_cast<Size>(d)) return false;
  }
  return true;
}

/// β ∘ φ⁻¹, listed by device; nullopt when φ is no bijection or has another domain than β.
inline std::optional<std::vector<Offset>> tile_map(const DeviceAssignment& a) {
  if (!is_device_map(a.phi) || a.phi.size() != a.beta.size()) return std::nullopt;
  std::vector<Offset> f(a.phi.size());
  for (Index i = 0; i < a.phi.size(); ++i) f[static_cast<Index>(a.phi[i])] = a.beta[i];
  return f;
}

/// ⟨φ_1, β_1⟩ and ⟨φ_2, β_2⟩ are equivalent iff β_1 ∘ φ_1⁻¹ = β_2 ∘ φ_2⁻¹. Paper: Def. 6.2.
inline bool equivalent(const DeviceAssignment& a_1, const DeviceAssignment& a_2) {
  const auto f_1 = tile_map(a_1), f_2 = tile_map(a_2);
  return f_1 && f_2 && *f_1 == *f_2;
}

}  // namespace spec
