// The judge of `check`: a Program's steps, one after the other, and what each of them claims.
// Private to this room.
#pragma once

#include "retile/check/check.h"
#include "retile/check/replay.h"
#include "retile/program/program.h"

namespace retile {

/// `check` in some forms of states only. Preconditions: those of a Program.
[[nodiscard]] Verdict check_with(const Program& program, const CheckOptions& options,
                                 const Forms& forms);

}  // namespace retile
