// What all devices hold along each dimension, for whoever looks at the tiles of many devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "retile/core/box_rows.h"
#include "retile/core/boxes.h"
#include "retile/core/layout.h"

namespace retile {

/// A tile is the product of what it has of each dimension: one stretch where it is a box, else several.
/// Made in O(devices * rank), and for what is dealt out as many stretches as there are.
class TileStretches {
 public:
  explicit TileStretches(const Layout& layout) : rank_(layout.rank()) {
    if (layout.in_boxes()) {
      boxes_.emplace(layout);
      return;
    }
    numbers_ = layout.numbers().all_numbers();
    for (std::size_t i = 0; i < rank_; ++i) {
      auto& tiles = of_tile_.emplace_back();
      for (Size t = 0; t < layout.cuts()[i].count(); ++t) {
        tiles.push_back(one_behind_the_other(layout.stretches(i, t)));
      }
    }
  }

  /// How many stretches of dimension i a device has.
  [[nodiscard]] std::size_t count(Size device, std::size_t i) const {
    if (boxes_) return boxes_->begin(device, i) < boxes_->end(device, i) ? 1 : 0;
    return of_tile_[i][number(device, i)].size();
  }
  /// One of them, ascending. Precondition: n < count().
  [[nodiscard]] Stretch stretch(Size device, std::size_t i, std::size_t n) const {
    if (boxes_) return {boxes_->begin(device, i), boxes_->end(device, i)};
    return of_tile_[i][number(device, i)][n].stretch;
  }
  /// Calls visit(stretch, where it begins in the tile) for what a device has of dimension i, ascending.
  template <typename Visit>
  void each(Size device, std::size_t i, const Visit& visit) const {
    Size place = 0;
    for (std::size_t n = 0; n < count(device, i); ++n) {
      const Stretch one = stretch(device, i, n);
      visit(one, place);
      place += one.extent();
    }
  }
  /// Where an index of dimension i stands in a device's tile. Precondition: it holds it.
  [[nodiscard]] Size place(Size device, std::size_t i, Size at) const {
    if (boxes_) return at - boxes_->begin(device, i);
    const auto& tile = of_tile_[i][number(device, i)];
    const auto behind = std::upper_bound(
        tile.begin(), tile.end(), at,
        [](Size wanted, const PlacedStretch& one) { return wanted < one.stretch.begin; });
    const PlacedStretch& one = *(behind - 1);
    return one.place + at - one.stretch.begin;
  }
  /// The extent of a device's tile.
  [[nodiscard]] Size extent(Size device, std::size_t i) const {
    Size out = 0;
    each(device, i, [&out](const Stretch& one, Size) { out += one.extent(); });
    return out;
  }
  /// The index of a tile's first element; -1 along dimensions of which it has nothing.
  [[nodiscard]] Shape first(Size device) const {
    Shape out(rank_, -1);
    for (std::size_t i = 0; i < rank_; ++i) {
      each(device, i, [&](const Stretch& one, Size) {
        if (out[i] < 0) out[i] = one.begin;
      });
    }
    return out;
  }
  [[nodiscard]] bool is_empty(Size device) const {
    if (boxes_) return boxes_->is_empty(device);
    for (std::size_t i = 0; i < rank_; ++i) {
      if (of_tile_[i][number(device, i)].empty()) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] std::size_t number(Size device, std::size_t i) const {
    return static_cast<std::size_t>(numbers_[static_cast<std::size_t>(device) * rank_ + i]);
  }

  std::size_t rank_;
  std::optional<BoxRows> boxes_;
  // Of what is dealt out: the numbers of every device's tile, and its stretches by dimension and number.
  std::vector<Size> numbers_;
  std::vector<std::vector<std::vector<PlacedStretch>>> of_tile_;
};

/// How much of dimension i a device holds in both.
[[nodiscard]] inline Size common_extent(const TileStretches& a, const TileStretches& b, Size device,
                                        std::size_t i) {
  Size out = 0;
  const std::size_t first_end = a.count(device, i);
  const std::size_t second_end = b.count(device, i);
  for (std::size_t m = 0, n = 0; m < first_end && n < second_end;) {
    const Stretch one = a.stretch(device, i, m);
    const Stretch other = b.stretch(device, i, n);
    out += std::max<Size>(0, std::min(one.end, other.end) - std::max(one.begin, other.begin));
    ++(one.end < other.end ? m : n);
  }
  return out;
}

}  // namespace retile
