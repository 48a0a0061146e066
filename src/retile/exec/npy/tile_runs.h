// A tile as runs: the stretches of a global array in C order that it covers without a gap.
#pragma once

#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace retile {

/// One stretch, counted in elements: `elements` of them from linear global index `global` on are
/// the tile's from `local` on.
struct Run {
  Size global = 0;
  Size local = 0;
  Size elements = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// Walks through the runs of one tile in order of their local (and so also global) indices, in
/// pieces of bounded length.
///
/// Running example: the tile (3,2) at (6,4) of a 12 x 12 array has the runs 76..77, 88..89,
/// 100..101. Runs are as long as possible: whole rows join. A walk allocates nothing after
/// construction.
class TileRuns {
 public:
  /// Preconditions (asserted): equal ranks, extents >= 0 (a tile without elements has no runs), base +
  /// tile <= global, global size < 2^63.
  TileRuns(const Shape& global, const Shape& tile, const Shape& base);
  /// The tile of a device.
  TileRuns(const Layout& layout, Size device);

  /// The next piece of a run, at most `most` elements long (most >= 1). Precondition: not done().
  Run next(Size most);
  /// What next(most) would return, without moving on.
  [[nodiscard]] Run peek(Size most) const;

  [[nodiscard]] bool done() const { return position_ == tile_elements_; }
  [[nodiscard]] Size run_elements() const {
    return run_elements_;
  }  ///< elements of the longest run

 private:
  /// \param tile  what it has of each dimension
  TileRuns(const Shape& global, std::vector<std::vector<Stretch>> tile);

  /// A dimension of which the tile has not all. Along the last one runs lie, along others rows.
  struct Level {
    std::vector<Stretch> parts;
    Size stride = 1;       // in the global array, elements
    std::size_t part = 0;  // of the current run
    Size index = 0;        // in the array
    [[nodiscard]] const Stretch& here() const { return parts[part]; }
  };
  /// Goes on along a level: to the next row, or the next part. False where it begins anew.
  [[nodiscard]] bool advance(Level& level, bool by_parts);
  [[nodiscard]] Size elements_of_run() const {
    return levels_.empty() ? tile_elements_
                           : levels_.back().here().extent() * levels_.back().stride;
  }

  std::vector<Level> levels_;  // slowest first
  Size tile_elements_ = 1;
  Size run_elements_ = 1;
  Size run_start_ = 0;  // global index of the current run
  Size in_run_ = 0;     // elements of it that were handed out
  Size position_ = 0;   // local index
};

}  // namespace retile
