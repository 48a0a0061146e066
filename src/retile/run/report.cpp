#include "retile/run/report.h"

#include <algorithm>
#include <cstddef>

#include "retile/core/assert.h"
#include "retile/program/apply.h"
#include "retile/program/tile_shapes.h"

namespace retile::run {

std::optional<Size> resident_elements(const Program& program) {
  const auto shapes = tile_shapes(program, 1);
  if (!shapes) return std::nullopt;
  Size most = program.array_from().tile_size();
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    // tile_shapes() has seen that eight of these fit.
    const Size before = *checked_product((*shapes)[k].largest());
    const Size after = *checked_product((*shapes)[k + 1].largest());
    const bool slices = keeps_part(program.steps[k].op);
    most = std::max(most, slices ? std::max(before, after) : before + after);
  }
  return most;
}

double median(std::vector<double> numbers) {
  RETILE_ASSERT(!numbers.empty(), "there is no middle of nothing");
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

}  // namespace retile::run
