#include "retile/operations/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "retile/operations/table.h"

namespace retile::operations {
namespace arithmetic_test {

constexpr Word least = std::numeric_limits<Word>::min();

TEST(Arithmetic, the_extremes_divide) {
  const ElementKind wide = element_kind("s64");
  EXPECT_EQ(calculate(Arithmetic::divide, least, -1, wide), least);
  EXPECT_EQ(calculate(Arithmetic::remainder, least, -1, wide), 0);
  EXPECT_EQ(calculate(Arithmetic::divide, -1, 2, element_kind("u64")),
            std::numeric_limits<Word>::max());
  EXPECT_EQ(calculate(Arithmetic::remainder, -1, 10, element_kind("u64")), 5);
  EXPECT_EQ(calculate(Arithmetic::divide, 5, 0, element_kind("u8")), 255);
  EXPECT_EQ(calculate(Arithmetic::remainder, 5, 0, element_kind("u8")), 5);
  EXPECT_EQ(calculate(Arithmetic::shift_right_arithmetic, -8, 64, wide), -1);
  EXPECT_EQ(calculate(Arithmetic::shift_left, 1, 32, element_kind("s32")), 0);
}

/// What an operation of integers means, on as many bits, by loops over bits.
Word literally(Arithmetic arithmetic, Word a, Word b, const ElementKind& kind) {
  const int n = static_cast<int>(kind.bits);
  const auto bit = [](Word word, int k) { return static_cast<int>((word >> k) & 1); };
  const Word mask = (Word{1} << n) - 1;
  const Word amount = b & mask;
  Word out = 0;
  for (int k = 0; k < n; ++k) {
    const Word from = k + amount;
    Word one = 0;
    if (arithmetic == Arithmetic::shift_left)
      one = k >= amount ? bit(a, k - static_cast<int>(amount)) : 0;
    if (arithmetic == Arithmetic::shift_right_logical)
      one = from < n ? bit(a, static_cast<int>(from)) : 0;
    if (arithmetic == Arithmetic::shift_right_arithmetic) {
      one = bit(a, from < n ? static_cast<int>(from) : n - 1);
    }
    out |= one << k;
  }
  return wrapped(out, kind);
}

TEST(Arithmetic, shifts_move_bits) {
  int looked_at = 0;
  for (const char* name : {"s2", "u2", "s4", "u4", "s8", "u8"}) {
    const ElementKind kind = element_kind(name);
    const Word count = Word{1} << kind.bits;
    for (const Arithmetic arithmetic : {Arithmetic::shift_left, Arithmetic::shift_right_logical,
                                        Arithmetic::shift_right_arithmetic}) {
      for (Word a = 0; a < count; ++a) {
        for (Word b = 0; b < count; ++b) {
          const Word left = wrapped(a, kind);
          const Word right = wrapped(b, kind);
          ASSERT_EQ(calculate(arithmetic, left, right, kind),
                    literally(arithmetic, left, right, kind))
              << name << " " << left << " " << right;
          ++looked_at;
        }
      }
    }
  }
  EXPECT_GT(looked_at, 300000);
}

TEST(Arithmetic, bits_are_counted_within_the_type) {
  for (const char* name : {"s2", "u2", "s4", "u4", "s8", "u8", "s16", "u16"}) {
    const ElementKind kind = element_kind(name);
    for (Word a = 0; a < Word{1} << kind.bits; ++a) {
      Word ones = 0;
      Word zeros = 0;  // above the highest one
      for (Size k = 0; k < kind.bits; ++k) {
        const bool one = ((a >> k) & 1) != 0;
        ones += one ? 1 : 0;
        zeros = one ? 0 : zeros + 1;
      }
      const Word word = wrapped(a, kind);
      ASSERT_EQ(calculate(Arithmetic::population_count, word, 0, kind), wrapped(ones, kind))
          << name << " " << word;
      ASSERT_EQ(calculate(Arithmetic::leading_zeros, word, 0, kind), wrapped(zeros, kind))
          << name << " " << word;
    }
  }
  const ElementKind wide = element_kind("s64");
  EXPECT_EQ(calculate(Arithmetic::population_count, -1, 0, wide), 64);
  EXPECT_EQ(calculate(Arithmetic::leading_zeros, 1, 0, wide), 63);
  EXPECT_EQ(calculate(Arithmetic::leading_zeros, 0, 0, wide), 64);
}

TEST(Arithmetic, comparisons_go_by_the_order) {
  const ElementKind byte = element_kind("s8");
  EXPECT_TRUE(compared(Comparison::gt, Order::as_unsigned, -1, 1, byte));
  EXPECT_FALSE(compared(Comparison::gt, Order::of_type, -1, 1, byte));
  const ElementKind wide = element_kind("u64");
  EXPECT_TRUE(compared(Comparison::gt, Order::of_type, -1, 2, wide));
  EXPECT_FALSE(compared(Comparison::gt, Order::as_signed, -1, 2, wide));
  EXPECT_FALSE(compared(Comparison::lt, Order::as_signed, 200, 1, element_kind("s16")));
  EXPECT_TRUE(compared(Comparison::lt, Order::as_signed, 200, 1, element_kind("u8")));
}

TEST(Arithmetic, the_total_order_is_total) {
  const ElementKind kind = element_kind("f64");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> ascending = {
      std::copysign(nan, -1.0), -infinity, -2, -0.0, 0.0, 1, infinity, std::copysign(nan, 1.0)};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(compared(Comparison::lt, Order::total, word_of(ascending[i]), word_of(ascending[j]),
                         kind),
                i < j)
          << i << " " << j;
      EXPECT_EQ(compared(Comparison::eq, Order::total, word_of(ascending[i]), word_of(ascending[j]),
                         kind),
                i == j)
          << i << " " << j;
    }
  }
  EXPECT_TRUE(may_order(Order::total, kind));
  EXPECT_FALSE(may_order(Order::total, element_kind("s32")));
  EXPECT_FALSE(may_order(Order::as_signed, kind));
}

TEST(Arithmetic, integers_become_floats_with_one_rounding) {
  for (const Word number :
       {Word{1} << 24, (Word{1} << 24) + 1, (Word{1} << 54) + (Word{1} << 30) + 1,
        std::numeric_limits<Word>::max(), least, Word{-12345678901234567}}) {
    EXPECT_EQ(real_of(converted(number, element_kind("s64"), element_kind("f32"))),
              static_cast<double>(static_cast<float>(number)))
        << number;
  }
  EXPECT_EQ(real_of(converted(-1, element_kind("u64"), element_kind("f32"))), 0x1p64);
  EXPECT_EQ(real_of(converted(-1, element_kind("s64"), element_kind("bf16"))), -1);
}

TEST(Arithmetic, floats_become_integers_towards_zero_and_saturate) {
  const auto to = [](double real, const char* name) {
    return converted(word_of(real), element_kind("f64"), element_kind(name));
  };
  EXPECT_EQ(to(-1.9, "s32"), -1);
  EXPECT_EQ(to(3e9, "s32"), 2147483647);
  EXPECT_EQ(to(-3e9, "s32"), -2147483648LL);
  EXPECT_EQ(to(-1, "u32"), 0);
  EXPECT_EQ(to(1e30, "u64"), -1);
  EXPECT_EQ(to(1e30, "s64"), std::numeric_limits<Word>::max());
  EXPECT_EQ(to(std::nan(""), "s8"), 0);
  EXPECT_EQ(to(0.25, "pred"), 1);
}

TEST(Arithmetic, floats_are_rounded_after_every_operation) {
  const ElementKind half = element_kind("f16");
  const auto of = [&](Arithmetic arithmetic, double a, double b) {
    return real_of(calculate(arithmetic, word_of(a), word_of(b), half));
  };
  EXPECT_EQ(of(Arithmetic::add, 2048, 1), 2048);
  EXPECT_EQ(of(Arithmetic::multiply, 256, 256), std::numeric_limits<double>::infinity());
  EXPECT_EQ(of(Arithmetic::divide, 1, 3), 0x1.554p-2);
  EXPECT_TRUE(std::isnan(of(Arithmetic::maximum, std::nan(""), 1)));
  EXPECT_FALSE(std::signbit(of(Arithmetic::maximum, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(of(Arithmetic::minimum, 0.0, -0.0)));
}

}  // namespace arithmetic_test
}  // namespace retile::operations
