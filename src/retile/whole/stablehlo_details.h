// What operations of StableHLO say beside their operands. Room-internal.
#pragma once

#include <vector>

#include "retile/foreign/mlir/attributes.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// The type of an array; refuses what is none, or not known.
[[nodiscard]] ArrayType array_type(const foreign::mlir::Type& type);

/// The detail of an operation that needs none of the module but `context`; NoDetail where it has
/// nothing to say.
/// \param operands  their types
[[nodiscard]] Detail stablehlo_detail(const foreign::mlir::ModuleContext& context,
                                      const foreign::mlir::Op& op, Id id,
                                      const std::vector<ArrayType>& operands);

/// The words of a constant: of one element where all are alike, of complex numbers two for each.
[[nodiscard]] std::vector<Word> constant_words(const foreign::mlir::Op& op);

/// Refuses an attribute that the operation does not have, and that may say something.
void check_stablehlo_attributes(const foreign::mlir::Op& op, const operations::Row& row);

}  // namespace retile::whole
