/// A pair of tile maps (f_1, f_2) up to the names of the devices.
///
/// Paper: Sec. 6. Relabelling the devices by π makes (f_1 ∘ π, f_2 ∘ π) of (f_1, f_2): the same
/// problem with the same cost. What is left is a multiset of pairs of tiles.
#pragma once

#include "../paper/fig10_low_level.h"

namespace spec {

/// The number of a tile is kept in a char, and there are no more tiles than devices.
constexpr Size most_searched_devices = 127;

/// The number of tile t of localtype c, row-major.
inline Index tile_number(const Sizes& g, const Sizes& c, const Sizes& t) {
  Size number = 0;
  for (Index i = 0; i < g.size(); ++i) number = number * (g[i] / c[i]) + t[i];
  return static_cast<Index>(number);
}

/// Every tile of localtype c, by its number, as the tile map of as many devices.
inline TileMap every_tile(const Sizes& g, const Sizes& c) {
  Mesh N;
  for (Index i = 0; i < g.size(); ++i) N.push_back({std::to_string(i), g[i] / c[i]});
  return {g, c, points(N)};
}

/// A multiset of pairs (f_2(d), f(d)): for tile after tile of f_2 the tiles of f that its holders
/// have, as numbers in ascending order.
using Pairs = std::string;

inline Pairs pairs(const TileMap& f_2, const TileMap& f) {
  std::vector<std::pair<Index, char>> both;
  for (Index d = 0; d < f.t.size(); ++d) {
    both.emplace_back(tile_number(f_2.g, f_2.c, f_2.t[d]),
                      static_cast<char>(tile_number(f.g, f.c, f.t[d])));
  }
  std::sort(both.begin(), both.end());
  Pairs out;
  for (const auto& [u, v] : both) out += v;
  return out;
}

/// The order within each tile of f_2, which `holders` devices have, is no information.
inline Pairs sorted(Pairs f, Index holders) {
  for (auto u = f.begin(); u != f.end(); u += static_cast<std::ptrdiff_t>(holders)) {
    std::sort(u, u + static_cast<std::ptrdiff_t>(holders));
  }
  return f;
}

/// A function of tiles by numbers.
using OfTiles = std::string;

/// Calls visit(g) for every balanced g with coarse ∘ g = f, once for each multiset of pairs.
///
/// Twins are devices with equal pairs (f_2(d), f(d)); they stand side by side and get finer tiles
/// in ascending order. A finer tile that they pass over must be left to devices behind the twins,
/// so there is a way on after every choice.
template <class Visit>
void for_each_refinement(const Pairs& f, Index holders, const OfTiles& coarse, const Visit& visit) {
  std::vector<std::vector<char>> finer(f.size());
  for (Index t = 0; t < coarse.size(); ++t) {
    finer[static_cast<Index>(coarse[t])].push_back(static_cast<char>(t));
  }
  const auto is_twin = [&](Index d) { return d % holders != 0 && f[d] == f[d - 1]; };  // of d - 1
  std::vector<Index> behind(f.size(), 0);  // devices behind the twins of d that hold f[d]
  for (Index d = 0; d < f.size(); ++d) {
    Index end = d + 1;
    while (end < f.size() && is_twin(end)) ++end;
    const auto rest = f.begin() + static_cast<std::ptrdiff_t>(end);
    behind[d] = static_cast<Index>(std::count(rest, f.end(), f[d]));
  }
  std::vector<Index> left(coarse.size(), f.size() / coarse.size());  // holders of each finer tile
  Pairs g = f;
  const auto place = [&](const auto& self, Index d) -> void {
    if (d == f.size()) return visit(sorted(g, holders));
    Index passed = 0;
    for (const char t : finer[static_cast<Index>(f[d])]) {
      Index& left_t = left[static_cast<Index>(t)];
      if (passed > behind[d]) return;
      if (left_t > 0 && !(is_twin(d) && t < g[d - 1])) {
        --left_t;
        g[d] = t;
        self(self, d + 1);
        ++left_t;
      }
      passed += left_t;
    }
  };
  place(place, 0);
}

}  // namespace spec
