// What one process does in one step of a Program, with MPI collectives. Not a public header.
#pragma once

#include <cstddef>
#include <memory>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/task.h"
#include "retile/program/ops.h"

namespace retile::mpi {

/// From the tile before a step to the tile after it.
class StepMove {
 public:
  StepMove() = default;
  StepMove(const StepMove&) = delete;
  StepMove& operator=(const StepMove&) = delete;
  virtual ~StepMove() = default;

  /// Bytes of the buffer that run() needs.
  [[nodiscard]] virtual Size buffer_bytes() const { return 0; }
  /// Collective over the members of the step. The two tiles do not overlap.
  [[nodiscard]] virtual Result<void> run(const std::byte* from, std::byte* to,
                                         std::byte* buffer) const = 0;
};

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

/// Bytes of the slices of `shape` behind dimension `dim`, times its extent.
[[nodiscard]] Size block_bytes(const Shape& shape, std::size_t dim, Size element_bytes);

/// One of n pieces of a tile along a dimension: segments of `segment_bytes`, every n-th is the
/// piece's, from the q-th on.
struct Piece {
  Size segment_bytes = 1;
  Size n = 1;
  Size q = 0;
};

/// Copies the bytes [begin, begin + bytes) of a piece, counted in the piece, out of its tile or into
/// it.
void pack(std::byte* packed, const std::byte* tile, const Piece& piece, Size begin, Size bytes);
void unpack(const std::byte* packed, std::byte* tile, const Piece& piece, Size begin, Size bytes);

// Moves. `shape` is that of the tile before the step; the group outlives the move.

[[nodiscard]] std::unique_ptr<StepMove> slice_move(const Piece& piece, Size out_bytes);
[[nodiscard]] std::unique_ptr<StepMove> gather_move(const Allgather& step, const Shape& shape,
                                                    const Communicator& group,
                                                    const Limits& limits);
[[nodiscard]] std::unique_ptr<StepMove> alltoall_move(const Alltoall& step, const Shape& shape,
                                                      const Communicator& group,
                                                      const Limits& limits);
[[nodiscard]] std::unique_ptr<StepMove> permute_move(const Communicator& comm, int source,
                                                     int target, Size tile_bytes,
                                                     const Limits& limits);
/// What is left where no step moves anything.
[[nodiscard]] std::unique_ptr<StepMove> copy_move(Size tile_bytes);

}  // namespace retile::mpi
