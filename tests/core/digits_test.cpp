// Digits against the numbers that they make.
#include "retile/core/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace retile {
namespace {

using List = std::vector<Digit>;

/// What digits of a number say, minor to major.
Size said(Size number, const List& digits) {
  Size out = 0;
  Size unit = 1;
  for (const Digit& digit : digits) {
    out += number / digit.stride % digit.size * unit;
    unit *= digit.size;
  }
  return out;
}

TEST(Digits, that_touch_are_one) {
  EXPECT_EQ(joined({{2, 3}, {6, 4}, {1, 1}, {48, 2}}), (List{{2, 12}, {48, 2}}));
  EXPECT_EQ(joined({{6, 4}, {2, 3}}), (List{{6, 4}, {2, 3}}));  // major first: they do not touch
  EXPECT_EQ(joined({{1, 1}}), List());
}

TEST(Digits, are_taken_from_the_minor_end_without_cutting_across) {
  List digits = {{1, 6}, {12, 4}};
  EXPECT_EQ(take_minor(digits, 12), (List{{1, 6}, {12, 2}}));
  EXPECT_EQ(digits, (List{{24, 2}}));
  EXPECT_EQ(take_minor(digits, 3), std::nullopt);
  EXPECT_EQ(take_minor(digits, 4), std::nullopt);
  List some = {{1, 4}, {4, 3}};
  EXPECT_EQ(take_minor(some, 6), std::nullopt);  // 4 and half of 3
}

TEST(Digits, of_a_product_are_taken_wherever_they_are) {
  List digits = {{1, 4}, {4, 3}, {12, 4}};
  EXPECT_EQ(take_any(digits, 24), (List{{1, 4}, {4, 3}, {12, 2}}));
  EXPECT_EQ(digits, (List{{4, 1}, {12, 1}, {24, 2}}));
  EXPECT_DEATH(static_cast<void>(take_any(digits, 3)), "digits of the product");
}

TEST(Digits, have_the_coarsest_factors_that_say_them_all) {
  EXPECT_EQ(common_factors(48, {{2, 6}, {24, 2}}), (List{{24, 2}, {12, 2}, {2, 6}, {1, 2}}));
  EXPECT_EQ(common_factors(24, {{2, 6}, {4, 3}}), (List{{12, 2}, {4, 3}, {2, 2}, {1, 2}}));
  EXPECT_EQ(common_factors(12, {{1, 4}, {1, 6}}), std::nullopt);
  EXPECT_EQ(common_factors(1, {}), List());
  // Every number is said by its factors.
  List factors = common_factors(48, {{2, 6}, {24, 2}}).value();
  std::reverse(factors.begin(), factors.end());
  for (Size number = 0; number < 48; ++number) EXPECT_EQ(said(number, factors), number);
}

}  // namespace
}  // namespace retile
