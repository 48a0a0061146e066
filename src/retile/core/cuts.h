// Where the tiles of one dimension lie.
#pragma once

#include "retile/core/size.h"

namespace retile {

/// The cuts of one dimension of a global array: tile number t is the half-open range
/// [at(t), at(t + 1)).
///
/// Which device holds which number is the TileMap's affair; a Layout is both. All tiles of a
/// dimension have one extent today, so that at(t) = t * tile; nothing outside this file knows.
/// Paper: Fig. 7a with the tile number in place of the axes.
class Cuts {
 public:
  /// One tile of one element.
  Cuts() = default;
  /// `count` tiles of `tile` elements.
  /// Preconditions: tile >= 1, count >= 1, and their product fits.
  [[nodiscard]] static Cuts even(Size tile, Size count) { return {tile, count}; }

  [[nodiscard]] Size count() const { return count_; }
  /// The extent of the dimension.
  [[nodiscard]] Size global() const { return tile_ * count_; }
  /// Where tile t begins; at(count()) is global(). Precondition: 0 <= t <= count().
  [[nodiscard]] Size at(Size t) const { return tile_ * t; }
  /// The extent of tile t. Precondition: 0 <= t < count().
  [[nodiscard]] Size width(Size t) const { return at(t + 1) - at(t); }
  /// The extent of the largest tile.
  [[nodiscard]] Size largest() const { return tile_; }

  /// n neighbours become one tile. Precondition: n divides count().
  [[nodiscard]] Cuts joined(Size n) const { return {tile_ * n, count_ / n}; }
  /// Every tile becomes n tiles. Precondition: n divides every width.
  [[nodiscard]] Cuts split(Size n) const { return {tile_ / n, count_ * n}; }

  friend bool operator==(const Cuts&, const Cuts&) = default;

 private:
  Cuts(Size tile, Size count) : tile_(tile), count_(count) {}

  Size tile_ = 1;
  Size count_ = 1;
};

}  // namespace retile
