// Which einsums are products of two matrices.
#pragma once

#include <map>
#include <optional>

#include "retile/core/size.h"
#include "retile/spmd/expression.h"

namespace retile::spmd {

/// An einsum that is one product of two matrices, out = first * second. Everything lies in C order.
struct MatrixProduct {
  bool swapped = false;        ///< the first factor is the second operand
  bool first_turned = false;   ///< the first factor is stored as its transpose
  bool second_turned = false;  ///< likewise
  Size rows = 0;               ///< of the first factor and of out
  Size columns = 0;            ///< of the second factor and of out
  Size inner = 0;              ///< columns of the first factor, rows of the second
};

/// Nothing where the einsum is something else, or has an extent that a BLAS does not take: 0, or 2^31
/// and more.
/// \param extents  of its labels (label_extents())
[[nodiscard]] std::optional<MatrixProduct> matrix_product(const Einsum& einsum,
                                                          const std::map<char, Size>& extents);

}  // namespace retile::spmd
