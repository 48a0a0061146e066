#include "retile/exec/add/adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "retile/exec/add/half.h"

namespace retile {
namespace {

using add::Adder;

template <typename Number>
std::vector<Number> added(Addition addition, const ElementType& type, std::vector<Number> into,
                          const std::vector<Number>& more) {
  const auto adder = Adder::make(addition, type);
  EXPECT_TRUE(adder) << render(adder.error());
  const std::size_t bytes = into.size() * sizeof(Number);
  if (bytes == 0) return into;  // nothing lies nowhere
  // Elements may lie anywhere, so they lie where none is aligned.
  std::vector<std::byte> a(bytes + 1);
  std::vector<std::byte> b(bytes + 1);
  std::memcpy(a.data() + 1, into.data(), bytes);
  std::memcpy(b.data() + 1, more.data(), bytes);
  adder->add(a.data() + 1, b.data() + 1, bytes / static_cast<std::size_t>(type.bytes));
  std::memcpy(into.data(), a.data() + 1, bytes);
  return into;
}

template <typename T>
ElementType integer() {
  return {std::numeric_limits<T>::is_signed ? ElementKind::signed_integer
                                            : ElementKind::unsigned_integer,
          sizeof(T)};
}

template <typename T>
class Integers : public testing::Test {};
using AllIntegers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, AllIntegers);

TYPED_TEST(Integers, wrap_and_compare) {
  using T = TypeParam;
  const T least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max();
  const std::vector<T> a{1, most, most, least, 5};
  const std::vector<T> b{2, 1, most, least, static_cast<T>(-3)};
  const T twice = static_cast<T>(-2);  // most + most, signed or not
  EXPECT_EQ(added(Addition::sum, integer<T>(), a, b), (std::vector<T>{3, least, twice, 0, 2}));
  const T other = static_cast<T>(-3);
  EXPECT_EQ(added(Addition::max, integer<T>(), a, b),
            (std::vector<T>{2, most, most, least, std::max<T>(5, other)}));
  EXPECT_EQ(added(Addition::min, integer<T>(), a, b),
            (std::vector<T>{1, 1, most, least, std::min<T>(5, other)}));
}

TYPED_TEST(Integers, cleared_ones_change_nothing) {
  using T = TypeParam;
  const std::vector<T> values{0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  for (const Addition addition : {Addition::sum, Addition::max, Addition::min}) {
    std::vector<T> cleared(values.size(), 77);
    Adder::make(addition, integer<T>())->clear(std::as_writable_bytes(std::span(cleared)));
    EXPECT_EQ(added(addition, integer<T>(), cleared, values), values);
    EXPECT_EQ(added(addition, integer<T>(), values, cleared), values);
  }
}

// ---- Halves -----------------------------------------------------------------------------------------

/// What a type of 2 bytes means, by its definition; and the nearest one to a number, by looking at
/// all of them.
struct HalfType {
  ElementType type;
  int fraction_bits;
  int bias;

  [[nodiscard]] double value(std::uint16_t bits) const {
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int all_ones = (1 << (15 - fraction_bits)) - 1;
    const int exponent = (bits >> fraction_bits) & all_ones;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == all_ones) {
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    const double digits = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    return sign * std::ldexp(digits, std::max(exponent, 1) - bias - fraction_bits);
  }
  [[nodiscard]] std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << (15 - fraction_bits)) - 1) << fraction_bits);
  }
  [[nodiscard]] std::uint16_t none() const {
    return static_cast<std::uint16_t>(infinity() | (1 << (fraction_bits - 1)));
  }
  /// Beyond the largest comes what would be the next one, which is infinity.
  [[nodiscard]] std::uint16_t nearest(double number) const {
    if (std::isnan(number)) return none();
    const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
    const double size = std::fabs(number);
    std::uint16_t low = 0;
    std::uint16_t high = infinity();
    const double beyond = 2 * value(static_cast<std::uint16_t>(infinity() - (1 << fraction_bits)));
    const auto at = [&](std::uint16_t bits) { return bits == infinity() ? beyond : value(bits); };
    if (size >= beyond) return static_cast<std::uint16_t>(sign | infinity());
    while (high - low > 1) {
      const auto middle = static_cast<std::uint16_t>((low + high) / 2);
      (at(middle) <= size ? low : high) = middle;
    }
    const double below = size - at(low);
    const double above = at(high) - size;
    const bool up = below > above || (below == above && (low & 1) != 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

const HalfType f16{{ElementKind::floating, 2}, 10, 15};
const HalfType bf16{{ElementKind::brain_floating, 2}, 7, 127};

std::uint16_t half_of(const HalfType& half, float value) {
  return half.fraction_bits == 10 ? add::f16_of_float(value) : add::bf16_of_float(value);
}
float float_of(const HalfType& half, std::uint16_t bits) {
  return half.fraction_bits == 10 ? add::float_of_f16(bits) : add::float_of_bf16(bits);
}

class Halves : public testing::TestWithParam<HalfType> {};
INSTANTIATE_TEST_SUITE_P(Adder, Halves, testing::Values(f16, bf16));

TEST_P(Halves, all_go_to_float_and_back) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double value = GetParam().value(half);
    const float as_float = float_of(GetParam(), half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(as_float)) << bits;
      EXPECT_EQ(half_of(GetParam(), as_float), GetParam().none()) << bits;
    } else {
      ASSERT_EQ(as_float, value) << bits;
      ASSERT_EQ(std::signbit(as_float), bits >= 0x8000) << bits;
      ASSERT_EQ(half_of(GetParam(), as_float), half) << bits;
    }
  }
}

TEST_P(Halves, floats_go_to_the_nearest_one) {
  // Around every half and around the middle of every two, and floats of all sizes.
  for (int bits = 0; bits < 0x8000; ++bits) {
    const double here = GetParam().value(static_cast<std::uint16_t>(bits));
    const double next = GetParam().value(static_cast<std::uint16_t>(bits + 1));
    if (!(here < next)) continue;
    const auto middle = static_cast<float>(std::isinf(next) ? here : (here + next) / 2);
    for (const float value :
         {middle, std::nextafterf(middle, 0.0F), std::nextafterf(middle, 1e38F)}) {
      ASSERT_EQ(half_of(GetParam(), value), GetParam().nearest(value)) << value;
      ASSERT_EQ(half_of(GetParam(), -value), GetParam().nearest(-value)) << value;
    }
  }
  std::mt19937 random(16);
  for (int i = 0; i < 300000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    ASSERT_EQ(half_of(GetParam(), value), GetParam().nearest(value)) << value;
  }
}

TEST_P(Halves, sums_are_rounded_once) {
  // Every half with some others: near ones, far ones, the ends of the type and random ones.
  std::mt19937 random(17);
  std::vector<std::uint16_t> others{0, 1, 2, 0x3ff, 0x400, 0x7bff, 0x7f7f, 0x3c00, 0x3f80};
  for (int i = 0; i < 12; ++i) others.push_back(static_cast<std::uint16_t>(random()));
  std::vector<std::uint16_t> a;
  std::vector<std::uint16_t> b;
  std::vector<std::uint16_t> wanted;
  for (int bits = 0; bits < 0x10000; ++bits) {
    for (std::uint16_t other : others) {
      for (const int flip : {0, 0x8000}) {
        const auto second = static_cast<std::uint16_t>(other ^ flip);
        const double sum =
            GetParam().value(static_cast<std::uint16_t>(bits)) + GetParam().value(second);
        a.push_back(static_cast<std::uint16_t>(bits));
        b.push_back(second);
        wanted.push_back(GetParam().nearest(sum));
      }
    }
  }
  const auto sums = added(Addition::sum, GetParam().type, a, b);
  const auto differing = std::mismatch(sums.begin(), sums.end(), wanted.begin());
  const auto at = static_cast<std::size_t>(differing.first - sums.begin());
  EXPECT_TRUE(differing.first == sums.end()) << a[at] << " + " << b[at] << " is " << sums[at];
}

TEST_P(Halves, maxima_and_minima) {
  const std::uint16_t one = GetParam().nearest(1);
  const std::uint16_t two = GetParam().nearest(2);
  const auto minus = [](std::uint16_t bits) { return static_cast<std::uint16_t>(bits | 0x8000); };
  const auto odd_none = static_cast<std::uint16_t>(GetParam().none() | 0x8001);
  const std::vector<std::uint16_t> a{one, minus(one), 0x8000, odd_none, one};
  const std::vector<std::uint16_t> b{two, minus(two), 0x0000, one, odd_none};
  const std::uint16_t none = GetParam().none();
  using Out = std::vector<std::uint16_t>;
  EXPECT_EQ(added(Addition::max, GetParam().type, a, b), (Out{two, minus(one), 0, none, none}));
  EXPECT_EQ(added(Addition::min, GetParam().type, a, b),
            (Out{one, minus(two), 0x8000, none, none}));
  EXPECT_EQ(added(Addition::sum, GetParam().type, a, b)[3], none);
}

// ---- Floats -----------------------------------------------------------------------------------------

template <typename F>
class Floats : public testing::Test {};
using AllFloats = testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, AllFloats);

TYPED_TEST(Floats, what_is_no_number_wins_and_is_always_the_same) {
  using F = TypeParam;
  const ElementType type{ElementKind::floating, sizeof(F)};
  const F infinite = std::numeric_limits<F>::infinity();
  const F none = std::numeric_limits<F>::quiet_NaN();
  F marked = -none;
  reinterpret_cast<unsigned char*>(&marked)[0] = 5;
  const std::vector<F> a{marked, 1, infinite, marked};
  const std::vector<F> b{1, marked, -infinite, marked};
  const auto bytes = [](const std::vector<F>& numbers) {
    const auto all = std::as_bytes(std::span(numbers));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  EXPECT_EQ(bytes(added(Addition::sum, type, a, b)), bytes({none, none, none, none}));
  EXPECT_EQ(bytes(added(Addition::max, type, a, b)), bytes({none, none, infinite, none}));
  EXPECT_EQ(bytes(added(Addition::min, type, a, b)), bytes({none, none, -infinite, none}));
}

TYPED_TEST(Floats, zeros_and_what_is_cleared) {
  using F = TypeParam;
  const ElementType type{ElementKind::floating, sizeof(F)};
  const F infinite = std::numeric_limits<F>::infinity();
  const auto signs = [](const std::vector<F>& numbers) {
    std::vector<bool> out;
    for (const F number : numbers) out.push_back(std::signbit(number));
    return out;
  };
  const std::vector<F> a{0, -F{0}, 0, -F{0}};
  const std::vector<F> b{0, 0, -F{0}, -F{0}};
  EXPECT_EQ(signs(added(Addition::sum, type, a, b)), (std::vector{false, false, false, true}));
  EXPECT_EQ(signs(added(Addition::max, type, a, b)), (std::vector{false, false, false, true}));
  EXPECT_EQ(signs(added(Addition::min, type, a, b)), (std::vector{false, true, true, true}));
  std::vector<F> cleared(3, 5);
  const auto clear = [&](Addition addition) {
    Adder::make(addition, type)->clear(std::as_writable_bytes(std::span(cleared)));
    return cleared;
  };
  EXPECT_EQ(clear(Addition::sum), (std::vector<F>(3, 0)));
  EXPECT_EQ(signs(cleared), (std::vector{false, false, false}));
  EXPECT_EQ(clear(Addition::max), (std::vector<F>(3, -infinite)));
  EXPECT_EQ(clear(Addition::min), (std::vector<F>(3, infinite)));
}

TYPED_TEST(Floats, complex_parts_are_added_each) {
  using F = TypeParam;
  const ElementType type{ElementKind::complex, 2 * sizeof(F)};
  EXPECT_EQ(added<F>(Addition::sum, type, {1, 2, 3, 4}, {10, 20, 30, 40}),
            (std::vector<F>{11, 22, 33, 44}));
  std::vector<F> cleared(4, 5);
  Adder::make(Addition::sum, type)->clear(std::as_writable_bytes(std::span(cleared)));
  EXPECT_EQ(cleared, (std::vector<F>(4, 0)));
}

TEST(Adder, long_runs_are_added_to_their_ends) {
  for (std::size_t n : {0U, 1U, 3U, 7U, 8U, 17U, 1000U}) {
    std::vector<float> a(n);
    std::vector<float> b(n);
    std::vector<float> sum(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(3 * i + 1);
      sum[i] = a[i] + b[i];
    }
    EXPECT_EQ(added(Addition::sum, {ElementKind::floating, 4}, a, b), sum);
  }
}

TEST(Adder, all_have_numbers_of_their_own) {
  std::vector<std::size_t> numbers;
  for (const NamedElementType& named : named_element_types()) {
    for (const Addition addition : {Addition::sum, Addition::max, Addition::min}) {
      const auto adder = Adder::make(addition, named.type);
      if (!adder) continue;
      numbers.push_back(adder->number());
      EXPECT_LT(adder->number(), Adder::count);
      EXPECT_EQ(adder->element_bytes(), named.type.bytes) << named.name;
      EXPECT_EQ(Adder::numbered(adder->number()).element_bytes(), named.type.bytes);
    }
  }
  EXPECT_EQ(numbers.size(), 14 * 3 - 4);  // two complex types have no maxima and minima
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST(Adder, what_cannot_be_added_is_refused_by_name) {
  const auto said = [](Addition addition, const ElementType& type) {
    const auto adder = Adder::make(addition, type);
    return adder ? std::string("accepted") : adder.error().message;
  };
  const ElementType c64{ElementKind::complex, 8};
  EXPECT_EQ(said(Addition::sum, c64), "accepted");
  EXPECT_EQ(said(Addition::max, c64), "complex numbers have no max");
  EXPECT_EQ(said(Addition::min, {ElementKind::complex, 16}), "complex numbers have no min");
  EXPECT_EQ(said(Addition::stack, {}), "the arrays of a stack are not added");
  for (const ElementType& type :
       {ElementType{ElementKind::boolean, 1}, ElementType{ElementKind::datetime, 8},
        ElementType{ElementKind::timedelta, 8}, ElementType{ElementKind::floating, 16}}) {
    EXPECT_THAT(said(Addition::sum, type), testing::HasSubstr("are not added"));
    EXPECT_EQ(Adder::make(Addition::sum, type).error().code, Code::unsupported);
  }
}

}  // namespace
}  // namespace retile
