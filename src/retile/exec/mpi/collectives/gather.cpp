// An allgather: straight into the new tile where it lies there in one piece, else in rounds through
// a buffer from which the tiles of all members are spread. What is sent is the tile as it lies.
#include <algorithm>

#include "retile/exec/mpi/collectives/step_move.h"

namespace retile::mpi {
namespace {

class GatherMove final : public StepMove {
 public:
  GatherMove(const Communicator& group, Size tile_bytes, Size segment_bytes, const Limits& limits)
      : group_(group),
        members_(group.processes()),
        tile_bytes_(tile_bytes),
        segment_bytes_(segment_bytes),
        straight_(segment_bytes == tile_bytes && tile_bytes <= limits.message_bytes / members_),
        round_bytes_(limits.round_bytes(limits.chunk_bytes, members_, tile_bytes)) {}

  [[nodiscard]] Size buffer_bytes() const override {
    return straight_ ? 0 : members_ * round_bytes_;
  }

  [[nodiscard]] Result<void> run(const std::byte* from, std::byte* to,
                                 std::byte* buffer) const override {
    if (straight_) return group_.allgather(from, to, tile_bytes_);
    for (Size begin = 0; begin < tile_bytes_; begin += round_bytes_) {
      const Size bytes = std::min(round_bytes_, tile_bytes_ - begin);
      if (auto sent = group_.allgather(from + begin, buffer, bytes); !sent) return sent;
      for (Size q = 0; q < members_; ++q) {
        const Piece piece{.segment_bytes = segment_bytes_, .n = members_, .q = q};
        unpack(buffer + q * bytes, to, piece, begin, bytes);
      }
    }
    return {};
  }

 private:
  const Communicator& group_;
  Size members_;
  Size tile_bytes_;
  Size segment_bytes_;  // of one member's tile in the result
  bool straight_;
  Size round_bytes_;  // of one member's tile
};

}  // namespace

std::unique_ptr<StepMove> gather_move(const Allgather& step, const Shape& shape,
                                      const Communicator& group, const Limits& limits) {
  return std::make_unique<GatherMove>(group, box_bytes(shape, limits.element_bytes),
                                      block_bytes(shape, step.dim, limits.element_bytes), limits);
}

}  // namespace retile::mpi
