#include "retile/exec/mpi/collectives/group_move.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/index.h"

namespace retile::mpi {
namespace {

/// How the boxes of a group lie in the tiles at one end.
struct Arrangement {
  bool in_one_piece = true;  ///< each of them
  bool in_order = true;      ///< and there as they would be packed, if they are equal
};

/// How many elements of a tile are before a box that lies there in one piece; nothing of others.
std::optional<Size> elements_before(const Shape& start, const Shape& box, const Shape& tile) {
  Size out = 0;
  bool whole = false;  // from here on only whole extents
  for (std::size_t k = 0; k < tile.size(); ++k) {
    if (whole && box[k] != tile[k]) return std::nullopt;
    whole = whole || box[k] > 1;
    out = out * tile[k] + start[k];
  }
  return out;
}

Arrangement arrangement_of(copy::End end, const std::vector<Transfer>& transfers,
                           const TileShapes& tiles) {
  Arrangement out;
  for (const Transfer& transfer : transfers) {
    const bool sent = end == copy::End::source;
    const Size member = sent ? transfer.target : transfer.source;
    const auto before =
        elements_before(sent ? transfer.source_start : transfer.target_start, transfer.shape,
                        tiles[index(sent ? transfer.source : transfer.target)]);
    out.in_one_piece = out.in_one_piece && before;
    out.in_order = out.in_order && before == member * box_bytes(transfer.shape, 1);
  }
  return out;
}

bool all_alike(const TileShapes& tiles) {
  return std::adjacent_find(tiles.begin(), tiles.end(), std::not_equal_to<>()) == tiles.end();
}

}  // namespace

GroupMove::GroupMove(Call call, const TileShapes& before, const Moves& moves,
                     const Communicator& group, NodeGather* by_nodes, const Limits& limits,
                     const Reduction* reduction)
    : call_(call),
      group_(group),
      by_nodes_(by_nodes),
      reduction_(reduction),
      element_bytes_(limits.element_bytes),
      tile_bytes_(box_bytes(before[index(group.process())], limits.element_bytes)) {
  for (const Transfer& transfer : moves.transfers) {
    largest_bytes_ = std::max(largest_bytes_, box_bytes(transfer.shape, limits.element_bytes));
  }
  const Arrangement sent = arrangement_of(copy::End::source, moves.transfers, before);
  const Arrangement received = arrangement_of(copy::End::target, moves.transfers, moves.after);
  const Size members = group.processes();
  // Such boxes are one behind the other from the begin of their tile, so MPI can count to all of them.
  const bool counts = largest_bytes_ <= limits.message_bytes / members;
  const auto handling = [counts](const Arrangement& lies) {
    return counts && lies.in_one_piece ? Handling::in_place : Handling::packed;
  };
  const auto boxes = [&](copy::End end, const TileShapes& tiles, Handling how) {
    return MemberBoxes(end, moves.transfers, tiles[index(group.process())], group,
                       limits.element_bytes, how);
  };
  const Handling in = handling(received);
  const Handling out = call == Call::reducescatter ? Handling::packed : handling(sent);
  const bool exchanges = call == Call::alltoall;
  if (exchanges || call == Call::allgather) {
    receives_.emplace(boxes(copy::End::target, moves.after, in));
  }
  if (exchanges || call == Call::reducescatter) {
    sends_.emplace(boxes(copy::End::source, before, out));
  }
  if (call == Call::reducescatter) counts_.assign(index(members), 0);

  // All of this is the same on all members, and so are the rounds.
  if (packed_sides() > 0) {
    round_bytes_ = limits.round_bytes(limits.chunk_bytes, packed_sides() * members, largest_bytes_);
  } else {
    round_bytes_ = limits.round_bytes(limits.message_bytes, call == Call::allreduce ? 1 : members,
                                      largest_bytes_);
  }
  const auto in_blocks = [&](const Arrangement& lies, Handling how) {
    return how == Handling::packed || (lies.in_order && round_bytes_ == largest_bytes_);
  };
  // MPI is faster at blocks of one size, at small ones up to one and a half times.
  blocks_ = all_alike(before) && all_alike(moves.after) && in_blocks(received, in) &&
            (!exchanges || in_blocks(sent, out));
}

Result<void> GroupMove::call(const std::byte* out, std::byte* in, Size begin) {
  // Of a tile that goes as it lies; nothing behind the end of one that is smaller than others.
  const Size bytes = std::clamp(tile_bytes_ - begin, Size{0}, round_bytes_);
  const std::byte* const part = !sends_ && bytes > 0 ? out + begin : nullptr;
  switch (call_) {
    case Call::allgather:
      if (by_nodes_ != nullptr) return (*by_nodes_)({part, index(bytes)}, in, receives_->parts());
      if (blocks_) return group_.allgather(part, in, bytes);
      return group_.allgather({part, index(bytes)}, in, receives_->parts());
    case Call::alltoall:
      if (blocks_) return group_.alltoall(out, in, receives_->parts().counts.front());
      return group_.alltoall(out, sends_->parts(), in, receives_->parts());
    case Call::reducescatter: {
      const std::vector<int>& sent = sends_->parts().counts;
      std::transform(sent.begin(), sent.end(), counts_.begin(),
                     [this](int count) { return count / static_cast<int>(element_bytes_); });
      const Size mine = sends_->bytes()[index(group_.process())];
      return group_.reduce_scatter(out, in + std::min(begin, mine), counts_, *reduction_);
    }
    case Call::allreduce:
      return group_.allreduce(part, in + begin, bytes / element_bytes_, *reduction_);
  }
  RETILE_ASSERT(false, "all kinds are named");
  return {};
}

Result<void> GroupMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  std::byte* const received = buffer + (packed_sides() > 1 ? side_bytes() : 0);
  const std::byte* const out = sends_ && sends_->is_packed() ? buffer : from;
  std::byte* const in = receives_ && receives_->is_packed() ? received : to;
  for (Size begin = 0; begin < largest_bytes_; begin += round_bytes_) {
    for (auto* const side : {&sends_, &receives_}) {
      if (*side) (*side)->go_to(begin, round_bytes_);
    }
    if (sends_) sends_->pack(from, buffer);
    if (auto done = call(out, in, begin); !done) return done;
    if (receives_) receives_->unpack(received, to);
  }
  return {};
}

}  // namespace retile::mpi
