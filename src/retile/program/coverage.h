// Whether boxes cover a tile, every element once. Private to this room.
#pragma once

#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/size.h"

namespace retile::detail {

/// A box in a tile; both views outlive it.
struct Box {
  const Shape* start = nullptr;
  const Shape* shape = nullptr;
};

struct TooMuchWork {};

/// The first local index, in C order, that lies in no box or in several. Preconditions: all boxes
/// lie inside the tile, which has fewer than 2^63 elements, and their extents are at least 1.
/// \param work_left  boxes that may still be looked at; counted down, so that many calls can share
///     it
/// \param deadline   after it is too much work, too
/// \complexity  looks at every box once for every stretch between box ends along each dimension:
///     O(boxes * log) for one dimension or one stretch, the grid that the ends make in the worst
///     case
[[nodiscard]] tl::expected<std::optional<Shape>, TooMuchWork> first_not_covered_once(
    const Shape& tile, std::vector<Box> boxes, Size& work_left, const Deadline& deadline = {});

}  // namespace retile::detail
