// Normal forms with addends that need no permutation. Private to this room.
//
// A dimension is a list of digits of prime size, minor to major. Which digits a slice introduces, or
// which a reducescatter takes from the addends, need not be known while the search goes on: the
// target says in the end which ones they were. Addends have no order.
//
// A digit that slices introduce and gathers remove again may be the sum of two: one that counted
// replicas, and one that counts addends. Within a tile either tells addends apart, so the one takes
// the other's place (Twist). More general mixtures have not been needed: see the tests.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/problem.h"
#include "retile/plan/plan.h"
#include "retile/plan/reduce_types.h"

namespace retile {

/// A path and the digits of its steps, minor to major; none where a step needs none.
struct AddingPath {
  std::vector<AddingStep> steps;
  std::vector<std::vector<Digit>> digits;
  std::vector<Twist> twists = {};
};

struct ExactAnswer {
  std::optional<AddingPath> path;
  PathPrice price;
  bool complete = true;  ///< the search ended before its limit; else there may be a cheaper path
  Size states = 0;
};

/// A path of the least price, where that is at most `most`. Complete for paths that move whole digits
/// of prime size; where digits of the two ends do not nest there is no answer.
/// \param kinds  prices of paths without a permutation, up to `most`
[[nodiscard]] ExactAnswer find_exact(const Problem& problem, const KindSpace& space,
                                     KindSearch& kinds, std::optional<PathPrice> most,
                                     WorkLimit& work);

}  // namespace retile
