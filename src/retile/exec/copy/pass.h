// One pass over memory: boxes of tiles to boxes of other tiles, at the speed of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/core/wide.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/copy/stores.h"
#include "retile/program/ops.h"
#include "retile/program/tile_shapes.h"

namespace retile::copy {

struct Options {
  Stores stores = Stores::automatic;
  Size cache_share_bytes = 0;  ///< this process's share of the last cache; 0: detected
};

/// One of so many shares of what a pass copies, which go through the sources from their begin to their
/// end: what is copied beside a pass, share by share, finds the lines that both read in a cache.
struct Share {
  Size number = 0;  ///< below `of`
  Size of = 1;

  /// Of so many rows; what is one row is copied with the first share.
  [[nodiscard]] Size begin_of(Size rows) const { return rows_before(number, rows); }
  [[nodiscard]] Size end_of(Size rows) const { return rows_before(number + 1, rows); }

 private:
  [[nodiscard]] Size rows_before(Size shares, Size rows) const {
    return static_cast<Size>((static_cast<Int128>(rows) * shares + of - 1) / of);
  }
};

/// Copies boxes from source tiles to target tiles, compiled once and run many times.
///
/// Which tiles there are is said by the numbers in the transfers, by which their shapes are looked
/// up. A pass of the transfers of one source pushes, one of the transfers to one target pulls; any
/// other mixture works as well.
///
///     tiles of a 4 x 6 array, rows to columns over two devices, what device 0 pushes:
///     Pass(4, {2, 6}, {4, 3}, {{{0, 0, {0, 0}, {0, 0}, {2, 3}}, {1, 0, {0, 0}, {0, 3}, {2, 3}}}})
///
/// Dimensions that lie alike in both tiles are fused, so that what is copied is runs of bytes that
/// are as long as possible. Boxes that lie in regular steps are one with more loops (repeats.h). Transfers of one shape go together, in the order in which their source
/// lies in memory; runs that are shorter than a line of 64 bytes or not aligned are put together to
/// whole lines of their target before these are streamed. docs/dev/execution.md says what was measured.
///
/// Const and thread-safe.
class Pass {
 public:
  /// Preconditions: element_bytes is 1, 2, 4, 8 or 16 (asserted); extents >= 1, tiles of fewer than
  /// 2^63 bytes in C order; boxes inside the tiles and of their rank (asserted), of fewer than 2^63
  /// bytes together; no two of them write the same element.
  Pass(Size element_bytes, const DeviceShapes& source_tiles, const DeviceShapes& target_tiles,
       std::span<const Transfer> transfers, Options options = {});

  /// Copies everything. Tiles are looked up by the transfers' numbers; entries that no transfer names
  /// are not read, but there are as many as the largest number says (asserted).
  /// Tiles that are read and tiles that are written must not overlap. Any alignment is right, and
  /// nearly as fast as multiples of 64 bytes. Allocates nothing. Where the pass streams it ends with the
  /// store fence, so that a flag which is set afterwards says to other processes that the bytes are
  /// there.
  /// \param share  what of it is copied; all shares, in any order, copy everything
  void run(std::span<const std::byte* const> sources, std::span<std::byte* const> targets,
           Share share = {}) const;

  /// Whether this pass writes past the caches.
  [[nodiscard]] bool streaming() const { return streaming_; }

  /// The length of runs in which at least half of the bytes are copied, for `--explain`.
  [[nodiscard]] Size typical_run_bytes() const;

  /// How many bytes in turn typically lie end to end both where they are read and where they are
  /// written; the latter does not count for runs of 256 bytes and more of whole lines that are
  /// streamed. Who may push or pull takes the one for which this is larger, and pushes where both
  /// are equal; docs/dev/execution.md says what the wrong choice costs.
  [[nodiscard]] Size in_order_bytes() const;

  /// Bytes that this object holds, and what that never exceeds.
  [[nodiscard]] Size held_bytes() const;
  [[nodiscard]] static Size bound_bytes(Size transfers, std::size_t rank);

 private:
  struct Member {
    Size source = 0;
    Size target = 0;
    Size source_offset = 0;
    Size target_offset = 0;
  };
  struct Group {
    Size run_bytes = 0;
    std::vector<Loop> loops;  // outermost first, at least one
    Size rows = 1;            // runs of each member
    std::vector<Member> members;
    Size in_order_bytes = 0;       // see in_order_bytes()
    Size read_in_order_bytes = 0;  // the same of the sources alone
    Size chain = 1;                // so many members in turn lie end to end in their target
    bool same_source = false;      // all members copy the same bytes
    bool source_in_order = false;  // a member's runs lie end to end in the source
    bool with_next = false;        // row by row in turn with the next group
  };
  class Execution;

  /// Around the loops of a box those over boxes that lie in regular steps.
  [[nodiscard]] static Group loops_over(const Shape& shape, Size element_bytes,
                                        const Shape& source_tile, const Shape& target_tile,
                                        std::span<const Loop> around);
  void add_in_segments(Group group);
  static Size end_to_end_members(Group& group, Size Member::*device, Size Member::*offset);
  static void arrange(Group& group);
  void join_rows();
  [[nodiscard]] Size typical(Size Group::*what) const;

  std::vector<Group> groups_;
  Size sources_ = 0;
  Size targets_ = 0;
  bool streaming_ = false;
};

}  // namespace retile::copy
