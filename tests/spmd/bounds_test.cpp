// What the probability of an error is made of.
#include "retile/spmd/bounds.h"

#include <gtest/gtest.h>

#include "spmd/modules.h"

namespace retile::spmd::bounds_test {
namespace {

Bounds bounds(const std::string& text, const std::vector<Size>& factors = {}) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  EXPECT_TRUE(module) << text;
  return module ? bounds_of(*module, factors) : Bounds{};
}
std::string one_of(const std::string& body) {
  return "retile.spmd/1\nmesh d:2\nfn main(x : [8{d}16, 4], w : [4, 4]) -> [8{d}16, 4]\n"
         "y = spmd x w { " +
         body + " } as [8{d}16, 4]\nreturn y\n";
}

/// One more than the bits of a value: two values are compared.
TEST(Bounds, coefficients_are_bounded_by_what_is_added_and_multiplied) {
  const auto bits = [](const std::string& body) { return bounds(one_of(body)).bits - 1; };
  EXPECT_EQ(bits("x"), 0);
  EXPECT_EQ(bits("neg x"), 0);
  EXPECT_EQ(bits("add x x"), 1);
  EXPECT_EQ(bits("add x x x"), 2);
  EXPECT_EQ(bits("add x x x x x"), 3);
  EXPECT_EQ(bits("sub (add x x) x"), 2);
  EXPECT_EQ(bits("scale 8 x"), 3);
  EXPECT_EQ(bits("scale -9 x"), 4);
  EXPECT_EQ(bits("scale 4611686018427387904 (scale 4611686018427387904 x)"), 124);
  EXPECT_EQ(bits("fill 1000 x"), 10);
  EXPECT_EQ(bits("mul (scale 8 x) (add x x)"), 4);
  EXPECT_EQ(bits("einsum \"ik,kj->ij\" x w"), 2);
  EXPECT_EQ(bits("einsum \"ij,kj->ij\" x w"), 2);
  EXPECT_EQ(bits("einsum \"ij,k->ij\" x (reduce_sum 0 w)"), 4);
}

TEST(Bounds, maxima_are_variables_of_degree_1) {
  EXPECT_EQ(bounds(one_of("relu (fill 3 x)")).degree, 1);
  EXPECT_EQ(bounds(one_of("mul (relu (fill 3 x)) (relu (fill 3 x))")).degree, 2);
  EXPECT_EQ(bounds(one_of("mul x (relu (mul x x))")).degree, 3);
  EXPECT_EQ(bounds(one_of("mul (relu x) (relu x)")).degree, 2);
  // A variable more for each maximum, and denominators of 3 bits in each other's.
  EXPECT_EQ(bounds(one_of("relu x")).bits, 2);
  EXPECT_EQ(bounds(one_of("relu (relu x)")).bits, 3);
  EXPECT_EQ(bounds(one_of("relu x"), {2, 3}).bits, 6 + 1 + 6 + 1);
  EXPECT_GT(bounds(one_of("relu (relu x)"), {2, 3}).bits, bounds(one_of("relu x"), {2, 3}).bits);
}

TEST(Bounds, results_of_functions_are_variables_of_degree_1) {
  EXPECT_EQ(bounds(one_of("exp (fill 3 x)")).degree, 1);
  EXPECT_EQ(bounds(one_of("mul x (exp (mul x x x))")).degree, 3);
  EXPECT_EQ(bounds(one_of("mul x (exp x) (sqrt x)")).degree, 3);
  EXPECT_EQ(bounds(one_of("div (mul x x) x")).degree, 3);
  EXPECT_EQ(bounds(one_of("div x (scale 1000 x)")).bits, 10 + 1);
  EXPECT_EQ(bounds(one_of("min x x")).bits, bounds(one_of("max x x")).bits);
}

TEST(Bounds, addends_are_added_up) {
  const std::string partial = test::module_named("partial");
  EXPECT_EQ(bounds(partial).degree, 1);
  // x: 2 bits of 4 addends; a: 1 more for one drawn, 1 bit more; b: 2 bits; c: 1 bit.
  EXPECT_EQ(bounds(partial).bits, 1 + 2 + 1 + 2 + 1);
  EXPECT_EQ(bounds(test::module_named("chain")).degree, 3);
}

TEST(Bounds, errors_are_as_seldom_as_is_said) {
  EXPECT_EQ(error_exponent({1, 60}, false), 61);
  EXPECT_EQ(error_exponent({3, 60}, false), 59);
  EXPECT_EQ(error_exponent({1, 61}, false), 53);  // 1 / 2^61 + 1 / 2^54
  EXPECT_EQ(error_exponent({1, 61 * 64 - 1}, false), 48);
  EXPECT_EQ(error_exponent({1, 61 * 64}, false), 47);
  EXPECT_EQ(error_exponent({1, 60}, true), 62);
  EXPECT_EQ(error_exponent({4, 60}, true), 58);
  EXPECT_EQ(error_exponent({1, 61}, true), 46);
  EXPECT_EQ(error_exponent({Size{1} << 39, 1}, false), 22);
  EXPECT_EQ(error_exponent({Size{1} << 22, 1}, true), std::nullopt);
}

/// Whatever has as large a degree or as many bits as is counted is not judged.
TEST(Bounds, beyond_what_is_counted_nothing_is_said) {
  EXPECT_EQ(error_exponent({1, most_bits}, false), std::nullopt);
  EXPECT_EQ(error_exponent({1, most_bits}, true), std::nullopt);
  EXPECT_EQ(error_exponent({most_degree, 1}, false), std::nullopt);
  std::string text = "retile.spmd/1\nmesh d:2\nfn main(x : [2]) -> [2]\ny = spmd x { x } as [2]\n";
  for (int k = 0; k < 50; ++k) text += "y" + std::to_string(k) + " = spmd y { mul y y } as [2]\n";
  EXPECT_EQ(bounds(text + "return y\n").degree, 2);
}

}  // namespace
}  // namespace retile::spmd::bounds_test
