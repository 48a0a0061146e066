#include "retile/exec/mpi/collectives/reduce_move.h"

#include <algorithm>
#include <cstddef>

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
  const auto members = static_cast<std::size_t>(group.processes());
  bytes_.assign(members, 0);
  box_.assign(members, 0);
  counts_.assign(members, 0);
  std::vector<Transfer> own;  // all members' tiles are cut alike
  Size largest = 0;
  for (const Transfer& transfer : transfers) {
    if (transfer.source != group.process()) continue;
    const auto member = static_cast<std::size_t>(transfer.target);
    bytes_[member] = box_bytes(transfer.shape, element_bytes_);
    largest = std::max(largest, bytes_[member]);
    box_[member] = own.size();
    own.push_back(transfer);
  }
  pieces_.emplace(copy::End::source, element_bytes_, before, own);
  round_bytes_ = limits.round_bytes(limits.chunk_bytes, group.processes(), largest);
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
  const Size largest = *std::max_element(bytes_.begin(), bytes_.end());
  const Size mine = bytes_[static_cast<std::size_t>(group_.process())];
  for (Size begin = 0; begin < largest; begin += round_bytes_) {
    Size packed = 0;
    for (std::size_t q = 0; q < bytes_.size(); ++q) {
      const Size bytes = std::clamp(bytes_[q] - begin, Size{0}, round_bytes_);
      counts_[q] = static_cast<int>(bytes / element_bytes_);
      if (bytes == 0) continue;
      copy::BoxStream::Cursor at{.box = box_[q], .at = begin};
      pieces_->pack(at, from, buffer + packed, bytes);
      packed += bytes;
    }
    auto done = group_.reduce_scatter(buffer, to + std::min(begin, mine), counts_, reduction_);
    if (!done) return done;
  }
  return {};
}

}  // namespace retile::mpi
