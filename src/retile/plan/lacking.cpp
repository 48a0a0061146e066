#include "retile/plan/lacking.h"

#include <algorithm>

#include "retile/core/box_rows.h"

namespace retile {
std::optional<Size> most_lacking(const Problem& problem, Size most_places) {
  const std::size_t rank = problem.from.rank();
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(rank));
  if (!places || *places > most_places) return std::nullopt;
  const BoxRows from(problem.from);
  const BoxRows to(problem.to);
  Size most = 0;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    Size size = 1;
    Size kept = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const Size begin = std::max(from.begin(d, i), to.begin(d, i));
      const Size end = std::min(from.end(d, i), to.end(d, i));
      size *= to.end(d, i) - to.begin(d, i);
      kept *= std::max(Size{0}, end - begin);
    }
    most = std::max(most, size - kept);
  }
  return most;
}

std::optional<Size> held_in_exchange(const Problem& problem) {
  return checked_add(problem.from.tile_size(), problem.to.tile_size());
}

}  // namespace retile
