// Arrays in C order: strides, numbers of elements, and walks over boxes of them.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile {

/// How far apart the neighbours along each dimension of an array lie.
/// Precondition: the array has fewer than 2^63 elements.
[[nodiscard]] inline Shape strides_of(const Shape& extents) {
  Shape out(extents.size(), 1);
  for (std::size_t k = extents.size(); k-- > 1;) out[k - 1] = out[k] * extents[k];
  return out;
}

/// How far behind the first element of an array with these strides the one at an index lies.
[[nodiscard]] inline Size offset_of(const Shape& at, const Shape& strides) {
  return std::inner_product(at.begin(), at.end(), strides.begin(), Size{0});
}

/// The index of the element with a number.
/// Precondition: extents >= 1.
[[nodiscard]] inline Shape index_of(Size number, const Shape& extents) {
  Shape out(extents.size());
  for (std::size_t k = extents.size(); k-- > 0; number /= extents[k]) out[k] = number % extents[k];
  return out;
}

/// Goes on to the next index of a box of these extents. False behind the last one, where `at` is the
/// first one again.
/// Precondition: `at` lies in the box.
inline bool advance(Shape& at, const Shape& extents) {
  std::size_t k = at.size();
  while (k > 0 && ++at[k - 1] == extents[k - 1]) at[--k] = 0;
  return k > 0;
}

/// Calls `look` for every index of a box until it says no, if it says anything; whether it never did. A box of
/// rank 0 has one index, and one with an extent of 0 has none.
template <typename Look>
bool for_box(const Shape& extents, const Look& look) {
  for (const Size extent : extents) {
    if (extent == 0) return true;
  }
  Shape at(extents.size(), 0);
  do {
    if constexpr (std::is_void_v<std::invoke_result_t<const Look&, const Shape&>>) {
      look(std::as_const(at));
    } else {
      if (!look(std::as_const(at))) return false;
    }
  } while (advance(at, extents));
  return true;
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
