// The judge of Programs whose tiles are not all alike. Private to this room.
#pragma once

#include "retile/check/check.h"
#include "retile/program/program.h"

namespace retile {

/// `check` of any Program, by boxes: each step as what it moves (program/uneven.h). Slower than the
/// forms of states where all tiles are alike, and exact for every Program.
/// Preconditions: those of a Program.
[[nodiscard]] Verdict check_uneven(const Program& program, const CheckOptions& options);

}  // namespace retile
