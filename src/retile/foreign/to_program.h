// What a foreign function does, as a Program.
#pragma once

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/foreign/module.h"
#include "retile/program/program.h"

namespace retile::foreign {

/// A Program with these ends that is right where the function is. A collective is a step where one
/// says what it does to the tiles, together with the reshapes around it; all else is an exchange.
///
/// Which step it is, is found by doing it: its tiles must be those of the function, element by
/// element. Where elements are lost, or something else is in their place, the exchange leaves them
/// out, and so is wrong.
/// Preconditions: as judge()
/// \error limit_reached; unsupported: a rank of a trace ends with a tile of another shape
[[nodiscard]] Result<Program> to_program(const Function& function, const Layout& from,
                                         const Layout& to);

}  // namespace retile::foreign
