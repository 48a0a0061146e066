// What the members of a group exchange in a step that moves without adding. Not a public header.
#pragma once

#include <cstddef>
#include <optional>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/collectives/member_boxes.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/moves.h"

namespace retile::mpi {

/// From the tile before a step to the tile after it, in as many rounds as the largest box of the group
/// needs. Boxes that all lie in their tiles in one piece go straight, others through a buffer for what
/// is sent and one for what is received.
class GroupMove {
 public:
  /// \param gathers  every member gets whole tiles
  /// \param before   the tiles of all members
  /// \param moves    by places in the group, at most one for each pair; where all tiles before and
  ///     after are alike, those of this process are enough
  /// \param group    outlives the move
  GroupMove(bool gathers, const TileShapes& before, const Moves& moves, const Communicator& group,
            const Limits& limits);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const { return packed_sides() * side_bytes(); }
  /// What this process gets from others.
  [[nodiscard]] Size received_bytes() const;
  /// Collective over the group. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  [[nodiscard]] Size packed_sides() const {
    return (sends_ && sends_->is_packed() ? 1 : 0) + (receives_->is_packed() ? 1 : 0);
  }
  /// Of the buffer of a side, or what goes straight at once.
  [[nodiscard]] Size side_bytes() const { return group_.processes() * round_bytes_; }
  [[nodiscard]] Result<void> gather(const std::byte* from, std::byte* in, Size begin) const;
  [[nodiscard]] Result<void> exchange(const std::byte* out, std::byte* in) const;

  const Communicator& group_;
  Size tile_bytes_;                   // before the step
  Size largest_bytes_ = 0;            // of a box of anybody in the group
  Size round_bytes_ = 0;              // of one box
  bool blocks_ = false;               // in every round parts are equal, one behind the other
  std::optional<MemberBoxes> sends_;  // nothing where all get the tile as it lies
  std::optional<MemberBoxes> receives_;
};

}  // namespace retile::mpi
