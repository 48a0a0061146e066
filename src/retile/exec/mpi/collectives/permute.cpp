// A permutation of tiles, and the copy that is left where nothing moves.
#include <algorithm>
#include <cstring>

#include "retile/exec/mpi/collectives/step_move.h"

namespace retile::mpi {
namespace {

class PermuteMove final : public StepMove {
 public:
  PermuteMove(const Communicator& comm, int source, int target, Size tile_bytes, Size most_bytes)
      : comm_(comm),
        source_(source),
        target_(target),
        tile_bytes_(tile_bytes),
        most_bytes_(most_bytes) {}

  [[nodiscard]] Result<void> run(const std::byte* from, std::byte* to, std::byte*) const override {
    for (Size begin = 0; begin < tile_bytes_; begin += most_bytes_) {
      const auto bytes = static_cast<std::size_t>(std::min(most_bytes_, tile_bytes_ - begin));
      auto sent = comm_.send_receive({from + begin, bytes}, target_, {to + begin, bytes}, source_);
      if (!sent) return sent;
    }
    return {};
  }

 private:
  const Communicator& comm_;
  int source_;
  int target_;
  Size tile_bytes_;
  Size most_bytes_;
};

class CopyMove final : public StepMove {
 public:
  explicit CopyMove(Size tile_bytes) : tile_bytes_(tile_bytes) {}
  [[nodiscard]] Result<void> run(const std::byte* from, std::byte* to, std::byte*) const override {
    std::memcpy(to, from, static_cast<std::size_t>(tile_bytes_));
    return {};
  }

 private:
  Size tile_bytes_;
};

}  // namespace

std::unique_ptr<StepMove> permute_move(const Communicator& comm, int source, int target,
                                       Size tile_bytes, const Limits& limits) {
  return std::make_unique<PermuteMove>(comm, source, target, tile_bytes,
                                       limits.round_bytes(limits.message_bytes, 1, tile_bytes));
}

std::unique_ptr<StepMove> copy_move(Size tile_bytes) {
  return std::make_unique<CopyMove>(tile_bytes);
}

}  // namespace retile::mpi
