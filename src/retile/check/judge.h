// The judge of `check`: a Program's steps, one after the other, and what each of them claims.
// Private to this room.
#pragma once

#include "retile/check/check.h"
#include "retile/check/holding.h"
#include "retile/check/limits.h"
#include "retile/check/replay.h"
#include "retile/program/program.h"

namespace retile {

/// The verdict on a Program by its replay.
/// \param holding  what the devices hold at its start
/// Preconditions: those of a Program.
[[nodiscard]] Verdict judged(const Program& program, const Limits& limits, Holding& holding);

/// `check` in some forms of states only. Preconditions: those of a Program whose tiles are alike and that
/// adds nothing.
[[nodiscard]] Verdict check_with(const Program& program, const CheckOptions& options,
                                 const Forms& forms);

}  // namespace retile
