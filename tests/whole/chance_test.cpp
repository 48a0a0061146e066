// How seldom formulas that differ pass a draw: small ones, worked out by hand.
#include "retile/whole/chance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

/// e d / 2^61 as its -log2; nothing where the verdict has no bound.
std::optional<double> bits_of(const std::string& module) {
  const Result<Validation> out = validated(module, module);
  EXPECT_TRUE(out) << out.error().message;
  if (!out) return std::nullopt;
  EXPECT_EQ(out->answer, Answer::right) << out->why;
  return out->draw_bits;
}

void expect_bound(const std::string& body, double events, double degree,
                  const std::string& more = "") {
  const auto bits = bits_of(module_of(body, more));
  ASSERT_TRUE(bits) << body;
  EXPECT_NEAR(*bits, 61 - std::log2(events * degree), 1e-9) << body;
}

const std::string pair_of_fours = "%x = f32[4] parameter(0)\n%y = f32[4] parameter(1)\n";

TEST(Chance, is_the_degree_of_what_is_compared) {
  expect_bound(pair_of_fours + "ROOT %r = f32[4] add(%x, %y)\n", 1, 1);
  expect_bound(pair_of_fours + "ROOT %r = f32[4] multiply(%x, %y)\n", 1, 2);
  expect_bound(pair_of_fours +
                   "%a = f32[4] multiply(%x, %y)\n%b = f32[4] multiply(%a, %a)\n"
                   "ROOT %r = f32[4] add(%b, %x)\n",
               1, 4);
  expect_bound(
      "%x = f32[4,4] parameter(0)\n%a = f32[4,4] dot(%x, %x), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}\nROOT %r = f32[4,4] dot(%a, %x), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
      1, 3);
  expect_bound(
      "%x = f32[4] parameter(0)\n%z = f32[] constant(1)\n"
      "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%multiply_f32\n",
      1, 5);
}

// Four arguments before and four after are 32 pairs; each may be one of four numbers that are known.
TEST(Chance, counts_pairs_of_arguments_of_functions) {
  expect_bound(pair_of_fours + "ROOT %r = f32[4] exponential(%x)\n", 32 + 32 + 1, 1);
  expect_bound(pair_of_fours + "%a = f32[4] multiply(%x, %y)\nROOT %r = f32[4] exponential(%a)\n",
               32 + 32 + 1, 2);
  expect_bound(pair_of_fours + "%a = f32[4] exponential(%x)\nROOT %r = f32[4] tanh(%y)\n",
               2 * (32 + 32) + 1, 1);
}

TEST(Chance, counts_numbers_that_are_compared) {
  expect_bound(pair_of_fours + "ROOT %r = f32[4] maximum(%x, %y)\n", 2 * 3 * 4 + 1, 1);
  expect_bound(
      "%x = s32[4] parameter(0)\n%y = s32[4] parameter(1)\n%f = f32[4] parameter(2)\n"
      "%m = s32[4] maximum(%x, %y)\nROOT %r = (s32[4], f32[4]) tuple(%m, %f)\n",
      1, 1);
}

// Four divisors before and four after, none of which may be 0, are multiplied with.
TEST(Chance, clears_divisors) {
  expect_bound(pair_of_fours + "ROOT %r = f32[4] divide(%x, %y)\n", 2 * 4 + 1, 1 + 8);
  expect_bound(
      "%x = f32[4] parameter(0)\n%y = f32[] parameter(1)\n"
      "%b = f32[4] broadcast(%y), dimensions={}\nROOT %r = f32[4] divide(%x, %b)\n",
      2 * 4 + 1, 1 + 2);
  // A divisor has a reciprocal in it: 1 + 4 with 5 reciprocals, 25, 45 with 25, and 145.
  expect_bound(pair_of_fours + "%a = f32[4] divide(%x, %y)\nROOT %r = f32[4] divide(%x, %a)\n",
               4 * 4 + 1, 145);
}

const std::string loop_body =
    "%i = s32[] constant(0)\n%x = f32[4] parameter(0)\n%t = (s32[], f32[4]) tuple(%i, %x)\n"
    "%w = (s32[], f32[4]) while(%t), condition=%c, body=%b\n"
    "ROOT %r = f32[4] get-tuple-element(%w), index=1\n";

std::string squarings(int count) {
  return "%c (p: (s32[], f32[4])) -> pred[] {\n  %p = (s32[], f32[4]) parameter(0)\n"
         "  %i = s32[] get-tuple-element(%p), index=0\n  %n = s32[] constant(" +
         std::to_string(count) +
         ")\n  ROOT %r = pred[] compare(%i, %n), direction=LT\n}\n"
         "%b (p: (s32[], f32[4])) -> (s32[], f32[4]) {\n  %p = (s32[], f32[4]) parameter(0)\n"
         "  %i = s32[] get-tuple-element(%p), index=0\n"
         "  %v = f32[4] get-tuple-element(%p), index=1\n  %o = s32[] constant(1)\n"
         "  %k = s32[] add(%i, %o)\n  %s = f32[4] multiply(%v, %v)\n"
         "  ROOT %r = (s32[], f32[4]) tuple(%k, %s)\n}\n";
}

TEST(Chance, goes_round_loops) {
  expect_bound(loop_body, 1, 8, squarings(3));
  expect_bound(loop_body, 1, 1 << 20, squarings(20));
}

// What is rounded may be one of 2^26 integers by chance, 8 times.
TEST(Chance, counts_integers_that_conversions_know) {
  expect_bound("%x = f32[4] parameter(0)\nROOT %r = bf16[4] convert(%x)\n",
               32 + 8 * std::ldexp(1, 26) + 1, 1);
}

// 10^30 has 100 bits, which one prime of 61 may divide; 2^54 / 4 primes are drawn.
TEST(Chance, counts_primes_that_divide_coefficients) {
  const auto bits = bits_of(
      module_of("%x = f32[4] parameter(0)\n%c = f32[] constant(1e30)\n"
                "%b = f32[4] broadcast(%c), dimensions={}\nROOT %r = f32[4] multiply(%x, %b)\n"));
  ASSERT_TRUE(bits);
  EXPECT_NEAR(*bits, -std::log2(std::ldexp(1, -61) + std::ldexp(4, -54)), 1e-9);
}

TEST(Chance, is_not_known_of_all_programs) {
  EXPECT_FALSE(bits_of(module_of(
      "%a = f32[4,4] parameter(0)\n%b = f32[4,2] parameter(1)\nROOT %r = f32[4,2] "
      "triangular-solve(%a, %b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE\n")));
  EXPECT_FALSE(bits_of(module_of(loop_body, squarings(61))));
}

}  // namespace
}  // namespace retile::whole::tests
