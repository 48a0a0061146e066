// Several factors popped off a layout at once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "retile/core/layout.h"

namespace retile {

/// Layout::pop of each of these factors (dimension, n) in turn. The digits of all of them are over the
/// positions of the order() after the last.
std::vector<std::vector<Digit>> pop_each(Layout& map,
                                         const std::vector<std::pair<std::size_t, Size>>& factors);

}  // namespace retile
