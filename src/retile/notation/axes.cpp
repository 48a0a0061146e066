#include "retile/notation/axes.h"

#include <algorithm>

namespace retile::notation {
namespace {

/// The part of an axis that a digit begins with; `digit` becomes what is left of it.
std::optional<AxisPart> take_part(const Mesh& mesh, Digit& digit) {
  for (const Axis& axis : mesh.axes()) {
    const Digit whole = *mesh.digit(axis.name);
    if (axis.size == 1 || digit.stride < whole.stride ||
        digit.stride >= whole.stride * whole.size) {
      continue;
    }
    const Size below = digit.stride / whole.stride;
    if (digit.stride % whole.stride != 0 || whole.size % below != 0) return std::nullopt;
    const Size room = whole.size / below;
    const Size take = std::min(room, digit.size);
    if (room % take != 0 || digit.size % take != 0) return std::nullopt;
    digit = {digit.stride * take, digit.size / take};
    if (take == whole.size) return AxisPart{axis.name};
    return AxisPart{axis.name, room / take, take};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Digit> digits_of(const Mesh& mesh, const std::vector<AxisPart>& parts) {
  std::vector<Digit> out;
  for (const AxisPart& part : parts) out.push_back(*digit_of(mesh, part));
  return out;
}

std::optional<std::vector<AxisPart>> parts_over(const Mesh& mesh,
                                                const std::vector<Digit>& digits) {
  std::vector<AxisPart> out;
  for (Digit digit : digits) {
    while (digit.size > 1) {
      auto part = take_part(mesh, digit);
      if (!part) return std::nullopt;
      out.push_back(*std::move(part));
    }
  }
  return out;
}

}  // namespace retile::notation
