// An allgather or an alltoall of a Program as MPI collectives. Not a public header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/task.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// The most bytes that go through a buffer, or without one, at once.
struct Limits {
  explicit Limits(const Task& task)
      : chunk_bytes(std::min(task.chunk_bytes, most_message_bytes)),
        message_bytes(task.options.message_bytes),
        element_bytes(task.element_bytes) {}
  Size chunk_bytes;
  Size message_bytes;
  Size element_bytes;

  /// The most bytes of each of `parts` parts that one round may take within `budget`: whole
  /// elements, at least one, and no more than a part has.
  [[nodiscard]] Size round_bytes(Size budget, Size parts, Size part_bytes) const {
    const Size share = budget / parts / element_bytes * element_bytes;
    return std::min(part_bytes, std::max(share, element_bytes));
  }
};

/// The n equal pieces of a tile along a dimension, as the boxes of a stream.
[[nodiscard]] copy::BoxStream pieces_along(const Shape& tile, std::size_t dim, Size n,
                                           Size element_bytes);

/// From the tile before the step to the tile after it: straight between tiles where the pieces lie in
/// one piece on that side, else in rounds through a buffer for what is sent and one for what is
/// received.
class GroupMove {
 public:
  /// \param shape  of the tile before the step
  /// \param group  outlives the move
  GroupMove(const Allgather& step, const Shape& shape, const Communicator& group,
            const Limits& limits);
  GroupMove(const Alltoall& step, const Shape& shape, const Communicator& group,
            const Limits& limits);

  /// Bytes of the buffer that it needs.
  [[nodiscard]] Size buffer_bytes() const {
    return ((sends_ ? members_ : 0) + (receives_ ? members_ : 0)) * round_bytes_;
  }
  /// Collective over the group. The two tiles do not overlap.
  [[nodiscard]] Result<void> operator()(const std::byte* from, std::byte* to, std::byte* buffer);

 private:
  const Communicator& group_;
  bool gathers_;
  Size members_;
  Size piece_bytes_;
  Size round_bytes_;  // of one piece
  // The pieces by member; nothing where they are sent, or received, as they lie.
  std::optional<copy::BoxStream> sends_, receives_;
};

}  // namespace retile::mpi
