#include "retile/plan/lacking.h"

#include <algorithm>

#include "retile/core/tile_stretches.h"

namespace retile {
std::optional<Size> most_lacking(const Problem& problem, Size most_places) {
  const std::size_t rank = problem.from.rank();
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(rank));
  if (!places || *places > most_places) return std::nullopt;
  const TileStretches from(problem.from);
  const TileStretches to(problem.to);
  Size most = 0;
  for (Size d = 0; d < problem.from.devices(); ++d) {
    Size size = 1;
    Size kept = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      size *= to.extent(d, i);
      kept *= common_extent(from, to, d, i);
    }
    most = std::max(most, size - kept);
  }
  return most;
}

std::optional<Size> held_in_exchange(const Problem& problem) {
  return checked_add(problem.from.tile_size(), problem.to.tile_size());
}

}  // namespace retile
