// Statements cut among devices: which box of each array every process needs, and the module that
// moves and computes.
#pragma once

#include <string>
#include <vector>

#include "retile/array/statements.h"

namespace retile::array {

/// The half-open range of one dimension.
struct Interval {
  Size begin = 0;
  Size end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Piece t of n values in p pieces: the values from t b on, b = n / p rounded up, and none behind n.
[[nodiscard]] Interval piece_of(Size n, Size p, Size t);

/// The smallest interval that holds all values of the subscripts, which have the same factors, while
/// every variable runs over its range. Where a variable that stands alone has no value it is empty;
/// where one in a sum has none, it is as long as einsum wants it for the others to keep their lengths.
/// Thesis: Def. 4.3.1.
[[nodiscard]] Interval constraint(const std::vector<Subscript>& subscripts,
                                  const std::vector<Interval>& ranges);

/// The module `retile.spmd/1` of the statements by their schedules or tactics, with what it denotes.
/// \error unsupported (what has no local operation, or conflicts), bad_argument, too_many_devices,
///     size_overflow
[[nodiscard]] Result<std::string> partition(const Statements& statements);

}  // namespace retile::array
