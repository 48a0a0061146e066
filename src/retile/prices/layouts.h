// Boxes of devices as layouts, and layouts as people write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"

namespace retile::prices {

/// The layout of these boxes: in digits of the device number where these say it, else listed.
/// \error as Layout::listed_boxes
[[nodiscard]] Result<Layout> layout_of(const std::vector<Box>& boxes, const Shape& extents);

/// `[{'x'}, {}]`, by the axes of a mesh; `{devices=[2,1]<=[2]}` where no mesh says it, and in words
/// where no sharding does.
[[nodiscard]] std::string layout_text(const Layout& layout, const std::optional<PlacedMesh>& mesh);

/// `x`, or `x,y`: the axes of a mesh along which members of these groups differ, in the order of the mesh;
/// nothing where a device stands on no place of it.
[[nodiscard]] std::optional<std::string> axes_of(const std::vector<std::vector<Size>>& groups,
                                                 const PlacedMesh& mesh);

}  // namespace retile::prices
