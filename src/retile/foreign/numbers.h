// What numbers say before any element is moved: where slices begin, and where comparisons change. Room-internal.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/foreign/module.h"

namespace retile::foreign {

/// How many operands stand before the offsets of an operation; 0 where it has none.
[[nodiscard]] std::size_t before_offsets(const Action& action);

/// Numbers that count the places of a dimension: from place to place they grow by `slope`.
struct Counting {
  std::vector<Size> begin;  ///< of every device that holds them, in the first place
  Size slope = 0;
  std::size_t dim = 0;  ///< where they grow
};

/// A place that something looks at.
struct PlaceOf {
  ValueId value = 0;
  std::size_t dim = 0;
  Size place = 0;
};

struct Numbers {
  /// Where every device's slices begin.
  std::map<const Operation*, std::vector<Shape>> starts;
  /// Of every value, where it is numbers that count, as integers of its type do without wrapping.
  std::vector<std::optional<Counting>> countings;
  /// Where comparisons of such numbers change.
  std::vector<PlaceOf> changes;
  /// Dimensions of such numbers that something else looks at in every place.
  std::vector<PlaceOf> looked_at;
};

/// Preconditions: as judge(). Throws LimitReached.
[[nodiscard]] Numbers numbers_of(const Function& function, const Layout& from);

}  // namespace retile::foreign
