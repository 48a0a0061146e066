// Sizes of arrays, tiles and meshes: 64-bit, never negative, never allowed to wrap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retile {

/// A number of elements, devices or pieces: 0 <= value < 2^63. With a suffix it counts that
/// (`_bytes`).
using Size = std::int64_t;

/// Extents of an array, slowest dimension first; C order. The empty shape is one element.
using Shape = std::vector<Size>;

/// The most devices a mesh or a Program may have.
inline constexpr Size max_devices = Size{1} << 31;

/// a * b for non-negative a, b, or nothing when the product does not fit.
[[nodiscard]] inline std::optional<Size> checked_mul(Size a, Size b) {
  Size out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// a + b for non-negative a, b, or nothing when the sum does not fit.
[[nodiscard]] inline std::optional<Size> checked_add(Size a, Size b) {
  Size out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// The product of non-negative factors (1 for none), or nothing when it does not fit.
[[nodiscard]] inline std::optional<Size> checked_product(std::span<const Size> factors) {
  // A zero makes the product zero whatever stands beside it, so it is looked for first.
  for (const Size factor : factors) {
    if (factor == 0) return Size{0};
  }
  Size out = 1;
  for (const Size factor : factors) {
    if (__builtin_mul_overflow(out, factor, &out)) return std::nullopt;
  }
  return out;
}

}  // namespace retile
