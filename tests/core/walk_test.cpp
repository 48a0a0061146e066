// Walks over boxes against nested loops over all indices.
#include "retile/core/walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace retile {
namespace {

Shape drawn(std::mt19937_64& random, std::size_t rank, std::uint64_t most) {
  Shape out;
  for (std::size_t k = 0; k < rank; ++k) out.push_back(static_cast<Size>(1 + random() % most));
  return out;
}

TEST(Walk, numbers_and_indices_are_each_others) {
  std::mt19937_64 random(1);
  for (std::size_t rank = 0; rank <= 4; ++rank) {
    const Shape extents = drawn(random, rank, 4);
    const Shape strides = strides_of(extents);
    Size number = 0;
    EXPECT_TRUE(for_box(extents, [&](const Shape& at) {
      EXPECT_EQ(offset_of(at, strides), number);
      EXPECT_EQ(index_of(number, extents), at);
      ++number;
    }));
    EXPECT_EQ(number, checked_product(extents));
  }
}

TEST(Walk, over_nothing_looks_at_nothing_and_may_be_left_early) {
  int looks = 0;
  EXPECT_TRUE(for_box({3, 0, 2}, [&](const Shape&) { ++looks; }));
  EXPECT_EQ(looks, 0);
  EXPECT_FALSE(for_box({3, 2}, [&](const Shape& at) { return ++looks < 4 || at[0] == 0; }));
  EXPECT_EQ(looks, 4);
  Shape last = {2, 1};
  EXPECT_FALSE(advance(last, {3, 2}));
  EXPECT_EQ(last, (Shape{0, 0}));
}

/// Places in two arrays, in order.
using Places = std::vector<std::pair<Size, Size>>;

TEST(Walk, rows_are_the_places_of_a_box_in_order) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = random() % 5;
    const Shape box = drawn(random, rank, 3);
    Shape one = box;
    Shape other = box;
    for (std::size_t k = 0; k < rank; ++k) {
      one[k] += static_cast<Size>(random() % 2);
      other[k] += static_cast<Size>(random() % 2);
    }
    const Shape a = strides_of(one);
    const Shape b = strides_of(other);
    Walk<2> walk;
    for (std::size_t k = 0; k < rank; ++k) walk.add(box[k], {a[k], b[k]});
    Places expected;
    for_box(box, [&](const Shape& at) {
      expected.emplace_back(7 + offset_of(at, a), 5 + offset_of(at, b));
    });
    Places found;
    std::size_t rows = 0;
    EXPECT_TRUE(walk.each_row({7, 5}, [&](const Row<2>& row) {
      ++rows;
      for (Size k = 0; k < row.length; ++k) {
        found.emplace_back(row.at[0] + k * row.step[0], row.at[1] + k * row.step[1]);
      }
      return true;
    }));
    EXPECT_EQ(found, expected);
    if (one == box && other == box) {
      EXPECT_EQ(rows, 1U);  // all of it lies together
    }
  }
  Walk<1> nothing;
  nothing.add(0, {1});
  EXPECT_TRUE(nothing.each_row({0}, [](const Row<1>&) { return false; }));
}

}  // namespace
}  // namespace retile
