#include "retile/core/size.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace size_test {
namespace {

using retile::checked_add;
using retile::checked_mul;
using retile::checked_product;
using retile::Shape;
using retile::Size;

constexpr Size most = INT64_MAX;

TEST(Size, products_below_2_63_are_exact) {
  EXPECT_EQ(checked_mul(Size{1} << 31, Size{1} << 31), Size{1} << 62);
  EXPECT_EQ(checked_mul(most, 1), most);
  EXPECT_EQ(checked_mul(0, most), 0);
}

TEST(Size, products_from_2_63_on_have_no_value) {
  EXPECT_EQ(checked_mul(Size{1} << 32, Size{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(most, 2), std::nullopt);
}

TEST(Size, sums_have_a_value_below_2_63_only) {
  EXPECT_EQ(checked_add(most - 1, 1), most);
  EXPECT_EQ(checked_add(most, 1), std::nullopt);
}

TEST(Size, the_product_of_a_shape) {
  EXPECT_EQ(checked_product(Shape{}), 1);
  EXPECT_EQ(checked_product(Shape{3, 4, 5}), 60);
  EXPECT_EQ(checked_product(Shape{most, 2}), std::nullopt);
}

TEST(Size, a_zero_makes_every_product_zero) {
  EXPECT_EQ(checked_product(Shape{most, most, 0}), 0);
  EXPECT_EQ(checked_product(Shape{0, most, most}), 0);
}

}  // namespace
}  // namespace size_test
