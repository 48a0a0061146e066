// What the types of an operation's operands and results must be: readers hand on no Function that
// breaks one of these rules, so that the evaluator need not ask.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/foreign/module.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// Which values hold elements of arrays, or what is not followed as a number; the others hold numbers
/// that are known, of every device its own.
[[nodiscard]] std::vector<bool> values_of_elements(const Function& function);

/// Which values are made of the parameter's elements, be it in part.
/// \param ranks_too  of a trace also all that ranks hold
[[nodiscard]] std::vector<bool> values_of_parameter(const Function& function, bool ranks_too);

/// The place in a text, as far as its line goes; the line's end where it is shorter.
[[nodiscard]] text::Place place_in(const text::Input& input, const FilePlace& place);

/// That all operations are well typed, all groups name every device once, and everything that
/// decides where elements go is known.
/// \error bad_program, unsupported, limit_reached (more devices, more elements than can be counted);
///     each points at the operation
[[nodiscard]] Result<void> check_types(const Function& function, const text::Input& input);

}  // namespace retile::foreign
