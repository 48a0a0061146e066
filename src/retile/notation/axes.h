// Axes of a mesh and digits of the device number, one for the other.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/notation/paper/wellformed.h"

namespace retile::notation {

/// Minor to major. Precondition: parts that the mesh has.
[[nodiscard]] std::vector<Digit> digits_of(const Mesh& mesh, const std::vector<AxisPart>& parts);

/// The axes, and parts of axes, that digits are, minor to major; nothing where one cuts across them.
[[nodiscard]] std::optional<std::vector<AxisPart>> parts_over(const Mesh& mesh,
                                                              const std::vector<Digit>& digits);

}  // namespace retile::notation
