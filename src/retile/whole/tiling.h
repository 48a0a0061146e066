// Shardings in HLO for boxes that devices hold. Room-internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"

namespace retile::whole {

/// A mesh as shardings begin with it.
struct MeshWords {
  std::string words;  ///< `mesh['x'=2,'y'=4]`, with the order of its devices where it has one
  std::vector<std::pair<std::string, Size>> axes;  ///< major to minor
};

/// The mesh of a sharding that names one with axes.
[[nodiscard]] std::optional<MeshWords> mesh_in(std::string_view sharding);

/// A sharding whose devices hold these boxes, by the axes of a mesh where that can say it, else by a
/// list of devices; nothing where no sharding does.
[[nodiscard]] std::optional<std::string> sharding_of(const Shape& extents,
                                                     const std::vector<Box>& boxes,
                                                     const std::optional<MeshWords>& mesh);

}  // namespace retile::whole
