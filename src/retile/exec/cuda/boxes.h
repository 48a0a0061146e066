// From the boxes of an exchange to what a kernel copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/cuda/box_math.h"
#include "retile/exec/cuda/pattern_math.h"
#include "retile/program/ops.h"

namespace retile::cuda {

/// A box of bytes on two sides, joined where it lies alike in both: extents and strides in bytes,
/// slowest dimension first, the last stride 1 on both sides.
struct Region {
  Shape extents;
  Shape source_strides;
  Shape target_strides;
  Size source_offset = 0;
  Size target_offset = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// From tile to tile. Preconditions: a box inside both tiles, of their rank, extents >= 1; tiles
/// below 2^63 bytes.
[[nodiscard]] Region between_tiles(const Transfer& transfer, const Shape& source_tile,
                                   const Shape& target_tile, Size element_bytes);
/// From the source's tile to a stream of packed bytes in which the box begins at `offset`.
[[nodiscard]] Region into_stream(const Transfer& transfer, const Shape& source_tile,
                                 Size element_bytes, Size offset);
/// And from the stream to the target's tile.
[[nodiscard]] Region out_of_stream(const Transfer& transfer, const Shape& target_tile,
                                   Size element_bytes, Size offset);

[[nodiscard]] Size bytes_of(const Region& region);

/// Runs of a region that lie in one piece on that side.
struct RunCounts {
  Size source = 0;
  Size target = 0;
};
[[nodiscard]] RunCounts runs_of(const Region& region);

/// Where one side of a box begins: `address` bytes after something that will have an address only
/// later, and then one that is a multiple of place_alignment.
struct Origin {
  std::uint32_t place = 0;
  std::uint64_t address = 0;  ///< wraps around where the box begins before its place
};
inline constexpr std::uint64_t place_alignment = 256;

/// The places from which the addresses of a box count.
struct BoxPlaces {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
};

/// Collects boxes and puts them in the order in which a kernel takes them.
class BatchBuilder {
 public:
  /// Most boxes of a batch: a device's tile in that many pieces is no longer worth a kernel.
  static constexpr std::size_t most_boxes = std::size_t{1} << 22;

  /// Adds the bytes [begin, end) of a region, counted in C order.
  /// Preconditions: begin < end; all numbers are multiples of the element's size.
  /// \error limit_reached (a region of so many dimensions that it becomes too many boxes)
  [[nodiscard]] Result<void> add(const Region& region, const Origin& source, const Origin& target,
                                 Size begin, Size end);

  struct Built {
    std::vector<Place> boxes;       ///< still without the addresses of the places
    std::vector<BoxPlaces> places;  ///< of each box
    std::vector<Group> groups;
    std::uint32_t portions = 0;
  };
  /// Boxes that are alike side by side, by their places in the target or in the source.
  [[nodiscard]] Built build(bool by_target) &&;

 private:
  struct Placed {
    Group alone;  ///< the box as a group of one
    bool is_whole = true;
    Place place;
    BoxPlaces places;
  };
  std::vector<Placed> boxes_;
};

/// Where the elements of a device's tile lie in the array.
/// \error unsupported: more than max_pattern_dims dimensions that cannot be joined
[[nodiscard]] Result<PatternTile> pattern_tile(const Layout& map, Size device, Size element_bytes);

}  // namespace retile::cuda
