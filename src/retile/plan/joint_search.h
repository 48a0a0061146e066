// Plans with steps along several dimensions (docs/ledger/statements.md, S13). Private to this room.
#pragma once

#include <optional>

#include "retile/core/problem.h"
#include "retile/plan/cost_model.h"
#include "retile/plan/digit_lists.h"
#include "retile/plan/plan.h"
#include "retile/plan/realise.h"
#include "retile/plan/weak_search.h"

namespace retile {

/// A path and how it becomes exact, in the paper's costs.
struct RealisedPath {
  WeakPath path;
  SliceDigits digits;
  bool permute = false;
  Wide cost = 0;
};

/// What is known of sequences with steps along one or several dimensions.
struct OverDimsAnswer {
  std::optional<RealisedPath> best;  ///< the cheapest that was found within the memory limit
  Wide lower_bound = 0;              ///< no sequence costs less
  bool no_other = false;             ///< no steps along one dimension each cost as little as `best`
  bool joins_known = false;          ///< `best` is the path that was known, with steps joined
  /// What `best` costs, where nothing costs less.
  [[nodiscard]] std::optional<Wide> proved() const {
    if (!best || best->cost > lower_bound) return std::nullopt;
    return best->cost;
  }
};

/// The same path with all gathers in one step, and with consecutive alltoalls in one where one can do
/// what they do: where no dimension loses a factor to one and gains one from another, and the digits
/// can be put in an order that suits every dimension.
[[nodiscard]] WeakPath merged(const WeakPath& path);

/// Looks for the cheapest plan with steps along several dimensions, and proves what no plan can cost less
/// than. In the paper's cost model.
/// \param levels  the valleys that the options allow, one at least
/// \param work    what may be looked at, of which what was is taken off
/// \param known   what a plan costs that is known: only cheaper ones are looked for
[[nodiscard]] OverDimsAnswer search_over_dims(const Problem& problem, const PlanOptions& options,
                                              const WeakSpace& space,
                                              const std::vector<Level>& levels,
                                              LazyAlphabet& alphabet, Size& work,
                                              std::optional<Wide> known = {});

}  // namespace retile
