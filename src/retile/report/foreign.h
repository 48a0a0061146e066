// The verdict on a function in another system's text, as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "retile/foreign/judge_text.h"
#include "retile/report/json.h"

namespace retile::report {

/// A line with the verdict, and below it what belongs to it, with lines of the text that was judged.
[[nodiscard]] std::string text_of(const foreign::JudgedFunction& judged, std::string_view text,
                                  bool must_be_within_bound = false);

/// One object, `retile.foreign/1`.
[[nodiscard]] Json json_of(const foreign::JudgedFunction& judged);

}  // namespace retile::report
