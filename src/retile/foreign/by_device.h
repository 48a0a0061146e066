// A function whose values each lie on one device. Room-internal.
#pragma once

#include <optional>

#include "retile/foreign/module.h"

namespace retile::foreign {

/// The same with a value for every device in place of one that all hold, so that what one device cuts
/// others need not cut. The parameter is there for every device; the result and values with a claim are of all
/// devices. Nothing where the values would be too many.
[[nodiscard]] std::optional<Function> by_device(const Function& function);

}  // namespace retile::foreign
