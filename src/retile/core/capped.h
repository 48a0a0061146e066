// Counts that may be too large to be counted.
#pragma once

#include <compare>
#include <limits>
#include <optional>

#include "retile/core/size.h"

namespace retile {

/// A count that is never negative, and is the largest Size where it would be more.
struct Capped {
  Size value = 0;
  bool is_capped = false;  ///< made of one that would be more

  /// Of what a checked operation counts.
  [[nodiscard]] static Capped of(std::optional<Size> count) {
    return {count.value_or(std::numeric_limits<Size>::max()), !count.has_value()};
  }
  friend Capped operator+(Capped a, Capped b) {
    return of(checked_add(a.value, b.value)).also_of(a, b);
  }
  friend Capped operator*(Capped a, Capped b) {
    return of(checked_mul(a.value, b.value)).also_of(a, b);
  }
  /// Precondition: b <= a.
  friend Capped operator-(Capped a, Capped b) { return Capped{a.value - b.value}.also_of(a, b); }
  friend Capped operator/(Capped a, Capped b) { return Capped{a.value / b.value}.also_of(a, b); }
  friend auto operator<=>(const Capped&, const Capped&) = default;

 private:
  [[nodiscard]] Capped also_of(Capped a, Capped b) const {
    return {value, is_capped || a.is_capped || b.is_capped};
  }
};

}  // namespace retile
