/// Intervals that hold a number: what functions are for numbers that are drawn.
///
/// Both ends are doubles. An end that a sum, a product, a quotient or a square root rounds to nearest is
/// moved to the next double outwards, and one of the exponential by eight, as the C library's is off by
/// less. So the number lies between the ends, and two intervals that do not meet hold different numbers.
/// Nothing is claimed where a number is not finite, a divisor may be 0 or a root's argument below 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "../paper/notation.h"

namespace spec::spmd {

struct Enclosure {
  double low = 0;
  double high = 0;
};
using MaybeEnclosure = std::optional<Enclosure>;

inline bool meet(const Enclosure& a, const Enclosure& b) {
  return a.low <= b.high && b.low <= a.high;
}

/// The interval around [low, high], both moved outwards by so many doubles.
inline MaybeEnclosure around(double low, double high, int doubles = 1) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (; doubles > 0; --doubles) {
    low = std::nextafter(low, -infinity);
    high = std::nextafter(high, infinity);
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return Enclosure{low, high};
}
inline MaybeEnclosure enclosed(Size number) {
  return around(static_cast<double>(number), static_cast<double>(number));
}

inline MaybeEnclosure added(const Enclosure& a, const Enclosure& b) {
  return around(a.low + b.low, a.high + b.high);
}
inline MaybeEnclosure multiplied(const Enclosure& a, const Enclosure& b) {
  const auto ends = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return around(std::min(ends), std::max(ends));
}
inline Enclosure maximum(const Enclosure& a, const Enclosure& b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
inline MaybeEnclosure reciprocal(const Enclosure& a) {
  if (a.low <= 0 && a.high >= 0) return std::nullopt;
  return around(1 / a.high, 1 / a.low);
}
inline MaybeEnclosure exponential(const Enclosure& a) {
  const MaybeEnclosure out = around(std::exp(a.low), std::exp(a.high), 8);
  if (!out) return std::nullopt;
  return Enclosure{std::max(out->low, 0.0), out->high};
}
inline MaybeEnclosure square_root(const Enclosure& a) {
  if (a.low < 0) return std::nullopt;
  return around(std::sqrt(a.low), std::sqrt(a.high));
}

/// 1 where the number is above 0; where it may be on either side, both.
inline Enclosure above_zero(const Enclosure& a) {
  return {a.low > 0 ? 1.0 : 0.0, a.high > 0 ? 1.0 : 0.0};
}
/// 1 where the number is 0; where it may be, both.
inline Enclosure is_zero(const Enclosure& a) {
  return {a.low == 0 && a.high == 0 ? 1.0 : 0.0, a.low <= 0 && a.high >= 0 ? 1.0 : 0.0};
}

}  // namespace spec::spmd
