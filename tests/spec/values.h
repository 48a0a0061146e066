/// Values of the specification in the paper's notation, for tests of `spec`.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "spec/type_text.h"

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

/// The outcome of a rule in notation; "none" when it does not apply.
inline std::string shown(const std::optional<Type>& tau) { return tau ? to_text(*tau) : "none"; }

/// A mesh with a globaltype, for enumerations.
struct Space {
  Mesh H;
  Sizes g;
};

/// The prime meshes on which the statements of the paper are enumerated, with all global shapes of
/// rank 1 to `most_rank` whose sizes divide the number of devices.
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

}  // namespace spec
