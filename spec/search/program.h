/// A sequence of tile maps as a Program in the text form (docs/reference/program.md).
///
/// Devices are numbered as points of |H|, row-major. Groups are spelled out: the k-th holders of
/// the tiles that a step joins are a group.
#pragma once

#include "../program/type_text.h"
#include "path.h"

namespace spec {

inline std::string to_text(const Sizes& numbers) {
  std::string out;
  for (const Size n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return "[" + out + "]";
}

/// The groups of allgather(i,n) or alltoall(i,j,n) on f: position q holds a tile with digit q.
inline std::vector<Sizes> groups(const TileMap& f, Index i, Size n) {
  std::map<Sizes, std::vector<Sizes>> holders;  // by the tile t_i div n: of each digit t_i mod n
  for (Index d = 0; d < f.t.size(); ++d) {
    Sizes t = f.t[d];
    const Index q = static_cast<Index>(t[i] % n);
    t[i] /= n;
    auto& of_digit = holders[t];
    of_digit.resize(static_cast<Index>(n));
    of_digit[q].push_back(static_cast<Size>(d));
  }
  std::vector<Sizes> out;
  for (const auto& [t, of_digit] : holders) {
    for (Index k = 0; k < of_digit.front().size(); ++k) {
      out.emplace_back();
      for (const Sizes& of_q : of_digit) out.back().push_back(of_q[k]);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// A permutation π with f ∘ π = g that leaves every device alone that can be.
inline Sizes source(const TileMap& f, const TileMap& g) {
  std::map<Sizes, Sizes> free;  // devices whose tile somebody else gets
  for (Index d = f.t.size(); d-- > 0;) {
    if (f.t[d] != g.t[d]) free[f.t[d]].push_back(static_cast<Size>(d));
  }
  Sizes out;
  for (Index d = 0; d < f.t.size(); ++d) {
    if (f.t[d] == g.t[d]) {
      out.push_back(static_cast<Size>(d));
    } else {
      Sizes& of_tile = free[g.t[d]];
      out.push_back(of_tile.back());
      of_tile.pop_back();
    }
  }
  return out;
}

inline std::string to_text(const TileMap& f, const TileStep& step) {
  std::string out;
  if (step.p == Op::allpermute) {
    out = "allpermute source=" + to_text(source(f, step.f));
  } else if (step.p == Op::dynslice) {
    Sizes e;
    for (const Sizes& t : step.f.t) e.push_back(t[step.i] % step.n);  // t_i · n + e(d)
    out = "dynslice dim=" + std::to_string(step.i) + " parts=" + std::to_string(step.n) +
          " part=" + to_text(e);
  } else {
    const std::string i = std::to_string(step.i), j = std::to_string(step.j);
    out = step.p == Op::allgather ? "allgather dim=" + i : "alltoall split=" + j + " concat=" + i;
    std::string rows;
    for (const Sizes& group : groups(f, step.i, step.n)) {
      rows += (rows.empty() ? "" : ",") + to_text(group);
    }
    out += " groups=[" + rows + "]";
  }
  return out + " tile=" + to_text(step.f.c) + "\n";
}

/// The sequence from τ_1 to τ_2 as a Program.
inline std::string to_text(const Mesh& H, const Type& tau_1, const Type& tau_2,
                           const TilePath& path) {
  std::string out = "retile.program/1\n";
  out += H.empty() ? "devices 1\n" : "mesh " + to_text(H) + "\n";
  out += "from " + to_text(tau_1) + "\nto " + to_text(tau_2) + "\n";
  const TileMap* f = &path.from;
  for (const TileStep& step : path.steps) {
    out += to_text(*f, step);
    f = &step.f;
  }
  return out;
}

}  // namespace spec
