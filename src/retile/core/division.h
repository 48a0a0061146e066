// Division of sizes that do not divide.
#pragma once

#include "retile/core/size.h"

namespace retile {

/// a / b, rounded up, for a >= 0 and b >= 1: how many blocks of b hold a elements.
[[nodiscard]] constexpr Size ceil_div(Size a, Size b) { return a / b + (a % b == 0 ? 0 : 1); }

}  // namespace retile
