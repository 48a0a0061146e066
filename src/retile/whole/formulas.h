// Functions of CHLO as the formulas that XLA writes in their place before it partitions. A text in
// StableHLO names the function, the text in HLO beside it has the formula. Room-internal.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "retile/whole/module.h"

namespace retile::whole {

/// Writes one operation of a formula, on arrays of the shape that the function's operands have: a constant
/// is one number for all elements. Its result is of the kind that is given.
using PutInstruction = std::function<ValueId(Id, Detail, std::vector<ValueId>, const ElementKind&)>;

/// Whether XLA writes a formula for a function of elements of a kind, and it is known here: those of reals, of
/// `chlo.erfc` and `chlo.erf_inv` up to 32 bits.
[[nodiscard]] bool has_formula(std::string_view function, const ElementKind& kind);

/// Writes the formula of a function, as StableHLO's pass chlo-legalize-to-stablehlo defines it.
/// Precondition: has_formula(function, kind), and as many operands of the kind as the function has.
/// \return  the value that it makes
[[nodiscard]] ValueId put_formula(std::string_view function, const std::vector<ValueId>& operands,
                                  const ElementKind& kind, const PutInstruction& put);

}  // namespace retile::whole
