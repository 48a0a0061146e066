/// Values of the specification in the paper's notation, for tests of `spec`.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <numeric>
#include <string_view>

#include "spec/paper/def6_devices.h"
#include "spec/program/type_text.h"

namespace spec {

/// The mesh that a text says; a text that says none is a mistake of the test.
inline Mesh mesh(std::string_view text) {
  const auto H = parse_mesh(text);
  EXPECT_TRUE(H.has_value()) << "not a mesh: " << text;
  return H.value_or(Mesh());
}

inline Type type(const Mesh& H, std::string_view text) {
  const auto tau = parse_type(H, text);
  EXPECT_TRUE(tau.has_value()) << "not a type: " << text;
  return tau.value_or(Type());
}

/// Every device at the point of its number.
inline DeviceMap identity(const Mesh& H) {
  DeviceMap phi(static_cast<Index>(device_count(H).value()));
  std::iota(phi.begin(), phi.end(), Size{0});
  return phi;
}

/// The outcome of a rule in notation; "none" when it does not apply.
inline std::string shown(const std::optional<Type>& tau) { return tau ? to_text(*tau) : "none"; }

/// How often something was seen, by mesh.
using Counts = std::map<std::string, std::size_t>;

/// Prints the counts; expects so many meshes, and more than `least` on each.
inline void expect_on_each(const char* what, const Counts& counts, std::size_t meshes,
                           std::size_t least) {
  std::size_t sum = 0;
  std::cout << what << ": ";
  for (const auto& [text, count] : counts) {
    std::cout << text << " " << count << "; ";
    sum += count;
    EXPECT_GT(count, least) << what << " over " << text;
  }
  std::cout << "in all " << sum << "\n";
  EXPECT_EQ(counts.size(), meshes) << what;
}

/// A mesh with a globaltype, for enumerations.
struct Space {
  Mesh H;
  Sizes g;
};

/// Prime meshes of up to 12 devices, with all global shapes of rank 1 to `most_rank` whose sizes
/// divide the number of devices: every split dimension can be split to its end. For sizes that do
/// not divide it, more devices and rank 3 see `prime_spaces`.
inline std::vector<Space> spaces(Index most_rank, Size most_devices = 12) {
  std::vector<Space> out;
  for (const char* text : {"x:2,y:2", "x:2,y:3", "x:3,y:3", "x:2,y:2,z:2", "x:2,y:2,z:3"}) {
    const Mesh H = mesh(text);
    Size delta = 1;
    for (const Axis& alpha : H) delta *= alpha.k;
    if (delta > most_devices) continue;
    std::vector<Sizes> shapes = {Sizes()};
    for (Index r = 1; r <= most_rank; ++r) {
      std::vector<Sizes> longer;
      for (const Sizes& g : shapes) {
        for (Size s = 1; s <= delta; ++s) {
          if (delta % s != 0) continue;
          longer.push_back(g);
          longer.back().push_back(s);
        }
      }
      shapes = longer;
      for (const Sizes& g : shapes) out.push_back({H, g});
    }
  }
  return out;
}

/// Global shapes of rank 1 to `most_rank` over the meshes of two and three prime axes up to 2x3x5.
/// The sizes let all axes split a dimension, or some, or (4 over 2x3) leave a factor that none
/// can split; shapes of rank 3 are fewer.
inline std::vector<Space> prime_spaces(Index most_rank) {
  struct Row {
    const char* mesh;
    Sizes sizes, sizes_of_rank_3;
  };
  const std::vector<Row> rows = {{"x:2,y:2", {2, 4, 6, 8}, {2, 4, 6}},
                                 {"x:2,y:3", {2, 3, 4, 6}, {2, 4, 6}},
                                 {"x:3,y:3", {3, 6, 9}, {3, 6, 9}},
                                 {"x:2,y:2,z:2", {2, 4, 8, 12}, {2, 4, 8}},
                                 {"x:2,y:2,z:3", {2, 3, 4, 6, 12}, {4, 6, 12}},
                                 {"x:2,y:3,z:5", {2, 4, 6, 10, 15, 30}, {6, 10, 30}}};
  std::vector<Space> out;
  for (const auto& [text, sizes, sizes_of_rank_3] : rows) {
    const Mesh H = mesh(text);
    for (Index r = 1; r <= most_rank; ++r) {
      std::vector<Sizes> shapes = {Sizes()};
      for (Index i = 0; i < r; ++i) {
        std::vector<Sizes> longer;
        for (const Sizes& g : shapes) {
          for (const Size s : r == 3 ? sizes_of_rank_3 : sizes) {
            longer.push_back(g);
            longer.back().push_back(s);
          }
        }
        shapes = longer;
      }
      for (const Sizes& g : shapes) out.push_back({H, g});
    }
  }
  return out;
}

}  // namespace spec
