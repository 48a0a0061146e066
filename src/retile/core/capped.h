// Counts that may be too large to be counted.
#pragma once

#include <limits>

#include "retile/core/size.h"

namespace retile {

/// A count that is never negative, and is the largest Size where it would be more.
struct Capped {
  static constexpr Size most = std::numeric_limits<Size>::max();

  Size value = 0;

  [[nodiscard]] bool is_capped() const { return value == most; }
  friend Capped operator+(Capped a, Capped b) {
    return {checked_add(a.value, b.value).value_or(most)};
  }
  friend Capped operator*(Capped a, Capped b) {
    return {checked_mul(a.value, b.value).value_or(most)};
  }
  /// Precondition: b <= a.
  friend Capped operator-(Capped a, Capped b) { return {a.value - b.value}; }
  friend Capped operator/(Capped a, Capped b) { return {a.value / b.value}; }
  friend auto operator<=>(const Capped&, const Capped&) = default;
};

}  // namespace retile
