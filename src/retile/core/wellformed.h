// The rules that meshes and types must obey, and in which part of the text somebody broke them.
// Room-internal: `make` asks whether, the notation's parsers also ask where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/dist_type.h"
#include "retile/core/mesh.h"

namespace retile {

/// A refusal without a place, and the part that it is about.
struct MeshViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> axis;  ///< number of the axis; nothing: the mesh as a whole
};

/// The first rule that `axes` breaks as a mesh, or nothing.
[[nodiscard]] std::optional<MeshViolation> find_violation(const std::vector<Axis>& axes);

/// A refusal without a place, and the part that it is about.
struct TypeViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> dim;  ///< number of the dimension; nothing: the type as a whole
  std::optional<std::size_t>
      axis;  ///< number of the axis within the dimension; nothing: the dimension as a whole
};

/// The first rule of Fig. 7b that `dims` breaks over `mesh`, or nothing. Axes of size 1 may stand
/// in `dims`: they must be axes of the mesh and mean nothing else.
[[nodiscard]] std::optional<TypeViolation> find_violation(const Mesh& mesh,
                                                          const std::vector<DistDim>& dims);

/// The refusal of an axis that the mesh does not have, without a place; lists the axes and the one
/// most like it. [WF-DIM]
[[nodiscard]] Diagnostic unknown_axis(const Mesh& mesh, const std::string& axis);

/// tile times axes of a dimension, or nothing when it does not fit in 63 bits. Preconditions: axes
/// of the mesh, tile >= 1.
[[nodiscard]] std::optional<Size> covered(const Mesh& mesh, const DistDim& dim);

/// The product of the sizes of `axes`. Precondition: distinct axes of the mesh, so that it is at
/// most max_devices.
[[nodiscard]] Size axes_product(const Mesh& mesh, const std::vector<std::string>& axes);

}  // namespace retile
