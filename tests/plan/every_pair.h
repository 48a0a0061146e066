// Every pair of types on small meshes, and OPT by exhaustive search over tile maps
// (spec/search/tiles.h). One search serves all targets of one tile shape.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "spec/search/path.h"
#include "support/bridge.h"

namespace retile::every_pair {

struct Row {
  const char* mesh;
  std::vector<Size> sizes;
  std::size_t most_rank;
};
inline void PrintTo(const Row& row, std::ostream* os) {
  *os << row.mesh << ", sizes";
  for (const Size s : row.sizes) *os << ' ' << s;
  *os << ", rank 1 to " << row.most_rank;
}

inline std::vector<Shape> shapes(const Row& row) {
  std::vector<Shape> out;
  std::vector<Shape> last{{}};
  for (std::size_t r = 0; r < row.most_rank; ++r) {
    std::vector<Shape> longer;
    for (const Shape& shape : last) {
      for (const Size s : row.sizes) {
        longer.push_back(shape);
        longer.back().push_back(s);
      }
    }
    last = longer;
    out.insert(out.end(), last.begin(), last.end());
  }
  return out;
}

/// What a planner says about one pair.
struct Claim {
  Size cost = 0;
  Size lower_bound = 0;
  bool optimal = false;
};

/// Why the claim cannot be true; empty if it can.
inline std::string refutation(const Claim& claim, Size optimum) {
  if (claim.cost < optimum) return "cheaper than the optimum";
  if (claim.lower_bound > optimum) return "a lower bound above the optimum";
  if (claim.optimal && claim.cost != optimum) return "called optimal, but is not";
  return {};
}

/// A pair of types as a problem, its text, and OPT.
using Visit = std::function<void(const Problem&, const std::string&, Size)>;

/// Calls visit for every pair of types over every shape of the row.
/// \param several_dims  whether OPT is among steps along several dimensions, too
inline void for_each_pair(const Row& row, bool several_dims, const Visit& visit) {
  const Mesh mesh = parse_mesh(row.mesh).value();
  const spec::Mesh H = support::to_spec(mesh);
  spec::TileSearch search;
  search.several_dims = several_dims;
  search.bounded = false;  // OPT is the same with and without the bound (S3), one search is enough
  for (const Shape& shape : shapes(row)) {
    const spec::Sizes g(shape.begin(), shape.end());
    std::vector<DistType> types;
    std::vector<std::string> text;
    std::vector<spec::TileMap> f;
    for (const spec::Type& tau : spec::all_types(H, g)) {
      std::vector<DistDim> dims;
      for (const spec::Dim& dim : tau) {
        dims.push_back({dim.c, {dim.xs.begin(), dim.xs.end()}, dim.s});
      }
      types.push_back(DistType::make(mesh, dims).value());
      text.push_back(to_text(types.back()));
      f.push_back(spec::tiles(H, tau).value());
    }
    std::map<spec::Sizes, spec::TileDistances> distances;
    for (std::size_t a = 0; a < types.size(); ++a) {
      for (std::size_t b = 0; b < types.size(); ++b) {
        const auto& to_b =
            distances.try_emplace(f[b].c, mesh.device_count(), g, f[b].c, 0, search).first;
        visit(make_problem(mesh, types[a], types[b]).value(), text[a] + " ~> " + text[b],
              to_b->second.cost(f[a], f[b]).value());
      }
    }
  }
}

}  // namespace retile::every_pair
