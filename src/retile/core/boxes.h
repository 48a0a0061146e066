// What two boxes share, and what is left of one without the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/layout.h"

namespace retile {

/// What two boxes of one rank share; nothing where that has no element.
[[nodiscard]] inline std::optional<Box> common(const Box& a, const Box& b) {
  Box out{a.at, a.extent};
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    out.at[i] = std::max(a.at[i], b.at[i]);
    out.extent[i] = std::min(a.at[i] + a.extent[i], b.at[i] + b.extent[i]) - out.at[i];
    if (out.extent[i] <= 0) return std::nullopt;
  }
  return out;
}

/// What is left of a box without one inside it, as boxes that do not meet.
[[nodiscard]] inline std::vector<Box> without(Box whole, const Box& part) {
  std::vector<Box> out;
  for (std::size_t i = 0; i < whole.at.size(); ++i) {
    const Size end = whole.at[i] + whole.extent[i];
    const Size part_end = part.at[i] + part.extent[i];
    if (whole.at[i] < part.at[i]) {
      Box& below = out.emplace_back(whole);
      below.extent[i] = part.at[i] - whole.at[i];
    }
    if (part_end < end) {
      Box& above = out.emplace_back(whole);
      above.at[i] = part_end;
      above.extent[i] = end - part_end;
    }
    whole.at[i] = part.at[i];
    whole.extent[i] = part.extent[i];
  }
  return out;
}

}  // namespace retile
