// Blocks of elements that have always moved together, and how many of them a step needs. Private to
// this room.
#pragma once

#include <cstddef>
#include <optional>

#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// What a step begins and ends with.
struct StepShapes {
  const Shape& tile;   ///< of every array before it
  const Shape& after;  ///< of every array after it
  Size devices = 1;
};

/// Arrays that are shared by devices, in blocks.
struct Blocks {
  Shape unit;       ///< elements of a block; divides the tile
  Size arrays = 1;  ///< different ones
};

/// What a step needs in tags.
struct TagsNeeded {
  Blocks after;  ///< after the step; its unit is that before the step, too
  Size tags_before = 0;
  Size tags_after = 0;
  /// All that there are at once.
  [[nodiscard]] Size numbers() const { return tags_before + tags_after; }
};
/// Nothing when they cannot be counted in 62 bits.
[[nodiscard]] std::optional<TagsNeeded> tags_needed(const Step& step, const StepShapes& shapes,
                                                    const Blocks& before);

/// Extents, or a place, in blocks. Precondition (asserted): nothing begins or ends inside one.
[[nodiscard]] Shape in_blocks(const Shape& elements, const Shape& unit);
/// The tags of so many arrays of this shape; nothing when they cannot be counted in 62 bits.
[[nodiscard]] std::optional<Size> tags_in(Size arrays, const Shape& tile, const Shape& unit);

}  // namespace retile
