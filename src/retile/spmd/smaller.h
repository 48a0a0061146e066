// Modules at smaller extents, of which the same is right. Room-internal.
#pragma once

#include <vector>

#include "retile/spmd/module.h"

namespace retile::spmd {

/// Of a dimension in which all tiles begin and end at multiples of `from`: these become multiples of `to`.
struct Scale {
  Size from = 1;
  Size to = 1;

  [[nodiscard]] Size operator()(Size n) const { return n / from * to; }
  /// One of the indices that an index stands for.
  [[nodiscard]] Size index(Size smaller) const { return smaller / to * from + smaller % to; }
  [[nodiscard]] bool is_smaller() const { return to < from; }
};

/// By value and dimension.
using Scales = std::vector<std::vector<Scale>>;

struct Smaller {
  Module
      module;  ///< with expressions for the smaller extents; its types are still of the full ones
  Scales scales;
  Size largest = 1;  ///< what an extent is divided by at most
};

/// The extents at which a module means the same: it is right there if and only if it is right.
/// docs/ledger/statements.md argues why. Every dimension that something looks at stays as it is.
[[nodiscard]] Smaller smaller(const Module& module);

/// No dimension is smaller.
[[nodiscard]] Smaller as_it_is(const Module& module);

}  // namespace retile::spmd
