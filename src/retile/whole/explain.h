// What a program behind its partitioner moves, found in one draw. Room-internal.
#pragma once

#include <vector>

#include "retile/whole/array.h"
#include "retile/whole/field.h"
#include "retile/whole/module.h"
#include "retile/whole/movement.h"

namespace retile::whole {

/// Two texts and what one draw gives them.
struct Drawn {
  const Module& before;
  const Module& after;
  const Field& field;
  const std::vector<Held>& before_arguments;
  const std::vector<Held>& after_arguments;
  Size devices = 1;
  const std::vector<ArrayType>& tiles;  ///< of arguments and results
  /// Whether the values of the text before are those of all devices together: boxes of them are looked
  /// for.
  bool is_global = true;
};

/// Throws NotEvaluated and LimitReached.
[[nodiscard]] Movement movement_of(const Drawn& drawn, Limits& limits);

}  // namespace retile::whole
