#include "axis_table.h"

#include <fmt/format.h>

#include <utility>

#include "retile/notation/paper/wellformed.h"

namespace retile::forms {

AxisTable::AxisTable(const std::vector<paper::WrittenAxis>& axes, const text::Place& all)
    : mesh_(paper::mesh_of(axes, all)) {
  Size stride = mesh_.device_count();
  for (const Axis& axis : mesh_.axes()) {
    stride /= axis.size;
    digits_.emplace(axis.name, Digit{.stride = stride, .size = axis.size});
  }
}

Digit AxisTable::digit(const paper::WrittenName& axis) const {
  const std::string& name = axis.name.value;
  const auto found = digits_.find(name);
  if (found == digits_.end()) fail_with(axis.name.place, unknown_axis(mesh_, name));
  const Digit digit = found->second;
  if (axis.major) {
    const auto part = part_of(digit, axis.major->value, axis.size->value);
    if (part) return *part;
    fail_with(axis.size->place, wrong_part(name, digit.size, axis.major->value, axis.size->value));
  }
  if (axis.size && axis.size->value != digit.size) {
    Diagnostic wrong = wrong_axis_size(name, digit.size, axis.size->value);
    wrong.notes.push_back(
        fmt::format("a part of an axis is written stride:size; the whole axis is the digit {}:{}",
                    digit.stride, digit.size));
    fail_with(axis.size->place, std::move(wrong));
  }
  return digit;
}

}  // namespace retile::forms
