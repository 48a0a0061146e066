// A Program run where the tiles lie: every member's tile is at the start of its memory, before,
// between and after the steps, and nothing else is needed but a bounded scratch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/team/team.h"
#include "retile/program/program.h"

namespace retile::team {

/// Small enough to stay in a level-2 cache.
inline constexpr Size default_panel_bytes = Size{512} << 10;

/// Marks of blocks, a bit each: of those that turning has passed, and of those that begin a cycle.
inline constexpr Size turn_marks_bytes = Size{64} << 10;
inline constexpr Size cycle_marks_bytes = Size{256} << 10;

/// Bytes of scratch with panels of `panel_bytes`.
[[nodiscard]] constexpr Size in_place_scratch_bytes(Size panel_bytes) {
  return panel_bytes + turn_marks_bytes + cycle_marks_bytes;
}

/// One member's part of a Program in place; device d is member d. Made once, run many times; a run
/// allocates nothing.
///
/// - alltoall: blocks of runs follow the cycles of their permutation through all memories, each from
///   where it lies to where it belongs; of short runs, every member turns the panels that this
///   leaves (or makes them before, when pieces are joined further out).
/// - allgather: the tile is spread to its places, from its end, then written to the peers' tiles.
/// - dynslice: the piece closes up at the start.
/// - allpermute: the tiles of a cycle move on by one in slices, which its members share out.
class InPlace {
 public:
  /// Not collective. Throws std::bad_alloc.
  /// \param shapes  tile_shapes() of the Program, which has no exchange
  /// \param panel_bytes  the same on all members; at least an element per device
  InPlace(const Program& program, const std::vector<Shape>& shapes, Size element_bytes, int member,
          Size panel_bytes = default_panel_bytes);

  InPlace(InPlace&&) noexcept;
  InPlace& operator=(InPlace&&) noexcept;
  ~InPlace();

  [[nodiscard]] Size in_bytes() const;
  [[nodiscard]] Size out_bytes() const;
  /// The largest tile of the Program, which every member's memory must hold: max(in, out) for every
  /// Program within its bound.
  [[nodiscard]] Size memory_bytes() const;
  /// Bytes of the scratch, on every member: in_place_scratch_bytes().
  [[nodiscard]] Size scratch_bytes() const;
  /// Bytes that this member gets from others in one run.
  [[nodiscard]] Size received_bytes() const;

  /// Collective over the team.
  /// \error team_broken; the tiles are then lost
  [[nodiscard]] Result<void> run(Team& team);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retile::team
