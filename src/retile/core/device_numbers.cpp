#include "retile/core/device_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"

namespace retile {
namespace {

/// Whether they are first, first + 1, ..
bool is_range(const std::vector<Size>& list, Size first) {
  for (const Size number : list) {
    if (number != first++) return false;
  }
  return true;
}

}  // namespace

DeviceNumbers::DeviceNumbers(std::vector<Size> list) {
  if (!is_range(list, 0)) list_ = std::move(list);
}

std::vector<Size> from_zero(Size count) {
  std::vector<Size> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), Size{0});
  return out;
}

std::unordered_map<Size, Size> places_in(const std::vector<Size>& list) {
  std::unordered_map<Size, Size> out;
  out.reserve(list.size());
  for (const Size number : list) out.emplace(number, static_cast<Size>(out.size()));
  return out;
}

std::optional<Size> DeviceNumbers::place_of(Size number) const {
  if (list_.empty()) return number;
  const auto found = std::find(list_.begin(), list_.end(), number);
  if (found == list_.end()) return std::nullopt;
  return static_cast<Size>(found - list_.begin());
}

std::vector<Size> DeviceNumbers::places_by_number() const {
  if (std::is_sorted(list_.begin(), list_.end())) return {};
  std::vector<Size> out = from_zero(static_cast<Size>(list_.size()));
  std::sort(out.begin(), out.end(), [this](Size one, Size other) { return of(one) < of(other); });
  return out;
}

std::string DeviceNumbers::text() const {
  RETILE_ASSERT(are_listed(), "who asks has numbers of a list");
  if (list_.size() > 1 && is_range(list_, list_.front())) {
    return fmt::format("{}..{}", list_.front(), list_.back());
  }
  return fmt::format("[{}]", fmt::join(list_, ","));
}

}  // namespace retile
