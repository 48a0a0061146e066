// Sizes as the standard library counts.
#pragma once

#include <cstddef>

#include "retile/core/size.h"

namespace retile {

/// A size as an index into a container, or as a number of elements or bytes in memory.
/// Precondition: value >= 0.
[[nodiscard]] constexpr std::size_t index(Size value) { return static_cast<std::size_t>(value); }

}  // namespace retile
