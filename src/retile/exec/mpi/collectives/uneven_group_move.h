// An allgather or an alltoall between tiles that are not all alike. Not a public header.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/mpi/collectives/group_move.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// As GroupMove, with pieces of any sizes, empty ones too, in as many rounds as the largest piece of
/// the group needs: MPI_Allgatherv of tiles as they lie, or MPI_Alltoallv of what is packed.
class UnevenGroupMove {
 public:
  /// \param transfers  of the step between the members, by their places in the group; at most one
  ///     for each pair
  /// \param before, after  this process's tile
  /// \param group      outlives the move
  /// \param gathers  every member gets whole tiles
  UnevenGroupMove(bool gathers, const std::vector<Transfer>& transfers, const Shape& before,
                  const Shape& after, const Communicator& group, const Limits& limits);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const {
    return (gathers_ ? 1 : 2) * group_.processes() * round_bytes_;
  }
  /// What this process gets from others.
  [[nodiscard]] Size received_bytes() const;
  /// Collective over the group. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  /// The pieces of one side, by member.
  struct Side {
    std::vector<Size> bytes;
    std::vector<std::size_t> box;  // of the stream, where there are bytes
    std::optional<copy::BoxStream> boxes;
    Parts now;  // of this round

    explicit Side(std::size_t members) : bytes(members, 0), box(members, 0), now(members) {}
    /// The part of every piece that a round moves, one behind the other.
    void cut(Size begin, Size most);
  };

  const Communicator& group_;
  bool gathers_;
  Size largest_bytes_ = 0;  // of a piece of anybody in the group
  Size round_bytes_;        // of one piece
  Side sends_, receives_;
};

}  // namespace retile::mpi
