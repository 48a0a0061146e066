// Where the tiles of one dimension lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/division.h"
#include "retile/core/size.h"

namespace retile {

/// A stretch of one dimension, end excluded.
struct Stretch {
  Size begin = 0;
  Size end = 0;
  [[nodiscard]] Size extent() const { return end - begin; }
  friend auto operator<=>(const Stretch&, const Stretch&) = default;
};

/// A part of a dimension that is dealt out by itself, in blocks of so many elements.
struct Section {
  Size end = 1;  ///< where the next one begins
  Size block = 1;
  friend bool operator==(const Section&, const Section&) = default;
};

/// A grid of chunks: the dimension is several, written as one in C order, and each of these is cut at listed
/// ends. Every chunk belongs to a tile.
struct Chunks {
  std::vector<std::vector<Size>> ends;  ///< of each dimension: 0, and where its chunks end
  std::vector<Size> tiles;              ///< the tile of every chunk, in C order
  friend bool operator==(const Chunks&, const Chunks&) = default;
};

/// The cuts of one dimension of a global array: tile number t is the half-open range
/// [at(t), at(t + 1)), which may be empty.
///
/// Which device holds which number is the TileMap's affair; a Layout is both. Blocks of c elements
/// are cut at min(c t, n): all alike where c times their number is n, else the last one that has
/// elements may be short, and those behind it are empty. Balanced tiles are as equal as they can be,
/// the first n mod k of them one element longer. Or the cuts are listed.
/// Paper: Fig. 7a with the tile number in place of the axes, for blocks that are all alike.
///
/// Of blocks that are dealt out a tile has several stretches, one behind the other: of k tiles number t
/// has the blocks t, t + k, t + 2k, .. of every section. Of chunks it has those that are said to be its own.
class Cuts {
 public:
  /// One tile of one element.
  Cuts() = default;
  /// `count` tiles of `tile` elements.
  /// Preconditions: tile >= 1, count >= 1, and their product fits.
  [[nodiscard]] static Cuts even(Size tile, Size count) { return {tile, count, tile * count}; }
  /// `count` blocks of `tile` elements, cut off at `global`.
  /// Preconditions: tile, count, global >= 1; tile * count >= global, whether it fits or not.
  [[nodiscard]] static Cuts blocks(Size tile, Size count, Size global) {
    return {std::min(tile, global), count, global};
  }
  /// `count` tiles that differ by one element at most, the longer ones first. What blocks can say is
  /// said by blocks.
  /// Preconditions: count, global >= 1.
  [[nodiscard]] static Cuts balanced(Size count, Size global) {
    Cuts out{ceil_div(global, count), count, global};
    // Of blocks only the last that has elements is shorter, by any number of them.
    out.balanced_ = global > count && global % count != 0 && global % count != count - 1;
    return out;
  }
  /// `count` tiles of blocks that are dealt out in turn, in every section anew; the last block of a
  /// section is cut off at its end. What blocks of one round can say is said by them.
  /// Preconditions: count >= 1; at least one section; ends that grow from above 0; blocks >= 1, of one extent
  /// in all sections that have more than one, or (asserted) of ceil(extent / count) in each.
  [[nodiscard]] static Cuts dealt(Size count, std::vector<Section> sections);
  /// `count` tiles of chunks. What lists of cuts or blocks that are dealt out can say is said by them.
  /// Preconditions: count >= 1; at least one dimension; its ends begin with 0, never fall, and end above 0;
  /// the product of the last ones fits; a tile below `count` for every chunk.
  [[nodiscard]] static Cuts chunked(Size count, Chunks chunks);
  /// What blocks can say is said by blocks, and what balanced tiles can say by those.
  /// Precondition: at least two numbers, which begin with 0, never fall, and end above 0.
  [[nodiscard]] static Cuts listed(std::vector<Size> at) {
    Size largest = 0;
    for (std::size_t t = 1; t < at.size(); ++t) largest = std::max(largest, at[t] - at[t - 1]);
    const Size count = static_cast<Size>(at.size()) - 1;
    Cuts out{largest, count, at.back()};
    for (const Cuts& other : {out, balanced(count, at.back())}) {
      bool alike = true;
      for (std::size_t t = 0; t < at.size(); ++t) {
        alike = alike && at[t] == other.at(static_cast<Size>(t));
      }
      if (alike) return other;
    }
    out.parts_ = std::make_shared<const Parts>(Parts{std::move(at), {}, {}, {}, {}});
    return out;
  }

  [[nodiscard]] Size count() const { return count_; }
  /// The extent of the dimension.
  [[nodiscard]] Size global() const { return global_; }
  /// Where tile t begins; at(count()) is global(). Preconditions: 0 <= t <= count(); not dealt out.
  [[nodiscard]] Size at(Size t) const {
    if (is_listed()) return parts_->list[static_cast<std::size_t>(t)];
    if (balanced_) return global_ / count_ * t + std::min(t, global_ % count_);
    return t <= global_ / tile_ ? tile_ * t : global_;
  }
  /// The extent of tile t. Precondition: 0 <= t < count().
  [[nodiscard]] Size width(Size t) const { return is_dealt() ? dealt_width(t) : at(t + 1) - at(t); }
  /// What tile t has of the dimension, in stretches as long as they can be, ascending.
  /// Precondition: 0 <= t < count().
  [[nodiscard]] std::vector<Stretch> stretches(Size t) const;
  /// How many stretches all tiles have together at most.
  [[nodiscard]] Size stretches() const;
  /// The extent of the largest tile.
  [[nodiscard]] Size largest() const { return tile_; }

  [[nodiscard]] bool is_listed() const { return parts_ && !parts_->list.empty(); }
  /// Of tiles that no blocks are.
  [[nodiscard]] bool is_balanced() const { return balanced_; }
  [[nodiscard]] bool is_blocks() const { return !parts_ && !balanced_; }
  /// Whether tiles may have several stretches.
  [[nodiscard]] bool is_dealt() const { return parts_ && parts_->list.empty(); }
  /// Of blocks that are dealt out; of chunks none.
  [[nodiscard]] const std::vector<Section>& sections() const;
  [[nodiscard]] bool is_chunked() const { return parts_ && !parts_->chunks.tiles.empty(); }
  /// Precondition: chunks.
  [[nodiscard]] const Chunks& chunks() const { return parts_->chunks; }
  /// The extent of the blocks. Precondition: blocks.
  [[nodiscard]] Size block() const { return tile_; }
  /// Blocks that are all alike.
  [[nodiscard]] bool is_even() const { return is_blocks() && tile_ <= global_ / count_; }

  /// Tile t has the i with i div block mod count() == t; a round is as long as all tiles' blocks, and divides
  /// the array.
  struct Rounds {
    Size block = 1;
    Size length = 1;
  };
  /// Nothing where blocks or rounds are cut short, or tiles are no blocks.
  [[nodiscard]] std::optional<Rounds> rounds() const;

  /// n neighbours become one tile. Preconditions: even, and n divides count().
  [[nodiscard]] Cuts joined(Size n) const { return even(tile_ * n, count_ / n); }
  /// Every tile becomes n tiles. Preconditions: even, and n divides every width.
  [[nodiscard]] Cuts split(Size n) const { return even(tile_ / n, count_ * n); }

  friend bool operator==(const Cuts& a, const Cuts& b) {
    return a.tile_ == b.tile_ && a.count_ == b.count_ && a.global_ == b.global_ &&
           a.balanced_ == b.balanced_ && a.has_parts_of(b);
  }

 private:
  /// What cuts are that are no blocks: a list, sections, or chunks.
  struct Parts {
    std::vector<Size> list;
    std::vector<Section> sections;
    Chunks chunks;
    // The numbers of chunks, tile after tile, and where each tile's begin.
    std::vector<std::size_t> by_tile;
    std::vector<std::size_t> first_of_tile;
    friend bool operator==(const Parts&, const Parts&) = default;
  };

  Cuts(Size tile, Size count, Size global) : tile_(tile), count_(count), global_(global) {}

  [[nodiscard]] bool has_parts_of(const Cuts& other) const {
    return parts_ == other.parts_ || (parts_ && other.parts_ && *parts_ == *other.parts_);
  }
  [[nodiscard]] Size dealt_width(Size t) const;
  [[nodiscard]] Size chunked_width(Size t) const;
  [[nodiscard]] std::optional<Rounds> rounds_of_chunks() const;
  /// What tile t has, row by row, ascending; neighbours may touch.
  [[nodiscard]] std::vector<Stretch> rows_of_chunks(Size t) const;

  Size tile_ = 1;  // the extent of blocks; of other cuts the largest
  Size count_ = 1;
  Size global_ = 1;
  bool balanced_ = false;
  // Of blocks none; shared, as planners copy layouts all the time.
  std::shared_ptr<const Parts> parts_;
};

/// How large the pieces of a tile are where they are not equal: all of one extent, but the last ones of a
/// tile, which may be shorter or empty: [min(q s, m), min((q + 1) s, m)) of m. Or balanced: as equal
/// as they can be, the first m mod n of n pieces one longer.
class PieceSize {
 public:
  /// Implicit: an extent is a size. Precondition: at least 1.
  PieceSize(Size extent) : extent_(extent) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static PieceSize balanced() { return {0}; }
  [[nodiscard]] bool is_balanced() const { return extent_ == 0; }
  /// Precondition: not balanced.
  [[nodiscard]] Size extent() const { return extent_; }
  friend bool operator==(const PieceSize&, const PieceSize&) = default;

 private:
  Size extent_;  // 0: balanced
};

/// How far the boxes of one dimension reach beyond their tiles, cut off at the ends of the array.
struct Halo {
  Size below = 0;
  Size above = 0;
  friend bool operator==(const Halo&, const Halo&) = default;
};

}  // namespace retile
