// The boxes of a layout as rows of numbers, for whoever looks at those of all devices.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/layout.h"

namespace retile {

/// Made in O(devices * rank), without a list per device.
class BoxRows {
 public:
  explicit BoxRows(const Layout& layout)
      : rank_(layout.rank()), rows_(layout.rows()), tile_(layout.tile()) {}

  /// The first index that a device's box holds in dimension i, and the one behind the last.
  [[nodiscard]] Size begin(Size device, std::size_t i) const { return rows_.at[place(device, i)]; }
  [[nodiscard]] Size end(Size device, std::size_t i) const {
    const std::size_t number = place(device, i);
    return rows_.at[number] + (rows_.extents ? (*rows_.extents)[number] : tile_[i]);
  }
  [[nodiscard]] bool is_empty(Size device) const {
    return rows_.extents && (*rows_.extents)[place(device, 0)] == 0;
  }

 private:
  [[nodiscard]] std::size_t place(Size device, std::size_t i) const {
    return static_cast<std::size_t>(device) * rank_ + i;
  }

  std::size_t rank_;
  Layout::Rows rows_;
  Shape tile_;
};

}  // namespace retile
