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
      : rank_(layout.rank()), at_(layout.base_offsets()), tile_(layout.tile()) {
    if (!layout.is_even()) extents_ = layout.extents();
  }

  /// The first index that a device's box holds in dimension i, and the one behind the last.
  [[nodiscard]] Size begin(Size device, std::size_t i) const { return at_[place(device, i)]; }
  [[nodiscard]] Size end(Size device, std::size_t i) const {
    const std::size_t number = place(device, i);
    return at_[number] + (extents_.empty() ? tile_[i] : extents_[number]);
  }
  [[nodiscard]] bool is_empty(Size device) const {
    return !extents_.empty() && extents_[place(device, 0)] == 0;
  }

 private:
  [[nodiscard]] std::size_t place(Size device, std::size_t i) const {
    return static_cast<std::size_t>(device) * rank_ + i;
  }

  std::size_t rank_;
  std::vector<Size> at_;
  Shape tile_;
  std::vector<Size> extents_;  // where they are not all alike
};

}  // namespace retile
