// Readers of whole programs. Room-internal.
#pragma once

#include "retile/core/result.h"
#include "retile/text/place.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// The only module of a text in HLO.
/// \error syntax, bad_number, bad_program, bad_device; unsupported (an operation that is not read, by
///     name); limit_reached
[[nodiscard]] Result<Module> read_hlo(const text::Input& input);

}  // namespace retile::whole
