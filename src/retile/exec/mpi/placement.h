// Where the tiles of all processes lie in larger arrays of their callers. Not a public header.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/ops.h"
#include "retile/program/tile_shapes.h"

namespace retile::mpi {

/// What every process tells of its array at one end, so that all know where boxes lie: an exchange is
/// then one between the arrays, and moves nothing that lies beside the tiles.
class PlacedEnd {
 public:
  /// Not collective. Nothing was told where the tile stands alone.
  /// \param name  of the option, for the message
  /// \error bad_argument (the array does not hold the tile), size_overflow
  [[nodiscard]] static Result<PlacedEnd> make(const std::optional<LocalArray>& array,
                                              const Shape& tile, Size devices, Size element_bytes,
                                              const char* name);

  [[nodiscard]] bool alone() const { return mine_.empty(); }
  /// What this process tells, and room for what all do.
  [[nodiscard]] std::span<const std::byte> mine() const { return std::as_bytes(std::span(mine_)); }
  [[nodiscard]] std::byte* all() { return std::as_writable_bytes(std::span(all_)).data(); }

  /// The extents of the arrays. Precondition: all() is there, as of the following.
  [[nodiscard]] DeviceShapes arrays() const;
  /// From a place in the tile of a device to the place in its array.
  void move(Size device, Shape& start) const;

 private:
  std::vector<Size> mine_;  // extents, and where the tile begins
  std::vector<Size> all_;   // the same of every process
};

/// Both ends.
struct Placement {
  PlacedEnd in;
  PlacedEnd out;
};

}  // namespace retile::mpi
