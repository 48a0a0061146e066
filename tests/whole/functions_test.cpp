// What the field knows of functions without algebra, of infinities, and of what is no number.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "retile/whole/field.h"

namespace retile::whole {
namespace {

TEST(FieldFunctions, keep_what_is_known_of_a_few_numbers) {
  const Field field(11, 4);
  const Word zero = field.from(0);
  const Word one = field.from(1);
  const Word a = field.div(one, field.from(7));
  for (const Id id : {Id::tanh, Id::erf, Id::sine, Id::tan, Id::asin, Id::asinh, Id::atanh,
                      Id::sinh, Id::sqrt, Id::cbrt, Id::exponential_minus_one, Id::log_plus_one}) {
    EXPECT_EQ(field.unary(id, zero), zero) << static_cast<int>(id);
    EXPECT_NE(field.unary(id, a), a) << static_cast<int>(id);
  }
  for (const Id id : {Id::sqrt, Id::cbrt, Id::rsqrt}) EXPECT_EQ(field.unary(id, one), one);
  EXPECT_EQ(field.unary(Id::cosine, zero), one);
  EXPECT_EQ(field.unary(Id::log, one), zero);
  EXPECT_EQ(field.unary(Id::log, zero), Field::minus_infinity);
  EXPECT_EQ(field.unary(Id::rsqrt, zero), Field::infinity);
  EXPECT_EQ(field.unary(Id::rsqrt, Field::infinity), zero);
  EXPECT_EQ(field.unary(Id::tanh, Field::minus_infinity), field.from(-1));
  EXPECT_EQ(field.unary(Id::tanh, Field::no_number), Field::no_number);
}

TEST(FieldFunctions, are_made_of_each_other) {
  const Field field(12, 4);
  const Word one = field.from(1);
  const Word a = field.div(one, field.from(7));
  EXPECT_EQ(field.add(field.unary(Id::exponential_minus_one, a), one),
            field.unary(Id::exponential, a));
  EXPECT_EQ(field.unary(Id::log_plus_one, a), field.unary(Id::log, field.add(a, one)));
  EXPECT_EQ(field.mul(field.unary(Id::rsqrt, a), field.unary(Id::sqrt, a)), one);
  const std::vector<Word> given = {a, 0, Field::infinity, field.from(3)};
  for (const Id id : {Id::rsqrt, Id::logistic, Id::tanh}) {
    std::vector<Word> out(given.size());
    field.unary(id, given, out.data());
    for (std::size_t k = 0; k < given.size(); ++k) EXPECT_EQ(out[k], field.unary(id, given[k]));
  }
}

TEST(FieldFunctions, of_the_sign_go_with_the_order) {
  int negative = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Field field(seed, 4);
    const Word a = field.from(5);
    const Word one = field.from(1);
    const bool is_negative = field.less(a, field.neg(a));
    negative += is_negative ? 1 : 0;
    EXPECT_EQ(field.unary(Id::absolute, a), is_negative ? field.neg(a) : a);
    EXPECT_EQ(field.unary(Id::absolute, field.neg(a)), field.unary(Id::absolute, a));
    EXPECT_EQ(field.unary(Id::sign, a), is_negative ? field.neg(one) : one);
    EXPECT_EQ(field.unary(Id::sign, Field::infinity), one);
    EXPECT_EQ(field.unary(Id::sign, Field::minus_infinity), field.neg(one));
    EXPECT_EQ(field.div(a, 0), is_negative ? Field::minus_infinity : Field::infinity);
    EXPECT_EQ(field.mul(a, Field::infinity), is_negative ? Field::minus_infinity : Field::infinity);
  }
  EXPECT_GT(negative, 5);
  EXPECT_LT(negative, 35);
}

TEST(FieldFunctions, are_drawn_and_differ) {
  const Field field(13, 4);
  const Field other(14, 4);
  const std::array<Word, 2> words = {3, 4};
  EXPECT_EQ(field.hash(1, words), field.hash(1, words));
  EXPECT_NE(field.hash(1, words), field.hash(2, words));
  EXPECT_NE(field.hash(1, words), other.hash(1, words));
  const Word a = field.div(field.from(1), field.from(7));
  EXPECT_NE(field.binary(Id::power, a, a), field.binary(Id::atan2, a, a));
  EXPECT_NE(field.binary(Id::atan2, a, field.from(1)), field.binary(Id::atan2, field.from(1), a));
}

TEST(FieldFunctions, of_types_keep_what_fits_into_both) {
  const Field field(15, 4);
  const ElementKind f32 = operations::element_kind("f32");
  const ElementKind f64 = operations::element_kind("f64");
  const ElementKind bf16 = operations::element_kind("bf16");
  const Word a = field.div(field.from(1), field.from(7));
  EXPECT_EQ(field.converted(a, f32, f64), a);
  EXPECT_EQ(field.converted(a, bf16, f32), a);
  EXPECT_NE(field.converted(a, f32, bf16), a);
  EXPECT_EQ(field.converted(field.from(256), f32, bf16), field.from(256));
  EXPECT_NE(field.converted(field.from(257), f32, bf16), field.from(257));
  EXPECT_EQ(field.converted(Field::infinity, f32, bf16), Field::infinity);
  EXPECT_NE(field.rounded(a, 5, 10), a);
  EXPECT_NE(field.rounded(a, 5, 10), field.rounded(a, 8, 7));
  EXPECT_EQ(field.rounded(field.from(3), 5, 10), field.from(3));
  for (const Id id : {Id::floor, Id::ceil, Id::round_nearest_afz, Id::round_nearest_even}) {
    EXPECT_EQ(field.unary(id, field.from(-3)), field.from(-3));
    EXPECT_NE(field.unary(id, a), a);
  }
  const ElementKind pred = operations::element_kind("pred");
  EXPECT_EQ(field.to_integer(field.from(0), pred), 0);
  EXPECT_EQ(field.to_integer(a, pred), 1);
}

TEST(FieldFunctions, of_infinities_are_infinite_or_none) {
  const Field field(16, 4);
  EXPECT_EQ(field.mul(Field::infinity, Field::minus_infinity), Field::minus_infinity);
  EXPECT_EQ(field.mul(Field::minus_infinity, Field::minus_infinity), Field::infinity);
  EXPECT_EQ(field.div(Field::minus_infinity, field.from(0)), Field::minus_infinity);
  EXPECT_EQ(field.div(Field::infinity, Field::infinity), Field::no_number);
  EXPECT_EQ(field.min(Field::no_number, field.from(1)), Field::no_number);
  EXPECT_EQ(field.min(field.from(1), Field::no_number), Field::no_number);
  EXPECT_TRUE(field.less(Field::infinity, Field::no_number));
}

TEST(FieldFunctions, of_bits_are_in_the_order_of_numbers) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Field field(seed, 4, {-8, -1, 0, 1, 2.5});
    std::mt19937_64 random(seed);
    std::vector<Word> numbers;
    for (const double one : {-8.0, -1.0, 0.0, 1.0, 2.5}) numbers.push_back(field.of_literal(one));
    for (int k = 0; k < 60; ++k) numbers.push_back(field.drawn(random));
    std::sort(numbers.begin(), numbers.end(), [&](Word a, Word b) { return field.less(a, b); });
    for (const auto& [type, most] : {std::pair("f32", 0x7fffffffL), std::pair("bf16", 0x7fffL)}) {
      const ElementKind kind = operations::element_kind(type);
      const auto rank = [&field, &kind, most = most](Word a) {
        const Word bits = field.to_bits(a, kind);
        return bits < 0 ? bits ^ most : bits;
      };
      int same = 0;
      for (std::size_t k = 1; k < numbers.size(); ++k) {
        EXPECT_LE(rank(numbers[k - 1]), rank(numbers[k])) << seed << " " << type;
        same += rank(numbers[k - 1]) == rank(numbers[k]) ? 1 : 0;
      }
      EXPECT_LT(same, 10);
    }
    EXPECT_EQ(field.to_bits(field.of_literal(2.5), operations::element_kind("f32")), 0x40200000);
  }
}

TEST(FieldFunctions, compare_as_numbers_do) {
  const Field field(17, 4);
  const Word a = field.from(1);
  const Word b = field.from(2);
  const Word low = field.less(a, b) ? a : b;
  const Word high = field.less(a, b) ? b : a;
  const auto compared = [&](Comparison comparison, Word x, Word y) {
    return field.compared(comparison, Order::of_type, x, y);
  };
  EXPECT_TRUE(compared(Comparison::lt, low, high));
  EXPECT_FALSE(compared(Comparison::lt, low, low));
  EXPECT_TRUE(compared(Comparison::le, low, low));
  EXPECT_FALSE(compared(Comparison::le, high, low));
  EXPECT_TRUE(compared(Comparison::gt, high, low));
  EXPECT_FALSE(compared(Comparison::gt, low, high));
  EXPECT_TRUE(compared(Comparison::ge, low, low));
  EXPECT_FALSE(compared(Comparison::ge, low, high));
  for (const Comparison comparison :
       {Comparison::eq, Comparison::lt, Comparison::le, Comparison::gt, Comparison::ge}) {
    EXPECT_FALSE(compared(comparison, low, Field::no_number));
    EXPECT_FALSE(compared(comparison, Field::no_number, low));
  }
  EXPECT_TRUE(compared(Comparison::ne, Field::no_number, Field::no_number));
}

}  // namespace
}  // namespace retile::whole
