/// The easy redistribution: gather everything, then slice.
///
/// Paper: eq. (2), Sec. 4.3. Errata: E10 (allgather(i) stands once for each axis of dimension i,
/// and the middle type is [s_0{}s_0, ..., s_{r-1}{}s_{r-1}]).
#pragma once

#include "def4_sequences.h"

namespace spec {

/// [s_0, ..., s_{r-1}], which every device holds whole.
inline Type replicated(const Type& tau) {
  Type out;
  for (const Size s : globaltype(tau)) out.push_back({s, {}, s});
  return out;
}

/// τ_1 -allgather(0)-> ... -> replicated -dynslice(0, ..)-> ... -> τ_2.
/// nullopt: a type is ill-formed in H, or the globaltypes differ.
inline std::optional<std::vector<Collective>> easy_redistribution(const Mesh& H, const Type& tau_1,
                                                                  const Type& tau_2) {
  if (!wf_mesh(H) || !wf_type(H, tau_1) || !wf_type(H, tau_2)) return std::nullopt;
  if (globaltype(tau_1) != globaltype(tau_2)) return std::nullopt;
  std::vector<Collective> p;
  for (Index i = 0; i < rank(tau_1); ++i) {
    for (Index a = 0; a < tau_1[i].xs.size(); ++a) p.push_back({Op::allgather, i, 0, "", {}});
  }
  for (Index i = 0; i < rank(tau_2); ++i) {
    const Names& xs = tau_2[i].xs;  // the minor-most axis is sliced last
    for (Index a = xs.size(); a-- > 0;) p.push_back({Op::dynslice, i, 0, xs[a], {}});
  }
  return p;
}

}  // namespace spec
