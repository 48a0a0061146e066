// Verdicts and plans as people and scripts read them.
#pragma once

#include <optional>
#include <string>

#include "retile/check/check.h"
#include "retile/cli/common.h"
#include "retile/plan/plan.h"

namespace retile::cli {

/// yes, no or undecided; a right Program over the bound is a no when `within_bound` is asked for.
[[nodiscard]] Exit exit_of(const Verdict& verdict, bool within_bound);

/// `right: cost 18, height 6 (bound 6), 3 steps`, or
/// `wrong at step 1 (end): device 3 holds element [0,4] at [0,0], expected [0,2]`. No newline.
[[nodiscard]] std::string verdict_text(const Verdict& verdict, bool within_bound);

/// One object of schema retile.verdict/1 on one line. No newline.
[[nodiscard]] std::string verdict_json(const Verdict& verdict);

/// One object of schema retile.plan/1 on one line. No newline.
[[nodiscard]] std::string plan_json(const Plan& plan);

/// A plan of one step is one line: `alltoall devs: dim 1 -> dim 0; cost 2048, height 2048 (bound
/// 2048)`. A longer one has a line per step with the tile after it, then the sums. Ends with a
/// newline.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// Why the plan is as it is: the weak path, the permutation, the valley, and
/// gather-everything-then-slice beside it.
[[nodiscard]] std::string plan_explanation(const Plan& plan);

/// Cost and height of allgathers that replicate the whole array, after which every device slices
/// out its tile.
struct Baseline {
  /// Nothing: beyond 2^63, or tiles are not all alike, or there are addends.
  std::optional<Size> cost;
  Size height = 0;
};
[[nodiscard]] Baseline gather_everything(const Plan& plan);

}  // namespace retile::cli
