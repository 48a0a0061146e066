#include "retile/core/primes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace primes_test {
namespace {

using retile::factorize;
using retile::PrimePower;
using retile::Size;
using Factors = std::vector<PrimePower>;

TEST(Primes, one_has_no_prime_factors) { EXPECT_EQ(factorize(1), Factors{}); }

TEST(Primes, factors_stand_smallest_first_with_their_exponents) {
  EXPECT_EQ(factorize(12), (Factors{{2, 2}, {3, 1}}));
  EXPECT_EQ(factorize(720720), (Factors{{2, 4}, {3, 2}, {5, 1}, {7, 1}, {11, 1}, {13, 1}}));
}

TEST(Primes, the_largest_arguments) {
  EXPECT_EQ(factorize(Size{1} << 31), (Factors{{2, 31}}));
  EXPECT_EQ(factorize((Size{1} << 31) - 1), (Factors{{(Size{1} << 31) - 1, 1}}));
  EXPECT_EQ(factorize(Size{46337} * 46337), (Factors{{46337, 2}}));
  EXPECT_EQ(factorize(Size{1} << 62), (Factors{{2, 62}}));
  EXPECT_EQ(factorize(9223372036854775807),
            (Factors{{7, 2}, {73, 1}, {127, 1}, {337, 1}, {92737, 1}, {649657, 1}}));
}

TEST(Primes, agree_with_a_sieve_up_to_20000) {
  constexpr std::size_t end = 20001;
  std::vector<Size> least(end, 0);  // least prime factor
  for (std::size_t p = 2; p < end; ++p) {
    if (least[p] != 0) continue;
    for (std::size_t multiple = p; multiple < end; multiple += p) {
      if (least[multiple] == 0) least[multiple] = static_cast<Size>(p);
    }
  }
  for (std::size_t n = 1; n < end; ++n) {
    Factors want;
    for (std::size_t rest = n; rest > 1; rest /= static_cast<std::size_t>(least[rest])) {
      if (want.empty() || want.back().prime != least[rest]) want.push_back({least[rest], 0});
      ++want.back().exponent;
    }
    ASSERT_EQ(factorize(static_cast<Size>(n)), want) << n;
  }
}

RC_GTEST_PROP(Primes, the_product_of_the_factors_is_the_number, ()) {
  const auto n =
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Size>(1, retile::max_devices + 1));
  Size product = 1;
  Size last = 1;
  for (const PrimePower& factor : factorize(n)) {
    RC_ASSERT(factor.prime > last);
    RC_ASSERT(factor.exponent >= 1);
    last = factor.prime;
    for (Size i = 0; i < factor.exponent; ++i) product *= factor.prime;
  }
  RC_ASSERT(product == n);
}

TEST(PrimesDeathTest, zero_is_a_mistake_of_the_caller) {
  EXPECT_DEATH(static_cast<void>(factorize(0)), "n >= 1");
}

}  // namespace
}  // namespace primes_test
