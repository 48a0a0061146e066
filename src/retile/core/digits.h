// Lists of digits of a number, minor to major unless said otherwise: what tile numbers, axes and groups are
// made of.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/size.h"

namespace retile {

/// Digits that touch are one; those of size 1 go.
[[nodiscard]] std::vector<Digit> joined(const std::vector<Digit>& digits);

/// Takes the factor n off the minor end; nothing where it cuts across a digit.
[[nodiscard]] std::optional<std::vector<Digit>> take_minor(std::vector<Digit>& digits, Size n);

/// Takes digits of product n out of some, minor parts first.
/// Precondition (asserted): there are enough.
[[nodiscard]] std::vector<Digit> take_any(std::vector<Digit>& digits, Size n);

/// The digits without one that lies within one of them, whose other parts stay, minor first.
[[nodiscard]] std::vector<Digit> without(const std::vector<Digit>& digits, const Digit& taken);

/// The coarsest factors of the numbers below `count`, major to minor, of which all these digits are made;
/// nothing where their ends do not divide each other.
[[nodiscard]] std::optional<std::vector<Digit>> common_factors(Size count,
                                                               const std::vector<Digit>& digits);

}  // namespace retile
