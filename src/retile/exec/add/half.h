// The two floating types of 2 bytes, which are added as floats.
//
// A sum of two of them, rounded to float and then to 2 bytes, is the sum rounded once: float has
// more than twice their digits and two more (Figueroa).
#pragma once

#include <bit>
#include <cstdint>

namespace retile::add {

/// The value of IEEE 754's binary16. Exact.
[[nodiscard]] inline float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  const std::uint32_t special = 0x7f800000U | (fraction << 13U);
  const std::uint32_t normal = ((exponent + 112U) << 23U) | (fraction << 13U);
  const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
  const std::uint32_t size = exponent == 0x1fU ? special : exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(sign | size);
}

/// The nearest binary16, of two the even one. What is no number becomes 0x7e00.
[[nodiscard]] inline std::uint16_t f16_of_float(float value) {
  constexpr std::uint32_t infinite = 0x7f800000U;
  constexpr std::uint32_t too_large = 0x47800000U;     // 2^16
  constexpr std::uint32_t least_normal = 0x38800000U;  // 2^-14
  constexpr float half = 0.5F;  // its last digit counts 2^-24, as that of a subnormal binary16
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7fffffffU;
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(size < least_normal ? size : 0U) + half) -
      std::bit_cast<std::uint32_t>(half);
  const std::uint32_t odd = (size >> 13U) & 1U;
  const std::uint32_t normal = (size - 0x38000000U + 0xfffU + odd) >> 13U;
  const std::uint32_t rounded = size >= too_large     ? 0x7c00U
                                : size < least_normal ? subnormal
                                                      : normal;
  return static_cast<std::uint16_t>(size > infinite ? 0x7e00U : sign | rounded);
}

/// The value of a brain floating. Exact.
[[nodiscard]] inline float float_of_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// The nearest brain floating, of two the even one. What is no number becomes 0x7fc0.
[[nodiscard]] inline std::uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? 0x7fc0U : rounded);
}

}  // namespace retile::add
