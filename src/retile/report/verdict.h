// The verdict on a Program, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "retile/check/check.h"
#include "retile/report/json.h"

namespace retile::report {

/// Whether what was judged is right; nothing where that is undecided.
[[nodiscard]] std::optional<bool> is_right(Answer answer);

/// `right: cost 18, height 6 (bound 6), 3 steps`, or
/// `wrong at step 1 (end): device 3 holds element [0,4] at [0,0], expected [0,2]`. No newline.
[[nodiscard]] std::string text_of(const Verdict& verdict, bool must_be_within_bound = false);

/// One object, `retile.verdict/1`.
[[nodiscard]] Json json_of(const Verdict& verdict);

}  // namespace retile::report
