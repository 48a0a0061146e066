// The families of problems on which the planner is timed, how they are drawn, and what their times come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/figures.h"
#include "retile/core/size.h"
#include "retile/notation/paper/notation.h"
#include "support/random_problems.h"

namespace bench {

using retile::Shape;
using retile::Size;

struct Case {
  std::string name;
  std::string mesh;
  std::vector<Shape> shapes;  // taken in turn; empty: drawn as in Sec. 8
  double median_target_ms = 0;
  double most_target_ms = 0;
  bool replicate = true;
};

inline std::string axes(int count, const std::string& size) {
  std::string out;
  for (int k = 0; k < count; ++k) out += (k == 0 ? "a" : ",a") + std::to_string(k) + ":" + size;
  return out;
}

inline std::vector<Case> cases() {
  constexpr Size k = 1024;
  constexpr Size m = 107520;  // 2^10 * 3 * 5 * 7
  std::vector<Case> out;
  for (const char* mesh :
       {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:8,y:4,z:4", "x:6,y:4,z:5", "x:16,y:8,z:8"}) {
    out.push_back({std::string("section 8, ") + mesh, mesh, {}, 0.1, 5});
  }
  const Shape rank8(8, 128);
  out.push_back({"1,024 = 2^10, rank 8", axes(10, "2"), {rank8}, 0, 20});
  out.push_back({"1,024 = 4^5, rank 8", axes(5, "4"), {rank8}, 0, 20});
  out.push_back({"1,024 = 16*8*8, rank 8", "x:16,y:8,z:8", {rank8}, 0, 20});
  out.push_back({"65,536 = 2^16, rank 6", axes(16, "2"), {Shape(6, k)}, 0, 50});
  out.push_back({"65,536 = 16^4, rank 6", axes(4, "16"), {Shape(6, k)}, 0, 50});
  out.push_back({"65,536 = 256^2, rank 6", axes(2, "256"), {Shape(6, k)}, 0, 50});
  out.push_back({"65,536 = 2^16, rank 8", axes(16, "2"), {rank8}, 0, 500});
  out.push_back({"65,536 = 2^16, rank 8, no replicas", axes(16, "2"), {rank8}, 0, 500, false});
  out.push_back({"65,536 = 4^8, rank 8", axes(8, "4"), {rank8}, 0, 500});
  out.push_back({"65,536 = 16^4, rank 8", axes(4, "16"), {rank8}, 0, 500});
  const std::vector<Shape> mixed = {{m, m, m, 105}, {m, m, 4 * k, 4 * k}, {1680, 1680, 1680, 1680}};
  out.push_back({"2^10*3*5*7 = 32*32*3*5*7, rank 4", "a:32,b:32,c:3,d:5,e:7", mixed, 0, 50});
  out.push_back({"2^10*3*5*7 = 2^10*3*5*7, rank 4", axes(10, "2") + ",c:3,d:5,e:7", mixed, 0, 50});
  out.push_back({"2^10*3*5*7 = 48*80*28, rank 4", "a:48,b:80,c:28", mixed, 0, 50});
  out.push_back({"2^20 = 2^20, rank 4", axes(20, "2"), {Shape(4, 32 * k)}, 0, 20});
  out.push_back({"2^20 = 32^4, rank 4", axes(4, "32"), {Shape(4, 32 * k)}, 0, 20});
  return out;
}

/// Problem number k of a case.
inline std::pair<retile::DistType, retile::DistType> draw_ends(support::Random& random,
                                                               const retile::Mesh& mesh,
                                                               const Case& test, int k) {
  const Shape global = test.shapes.empty()
                           ? support::draw_shape(random, mesh)
                           : test.shapes[static_cast<std::size_t>(k) % test.shapes.size()];
  auto from = support::draw_type(random, mesh, global, test.replicate);
  auto to = support::draw_type(random, mesh, global, test.replicate);
  return {std::move(from), std::move(to)};
}

/// A problem as the command line has it.
struct Texts {
  std::string mesh;
  std::string from;
  std::string to;
};

inline Texts texts_of(const Case& test, const std::pair<retile::DistType, retile::DistType>& ends) {
  return {test.mesh, retile::to_text(ends.first), retile::to_text(ends.second)};
}

// ---- Sums ---------------------------------------------------------------------------------------

/// Axes of a mesh, and how many devices there are along them together.
struct Axes {
  std::vector<std::string> names;
  Size size = 1;
};

/// Some of the axes that do not cut a type, each with a chance of one half.
inline Axes draw_addends(support::Random& random, const retile::Mesh& mesh,
                         const retile::DistType& type) {
  Axes out;
  for (const retile::Axis& axis : mesh.axes()) {
    const bool cuts = std::any_of(type.dims().begin(), type.dims().end(), [&](const auto& dim) {
      return std::find(dim.axes.begin(), dim.axes.end(), axis.name) != dim.axes.end();
    });
    if (cuts || support::draw(random, 0, 1) == 0) continue;
    out.names.push_back(axis.name);
    out.size *= axis.size;
  }
  return out;
}

inline std::string sum_text(const Axes& addends, const retile::DistType& type) {
  std::string out;
  for (const std::string& name : addends.names) out += (out.empty() ? "sum{" : ",") + name;
  return (out.empty() ? out : out + "}") + retile::to_text(type);
}

/// Problem number k of a case whose source has addends. Every other problem adds all of them up; of the rest
/// some keep addends.
inline Texts draw_sum(support::Random& random, const Case& test, const retile::Mesh& mesh, int k) {
  while (true) {
    const auto [from, to] = draw_ends(random, mesh, test, k);
    const Axes before = draw_addends(random, mesh, from);
    const Axes after = k % 2 == 0 ? Axes() : draw_addends(random, mesh, to);
    if (before.names.empty() || before.size % after.size != 0) continue;
    return {test.mesh, sum_text(before, from), sum_text(after, to)};
  }
}

/// What draw_sum() draws of.
inline std::vector<Case> sum_cases() {
  std::vector<Case> out;
  for (const char* mesh : {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:6,y:4,z:5"}) {
    out.push_back({std::string("sums, section 8, ") + mesh, mesh, {}});
  }
  out.push_back({"sums, 16 = 2^4, rank 2", axes(4, "2"), {{128, 128}}});
  out.push_back({"sums, 64 = 2^6, rank 3", axes(6, "2"), {Shape(3, 128)}});
  out.push_back({"sums, 64 = 8^2, rank 4", axes(2, "8"), {Shape(4, 128)}});
  out.push_back({"sums, 512 = 8^3, rank 2", axes(3, "8"), {Shape(2, 1024)}});
  return out;
}

// ---- Tiles that are not all alike ---------------------------------------------------------------

/// The axes that cut each dimension of a type, as text: every axis cuts one.
struct Cutting {
  std::vector<std::string> axes;
  Shape tiles;
};

inline Cutting draw_cutting(support::Random& random, const retile::Mesh& mesh, std::size_t rank) {
  Cutting out{std::vector<std::string>(rank), Shape(rank, 1)};
  std::vector<retile::Axis> order = mesh.axes();
  support::shuffle(random, order);
  for (const retile::Axis& axis : order) {
    const auto i = static_cast<std::size_t>(support::draw(random, 0, static_cast<Size>(rank) - 1));
    out.axes[i] += (out.axes[i].empty() ? "" : ",") + axis.name;
    out.tiles[i] *= axis.size;
  }
  return out;
}

/// The type over an array of `global` elements, whose tiles fill `whole` up.
inline std::string type_of(const Cutting& cutting, const Shape& whole, const Shape& global) {
  std::string out;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    out += out.empty() ? "[" : ", ";
    if (cutting.tiles[i] > 1) {
      out += std::to_string(whole[i] / cutting.tiles[i]) + "{" + cutting.axes[i] + "}";
    }
    out += std::to_string(global[i]);
  }
  return out + "]";
}

/// Two ways to cut an array, and how long its dimensions are filled up.
struct Filled {
  Cutting from;
  Cutting to;
  Shape whole;

  [[nodiscard]] bool is_cut(std::size_t i) const { return from.tiles[i] > 1 || to.tiles[i] > 1; }
  [[nodiscard]] Texts texts(const std::string& mesh, const Shape& global) const {
    return {mesh, type_of(from, whole, global), type_of(to, whole, global)};
  }
};

inline Filled draw_filled(support::Random& random, const retile::Mesh& mesh, std::size_t rank) {
  Filled out{draw_cutting(random, mesh, rank), draw_cutting(random, mesh, rank), {}};
  for (std::size_t i = 0; i < rank; ++i) {
    out.whole.push_back(std::lcm(out.from.tiles[i], out.to.tiles[i]) * support::draw(random, 1, 3));
  }
  return out;
}

/// The extents of an array that is one element short in every dimension that is cut.
inline Shape one_short(const Filled& filled) {
  Shape out = filled.whole;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= filled.is_cut(i) ? 1 : 0;
  return out;
}

/// The same in one of those dimensions, and in each of the others with a chance of one half.
inline Shape partly_short(support::Random& random, const Filled& filled) {
  Shape out = filled.whole;
  std::vector<std::size_t> cut;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (filled.is_cut(i)) cut.push_back(i);
  }
  support::shuffle(random, cut);
  for (const std::size_t i : cut) out[i] -= i == cut.front() ? 1 : support::draw(random, 0, 1);
  return out;
}

/// Meshes and ranks of problems between tiles that are one element short of even ones.
inline std::vector<Case> uneven_cases() {
  std::vector<Case> out;
  for (const auto& [count, size] : {std::pair(3, "2"), std::pair(6, "2"), std::pair(16, "2"),
                                    std::pair(8, "4"), std::pair(4, "16"), std::pair(2, "256")}) {
    for (const std::size_t rank : {2U, 4U, 6U}) {
      out.push_back({"uneven, " + std::string(size) + "^" + std::to_string(count) + ", rank " +
                         std::to_string(rank),
                     axes(count, size),
                     {Shape(rank, 1)}});
    }
  }
  out.push_back({"uneven, 6*4*5, rank 3", "x:6,y:4,z:5", {Shape(3, 1)}});
  return out;
}

inline Texts draw_uneven(support::Random& random, const Case& test, const retile::Mesh& mesh) {
  const Filled filled = draw_filled(random, mesh, test.shapes.front().size());
  return filled.texts(test.mesh, partly_short(random, filled));
}

}  // namespace bench
