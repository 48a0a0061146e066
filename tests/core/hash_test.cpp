#include "retile/core/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace hash_test {
namespace {

using retile::hash_bytes;
using retile::hash_number;
using retile::hash_start;

std::uint64_t of_text(const std::string& text) {
  return hash_bytes(hash_start, std::as_bytes(std::span(text)));
}

TEST(Hash, of_bytes_is_fnv_1a) {
  // From the published vectors of FNV-1a with 64 bits.
  EXPECT_EQ(of_text(""), 0xcbf29ce484222325U);
  EXPECT_EQ(of_text("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(of_text("foobar"), 0x85944171f73967e8U);
}

TEST(Hash, of_numbers_changes_with_every_bit_of_each_and_with_their_order) {
  const auto of_two = [](std::uint64_t one, std::uint64_t two) {
    return hash_number(hash_number(hash_start, one), two);
  };
  // Some keep 63 bits only.
  std::set<std::uint64_t> hashes{of_two(0, 0) << 1};
  for (int bit = 0; bit < 64; ++bit) {
    hashes.insert(of_two(std::uint64_t{1} << bit, 0) << 1);
    hashes.insert(of_two(0, std::uint64_t{1} << bit) << 1);
  }
  EXPECT_EQ(hashes.size(), 129U);
  EXPECT_NE(of_two(1, 2), of_two(2, 1));
}

}  // namespace
}  // namespace hash_test
