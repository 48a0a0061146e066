// Nested loops over a box of numbers that lies in several arrays at once. Private to this room.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile {

/// Strides of an array in C order.
[[nodiscard]] inline Shape row_major(const Shape& extents) {
  Shape out(extents.size(), 1);
  for (std::size_t k = extents.size(); k-- > 1;) out[k - 1] = out[k] * extents[k];
  return out;
}

/// The number of a block, or of an element, in an array with these strides.
[[nodiscard]] inline Size number_of(const Shape& at, const Shape& strides) {
  return std::inner_product(at.begin(), at.end(), strides.begin(), Size{0});
}

/// A row: where it begins in each array, how long it is, and how far apart its numbers lie.
template <std::size_t N>
struct Row {
  std::array<Size, N> at{};
  Size length = 1;
  std::array<Size, N> step{};
};

/// The loops, outermost first. Dimensions of extent 1 cost nothing, and those that lie behind each
/// other in all arrays are one: a rank may be 2,500 where a handful of extents are not 1.
template <std::size_t N>
class Walk {
 public:
  using Strides = std::array<Size, N>;

  /// Adds a loop inside the ones before it.
  void add(Size extent, const Strides& strides) {
    if (extent == 1) return;
    if (extent == 0) is_empty_ = true;
    if (!loops_.empty()) {
      Loop& outer = loops_.back();
      bool joins = true;
      for (std::size_t a = 0; a < N; ++a) joins = joins && outer.strides[a] == strides[a] * extent;
      if (joins) {
        outer.extent *= extent;
        outer.strides = strides;
        return;
      }
    }
    loops_.push_back({extent, strides});
  }

  /// Calls `visit` with every row, in order, until it returns false. True when it never did.
  /// \param at  where the box begins in each array
  template <typename Visit>
  bool each_row(Strides at, const Visit& visit) const {
    if (is_empty_) return true;
    Row<N> row;
    row.step.fill(1);
    const std::size_t outer = loops_.empty() ? 0 : loops_.size() - 1;
    if (!loops_.empty()) {
      row.length = loops_.back().extent;
      row.step = loops_.back().strides;
    }
    std::vector<Size> index(outer, 0);
    while (true) {
      row.at = at;
      if (!visit(std::as_const(row))) return false;
      std::size_t k = outer;
      for (; k > 0; --k) {
        const Loop& loop = loops_[k - 1];
        for (std::size_t a = 0; a < N; ++a) at[a] += loop.strides[a];
        if (++index[k - 1] < loop.extent) break;
        for (std::size_t a = 0; a < N; ++a) at[a] -= loop.strides[a] * loop.extent;
        index[k - 1] = 0;
      }
      if (k == 0) return true;
    }
  }

 private:
  struct Loop {
    Size extent = 1;
    Strides strides{};
  };

  std::vector<Loop> loops_;
  bool is_empty_ = false;
};

}  // namespace retile
