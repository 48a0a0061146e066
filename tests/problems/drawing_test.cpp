// What CPython 3.11 prints for random.Random(text).
#include "retile/problems/drawing.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace drawing_test {
namespace {

using retile::Size;
using retile::problems::Drawing;

std::vector<Size> between(std::string_view seed, std::size_t count, Size low, Size high) {
  Drawing drawing(seed);
  std::vector<Size> out;
  while (out.size() < count) out.push_back(drawing.between(low, high));
  return out;
}

TEST(Drawing, numbers_between_two) {
  EXPECT_EQ(between("retile", 8, -3, 1000),
            (std::vector<Size>{466, 686, 330, 67, 430, 652, 38, 818}));
  EXPECT_EQ(between("retile", 3, 5, 5), (std::vector<Size>{5, 5, 5}));
}

TEST(Drawing, seeds_of_any_length) {
  EXPECT_EQ(between("", 1, 0, 0x7ffffffe), std::vector<Size>{4124137760U >> 1});
  EXPECT_EQ(between(std::string(200, 'x'), 1, 0, 0x7ffffffe), std::vector<Size>{3650749297U >> 1});
}

TEST(Drawing, the_state_is_made_anew_after_624_numbers) {
  EXPECT_EQ(between("retile", 2000, 0, 0x7ffffffe).back(), 1088303382);
}

TEST(Drawing, what_happens_in_a_quarter_of_all_cases) {
  Drawing drawing("retile");
  std::vector<int> when;
  for (int k = 0; k < 16; ++k) {
    if (drawing.happens(0.25)) when.push_back(k);
  }
  EXPECT_EQ(when, (std::vector<int>{6, 10, 13}));
}

TEST(Drawing, one_of_a_list) {
  Drawing drawing("retile");
  const std::array<int, 4> list = {1, 1, 2, 3};
  std::vector<int> drawn;
  while (drawn.size() < 12) drawn.push_back(drawing.one_of(list));
  EXPECT_EQ(drawn, (std::vector<int>{3, 2, 1, 3, 1, 2, 1, 2, 3, 2, 1, 3}));
}

TEST(Drawing, a_shuffled_list_and_two_of_short_and_of_long_ones) {
  Drawing drawing("retile");
  std::vector<int> list(10);
  std::iota(list.begin(), list.end(), 0);
  drawing.shuffle(list);
  EXPECT_EQ(list, (std::vector<int>{6, 9, 4, 2, 0, 8, 3, 1, 5, 7}));
  EXPECT_EQ(drawing.two_below(21), std::pair(Size{14}, Size{9}));
  EXPECT_EQ(drawing.two_below(22), std::pair(Size{3}, Size{18}));
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(drawing.two_below(2), std::pair(Size{1}, Size{0}));
    EXPECT_EQ(drawing.two_below(2), std::pair(Size{0}, Size{1}));
  }
}

TEST(Drawing, two_are_never_the_same) {
  Drawing drawing("two");
  for (int k = 0; k < 2000; ++k) {
    const auto [one, other] = drawing.two_below(22 + k % 3);
    ASSERT_NE(one, other);
    const auto [low, high] = drawing.two_below(2 + k % 20);
    ASSERT_NE(low, high);
  }
}

}  // namespace
}  // namespace drawing_test
