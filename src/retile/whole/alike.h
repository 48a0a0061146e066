// Values that two texts have in common, by the names that the texts give them. Room-internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/whole/array.h"
#include "retile/whole/module.h"
#include "retile/whole/validate.h"

namespace retile::whole {

/// A value of the text after that is, on every device, a box of one before.
struct Likeness {
  std::string before;  ///< without `%`; with `#1` where it is a part of a tuple
  std::string after;
  Shape extents;           ///< of the value before
  std::vector<Box> boxes;  ///< none: both texts have the same on every device
};

struct Alike {
  /// In the order of the text after; of a value after only the first one before.
  std::vector<Likeness> values;
  std::vector<std::size_t> wrong = {};  ///< results that differ
  /// Operations each of which makes the first of these right, were what it makes boxes of a value before; the
  /// first one is what a verdict names.
  std::vector<Likeness> meant = {};
};

/// Runs both texts on some draws. Values that are the same in all draws are left out: what depends on no
/// argument may be alike by chance.
/// \param finds_meant  whether to look for what would make it right, which takes a while
/// \return nothing found where the limits end it, or there are too many values
/// \error as validate
[[nodiscard]] Result<Alike> alike(std::string_view before, std::string_view after,
                                  const ValidateOptions& options, bool finds_meant);

/// Two values that are alike in one draw.
struct SeenAlike {
  ValueId before = 0;
  ValueId after = 0;
  std::vector<Box> boxes;
  std::uint64_t words = 0;  ///< differs where what is held differs
};
struct AlikeInDraw {
  std::vector<SeenAlike> values = {};
  std::vector<std::size_t> wrong = {};  ///< results
  bool is_sought = false;               ///< what is meant
  std::vector<SeenAlike> meant = {};
};

/// Values after that are boxes of values before; or the same, where the pass cuts nothing.
/// \param first, second  all values of both entries; of those that were not run nothing
[[nodiscard]] AlikeInDraw alike_in(const Computation& before, const std::vector<Held>& first,
                                   const Computation& after, const std::vector<Held>& second,
                                   bool is_partitioned, Limits& limits);

}  // namespace retile::whole
