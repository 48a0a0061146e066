#include "retile/exec/copy/box_stream.h"

#include <algorithm>
#include <cstring>

#include "retile/exec/copy/runs.h"

namespace retile::copy {
namespace {

/// A box between two places with strides, all in bytes.
struct Loops {
  const Size* shape;
  const Size* source_strides;
  const Size* target_strides;
  std::size_t last;  // the dimension of the runs
  Size run_bytes;

  void run(std::size_t dimension, const std::byte* source, std::byte* target) const {
    if (dimension == last) {
      copy_runs(target, target_strides[last], source, source_strides[last], run_bytes, shape[last]);
      return;
    }
    for (Size k = 0; k < shape[dimension]; ++k) {
      run(dimension + 1, source + k * source_strides[dimension],
          target + k * target_strides[dimension]);
    }
  }
};

void copy_box(const Size* shape, std::size_t rank, Size element_bytes, const std::byte* source,
              const Size* source_strides, std::byte* target, const Size* target_strides) {
  Size bytes = element_bytes;
  while (rank > 0 && (shape[rank - 1] == 1 ||
                      (source_strides[rank - 1] == bytes && target_strides[rank - 1] == bytes))) {
    bytes *= shape[--rank];
  }
  if (rank == 0) {
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    return;
  }
  Loops{shape, source_strides, target_strides, rank - 1, bytes}.run(0, source, target);
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
                     std::span<const Transfer> transfers)
    : rank_(std::max<std::size_t>(tile.size(), 1)),
      strides_(rank_, element_bytes),
      element_bytes_(element_bytes),
      piece_(rank_, 1) {
  for (std::size_t i = tile.size(); i-- > 1;) strides_[i - 1] = strides_[i] * tile[i];
  numbers_.reserve(transfers.size() * 2 * rank_);
  boxes_.reserve(transfers.size());
  for (const Transfer& transfer : transfers) {
    const Shape& start = end == End::source ? transfer.source_start : transfer.target_start;
    Box box{.offset = 0, .bytes = element_bytes, .shape = numbers_.size()};
    numbers_.resize(numbers_.size() + 2 * rank_, 1);
    Size* const shape = numbers_.data() + box.shape;
    Size* const packed = shape + rank_;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      shape[i] = transfer.shape[i];
      box.offset += start[i] * strides_[i];
    }
    for (std::size_t i = rank_; i-- > 0;) {
      packed[i] = box.bytes;
      box.bytes *= shape[i];
    }
    bytes_ += box.bytes;
    boxes_.push_back(box);
  }
}

/// Whole boxes, then of the one that does not fit any more a box within it that does.
template <typename Copy>
Size BoxStream::pieces(Cursor& cursor, Size room, const Copy& copy) {
  Size filled = 0;
  while (!finished(cursor) && room - filled >= element_bytes_) {
    const Box& box = boxes_[cursor.box];
    const Size* const shape = numbers_.data() + box.shape;
    const Size* const packed = shape + rank_;
    // The outermost dimension of which whole indices begin here and at least one fits. The
    // innermost one always does.
    std::size_t cut = 0;
    while (cursor.at % packed[cut] != 0 || packed[cut] > room - filled) ++cut;
    Size offset = box.offset;
    for (std::size_t i = 0; i < rank_; ++i) {
      const Size index = cursor.at / packed[i] % shape[i];
      offset += index * strides_[i];
      piece_[i] = i < cut    ? 1
                  : i == cut ? std::min(shape[i] - index, (room - filled) / packed[i])
                             : shape[i];
    }
    const Size bytes = piece_[cut] * packed[cut];
    copy(offset, filled, packed);
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
  return pieces(cursor, room, [&](Size offset, Size filled, const Size* packed_strides) {
    copy_box(piece_.data(), rank_, element_bytes_, tile + offset, strides_.data(), packed + filled,
             packed_strides);
  });
}

Size BoxStream::unpack(Cursor& cursor, const std::byte* packed, std::byte* tile, Size room) {
  return pieces(cursor, room, [&](Size offset, Size filled, const Size* packed_strides) {
    copy_box(piece_.data(), rank_, element_bytes_, packed + filled, packed_strides, tile + offset,
             strides_.data());
  });
}

Size BoxStream::skip(Cursor& cursor, Size room) {
  return pieces(cursor, room, [](Size, Size, const Size*) {});
}

std::optional<Size> BoxStream::unpacked(Cursor cursor, Size room) {
  std::optional<Size> begin;
  bool together = true;
  pieces(cursor, room, [&](Size offset, Size filled, const Size* packed_strides) {
    if (!begin) begin = offset;
    together = together && offset == *begin + filled;
    for (std::size_t i = 0; i < rank_; ++i) {
      together = together && (piece_[i] == 1 || strides_[i] == packed_strides[i]);
    }
  });
  return together ? begin : std::nullopt;
}

void BoxStream::look_at(Cursor cursor, Size room, const std::function<void(const Piece&)>& look) {
  pieces(cursor, room, [&](Size offset, Size, const Size*) { look({offset, piece_, strides_}); });
}

Size BoxStream::held_bytes() const {
  const std::size_t numbers = numbers_.capacity() + strides_.capacity() + piece_.capacity();
  return static_cast<Size>(sizeof(*this) + numbers * sizeof(Size) +
                           boxes_.capacity() * sizeof(Box));
}

Size BoxStream::object_bytes(std::size_t rank) {
  return static_cast<Size>(sizeof(BoxStream) + 2 * std::max<std::size_t>(rank, 1) * sizeof(Size));
}

Size BoxStream::box_bytes(std::size_t rank) {
  return static_cast<Size>(sizeof(Box) + 2 * std::max<std::size_t>(rank, 1) * sizeof(Size));
}

}  // namespace retile::copy
