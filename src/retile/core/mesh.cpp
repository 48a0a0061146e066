#include "retile/core/mesh.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "retile/core/names.h"

namespace retile {
namespace {

std::optional<MeshViolation> violation_of(const Axis& axis, std::size_t i) {
  // Every text that is printed shows names as they are, and is read back.
  if (axis.name.find('"') != std::string::npos || has_control_character(axis.name)) {
    return MeshViolation{
        {.code = Code::syntax,
         .message = "the name of an axis may hold neither a quote nor a control character"},
        i};
  }
  if (axis.size < 1) {
    return MeshViolation{
        {.code = Code::bad_number,
         .message = fmt::format("the size of axis {} must be at least 1, not {}",
                                shown_name(axis.name), axis.size),
         .notes = {fmt::format("{}:1 is an axis that splits nothing", shown_name(axis.name))}},
        i};
  }
  return std::nullopt;
}

MeshViolation doubled(const Axis& axis, std::size_t i) {
  return {{.code = Code::duplicate_axis,
           .message = fmt::format("axis {} stands twice in the mesh", shown_name(axis.name)),
           .notes = {"every axis of a mesh needs a name of its own"}},
          i};
}

}  // namespace

std::optional<MeshViolation> find_violation(const std::vector<Axis>& axes) {
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (auto violation = violation_of(axes[i], i)) return violation;
    if (!names.insert(axes[i].name).second) return doubled(axes[i], i);
  }
  std::optional<Size> devices = 1;
  for (const Axis& axis : axes) {
    devices = checked_mul(*devices, axis.size);
    if (!devices) break;
  }
  if (devices && *devices <= max_devices) return std::nullopt;
  const std::string count = devices ? fmt::to_string(*devices) : "2^63 or more";
  return MeshViolation{
      {.code = Code::too_many_devices,
       .message = fmt::format("a mesh has at most {} devices, this one has {}", max_devices, count),
       .notes = {"the number of devices is the product of the axis sizes"}},
      std::nullopt};
}

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
