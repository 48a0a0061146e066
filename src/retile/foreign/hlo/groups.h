// Groups and pairs of devices as HLO writes them. Room-internal.
#pragma once

#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/foreign/hlo/syntax.h"
#include "retile/foreign/module.h"

namespace retile::foreign::hlo {

/// `{{0,1},{2,3}}`, `[2,4]<=[4,2]T(1,0)` or `mesh['x'=2,'y'=4] {'y'}`; `{}` has no rows. The numbers
/// are below 2^31. The first mistake is thrown.
[[nodiscard]] Groups read_groups(const Place& value);

/// `{{0,1},{1,0}}`
[[nodiscard]] std::vector<std::pair<Size, Size>> read_pairs(const Place& value);

}  // namespace retile::foreign::hlo
