// The steps that take the least on a network, by a search over types.
//
// A state is who holds which tile, in digits of the device number (TileMap). Steps are those of the paper, along
// one dimension each: slices by a prime digit that nothing uses, allgathers and alltoalls of any number of
// minor digits, and permutations to any state with tiles of the same shape. A permutation takes what its
// outermost level takes: inside the domains of level l it can do whatever leaves each of them the tiles that it
// holds. So states that differ in digits of the inner levels alone are one class, entered at that price.
//
// The search is A*: what each domain must get at least from outside bounds the rest from below. Where it
// ends before its limit no sequence of these steps takes less; else the least that is still open is what no
// sequence can fall below.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/problem.h"
#include "retile/core/size.h"
#include "retile/network/network.h"
#include "retile/plan/plan.h"

namespace retile::network {

struct SearchOptions {
  Size element_bytes = 4;
  Size most_tile = 0;                      ///< elements of a tile
  std::optional<Size> most_resident = {};  ///< elements before and after a step together
  /// What the search looks at at most: steps from one state to another.
  Size most_work = Size{1} << 20;
  /// Digits are moved as the ends and the levels cut them, no part of one; so what is found is not proved.
  bool whole_digits = false;
  std::optional<Wide> known =
      {};  ///< what a known sequence takes: only what takes less is of interest
};

/// A step, and who holds what after it.
struct FoundStep {
  PlanStep step;
  Layout after;
};

struct Found {
  std::optional<std::vector<FoundStep>> steps;  ///< nothing: none takes less than what is known
  Wide time = 0;                                ///< of the steps, or of what is known
  Wide lower_bound = 0;                         ///< no sequence of these steps takes less
  bool complete = true;                         ///< the search ended before its limit
  Size work = 0;
};

/// Precondition: both ends are even, in boxes, compact, whole and without halos.
[[nodiscard]] Found search(const Problem& problem, const Network& network,
                           const SearchOptions& options);

}  // namespace retile::network
