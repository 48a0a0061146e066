// An alltoall: straight between tiles where the pieces lie in one piece on that side, else in rounds
// through a buffer for what is sent and one for what is received.
#include <algorithm>

#include "retile/exec/mpi/collectives/step_move.h"

namespace retile::mpi {
namespace {

class AlltoallMove final : public StepMove {
 public:
  AlltoallMove(const Communicator& group, Size piece_bytes, Size sent_segment_bytes,
               Size received_segment_bytes, const Limits& limits)
      : group_(group),
        members_(group.processes()),
        piece_bytes_(piece_bytes),
        sent_segment_bytes_(sent_segment_bytes),
        received_segment_bytes_(received_segment_bytes),
        round_bytes_(limits.round_bytes(limits.chunk_bytes, 2 * members_, piece_bytes)) {
    const bool sends_whole = sent_segment_bytes == piece_bytes;
    const bool receives_whole = received_segment_bytes == piece_bytes;
    const Size parts = (sends_whole ? 0 : members_) + (receives_whole ? 0 : members_);
    // All at once, if the buffers may be so large.
    if (piece_bytes <= limits.message_bytes / members_ &&
        (parts == 0 || piece_bytes <= limits.chunk_bytes / parts)) {
      straight_send_ = sends_whole;
      straight_receive_ = receives_whole;
      round_bytes_ = piece_bytes;
    }
  }

  [[nodiscard]] Size buffer_bytes() const override {
    return ((straight_send_ ? 0 : members_) + (straight_receive_ ? 0 : members_)) * round_bytes_;
  }

  [[nodiscard]] Result<void> run(const std::byte* from, std::byte* to,
                                 std::byte* buffer) const override {
    std::byte* const received = buffer + (straight_send_ ? 0 : members_ * round_bytes_);
    for (Size begin = 0; begin < piece_bytes_; begin += round_bytes_) {
      const Size bytes = std::min(round_bytes_, piece_bytes_ - begin);
      for (Size q = 0; q < members_ && !straight_send_; ++q) {
        pack(buffer + q * bytes, from,
             {.segment_bytes = sent_segment_bytes_, .n = members_, .q = q}, begin, bytes);
      }
      auto sent =
          group_.alltoall(straight_send_ ? from : buffer, straight_receive_ ? to : received, bytes);
      if (!sent) return sent;
      for (Size q = 0; q < members_ && !straight_receive_; ++q) {
        unpack(received + q * bytes, to,
               {.segment_bytes = received_segment_bytes_, .n = members_, .q = q}, begin, bytes);
      }
    }
    return {};
  }

 private:
  const Communicator& group_;
  Size members_;
  Size piece_bytes_;
  Size sent_segment_bytes_;
  Size received_segment_bytes_;
  bool straight_send_ = false;
  bool straight_receive_ = false;
  Size round_bytes_;  // of one piece
};

}  // namespace

std::unique_ptr<StepMove> alltoall_move(const Alltoall& step, const Shape& shape,
                                        const Communicator& group, const Limits& limits) {
  const Size width = limits.element_bytes;
  Shape piece = shape;
  piece[step.split] /= group.processes();
  return std::make_unique<AlltoallMove>(group, box_bytes(piece, width),
                                        block_bytes(piece, step.split, width),
                                        block_bytes(piece, step.concat, width), limits);
}

}  // namespace retile::mpi
