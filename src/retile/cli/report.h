// Plans as people and scripts read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/size.h"
#include "retile/plan/plan.h"
#include "retile/report/json.h"

namespace retile::cli {

/// One object of schema retile.plan/1.
[[nodiscard]] report::Json plan_object(const Plan& plan);
/// The same on one line.
[[nodiscard]] std::string plan_json(const Plan& plan);

/// A plan of one step is one line: `alltoall devs: dim 1 -> dim 0; cost 2048, height 2048 (bound
/// 2048)`. A longer one has a line per step with the tile after it, then the sums. Ends with a
/// newline.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// The steps and the sums in one line without an end, however many steps there are.
[[nodiscard]] std::string plan_line(const Plan& plan);

/// Why the plan is as it is: the weak path, the permutation, the valley, and
/// gather-everything-then-slice beside it.
/// \param traffic  what goes over which axis, to stand below the tiles
[[nodiscard]] std::string plan_explanation(const Plan& plan, const std::string& traffic);

/// The steps as `plan_text` calls them.
[[nodiscard]] std::vector<std::string> step_labels(const Plan& plan);

/// Cost and height of allgathers that replicate the whole array, after which every device slices
/// out its tile. Addends are added up before that, or stay where they are.
struct Baseline {
  /// Not where tiles are not all alike, nor where devices get other addends.
  bool is_known = false;
  bool adds = false;
  std::optional<Size> cost = {};  ///< nothing where it is beyond 2^63, or not known
  Size height = 0;
};
[[nodiscard]] Baseline gather_everything(const Plan& plan);
/// What is done, in words.
[[nodiscard]] std::string_view words_of(const Baseline& baseline);

}  // namespace retile::cli
