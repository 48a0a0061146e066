#include "retile/exec/mpi/collectives/reduce_move.h"

#include <algorithm>
#include <cstddef>

#include "retile/core/index.h"

namespace retile::mpi {

ReduceMove::ReduceMove(bool scatters, const std::vector<Transfer>& transfers, const Shape& before,
                       const Communicator& group, const Reduction& reduction, const Limits& limits)
    : group_(group),
      reduction_(reduction),
      element_bytes_(limits.element_bytes),
      tile_bytes_(box_bytes(before, limits.element_bytes)) {
  if (!scatters) {
    round_bytes_ = limits.round_bytes(limits.message_bytes, 1, tile_bytes_);
    return;
  }
  // All members' tiles are cut alike.
  pieces_.emplace(copy::End::source, transfers, before, group, element_bytes_, Handling::packed);
  const std::vector<Size>& bytes = pieces_->bytes();
  counts_.assign(bytes.size(), 0);
  round_bytes_ = limits.round_bytes(limits.chunk_bytes, group.processes(),
                                    *std::max_element(bytes.begin(), bytes.end()));
}

Result<void> ReduceMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  return pieces_ ? scatter(from, to, buffer) : reduce(from, to);
}

Result<void> ReduceMove::reduce(const std::byte* from, std::byte* to) const {
  for (Size begin = 0; begin < tile_bytes_; begin += round_bytes_) {
    const Size bytes = std::min(round_bytes_, tile_bytes_ - begin);
    auto done = group_.allreduce(from + begin, to + begin, bytes / element_bytes_, reduction_);
    if (!done) return done;
  }
  return {};
}

Result<void> ReduceMove::scatter(const std::byte* from, std::byte* to, std::byte* buffer) {
  const std::vector<Size>& all = pieces_->bytes();
  const Size largest = *std::max_element(all.begin(), all.end());
  const Size mine = all[index(group_.process())];
  for (Size begin = 0; begin < largest; begin += round_bytes_) {
    pieces_->go_to(begin, round_bytes_);
    pieces_->pack(from, buffer);
    const std::vector<int>& bytes = pieces_->parts().counts;
    std::transform(bytes.begin(), bytes.end(), counts_.begin(),
                   [this](int part) { return part / static_cast<int>(element_bytes_); });
    auto done = group_.reduce_scatter(buffer, to + std::min(begin, mine), counts_, reduction_);
    if (!done) return done;
  }
  return {};
}

}  // namespace retile::mpi
