// Axes of meshes as digits of a device's position, and what collectives along them are. Room-internal.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/foreign/module.h"
#include "retile/notation/sharding.h"

namespace retile::foreign::mlir {

/// The device at a position of a mesh.
[[nodiscard]] Size device_at(const PlacedMesh& mesh, Size position);

/// Groups of devices that differ in these digits alone, which are listed major to minor: the first
/// member has 0 in all of them.
[[nodiscard]] Groups groups_along(const PlacedMesh& mesh, const std::vector<Digit>& digits);

/// What these digits of a position say, minor to major.
[[nodiscard]] Size number_at(Size position, const std::vector<Digit>& digits);

/// Which boxes the positions of a mesh hold, as Shardy says it; blocks of ceil(n/k).
struct Spread {
  PlacedMesh mesh;
  Shape global;
  std::vector<std::vector<Digit>> dims;  ///< minor to major
  Addition addition = Addition::sum;
  std::vector<Digit> addends = {};

  [[nodiscard]] Size count(std::size_t dim) const { return product_of(dims[dim]); }
  [[nodiscard]] Size tile(std::size_t dim) const {
    return global[dim] / count(dim) + (global[dim] % count(dim) == 0 ? 0 : 1);
  }
  [[nodiscard]] Shape tile() const;
};

[[nodiscard]] Spread spread_of(const Sharding& sharding, const Shape& global);
/// The layout; nothing where digits meet.
[[nodiscard]] std::optional<Layout> layout_of(const Spread& spread);

/// Who gets which boxes of whom, so that a spread becomes another: from itself what it holds. Nothing
/// where these are too many.
[[nodiscard]] std::optional<Assemble> assembly(const Spread& before, const Spread& after);

/// Takes digits off the minor end; false where others stand there.
[[nodiscard]] bool take_minor(std::vector<Digit>& from, const std::vector<Digit>& digits);
/// Takes digits out, wherever they stand, or parts of digits; false where they do not stand there.
[[nodiscard]] bool take_out(std::vector<Digit>& from, const std::vector<Digit>& digits);

}  // namespace retile::foreign::mlir
