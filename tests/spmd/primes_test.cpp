// Primes that are drawn, and numbers modulo them, against divisions of 128 bits.
#include "retile/spmd/primes.h"

#include <gtest/gtest.h>

#include <set>

#include "retile/spmd/modular.h"

namespace retile::spmd::primes_test {
namespace {

__extension__ typedef unsigned __int128
    Wide;  // NOLINT(modernize-use-using): the marker needs a typedef

TEST(Primes, those_below_100000_are_known_by_division) {
  for (std::uint64_t n = 41; n < 100'000; n += 2) {
    bool divides = false;
    for (std::uint64_t d = 3; d * d <= n && !divides; d += 2) divides = n % d == 0;
    ASSERT_EQ(is_prime(n), !divides) << n;
  }
}

TEST(Primes, large_ones_and_what_only_looks_like_one) {
  EXPECT_TRUE(is_prime((std::uint64_t{1} << 61U) - 1));
  EXPECT_TRUE(is_prime(4611686018427387847U));  // 2^62 - 57
  EXPECT_FALSE(is_prime(4611686018427387903U));
  // A product of two primes of 31 bits, Carmichael numbers, and those that fool the bases up to 31.
  EXPECT_FALSE(is_prime(2147483647U * std::uint64_t{2147483629U}));
  for (const std::uint64_t n : {561U, 41041U, 825265U, 321197185U, 3215031751U}) {
    EXPECT_FALSE(is_prime(n)) << n;
  }
  EXPECT_FALSE(is_prime(3825123056546413051U));
  EXPECT_FALSE(is_prime(341550071728321U));
}

/// Both halves of the range are drawn from, and no prime is drawn again.
TEST(Primes, drawn_ones_lie_between_2_61_and_2_62) {
  std::mt19937_64 random(1);
  std::set<std::uint64_t> drawn;
  int above = 0;
  for (int k = 0; k < 400; ++k) {
    const std::uint64_t p = drawn_prime(random);
    EXPECT_GT(p, std::uint64_t{1} << 61U);
    EXPECT_LT(p, std::uint64_t{1} << 62U);
    EXPECT_TRUE(is_prime(p));
    EXPECT_TRUE(drawn.insert(p).second);
    above += p > std::uint64_t{3} << 60U ? 1 : 0;
  }
  EXPECT_GT(above, 140);
  EXPECT_LT(above, 260);
}

TEST(Modular, arithmetic_is_that_of_remainders) {
  std::mt19937_64 random(2);
  for (const std::uint64_t p :
       {drawn_prime(random), drawn_prime(random), (std::uint64_t{1} << 61U) - 1,
        std::uint64_t{4611686018427387847U}, std::uint64_t{65537}}) {
    const Modular field(p);
    for (int k = 0; k < 2'000; ++k) {
      const std::uint64_t a = k == 0 ? p - 1 : random() % p;
      const std::uint64_t b = k < 2 ? p - 1 : random() % p;
      const auto x = field.from(static_cast<Size>(a));
      const auto y = field.from(static_cast<Size>(b));
      ASSERT_EQ(field.plain(x), a);
      ASSERT_EQ(field.plain(field.add(x, y)), static_cast<std::uint64_t>((Wide{a} + b) % p));
      ASSERT_EQ(field.plain(field.sub(x, y)), static_cast<std::uint64_t>((Wide{a} + p - b) % p));
      ASSERT_EQ(field.plain(field.mul(x, y)), static_cast<std::uint64_t>(Wide{a} * b % p));
      ASSERT_EQ(field.from(-static_cast<Size>(a)), field.sub(field.from(0), x));
      ASSERT_TRUE(a == 0 || field.mul(x, field.reciprocal(x)) == field.from(1)) << a;
    }
    EXPECT_EQ(field.plain(field.from(std::numeric_limits<Size>::max())),
              static_cast<std::uint64_t>(std::numeric_limits<Size>::max()) % p);
    EXPECT_EQ(field.add(field.from(std::numeric_limits<Size>::min()), field.from(1)),
              field.from(-std::numeric_limits<Size>::max()));
  }
}

TEST(Modular, products_that_are_gathered_are_the_same) {
  std::mt19937_64 random(3);
  for (const std::uint64_t p :
       {drawn_prime(random), (std::uint64_t{1} << 61U) - 1, std::uint64_t{4611686018427387847U}}) {
    const Modular field(p);
    for (int round = 0; round < 2'000; ++round) {
      Modular::Gathered sum = 0;
      auto wanted = field.from(0);
      for (std::size_t k = 0; k < Modular::most_gathered; ++k) {
        const auto a = round == 0 ? p - 1 : field.drawn(random);
        const auto b = round == 0 ? p - 1 : field.drawn(random);
        Modular::gather(sum, a, b);
        wanted = field.add(wanted, field.mul(a, b));
      }
      ASSERT_EQ(field.gathered(sum), wanted);
    }
  }
}

TEST(Twofold, integers_are_told_from_other_numbers) {
  std::mt19937_64 random(4);
  const Twofold field(Modular(drawn_prime(random)), Modular(drawn_prime(random)));
  for (const Size c :
       {Size{0}, Size{1}, Size{-1}, Twofold::most_constant, -Twofold::most_constant}) {
    EXPECT_EQ(field.constant(field.from(c)), c);
  }
  EXPECT_EQ(field.constant(field.from(Twofold::most_constant + 1)), std::nullopt);
  EXPECT_EQ(field.constant(field.drawn(random)), std::nullopt);
  EXPECT_EQ(field.constant({field.from(3).first, field.from(4).second}), std::nullopt);
}

}  // namespace
}  // namespace retile::spmd::primes_test
