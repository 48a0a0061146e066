// The field that numbers with a point are elements of.
#include "retile/whole/field.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "retile/spmd/primes.h"

namespace retile::whole {
namespace {

TEST(Field, is_of_a_prime_that_has_the_roots) {
  for (const Size order : {Size{4}, Size{6}, Size{30}, Size{1024}}) {
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
      const Field field(seed, order);
      EXPECT_TRUE(spmd::is_prime(field.prime()));
      EXPECT_EQ((field.prime() - 1) % static_cast<std::uint64_t>(order), 0U);
      Word power = field.from(1);
      for (Size k = 0; k < order; ++k) {
        EXPECT_EQ(power == field.from(1), k == 0);
        power = field.mul(power, field.root(order, 1));
      }
      EXPECT_EQ(power, field.from(1));
      const auto [cosine, sine] = field.root_parts(order, 1);
      EXPECT_EQ(field.add(field.mul(cosine, cosine), field.mul(sine, sine)), field.from(1));
    }
  }
}

TEST(Field, computes_exactly) {
  const Field field(3, 4);
  const Word third = field.div(field.from(1), field.from(3));
  EXPECT_EQ(field.mul(third, field.from(3)), field.from(1));
  EXPECT_EQ(field.of_literal(0.375), field.div(field.from(3), field.from(8)));
  EXPECT_EQ(field.of_literal(-1024.0), field.from(-1024));
  EXPECT_EQ(
      field.from_unsigned(~std::uint64_t{0}),
      field.sub(field.mul(field.from(std::int64_t{1} << 32U), field.from(std::int64_t{1} << 32U)),
                field.from(1)));
  EXPECT_EQ(field.small(field.from(-77)), -77);
  EXPECT_FALSE(field.small(third));
  EXPECT_EQ(field.binary(Id::power, third, field.from(-2)), field.from(9));
}

TEST(Field, infinities_are_those_of_numbers_with_a_point) {
  const Field field(4, 4);
  const Word one = field.from(1);
  const Word zero = field.from(0);
  EXPECT_EQ(field.of_literal(INFINITY), Field::infinity);
  EXPECT_EQ(field.of_literal(NAN), Field::no_number);
  EXPECT_EQ(field.add(Field::infinity, one), Field::infinity);
  EXPECT_EQ(field.add(Field::infinity, Field::minus_infinity), Field::no_number);
  EXPECT_EQ(field.sub(one, Field::infinity), Field::minus_infinity);
  EXPECT_EQ(field.mul(zero, Field::infinity), Field::no_number);
  EXPECT_EQ(field.div(one, Field::infinity), zero);
  EXPECT_EQ(field.div(zero, zero), Field::no_number);
  EXPECT_EQ(field.unary(Id::exponential, Field::minus_infinity), zero);
  EXPECT_EQ(field.max(Field::minus_infinity, one), one);
  EXPECT_EQ(field.min(Field::infinity, one), one);
  EXPECT_EQ(field.max(Field::no_number, one), Field::no_number);
  EXPECT_FALSE(field.compared(Comparison::eq, Order::of_type, Field::no_number, Field::no_number));
  EXPECT_TRUE(field.compared(Comparison::eq, Order::total, Field::no_number, Field::no_number));
  EXPECT_FALSE(Field::are_finite(std::array<Word, 2>{one, Field::infinity}));
}

TEST(Field, has_one_order_another_one_by_each_seed) {
  int below = 0;
  int below_zero = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Field field(seed, 4);
    const Word a = field.from(1);
    const Word b = field.from(2);
    const Word c = field.from(3);
    EXPECT_NE(field.less(a, b), field.less(b, a));
    EXPECT_FALSE(field.less(a, a));
    EXPECT_TRUE(!field.less(a, b) || !field.less(b, c) || field.less(a, c));
    EXPECT_EQ(field.max(a, field.max(b, c)), field.max(field.max(a, b), c));
    below += field.less(a, b) ? 1 : 0;
    below_zero += field.less(a, field.from(0)) ? 1 : 0;
  }
  EXPECT_GT(below, 60);
  EXPECT_LT(below, 140);
  EXPECT_GT(below_zero, 60);
  EXPECT_LT(below_zero, 140);
}

TEST(Field, literals_keep_their_order_among_all_others) {
  int between = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Field field(seed, 4, {0.75, -2.0, 0.0, 0.75});
    const Word low = field.of_literal(-2.0);
    const Word high = field.of_literal(0.75);
    EXPECT_TRUE(field.less(low, field.from(0)));
    EXPECT_TRUE(field.less(field.from(0), high));
    EXPECT_FALSE(field.less(high, low));
    const Word other = field.from(1000);
    between += field.less(low, other) && field.less(other, high) ? 1 : 0;
  }
  EXPECT_GT(between, 40);
  EXPECT_LT(between, 160);
}

TEST(Field, unknown_functions_are_functions) {
  const Field field(5, 4);
  const Field other(6, 4);
  const Word a = field.from(7);
  EXPECT_EQ(field.unary(Id::tanh, a), field.unary(Id::tanh, a));
  EXPECT_NE(field.unary(Id::tanh, a), field.unary(Id::sine, a));
  EXPECT_NE(field.unary(Id::tanh, a), field.unary(Id::tanh, field.from(8)));
  EXPECT_NE(field.unary(Id::tanh, a), other.unary(Id::tanh, other.from(7)));
  EXPECT_EQ(field.unary(Id::exponential, field.from(0)), field.from(1));
  EXPECT_EQ(field.mul(field.unary(Id::logistic, a),
                      field.add(field.from(1), field.unary(Id::exponential, field.neg(a)))),
            field.from(1));
}

TEST(Field, sums_of_products_are_those_of_their_parts) {
  const Field field(7, 4);
  std::mt19937_64 random(1);
  std::vector<Word> x;
  std::vector<Word> y;
  Word sum = field.from(0);
  for (int k = 0; k < 37; ++k) {
    Word out = 0;
    field.products(x.data(), 1, y.data(), 1, k, &out);
    EXPECT_EQ(out, sum);
    x.push_back(field.drawn(random));
    y.push_back(field.drawn(random));
    sum = field.add(sum, field.mul(x.back(), y.back()));
  }
}

TEST(Field, products_of_rows_are_sums_of_products) {
  const Field field(8, 4);
  std::mt19937_64 random(2);
  const auto largest = static_cast<Word>(field.prime() - 1);
  for (const Size depth : {0, 1, 7, 8, 9, 16, 17, 100}) {
    for (const Size rows : {1, 2, 3, 4}) {
      for (const Size columns : {1, 2, 3, 5}) {
        std::vector<Word> x(static_cast<std::size_t>(rows * depth), largest);
        std::vector<Word> y(static_cast<std::size_t>(columns * depth), largest);
        for (std::size_t k = 0; k < x.size(); k += 2) x[k] = field.drawn(random);
        for (std::size_t k = 0; k < y.size(); k += 3) y[k] = field.drawn(random);
        std::vector<Word> out(static_cast<std::size_t>(rows * columns), -1);
        field.products(x.data(), rows, y.data(), columns, depth, out.data());
        for (Size m = 0; m < rows; ++m) {
          for (Size n = 0; n < columns; ++n) {
            Word sum = 0;
            for (Size k = 0; k < depth; ++k) {
              sum = field.add(sum, field.mul(x[static_cast<std::size_t>(m * depth + k)],
                                             y[static_cast<std::size_t>(n * depth + k)]));
            }
            EXPECT_EQ(out[static_cast<std::size_t>(m * columns + n)], sum)
                << rows << " " << columns << " " << depth;
          }
        }
      }
    }
  }
}

TEST(Field, many_quotients_are_those_of_single_numbers) {
  const Field field(9, 4);
  std::mt19937_64 random(3);
  const std::array<Word, 5> special = {0, Field::infinity, Field::minus_infinity, Field::no_number,
                                       field.from(1)};
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 1023U, 1024U, 1025U, 3000U}) {
    std::vector<Word> a;
    std::vector<Word> b;
    for (std::size_t k = 0; k < count; ++k) {
      a.push_back(random() % 4 == 0 ? special[random() % 5] : field.drawn(random));
      b.push_back(random() % 4 == 0 ? special[random() % 5] : field.drawn(random));
    }
    std::vector<Word> out(count, -99);
    field.divide(a, b.data(), out.data());
    for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(out[k], field.div(a[k], b[k])) << k;
  }
}

}  // namespace
}  // namespace retile::whole
