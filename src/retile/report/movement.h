// What the text after a partitioner moves, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "retile/emit/emit.h"
#include "retile/report/json.h"
#include "retile/whole/validate.h"

namespace retile::report {

/// An operation of a text as one JSON value.
[[nodiscard]] Json spot_json(const whole::Spot& spot);
/// Reshards beside what would do, large values, and collectives; where there is none of it, why.
/// \param form  of plans; nothing: that of the text after
[[nodiscard]] std::string movement_text(const whole::Validation& validation,
                                        std::optional<emit::Form> form = {});
/// The same as one JSON value; `null` where it was not asked for or is not there.
[[nodiscard]] Json movement_json(const whole::Validation& validation,
                                 std::optional<emit::Form> form = {});

}  // namespace retile::report
