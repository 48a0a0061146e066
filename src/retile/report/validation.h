// What became of a validation, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "retile/emit/emit.h"
#include "retile/report/json.h"
#include "retile/whole/validate.h"

namespace retile::report {

/// `right`, `wrong`, `undecided`
[[nodiscard]] std::string_view word_of(whole::Answer answer);
/// A line with the verdict, and below it what belongs to it.
/// \param form  of the plans beside reshards; nothing: that of the text after
[[nodiscard]] std::string text_of(const whole::Validation& validation,
                                  std::optional<emit::Form> form = {});
/// One object, `retile.validation/1`.
[[nodiscard]] Json json_of(const whole::Validation& validation,
                           std::optional<emit::Form> form = {});

}  // namespace retile::report
