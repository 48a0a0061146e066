// The tiles that a Program makes on its way, for those who run it.
#pragma once

#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

/// The shape of every tile before the first step and after each; eight tiles of every shape have
/// fewer than 2^63 bytes together, so that sums of buffers need no checks.
///
/// \param element_bytes  >= 1
/// \error bad_program (ends that do not fit the devices or each other; a step that names a
/// dimension
///        or a device that does not exist), inapplicable (with the reason of the verdict as the
///        rule; the rule `end` when the last tiles are not of the shape of `to`), size_overflow
[[nodiscard]] Result<std::vector<Shape>> tile_shapes(const Program& program, Size element_bytes);

}  // namespace retile
