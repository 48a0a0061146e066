// What placements by axis mean: which axes cut which dimension, and where. Room-internal.
#pragma once

#include <vector>

#include "retile/notation/written.h"

namespace retile::notation {

struct Placed {
  std::vector<CutDim> dims;
  Addition addition = Addition::sum;
  std::vector<AxisPart> addends;
  Size divisor =
      1;  ///< of the sum of the addends: an average has as many along the axes that count it
};

/// Every axis of the mesh, from the first to the last, cuts what the ones before it have left as
/// torch.chunk does: blocks of ceil(m/k) of the m elements that one device has. _StridedShard with the split factor f
/// cuts into f such blocks first and then each of them, so that the major factor f is left for axes that
/// come later.
///
/// \error (thrown) rank_mismatch, bad_dimension; unsupported: several additions; syntax (turns that are none); limit_reached
[[nodiscard]] Placed place_by_axis(const std::vector<Placement>& placements, const Mesh& mesh,
                                   const Shape& shape, const Place& all);

}  // namespace retile::notation
