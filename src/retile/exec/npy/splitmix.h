// The generator behind the generated array, for code that is compiled for devices as well.
#pragma once

#include <cstdint>

namespace retile {

/// Marks the second 8 bytes of a 16-byte element: no index below 2^63 has this bit.
inline constexpr std::uint64_t pattern_second_half = std::uint64_t{1} << 63;

/// The finaliser of Steele, Lea and Flood's SplitMix generator, applied to `index` + golden ratio.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t index) {
  std::uint64_t z = index + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace retile
