// Reads traces of DTensor. Not a public header.
#pragma once

#include <vector>

#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// A function for every trace, whose values lie on single devices. The first mistake is thrown
/// (text::Failure): no JSON of this form, shapes that do not fit, ranks that wait for each other.
[[nodiscard]] std::vector<Function> read_dtensor_trace(const text::Input& input);

}  // namespace retile::foreign
