// Rows of the table that stand in whole programs alone.
#pragma once

#include <vector>

#include "retile/operations/table.h"

namespace retile::operations {

/// From Id::collective_broadcast on, in the order of `Id`.
[[nodiscard]] std::vector<Row> computing_rows();

}  // namespace retile::operations
