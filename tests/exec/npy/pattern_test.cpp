#include "retile/exec/npy/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "retile/core/layout.h"

namespace retile::pattern_test {
namespace {

Layout two_by_three() {
  return Layout::compact(6, {4, 6}, {2, 2},
                         {{{.stride = 3, .size = 2}}, {{.stride = 1, .size = 3}}})
      .value();
}

TEST(Pattern, splitmix64_is_the_published_generator) {
  // The first outputs of Vigna's splitmix64.c seeded with 0 and, for the second state, with one
  // golden ratio.
  EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(splitmix64(0x9e3779b97f4a7c15U), 0x6e789e6aa1b965f4U);
}

TEST(Pattern, an_element_is_the_low_bytes_of_its_index) {
  const auto bytes = pattern_element(5);
  const std::uint64_t low = splitmix64(5);
  const std::uint64_t high = splitmix64(5 ^ pattern_second_half);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), (low >> (8 * i)) & 0xffU);
    EXPECT_EQ(std::to_integer<unsigned>(bytes[8 + i]), (high >> (8 * i)) & 0xffU);
  }
}

class PatternOfSize : public testing::TestWithParam<Size> {};

TEST_P(PatternOfSize, every_element_of_a_tile_follows_from_its_index) {
  const Layout map = two_by_three();
  const Size width = GetParam();
  for (Size device = 0; device < 6; ++device) {
    std::vector<std::byte> tile(static_cast<std::size_t>(4 * width));
    fill_pattern(map, device, width, tile);
    EXPECT_EQ(find_pattern_mismatch(map, device, width, tile), std::nullopt);
    const Size row = device / 3 * 2;
    const Size column = device % 3 * 2;
    for (Size local = 0; local < 4; ++local) {
      const auto want = pattern_element((row + local / 2) * 6 + column + local % 2);
      EXPECT_EQ(
          std::memcmp(tile.data() + local * width, want.data(), static_cast<std::size_t>(width)),
          0);
    }
  }
}

TEST_P(PatternOfSize, two_exchanged_elements_are_found) {
  const Layout map = two_by_three();
  const Size width = GetParam();
  std::vector<std::byte> tile(static_cast<std::size_t>(4 * width));
  fill_pattern(map, 1, width, tile);
  std::swap_ranges(tile.begin() + width, tile.begin() + 2 * width, tile.begin() + 3 * width);
  EXPECT_EQ(find_pattern_mismatch(map, 1, width, tile), 1);
}

TEST_P(PatternOfSize, one_wrong_bit_in_the_last_byte_is_found) {
  const Layout map = two_by_three();
  std::vector<std::byte> tile(static_cast<std::size_t>(4 * GetParam()));
  fill_pattern(map, 4, GetParam(), tile);
  tile.back() ^= std::byte{0x80};
  EXPECT_EQ(find_pattern_mismatch(map, 4, GetParam(), tile), 3);
}

TEST_P(PatternOfSize, the_tile_of_another_device_is_found) {
  const Layout map = two_by_three();
  std::vector<std::byte> tile(static_cast<std::size_t>(4 * GetParam()));
  fill_pattern(map, 4, GetParam(), tile);
  EXPECT_NE(find_pattern_mismatch(map, 3, GetParam(), tile), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Bytes, PatternOfSize, testing::Values(1, 2, 4, 8, 16));

}  // namespace
}  // namespace retile::pattern_test
