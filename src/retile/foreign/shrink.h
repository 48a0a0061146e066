// The smallest reshard that still goes wrong: reshards that are a little smaller than one, and the
// search that goes down them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/sharding.h"

namespace retile::foreign {

/// Two ends of one array over one mesh, each dimension cut into blocks of ceil(n/k).
struct Reshard {
  /// What cuts the dimensions and counts the addends at one end.
  struct End {
    std::vector<std::vector<AxisPart>> dims;  ///< minor to major
    std::vector<AxisPart> addends = {};       ///< minor to major
    friend bool operator==(const End&, const End&) = default;
  };
  PlacedMesh mesh;
  Shape shape;
  Addition addition = Addition::sum;
  std::array<End, 2> ends;  ///< the start, and the end
};

/// The reshard between two layouts of one array, in axes of the mesh.
/// \error unsupported: no axes say it, or a dimension is cut otherwise
[[nodiscard]] Result<Reshard> reshard_of(const Layout& from, const Layout& to,
                                         const PlacedMesh& mesh);
/// The reshard between two shardings of one array, in axes of the start's mesh.
/// \error as above; unsupported: one device that holds everything
[[nodiscard]] Result<Reshard> reshard_of(const Sharding& from, const Sharding& to);

/// Its ends as shardings.
/// \error as parse_sharding: an axis that cuts two dimensions, too large a shape
[[nodiscard]] Result<std::array<Sharding, 2>> shardings_of(const Reshard& reshard);

/// Reshards that are smaller in one respect: no order of devices; an axis, a dimension less; a
/// shorter axis, a shorter dimension; a cut less. Those that take most away stand first. None has
/// equal ends, or a mesh of one device.
///
/// Each step makes the sum of axes, extents, dimensions and cuts smaller, or drops an order: going
/// on from one to the next comes to an end.
[[nodiscard]] std::vector<Reshard> smaller(const Reshard& reshard);

/// What a search found.
struct Shrunk {
  Reshard reshard;
  Size runs = 0;
  bool complete = false;  ///< none of those that are smaller goes wrong
};

/// Goes to the first smaller reshard that still goes wrong, again and again. Asks of none twice.
/// \param goes_wrong  an error ends the search
/// \param most_runs  calls of goes_wrong
[[nodiscard]] Result<Shrunk> shrink(Reshard reshard,
                                    const std::function<Result<bool>(const Reshard&)>& goes_wrong,
                                    Size most_runs);

}  // namespace retile::foreign
