// What the members of a group move in a step, as MPI collectives. Not a public header.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/collectives/member_boxes.h"
#include "retile/exec/mpi/collectives/node_gather.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/moves.h"

namespace retile::mpi {

/// Which collective of MPI is called.
enum class Call {
  allgather,      ///< every member gets whole tiles
  alltoall,       ///< every member gets a box of each
  reducescatter,  ///< every member gets a box of the sum
  allreduce       ///< every member gets the sum
};

/// From the tile before a step to the tile after it, in as many rounds as the largest box of the group
/// needs. Boxes that all lie in their tiles in one piece are gathered or exchanged straight, others go
/// through a buffer for what is sent and one for what is received. In what order tiles are added, MPI
/// decides.
class GroupMove {
 public:
  /// \param before  the tiles of all members; of those that are added all alike
  /// \param moves   by places in the group, at most one for each pair; where all tiles before and
  ///     after are alike, those of this process are enough
  /// \param by_nodes   how tiles are gathered where the group is on several nodes, or null
  /// \param reduction  of what is added
  /// \param group, by_nodes, reduction  outlive the move
  GroupMove(Call call, const TileShapes& before, const Moves& moves, const Communicator& group,
            NodeGather* by_nodes, const Limits& limits, const Reduction* reduction);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const { return packed_sides() * side_bytes(); }
  /// Collective over the group. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  [[nodiscard]] Size packed_sides() const {
    return (sends_ && sends_->is_packed() ? 1 : 0) + (receives_ && receives_->is_packed() ? 1 : 0);
  }
  /// Of the buffer of a side, or what goes straight at once.
  [[nodiscard]] Size side_bytes() const { return group_.processes() * round_bytes_; }
  /// One round, from the tile or what is packed of it to the tile or what is to be unpacked.
  [[nodiscard]] Result<void> call(const std::byte* out, std::byte* in, Size begin);

  Call call_;
  const Communicator& group_;
  NodeGather* by_nodes_;
  const Reduction* reduction_;
  Size element_bytes_;
  Size tile_bytes_;                      // before the step
  Size largest_bytes_ = 0;               // of a box of anybody in the group
  Size round_bytes_ = 0;                 // of one box
  bool blocks_ = false;                  // in every round parts are equal, one behind the other
  std::vector<int> counts_;              // elements of every box of a sum in a round
  std::optional<MemberBoxes> sends_;     // nothing where all get the tile as it lies, or its sum
  std::optional<MemberBoxes> receives_;  // nothing of a sum
};

}  // namespace retile::mpi
