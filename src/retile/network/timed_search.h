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
  Size most_tile = 0;  ///< elements of a tile
  /// Of the array in which tiles lie that were filled up to be even; of what lies beyond nothing counts as held. No
  /// numbers: tiles are as they are.
  Shape extents = {};
  std::optional<Size> most_resident = {};  ///< elements before and after a step together
  /// What the search looks at at most: steps from one state to another.
  Size most_work = Size{1} << 20;
  /// Digits are moved as the ends and the levels cut them, no part of one; so what is found is not proved.
  bool whole_digits = false;
  /// How many times what is left counts when the next state is chosen. From 2 on a way is found sooner, and only
  /// then better ones are looked for.
  Size haste = 1;
  /// With haste, what the search looks at until it finds a way that takes less than what is known. Whenever it does,
  /// it goes on to eight times what it has looked at, but not beyond most_work.
  Size first_work = Size{1} << 20;
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
  Wide floor = 0;                               ///< nor does any with parts of digits
  bool complete = true;                         ///< the search ended before its limit
  Size work = 0;
};

/// Arrays of more dimensions are not searched, nor those over more devices.
inline constexpr std::size_t most_rank = 32;
inline constexpr Size most_searched_devices = Size{1} << 31;

/// Precondition: both ends are even, in boxes, compact, whole and without halos.
[[nodiscard]] Found search(const Problem& problem, const Network& network,
                           const SearchOptions& options);

}  // namespace retile::network
