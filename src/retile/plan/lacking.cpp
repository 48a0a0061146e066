#include "retile/plan/lacking.h"

#include <algorithm>
#include <vector>

namespace retile {
namespace {

/// The boxes of a layout, as rows of numbers.
class Rows {
 public:
  explicit Rows(const Layout& layout)
      : rank_(layout.rank()), at_(layout.base_offsets()), tile_(layout.tile()) {
    if (!layout.is_even()) extents_ = layout.extents();
  }

  [[nodiscard]] Size begin(std::size_t device, std::size_t i) const {
    return at_[device * rank_ + i];
  }
  [[nodiscard]] Size extent(std::size_t device, std::size_t i) const {
    return extents_.empty() ? tile_[i] : extents_[device * rank_ + i];
  }

 private:
  std::size_t rank_;
  std::vector<Size> at_;
  Shape tile_;
  std::vector<Size> extents_;  // where they are not all alike
};

}  // namespace

std::optional<Size> most_lacking(const Problem& problem, Size most_places) {
  const std::size_t rank = problem.from.rank();
  const auto places = checked_mul(problem.from.devices(), static_cast<Size>(rank));
  if (!places || *places > most_places) return std::nullopt;
  const Rows from(problem.from);
  const Rows to(problem.to);
  Size most = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(problem.from.devices()); ++d) {
    Size size = 1;
    Size kept = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const Size begin = std::max(from.begin(d, i), to.begin(d, i));
      const Size end =
          std::min(from.begin(d, i) + from.extent(d, i), to.begin(d, i) + to.extent(d, i));
      size *= to.extent(d, i);
      kept *= std::max(Size{0}, end - begin);
    }
    most = std::max(most, size - kept);
  }
  return most;
}

}  // namespace retile
