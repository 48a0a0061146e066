// What every element of a generated tile must be, for kernels; see box_math.h for how it is
// compiled. The definition of the generated array is npy/pattern.h, and tests hold the two
// together.
#pragma once

#include <cstdint>

#include "retile/exec/npy/splitmix.h"

namespace retile::cuda {

/// Dimensions of a tile after those that lie alike in the tile and in the array were joined.
inline constexpr std::uint32_t max_pattern_dims = 16;

/// A tile of the generated array: where its elements lie in the whole.
struct PatternTile {
  std::int64_t elements = 0;
  std::int64_t base = 0;  ///< linear global index of the tile's first element
  std::uint32_t element_bytes = 0;
  std::uint32_t dims = 0;
  std::int64_t extents[max_pattern_dims] = {};  ///< innermost first
  std::int64_t strides[max_pattern_dims] = {};  ///< elements of the global array
};

/// The linear global index of the tile's element number `local`.
[[nodiscard]] constexpr std::uint64_t global_index(const PatternTile& tile, std::int64_t local) {
  std::int64_t out = tile.base;
  for (std::uint32_t i = 0; i < tile.dims; ++i) {
    out += local % tile.extents[i] * tile.strides[i];
    local /= tile.extents[i];
  }
  return static_cast<std::uint64_t>(out);
}

/// The bytes of an element, least significant first; those past the element's end are zero.
struct PatternWords {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

[[nodiscard]] constexpr PatternWords pattern_words(std::uint64_t index,
                                                   std::uint32_t element_bytes) {
  PatternWords out;
  out.low = splitmix64(index);
  if (element_bytes < 8) out.low &= (std::uint64_t{1} << (8 * element_bytes)) - 1;
  if (element_bytes > 8) out.high = splitmix64(index ^ pattern_second_half);
  return out;
}

}  // namespace retile::cuda
