// A number by which those who were given different Programs find it out.
#pragma once

#include <cstdint>

#include "retile/program/program.h"

namespace retile {

/// Visits the ends and the steps; nothing is written down. Two Programs that say the same of the
/// data have one hash: names of axes and claims do not count (but for the tile of an exchange, which
/// says what the step makes), nor does the form of a layout or of a table.
/// \complexity O(devices * rank + entries of the tables)
[[nodiscard]] std::uint64_t hash_of(const Program& program);

}  // namespace retile
