// Boxes of a tile as a stream of packed bytes, cut where a buffer is full: how data goes through
// messages and slots that are smaller than it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "retile/core/size.h"
#include "retile/exec/copy/repeats.h"
#include "retile/exec/copy/runs.h"
#include "retile/program/ops.h"

namespace retile::copy {

/// The transfers in which one device takes part, each list in the order of the exchange, so that
/// both ends of a pair have the same.
struct DeviceTransfers {
  std::vector<std::vector<Transfer>> to;    ///< by target, without itself
  std::vector<std::vector<Transfer>> from;  ///< by source, without itself
  std::vector<Transfer> kept;  ///< from the device to itself, which is number 0 in them
};
/// \param left_out  what somebody else moves, if anything
[[nodiscard]] DeviceTransfers transfers_of(
    Size device, Size devices, const Exchange& exchange,
    const std::function<bool(const Transfer&)>& left_out = {});

/// Which end of its transfers a stream belongs to.
enum class End { source, target };

/// Whether boxes that lie in regular steps may be held as one (repeats.h).
enum class Boxes {
  joined,  ///< a cursor goes through all of them, from the begin
  apart    ///< a cursor may begin in any box, by its number
};

/// The boxes of some transfers, one after the other, each in C order without gaps.
///
/// Whether they are joined changes neither the bytes nor where they are cut.
///
/// Both ends of a stream hold the same transfers in the same order and give the same room to every
/// piece, so both cut it alike: what one pack() wrote, one unpack() reads. Nothing is allocated
/// after construction. One thread at a time.
class BoxStream {
 public:
  /// Preconditions: boxes inside `tile`, of its rank; the tile has fewer than 2^63 bytes.
  BoxStream(End end, Size element_bytes, const Shape& tile, std::span<const Transfer> transfers,
            Boxes boxes = Boxes::joined);

  /// A place in the stream; the default is its begin.
  struct Cursor {
    std::size_t box = 0;  ///< the number of its transfer, where boxes are apart
    Size at = 0;          ///< bytes of the box behind the cursor
  };

  [[nodiscard]] bool finished(const Cursor& cursor) const { return cursor.box == boxes_.size(); }
  /// Bytes of all boxes.
  [[nodiscard]] Size bytes() const { return bytes_; }

  /// The next bytes of the stream, as many as fit in `room` (at least an element) in whole rows:
  /// from the tile to `packed`, or back. Moves the cursor on; returns the number of bytes.
  Size pack(Cursor& cursor, const std::byte* tile, std::byte* packed, Size room);
  Size unpack(Cursor& cursor, const std::byte* packed, std::byte* tile, Size room);
  /// What pack() or unpack() would return with this room; moves on like them.
  Size skip(Cursor& cursor, Size room);
  /// Where in the tile the bytes lie that pack() would copy, if they lie there as they would be packed:
  /// then they need no packing. Does not move on.
  [[nodiscard]] std::optional<Size> unpacked(Cursor cursor, Size room);

  /// A box of the tile, which is packed as a whole.
  struct Piece {
    Size offset;  ///< of its first byte
    std::span<const Size> extents;
    std::span<const Size> strides;  ///< in bytes
  };
  /// Looks at what pack() would copy, piece by piece. Does not move on.
  void look_at(Cursor cursor, Size room, const std::function<void(const Piece&)>& look);

  /// The length of the runs in which the first box is copied; 0 where there is none.
  [[nodiscard]] Size first_run_bytes();
  /// From now on unpack() writes runs of whole lines past the caches.
  /// Precondition: can_stream().
  void unpack_past_caches() { past_caches_ = true; }
  /// The same where the measured table says that it pays, as it does where the caches would not keep
  /// what is unpacked.
  /// \param all_bytes  what all streams into the tile have
  /// \param cache_share_bytes  of the last cache, for whoever unpacks (detected_cache_share_bytes())
  void unpack_past_caches_if_it_pays(Size all_bytes, Size cache_share_bytes);
  [[nodiscard]] bool unpacks_past_caches() const { return past_caches_; }

  /// Bytes that this object holds: at most object_bytes() and box_bytes() for each of its boxes.
  [[nodiscard]] Size held_bytes() const;
  [[nodiscard]] static Size object_bytes(std::size_t rank);
  [[nodiscard]] static Size box_bytes(std::size_t rank);

 private:
  struct Box {
    Size offset = 0;  // of its first byte in the tile
    Size bytes = 0;
    // Where its extents and packed strides begin in numbers_, and behind them its strides in the tile
    // where boxes are held as one.
    std::size_t shape = 0;
  };
  void add(const Repeats& boxes, End end, const Shape& tile_strides);
  [[nodiscard]] std::span<const Size> strides_of(const Box& box) const {
    if (strides_.empty()) return {numbers_.data() + box.shape + 2 * rank_, rank_};
    return strides_;
  }
  /// Makes loops_ of piece_; how long their runs are.
  Size fuse(const Size* source_strides, const Size* target_strides);
  void copy_piece(const std::byte* source, const Size* source_strides, std::byte* target,
                  const Size* target_strides, bool past_caches);
  template <typename Copy>
  Size pieces(Cursor& cursor, Size room, const Copy& copy);

  std::size_t rank_ = 1;  // at least one dimension
  Shape strides_;         // of the tile, in bytes; nothing where boxes have their own
  std::vector<Size> numbers_;
  std::vector<Box> boxes_;
  Size element_bytes_ = 1;
  Size bytes_ = 0;
  // Extents of a piece and the loops over its runs; here so that nothing is allocated later.
  Shape piece_;
  std::vector<Loop> loops_;
  bool past_caches_ = false;
};

}  // namespace retile::copy
