// What a replay may use. Private to this room.
#pragma once

#include <limits>

#include "retile/core/deadline.h"
#include "retile/core/size.h"

namespace retile {

struct Limits {
  /// How many numbers of 8 bytes the replay may hold at once.
  Size room = std::numeric_limits<Size>::max();
  /// How many of them may be tags: those before a step and those after it together.
  Size tag_room = std::numeric_limits<Size>::max();
  Deadline deadline = {};
};

struct CheckOptions;
[[nodiscard]] Limits limits_of(const CheckOptions& options);

}  // namespace retile
