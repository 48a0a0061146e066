#include "retile/core/mesh.h"

#include <utility>

#include "retile/core/wellformed.h"

namespace retile {

Result<Mesh> Mesh::make(std::vector<Axis> axes) {
  if (auto violation = find_violation(axes)) return refuse(std::move(violation->diagnostic));
  Mesh mesh;
  mesh.axes_ = std::move(axes);
  for (const Axis& axis : mesh.axes_) mesh.device_count_ *= axis.size;
  return mesh;
}

std::optional<Digit> Mesh::digit(std::string_view name) const {
  Size stride = device_count_;
  for (const Axis& axis : axes_) {
    stride /= axis.size;
    if (axis.name == name) return Digit{stride, axis.size};
  }
  return std::nullopt;
}

}  // namespace retile
