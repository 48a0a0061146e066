#include "retile/exec/mpi/collectives/group_move.h"

#include <algorithm>
#include <functional>
#include <vector>

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

GroupMove::GroupMove(bool gathers, const TileShapes& before, const Moves& moves,
                     const Communicator& group, const Limits& limits)
    : group_(group), tile_bytes_(box_bytes(before[index(group.process())], limits.element_bytes)) {
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
  receives_.emplace(boxes(copy::End::target, moves.after, in));
  const Handling out = handling(sent);
  if (!gathers) sends_.emplace(boxes(copy::End::source, before, out));

  // All of this is the same on all members, and so are the rounds.
  round_bytes_ = largest_bytes_;
  if (packed_sides() > 0) {
    round_bytes_ = limits.round_bytes(limits.chunk_bytes, packed_sides() * members, round_bytes_);
  }
  const auto in_blocks = [&](const Arrangement& lies, Handling how) {
    return how == Handling::packed || (lies.in_order && round_bytes_ == largest_bytes_);
  };
  blocks_ = all_alike(before) && all_alike(moves.after) && in_blocks(received, in) &&
            (gathers || in_blocks(sent, out));
}

Size GroupMove::received_bytes() const {
  Size out = 0;
  for (int q = 0; q < group_.processes(); ++q) {
    if (q != group_.process()) out += receives_->bytes()[index(q)];
  }
  return out;
}

/// All get the same: the tile as it lies, but for what is behind the end of one that is smaller.
Result<void> GroupMove::gather(const std::byte* from, std::byte* in, Size begin) const {
  const Size bytes = std::clamp(tile_bytes_ - begin, Size{0}, round_bytes_);
  const std::byte* const out = bytes > 0 ? from + begin : nullptr;
  if (blocks_) return group_.allgather(out, in, bytes);
  return group_.allgather({out, index(bytes)}, in, receives_->parts());
}

Result<void> GroupMove::exchange(const std::byte* out, std::byte* in) const {
  if (blocks_) return group_.alltoall(out, in, receives_->parts().counts.front());
  return group_.alltoall(out, sends_->parts(), in, receives_->parts());
}

Result<void> GroupMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  std::byte* const received = buffer + (packed_sides() > 1 ? side_bytes() : 0);
  std::byte* const in = receives_->is_packed() ? received : to;
  for (Size begin = 0; begin < largest_bytes_; begin += round_bytes_) {
    receives_->go_to(begin, round_bytes_);
    Result<void> done;
    if (sends_) {
      sends_->go_to(begin, round_bytes_);
      sends_->pack(from, buffer);
      done = exchange(sends_->is_packed() ? buffer : from, in);
    } else {
      done = gather(from, in, begin);
    }
    if (!done) return done;
    receives_->unpack(received, to);
  }
  return {};
}

}  // namespace retile::mpi
