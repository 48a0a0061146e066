#include "retile/core/dist_type.h"

#include <utility>

#include "retile/core/assert.h"
#include "retile/core/wellformed.h"

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

}  // namespace retile
