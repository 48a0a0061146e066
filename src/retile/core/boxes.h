// What two boxes share, what is left of one without the other, and the parts of tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/layout.h"
#include "retile/core/walk.h"

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

/// A stretch of one dimension, and where it begins in a tile.
struct PlacedStretch {
  Stretch stretch;
  Size place = 0;
};

/// Stretches that stand one behind the other in a tile.
[[nodiscard]] inline std::vector<PlacedStretch> one_behind_the_other(
    const std::vector<Stretch>& stretches) {
  std::vector<PlacedStretch> out;
  out.reserve(stretches.size());
  Size place = 0;
  for (const Stretch& one : stretches) {
    out.push_back({one, place});
    place += one.extent();
  }
  return out;
}

/// The boxes that are made of one stretch of each dimension, in C order.
[[nodiscard]] inline std::vector<TilePart> parts_of(
    const std::vector<std::vector<PlacedStretch>>& along) {
  Shape counts;
  counts.reserve(along.size());
  for (const auto& stretches : along) counts.push_back(static_cast<Size>(stretches.size()));
  std::vector<TilePart> out;
  for_box(counts, [&](const Shape& number) {
    TilePart& part = out.emplace_back(TilePart{number, {number, number}});
    for (std::size_t i = 0; i < along.size(); ++i) {
      const auto& [stretch, place] = along[i][static_cast<std::size_t>(number[i])];
      part.place[i] = place;
      part.box.at[i] = stretch.begin;
      part.box.extent[i] = stretch.extent();
    }
  });
  return out;
}

/// The element that stands in a place of a tile of these parts. Precondition (asserted): one does.
[[nodiscard]] inline Shape element_at(const std::vector<TilePart>& parts, const Shape& place) {
  for (const TilePart& part : parts) {
    Shape out = place;
    bool is_here = true;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const Size inside = place[i] - part.place[i];
      is_here = is_here && inside >= 0 && inside < part.box.extent[i];
      out[i] = part.box.at[i] + inside;
    }
    if (is_here) return out;
  }
  RETILE_ASSERT(false, "every place of a tile is in one part of it");
}

}  // namespace retile
