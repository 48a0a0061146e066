#include "retile/exec/copy/box_stream.h"

#include <algorithm>
#include <cstring>

#include "retile/core/walk.h"
#include "retile/exec/copy/kernels.h"
#include "retile/exec/copy/stores.h"

namespace retile::copy {
namespace {

// Calls run(source, target) for the runs of all loops but the innermost one, which is the first.
template <typename Run>
void for_each_row(std::span<const Loop> loops, const std::byte* source, std::byte* target,
                  const Run& run) {
  if (loops.size() <= 1) return run(source, target);
  const Loop& loop = loops.back();
  for (Size k = 0; k < loop.count; ++k) {
    for_each_row(loops.first(loops.size() - 1), source + k * loop.source_stride,
                 target + k * loop.target_stride, run);
  }
}

}  // namespace

DeviceTransfers transfers_of(Size device, Size devices, const Exchange& exchange,
                             const std::function<bool(const Transfer&)>& left_out) {
  DeviceTransfers out{.to = std::vector<std::vector<Transfer>>(static_cast<std::size_t>(devices)),
                      .from = std::vector<std::vector<Transfer>>(static_cast<std::size_t>(devices)),
                      .kept = {}};
  for (const Transfer& transfer : exchange.transfers) {
    if (left_out && left_out(transfer)) continue;
    if (transfer.source == device && transfer.target == device) {
      Transfer& kept = out.kept.emplace_back(transfer);
      kept.source = kept.target = 0;
    } else if (transfer.source == device) {
      out.to[static_cast<std::size_t>(transfer.target)].push_back(transfer);
    } else if (transfer.target == device) {
      out.from[static_cast<std::size_t>(transfer.source)].push_back(transfer);
    }
  }
  return out;
}

BoxStream::BoxStream(End end, Size element_bytes, const Shape& tile,
                     std::span<const Transfer> transfers, Boxes joined)
    : rank_(std::max<std::size_t>(tile.size(), 1)), element_bytes_(element_bytes) {
  std::vector<const Transfer*> in_order;
  in_order.reserve(transfers.size());
  for (const Transfer& transfer : transfers) in_order.push_back(&transfer);
  std::vector<Repeats> boxes;
  if (joined == Boxes::joined) boxes = repeats_of(in_order);
  // One that is held with its steps takes up to three times the memory of a plain one.
  const bool repeat = !boxes.empty() && boxes.size() <= transfers.size() / 4;
  if (!repeat) {
    boxes.clear();
    for (const Transfer* transfer : in_order) boxes.push_back({.first = transfer});
  }
  Shape strides = byte_strides(tile, element_bytes);
  strides.resize(rank_, element_bytes);
  if (repeat) {
    rank_ += 2;
  } else {
    strides_ = strides;
  }
  piece_.assign(rank_, 1);
  loops_.reserve(rank_);
  numbers_.reserve(boxes.size() * (repeat ? 3 : 2) * rank_);
  boxes_.reserve(boxes.size());
  for (const Repeats& box : boxes) add(box, end, strides);
}

void BoxStream::add(const Repeats& boxes, End end, const Shape& tile_strides) {
  const Transfer& first = *boxes.first;
  Shape Transfer::*const start =
      end == End::source ? &Transfer::source_start : &Transfer::target_start;
  Box box{.offset = offset_of(first.*start, tile_strides),
          .bytes = element_bytes_,
          .shape = numbers_.size()};
  const std::size_t more = strides_.empty() ? 2 : 0;
  numbers_.resize(numbers_.size() + (more > 0 ? 3 : 2) * rank_, 1);
  Size* const shape = numbers_.data() + box.shape;
  std::copy(first.shape.begin(), first.shape.end(), shape + more);
  if (more > 0) {
    Size* const strides = shape + 2 * rank_;
    shape[0] = boxes.outer;
    shape[1] = boxes.inner;
    if (boxes.outer > 1) strides[0] = step_of(first, *boxes.next_row, start, tile_strides);
    if (boxes.inner > 1) strides[1] = step_of(first, *boxes.next, start, tile_strides);
    std::copy(tile_strides.begin(), tile_strides.end(), strides + more);
  }
  Size* const packed = shape + rank_;
  for (std::size_t i = rank_; i-- > 0;) {
    packed[i] = box.bytes;
    box.bytes *= shape[i];
  }
  bytes_ += box.bytes;
  boxes_.push_back(box);
}

/// Whole boxes, then of the one that does not fit any more a box within it that does.
template <typename Copy>
Size BoxStream::pieces(Cursor& cursor, Size room, const Copy& copy) {
  Size filled = 0;
  while (!finished(cursor) && room - filled >= element_bytes_) {
    const Box& box = boxes_[cursor.box];
    const Size* const shape = numbers_.data() + box.shape;
    const Size* const packed = shape + rank_;
    const std::span<const Size> strides = strides_of(box);
    // The outermost dimension of which whole indices begin here and at least one fits. The
    // innermost one always does.
    std::size_t cut = 0;
    while (cursor.at % packed[cut] != 0 || packed[cut] > room - filled) ++cut;
    Size offset = box.offset;
    for (std::size_t i = 0; i < rank_; ++i) {
      const Size index = cursor.at / packed[i] % shape[i];
      offset += index * strides[i];
      piece_[i] = i < cut    ? 1
                  : i == cut ? std::min(shape[i] - index, (room - filled) / packed[i])
                             : shape[i];
    }
    const Size bytes = piece_[cut] * packed[cut];
    copy(offset, filled, packed, strides);
    filled += bytes;
    cursor.at += bytes;
    if (cursor.at == box.bytes) {
      ++cursor.box;
      cursor.at = 0;
    }
  }
  return filled;
}

Size BoxStream::pack(Cursor& cursor, const std::byte* tile, std::byte* packed, Size room) {
  return pieces(
      cursor, room,
      [&](Size offset, Size filled, const Size* packed_strides, std::span<const Size> strides) {
        copy_piece(tile + offset, strides.data(), packed + filled, packed_strides, false);
      });
}

Size BoxStream::unpack(Cursor& cursor, const std::byte* packed, std::byte* tile, Size room) {
  const Size bytes = pieces(
      cursor, room,
      [&](Size offset, Size filled, const Size* packed_strides, std::span<const Size> strides) {
        copy_piece(packed + filled, packed_strides, tile + offset, strides.data(), past_caches_);
      });
  if (past_caches_) stores_fence();
  return bytes;
}

Size BoxStream::fuse(const Size* source_strides, const Size* target_strides) {
  Size run_bytes = element_bytes_;
  loops_.clear();
  for (std::size_t i = rank_; i-- > 0;) {
    put_around(run_bytes, loops_, {piece_[i], source_strides[i], target_strides[i]});
  }
  return run_bytes;
}

void BoxStream::copy_piece(const std::byte* source, const Size* source_strides, std::byte* target,
                           const Size* target_strides, bool past_caches) {
  const Size run_bytes = fuse(source_strides, target_strides);
  const Loop row = loops_.empty() ? Loop{1, run_bytes, run_bytes} : loops_.front();
  Size places = beyond_line(target);
  for (const Loop& loop : loops_) places |= loop.target_stride;
  const bool streams = past_caches && runs_stream(places, run_bytes);
  for_each_row(loops_, source, target, [&](const std::byte* from, std::byte* to) {
    if (streams) {
      kernels().runs({.sources = &from,
                      .targets = &to,
                      .members = 1,
                      .rows = row.count,
                      .source_stride = row.source_stride,
                      .target_stride = row.target_stride,
                      .run_bytes = run_bytes},
                     Order::members_outer);
    } else {
      copy_runs({to, row.target_stride, from, row.source_stride, run_bytes, row.count});
    }
  });
}

Size BoxStream::first_run_bytes() {
  Size out = 0;
  Cursor first;
  if (!boxes_.empty()) {
    pieces(first, boxes_.front().bytes,
           [&](Size, Size, const Size* packed_strides, std::span<const Size> strides) {
             out = fuse(strides.data(), packed_strides);
           });
  }
  return out;
}

void BoxStream::unpack_past_caches_if_it_pays(Size all_bytes, Size cache_share_bytes) {
  const Size run_bytes = first_run_bytes();
  // Few lines at a time, far apart: with eight processes that took up to 1.4 times as long past the
  // caches as through them, where these keep the tile.
  const bool scattered = run_bytes < 4 * line_bytes;
  past_caches_ = can_stream() && streams(run_bytes, all_bytes, cache_share_bytes) &&
                 (!scattered || all_bytes >= cache_share_bytes);
}

Size BoxStream::skip(Cursor& cursor, Size room) {
  return pieces(cursor, room, [](Size, Size, const Size*, std::span<const Size>) {});
}

std::optional<Size> BoxStream::unpacked(Cursor cursor, Size room) {
  std::optional<Size> begin;
  bool together = true;
  pieces(cursor, room,
         [&](Size offset, Size filled, const Size* packed_strides, std::span<const Size> strides) {
           if (!begin) begin = offset;
           together = together && offset == *begin + filled;
           for (std::size_t i = 0; i < rank_; ++i) {
             together = together && (piece_[i] == 1 || strides[i] == packed_strides[i]);
           }
         });
  return together ? begin : std::nullopt;
}

void BoxStream::look_at(Cursor cursor, Size room, const std::function<void(const Piece&)>& look) {
  pieces(cursor, room, [&](Size offset, Size, const Size*, std::span<const Size> strides) {
    look({offset, piece_, strides});
  });
}

Size BoxStream::held_bytes() const {
  const std::size_t numbers = numbers_.capacity() + strides_.capacity() + piece_.capacity();
  return static_cast<Size>(sizeof(*this) + numbers * sizeof(Size) +
                           loops_.capacity() * sizeof(Loop) + boxes_.capacity() * sizeof(Box));
}

Size BoxStream::object_bytes(std::size_t rank) {
  return static_cast<Size>(sizeof(BoxStream) +
                           std::max<std::size_t>(rank, 1) * (2 * sizeof(Size) + sizeof(Loop)));
}

Size BoxStream::box_bytes(std::size_t rank) {
  return static_cast<Size>(sizeof(Box) + 2 * std::max<std::size_t>(rank, 1) * sizeof(Size));
}

}  // namespace retile::copy
