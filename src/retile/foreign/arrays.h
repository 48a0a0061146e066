// What moves several arrays, taken apart. Room-internal.
#pragma once

#include <vector>

#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// A function for every result, of the operations that make it, and with the ends that the text says
/// of it and of its parameter, if there is one.
/// \error (thrown) limit_reached
[[nodiscard]] std::vector<Function> arrays_of(Function function, const text::Input& input);

}  // namespace retile::foreign
