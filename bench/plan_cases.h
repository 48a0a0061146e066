// The families of problems on which the planner is timed, and what their times come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

/// The value below which such a part of them lies.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part)];
}

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

}  // namespace bench
