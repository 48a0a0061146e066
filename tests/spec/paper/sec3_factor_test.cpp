#include "spec/paper/sec3_factor.h"

#include <gtest/gtest.h>

#include "tests/spec/values.h"

namespace spec::sec3_factor_test {
namespace {

TEST(Principle_1, prime_factors_multiply_back) {
  EXPECT_EQ(prime_factors(1), Sizes());
  EXPECT_EQ(prime_factors(360), (Sizes{2, 2, 2, 3, 3, 5}));
  EXPECT_EQ(prime_factors(2147483647), (Sizes{2147483647}));
  for (Size n = 1; n < 2000; ++n) {
    ASSERT_EQ(product(prime_factors(n)), n);
    for (const Size p : prime_factors(n)) ASSERT_EQ(prime_factors(p), (Sizes{p}));
  }
}

TEST(Principle_1, splitting_axes_moves_nothing) {
  const Mesh H = mesh("x:4,y:6,z:2");
  for (const Factors& factors : {into_primes(H), Factors{{"x", {2, 2}}, {"y", {3, 2}}}}) {
    const FactoredMesh split = factor(H, factors).value();
    EXPECT_TRUE(wf_mesh(split.H));
    for (const char* text : {"[3{x}12, 2{y}12]", "[1{y,x}24, 4]", "[1{x,y}24, 2{z}4]", "[8]"}) {
      const Type tau = type(H, text), tau_split = factor(split, tau).value();
      EXPECT_TRUE(wf_type(split.H, tau_split)) << to_text(tau_split);
      EXPECT_EQ(base_offset_map(split.H, tau_split), base_offset_map(H, tau)) << text;
    }
  }
}

/// Negative control: parts in the other order do move data.
TEST(Principle_1, parts_are_minor_to_major) {
  const Mesh H = mesh("y:6");
  const FactoredMesh split = factor(H, {{"y", {3, 2}}}).value();
  EXPECT_EQ(to_text(split.H), "y.2:2,y.1:3");
  Type tau = factor(split, type(H, "[2{y}12]")).value();
  EXPECT_EQ(to_text(tau), "[2{y.1,y.2}12]");
  std::swap(tau[0].xs[0], tau[0].xs[1]);
  EXPECT_NE(base_offset_map(split.H, tau), base_offset_map(H, type(H, "[2{y}12]")));
}

TEST(Principle_1, rejects_factors_of_another_size_and_unknown_axes) {
  const Mesh H = mesh("y:6");
  EXPECT_TRUE(factor(H, Factors{{"y", {2, 3}}}));
  EXPECT_FALSE(factor(H, Factors{{"y", {2, 2}}}));
  const FactoredMesh split = factor(H, into_primes(H)).value();
  EXPECT_FALSE(factor(split, Type{{2, {"w"}, 12}}));
}

TEST(Principle_1, new_names_are_new) {
  const FactoredMesh split = factor(mesh("x:4,x.1:2"), {{"x", {2, 2}}}).value();
  EXPECT_TRUE(wf_mesh(split.H)) << to_text(split.H);
}

}  // namespace
}  // namespace spec::sec3_factor_test
