#include "retile/exec/npy/tile_runs.h"

#include <algorithm>

#include "retile/core/assert.h"

namespace retile {

TileRuns::TileRuns(const Shape& global, const Shape& tile, const Shape& base) {
  RETILE_ASSERT(global.size() == tile.size() && global.size() == base.size(),
                "a tile of another rank than its array");
  RETILE_ASSERT(checked_product(global).has_value(), "an array of more than 2^63 elements");
  Size stride = 1;
  bool whole = true;  // all dimensions so far, from the last on, are held in full
  for (std::size_t i = global.size(); i-- > 0;) {
    RETILE_ASSERT(
        tile[i] >= 0 && base[i] >= 0 && tile[i] <= global[i] && base[i] <= global[i] - tile[i],
        "a tile that does not lie in its array");
    run_start_ += base[i] * stride;
    tile_elements_ *= tile[i];
    if (whole) {
      run_elements_ *= tile[i];
      whole = tile[i] == global[i];
    } else if (tile[i] > 1) {
      levels_.push_back({.extent = tile[i], .stride = stride});
    }
    stride *= global[i];
  }
  std::reverse(levels_.begin(), levels_.end());
}

Run TileRuns::peek(Size most) const {
  RETILE_ASSERT(!done() && most >= 1, "a walk past the end of a tile");
  return {.global = run_start_ + in_run_,
          .local = position_,
          .elements = std::min(most, run_elements_ - in_run_)};
}

Run TileRuns::next(Size most) {
  const Run run = peek(most);
  position_ += run.elements;
  in_run_ += run.elements;
  if (in_run_ == run_elements_) {
    in_run_ = 0;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      Level& level = levels_[i];
      if (++level.index < level.extent) {
        run_start_ += level.stride;
        break;
      }
      run_start_ -= (level.extent - 1) * level.stride;
      level.index = 0;
    }
  }
  return run;
}

}  // namespace retile
