#include "coverage.h"

#include <algorithm>

namespace retile::detail {
namespace {

class Sweep {
 public:
  Sweep(const Shape& tile, Size& work_left, const Deadline& deadline)
      : tile_(tile), work_left_(work_left), watch_(deadline) {}

  /// Whether some index has a wrong number of boxes over it; then `at` is the first one from
  /// dimension k on. `boxes` are those that hold the stretch of all dimensions before.
  tl::expected<bool, TooMuchWork> sweep(std::size_t k, const std::vector<Box>& boxes, Shape& at) {
    if (!goes_on(boxes)) return tl::unexpected(TooMuchWork{});
    // Where all boxes are as long as the tile there is one stretch. A loop, as a rank may be larger
    // than a stack is deep.
    while (k < tile_.size() && !boxes.empty() && all_span(k, boxes)) {
      ++k;
      if (!goes_on(boxes)) return tl::unexpected(TooMuchWork{});
    }
    if (k == tile_.size()) return boxes.size() != 1;
    if (boxes.empty()) return true;
    std::vector<Size> ends = {0, tile_[k]};
    for (const Box& box : boxes) {
      ends.push_back((*box.start)[k]);
      ends.push_back((*box.start)[k] + (*box.shape)[k]);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());

    // Along one stretch between two ends the same boxes lie over every index.
    std::vector<Box> coming = boxes;
    std::sort(coming.begin(), coming.end(),
              [k](const Box& a, const Box& b) { return (*a.start)[k] < (*b.start)[k]; });
    std::size_t next = 0;
    std::vector<Box> over;
    for (std::size_t e = 0; e + 1 < ends.size(); ++e) {
      const Size begin = ends[e];
      over.erase(std::remove_if(over.begin(), over.end(),
                                [k, begin](const Box& box) {
                                  return (*box.start)[k] + (*box.shape)[k] <= begin;
                                }),
                 over.end());
      for (; next < coming.size() && (*coming[next].start)[k] == begin; ++next) {
        over.push_back(coming[next]);
      }
      const auto found = sweep(k + 1, over, at);
      if (!found) return tl::unexpected(found.error());
      if (*found) {
        at[k] = begin;
        return true;
      }
    }
    return false;
  }

 private:
  bool goes_on(const std::vector<Box>& boxes) {
    constexpr Size nanoseconds_per_box = 16;
    const auto count = static_cast<Size>(boxes.size());
    work_left_ -= count;
    return work_left_ >= 0 && watch_.in_time(count * nanoseconds_per_box);
  }

  [[nodiscard]] bool all_span(std::size_t k, const std::vector<Box>& boxes) const {
    return std::all_of(boxes.begin(), boxes.end(), [this, k](const Box& box) {
      return (*box.start)[k] == 0 && (*box.shape)[k] == tile_[k];
    });
  }

  const Shape& tile_;
  Size& work_left_;
  Watch watch_;
};

}  // namespace

tl::expected<std::optional<Shape>, TooMuchWork> first_not_covered_once(const Shape& tile,
                                                                       std::vector<Box> boxes,
                                                                       Size& work_left,
                                                                       const Deadline& deadline) {
  Shape at(tile.size(), 0);
  const auto found = Sweep(tile, work_left, deadline).sweep(0, boxes, at);
  if (!found) return tl::unexpected(found.error());
  return *found ? std::optional(std::move(at)) : std::nullopt;
}

}  // namespace retile::detail
