// A reducescatter or an allreduce of a Program as an MPI collective. Not a public header.
#pragma once

#include <optional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/collectives/member_boxes.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// Between tiles of one shape; in what order tiles are added, MPI decides.
class ReduceMove {
 public:
  /// \param scatters   every member gets a piece; else all get all
  /// \param transfers  of the step between the members, by their places in the group; sorted by target
  /// \param before     the tile of every member
  /// \param group, reduction  outlive the move
  ReduceMove(bool scatters, const std::vector<Transfer>& transfers, const Shape& before,
             const Communicator& group, const Reduction& reduction, const Limits& limits);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const {
    return pieces_ ? group_.processes() * round_bytes_ : 0;
  }
  /// Collective over the group. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  [[nodiscard]] Result<void> reduce(const std::byte* from, std::byte* to) const;
  [[nodiscard]] Result<void> scatter(const std::byte* from, std::byte* to, std::byte* buffer);

  const Communicator& group_;
  const Reduction& reduction_;
  Size element_bytes_;
  Size round_bytes_ = 0;               // of the tile, or of a piece
  Size tile_bytes_;                    // of one member
  std::vector<int> counts_;            // elements of every piece in a round
  std::optional<MemberBoxes> pieces_;  // nothing where all get all
};

}  // namespace retile::mpi
