// The same two programs with smaller extents, where nothing in them can tell. Room-internal.
//
// A dimension is taken as major times minor indices, i = i' f + r. What neither text looks at is r: both
// do the same to all of them (elementwise operations, contractions, transposes, whole blocks that are
// sent, cut off or put together), so f of them say no more than one does. `smaller` finds the largest f
// for every dimension, all dimensions that an operation ties together at once, and leaves 1 wherever an
// operation looks at single indices: iotas, windows, transforms, sorts, indices that are data, strides,
// and slices that begin behind no multiple of f.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// How arguments or results of the two texts belong together: the boxes of the array that the devices
/// hold after the pass. None: both have the whole array, or both the same tile.
using Boxes = std::vector<std::vector<Box>>;

struct Divided {
  Module before;
  Module after;
  /// Extents of the text before and what they became, where that is something else; the largest first.
  std::vector<std::pair<Size, Size>> extents;
};

struct Smaller {
  Divided texts;
  /// At extents that are smaller still, or larger where nothing smaller is left. A text that counts
  /// elements, and finds as many as the other one says, finds another number there.
  std::optional<Divided> others;
  /// Constants stand in one text only that may count elements: a difference may be one of counting.
  bool may_miscount = false;
};

/// What evaluating a text on its devices takes: how many elements and products it has there.
[[nodiscard]] double work_of(const Module& module);

/// Divides extents until `most_work` is enough for the two, or nothing is left to divide.
/// \param starts  of every argument, or none; \param ends of every result
/// \return nothing where no extent can be divided
/// Precondition: the types of both fit, and so do their arguments and results.
[[nodiscard]] std::optional<Smaller> smaller(const Module& before, const Module& after,
                                             const Boxes& starts, const Boxes& ends,
                                             double most_work);

}  // namespace retile::whole
