// Several factors popped off a layout at once. See pop_each.h.
#include "retile/core/pop_each.h"

#include <algorithm>

#include "retile/core/assert.h"

namespace retile {

std::vector<std::vector<Digit>> pop_each(Layout& map,
                                         const std::vector<std::pair<std::size_t, Size>>& factors) {
  // Popped and put back, a factor that cuts across digits leaves its dimension one number, which any
  // divisor cuts. After that no order changes any more.
  std::vector<Size> popped(map.rank(), 1);
  for (const auto& [dim, factor] : factors) {
    popped[dim] *= factor;
    map.push(dim, map.pop(dim, popped[dim]));
  }
  std::vector<std::vector<Digit>> out;
  const IotaChain order = map.order();
  for (const auto& [dim, factor] : factors) out.push_back(map.pop(dim, factor));
  RETILE_ASSERT(map.order() == order, "every cut is one of a number");
  return out;
}

}  // namespace retile
