// The replay of Programs whose arrays may be addends. Private to this room.
#pragma once

#include "retile/check/check.h"

namespace retile {

/// As `check`, for any Program; exact for those that add, too.
[[nodiscard]] Verdict check_addends(const Program& program, const CheckOptions& options);

}  // namespace retile
