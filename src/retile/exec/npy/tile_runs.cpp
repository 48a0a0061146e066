#include "retile/exec/npy/tile_runs.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"

namespace retile {
namespace {

std::vector<std::vector<Stretch>> stretches_of(const Shape& tile, const Shape& base) {
  RETILE_ASSERT(tile.size() == base.size(), "a tile of another rank than its place");
  std::vector<std::vector<Stretch>> out;
  for (std::size_t i = 0; i < tile.size(); ++i) out.push_back({{base[i], base[i] + tile[i]}});
  return out;
}

}  // namespace

TileRuns::TileRuns(const Shape& global, const Shape& tile, const Shape& base)
    : TileRuns(global, stretches_of(tile, base)) {}

TileRuns::TileRuns(const Layout& layout, Size device)
    : TileRuns(layout.global(), layout.stretches(device)) {}

TileRuns::TileRuns(const Shape& global, std::vector<std::vector<Stretch>> tile) {
  RETILE_ASSERT(global.size() == tile.size(), "a tile of another rank than its array");
  RETILE_ASSERT(checked_product(global).has_value(), "an array of more than 2^63 elements");
  Size stride = 1;
  bool whole = true;  // all dimensions so far, from the last on, are held in full
  for (std::size_t i = global.size(); i-- > 0;) {
    Size extent = 0;
    Size longest = 0;
    for (const Stretch& part : tile[i]) {
      RETILE_ASSERT(part.begin >= 0 && part.begin <= part.end && part.end <= global[i],
                    "a tile that does not lie in its array");
      extent += part.extent();
      longest = std::max(longest, part.extent());
    }
    tile_elements_ *= extent;
    if (whole) run_elements_ *= longest;
    const bool has_all = longest == global[i];
    if (!(whole && has_all) && extent > 0) {
      const Size first = tile[i].front().begin;
      run_start_ += first * stride;
      // One row alone does not go on, but runs lie somewhere.
      if (whole || extent > 1) levels_.push_back({std::move(tile[i]), stride, 0, first});
    }
    whole = whole && has_all;
    stride *= global[i];
  }
  std::reverse(levels_.begin(), levels_.end());
}

Run TileRuns::peek(Size most) const {
  RETILE_ASSERT(!done() && most >= 1, "a walk past the end of a tile");
  return {.global = run_start_ + in_run_,
          .local = position_,
          .elements = std::min(most, elements_of_run() - in_run_)};
}

bool TileRuns::advance(Level& level, bool by_parts) {
  const Size from = level.index;
  bool goes_on = true;
  if (!by_parts && level.index + 1 < level.here().end) {
    ++level.index;
  } else {
    goes_on = level.part + 1 < level.parts.size();
    level.part = goes_on ? level.part + 1 : 0;
    level.index = level.here().begin;
  }
  run_start_ += (level.index - from) * level.stride;
  return goes_on;
}

Run TileRuns::next(Size most) {
  const Run run = peek(most);
  position_ += run.elements;
  in_run_ += run.elements;
  if (in_run_ == elements_of_run()) {
    in_run_ = 0;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      if (advance(levels_[i], i + 1 == levels_.size())) break;
    }
  }
  return run;
}

}  // namespace retile
