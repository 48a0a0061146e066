// What verdicts of all kinds say in the same words.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/size.h"

namespace retile::report {

/// `[2, 3]`
[[nodiscard]] std::string shape_text(const Shape& shape);

/// `[2,3]`, as a device's index is written.
[[nodiscard]] std::string index_text(const Shape& index);

/// `right`, or that it is over the bound where that counts.
[[nodiscard]] std::string_view right_text(bool is_over);

/// `cost 18, height 6 (bound 6)`
[[nodiscard]] std::string figures_text(Size cost, Size height, Size bound);

/// `device 3 holds element [0,4] at [0,0], expected [0,2]`
[[nodiscard]] std::string other_element_text(Size device, std::string_view found, const Shape& at,
                                             const Shape& expected);

/// `device 3: element [0,2] at [0,0]`
[[nodiscard]] std::string element_text(Size device, const Shape& element, const Shape& at);

}  // namespace retile::report
