#include "retile/exec/mpi/collectives/group_move.h"

#include <vector>

namespace retile::mpi {
namespace {

Size extent_before(const Shape& shape, std::size_t dim) {
  Size out = 1;
  for (std::size_t i = 0; i < dim; ++i) out *= shape[i];
  return out;
}

}  // namespace

copy::BoxStream pieces_along(const Shape& tile, std::size_t dim, Size n, Size element_bytes) {
  const Size outer = extent_before(tile, dim);
  const Size inner = box_bytes(tile, 1) / outer / n;
  std::vector<Transfer> pieces;
  for (Size q = 0; q < n; ++q) {
    pieces.push_back({.target = q,
                      .source = q,
                      .target_start = {0, q, 0},
                      .source_start = {0, q, 0},
                      .shape = {outer, 1, inner}});
  }
  return {copy::End::source, element_bytes, {outer, n, inner}, pieces};
}

/// What is sent is the tile as it lies.
GroupMove::GroupMove(const Allgather& step, const Shape& shape, const Communicator& group,
                     const Limits& limits)
    : group_(group),
      gathers_(true),
      members_(group.processes()),
      piece_bytes_(box_bytes(shape, limits.element_bytes)),
      round_bytes_(piece_bytes_) {
  const bool whole = extent_before(shape, step.dim) == 1;
  if (whole && piece_bytes_ <= limits.message_bytes / members_) return;
  Shape after = shape;
  after[step.dim] *= members_;
  receives_.emplace(pieces_along(after, step.dim, members_, limits.element_bytes));
  round_bytes_ = limits.round_bytes(limits.chunk_bytes, members_, piece_bytes_);
}

GroupMove::GroupMove(const Alltoall& step, const Shape& shape, const Communicator& group,
                     const Limits& limits)
    : group_(group),
      gathers_(false),
      members_(group.processes()),
      piece_bytes_(box_bytes(shape, limits.element_bytes) / members_),
      round_bytes_(piece_bytes_) {
  const bool sends_whole = extent_before(shape, step.split) == 1;
  Shape after = shape;
  after[step.split] /= members_;
  const bool receives_whole = extent_before(after, step.concat) == 1;
  after[step.concat] *= members_;
  const Size parts = (sends_whole ? 0 : members_) + (receives_whole ? 0 : members_);
  // All at once, if the buffers may be so large.
  const bool at_once = piece_bytes_ <= limits.message_bytes / members_ &&
                       (parts == 0 || piece_bytes_ <= limits.chunk_bytes / parts);
  if (!at_once) {
    round_bytes_ = limits.round_bytes(limits.chunk_bytes, 2 * members_, piece_bytes_);
  }
  if (!at_once || !sends_whole) {
    sends_.emplace(pieces_along(shape, step.split, members_, limits.element_bytes));
  }
  if (!at_once || !receives_whole) {
    receives_.emplace(pieces_along(after, step.concat, members_, limits.element_bytes));
  }
}

Result<void> GroupMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  std::byte* const received = buffer + (sends_ ? members_ * round_bytes_ : 0);
  for (Size begin = 0; begin < piece_bytes_; begin += round_bytes_) {
    const Size bytes = std::min(round_bytes_, piece_bytes_ - begin);
    const auto piece = [begin](Size q) {
      return copy::BoxStream::Cursor{.box = static_cast<std::size_t>(q), .at = begin};
    };
    for (Size q = 0; q < members_ && sends_; ++q) {
      auto at = piece(q);
      sends_->pack(at, from, buffer + q * bytes, bytes);
    }
    const std::byte* const out = sends_ ? buffer : from + begin;
    std::byte* const in = receives_ ? received : to;
    auto sent = gathers_ ? group_.allgather(out, in, bytes) : group_.alltoall(out, in, bytes);
    if (!sent) return sent;
    for (Size q = 0; q < members_ && receives_; ++q) {
      auto at = piece(q);
      receives_->unpack(at, received + q * bytes, to, bytes);
    }
  }
  return {};
}

}  // namespace retile::mpi
