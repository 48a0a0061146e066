#include "retile/notation/paper/dist_type.h"

#include <utility>

#include "retile/core/assert.h"
#include "retile/notation/paper/wellformed.h"

namespace retile {
namespace {

Size product(const Shape& shape) {
  const auto size = checked_product(shape);
  RETILE_ASSERT(size.has_value(), "make refuses types whose global size does not fit");
  return *size;
}

}  // namespace

Result<DistType> DistType::make(const Mesh& mesh, std::vector<DistDim> dims) {
  if (auto violation = find_violation(mesh, dims)) return refuse(std::move(violation->diagnostic));
  for (DistDim& dim : dims) {
    std::erase_if(dim.axes, [&](const std::string& axis) { return mesh.digit(axis)->size == 1; });
  }
  DistType type;
  type.dims_ = std::move(dims);
  return type;
}

Shape DistType::localtype() const {
  Shape shape;
  for (const DistDim& dim : dims_) shape.push_back(dim.tile);
  return shape;
}

Shape DistType::globaltype() const {
  Shape shape;
  for (const DistDim& dim : dims_) shape.push_back(dim.global);
  return shape;
}

Size DistType::localsize() const { return product(localtype()); }

Size DistType::globalsize() const { return product(globaltype()); }

Layout layout_of(const Mesh& mesh, const DistType& type) {
  std::vector<std::vector<Digit>> digits;
  for (const DistDim& dim : type.dims()) {
    std::vector<Digit>& out = digits.emplace_back();
    for (const std::string& axis : dim.axes) {
      const auto digit = mesh.digit(axis);
      RETILE_ASSERT(digit.has_value(), "the type belongs to another mesh");
      out.push_back(*digit);
    }
  }
  auto layout =
      Layout::compact(mesh.device_count(), type.globaltype(), type.localtype(), std::move(digits));
  RETILE_ASSERT(layout.has_value(), "a well-formed type has a layout");
  return std::move(*layout);
}

}  // namespace retile
