#include "retile/problems/drawing.h"

#include <algorithm>
#include <bit>

#include "retile/core/assert.h"
#include "retile/problems/sha512.h"

namespace retile::problems {
namespace {

/// The text and its digest as one number, its last byte the least: 32-bit digits, the least first.
std::vector<std::uint32_t> key_of(std::string_view seed) {
  std::vector<std::uint8_t> bytes(seed.begin(), seed.end());
  const auto digest = sha512(seed);
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  std::vector<std::uint32_t> out((bytes.size() + 3) / 4, 0);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    out[k / 4] |= std::uint32_t{bytes[bytes.size() - 1 - k]} << (8 * (k % 4));
  }
  while (out.size() > 1 && out.back() == 0) out.pop_back();
  return out;
}

}  // namespace

Drawing::Drawing(std::string_view seed) { seed_by(key_of(seed)); }

// init_by_array of the generator's authors.
void Drawing::seed_by(const std::vector<std::uint32_t>& key) {
  state_[0] = 19650218U;
  const auto mixed = [&](std::size_t k) { return state_[k - 1] ^ state_[k - 1] >> 30; };
  for (std::size_t k = 1; k < words; ++k) {
    state_[k] = 1812433253U * mixed(k) + static_cast<std::uint32_t>(k);
  }
  std::size_t i = 1;
  const auto advance = [&] {
    if (++i < words) return;
    state_[0] = state_[words - 1];
    i = 1;
  };
  std::size_t j = 0;
  for (std::size_t k = std::max(words, key.size()); k > 0; --k) {
    state_[i] = (state_[i] ^ mixed(i) * 1664525U) + key[j] + static_cast<std::uint32_t>(j);
    advance();
    j = (j + 1) % key.size();
  }
  for (std::size_t k = words - 1; k > 0; --k) {
    state_[i] = (state_[i] ^ mixed(i) * 1566083941U) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000U;
}

void Drawing::twist() {
  constexpr std::size_t distance = 397;
  for (std::size_t k = 0; k < words; ++k) {
    const std::uint32_t joint = (state_[k] & 0x80000000U) | (state_[(k + 1) % words] & 0x7fffffffU);
    state_[k] =
        state_[(k + distance) % words] ^ joint >> 1 ^ ((joint & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  used_ = 0;
}

std::uint32_t Drawing::next() {
  if (used_ == words) twist();
  std::uint32_t out = state_[used_++];
  out ^= out >> 11;
  out ^= out << 7 & 0x9d2c5680U;
  out ^= out << 15 & 0xefc60000U;
  return out ^ out >> 18;
}

Size Drawing::below(std::uint32_t limit) {
  RETILE_ASSERT(limit >= 1, "no number is below 0");
  const auto bits = static_cast<int>(std::bit_width(limit));
  while (true) {
    const std::uint32_t drawn = next() >> (32 - bits);
    if (drawn < limit) return static_cast<Size>(drawn);
  }
}

Size Drawing::between(Size low, Size high) {
  return low + below(static_cast<std::uint32_t>(high - low + 1));
}

bool Drawing::happens(double part) {
  const std::uint64_t high = next() >> 5;
  const std::uint64_t low = next() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53 < part;
}

std::pair<Size, Size> Drawing::two_below(Size count) {
  constexpr Size most_listed =
      21;  // Python draws again from longer lists, and takes out of shorter ones
  const auto limit = static_cast<std::uint32_t>(count);
  const Size first = below(limit);
  if (count <= most_listed) {
    const Size second = below(limit - 1);
    return {first, second == first ? count - 1 : second};
  }
  Size second = first;
  while (second == first) second = below(limit);
  return {first, second};
}

}  // namespace retile::problems
