#include "retile/exec/mpi/collectives/uneven_group_move.h"

#include <algorithm>

namespace retile::mpi {

UnevenGroupMove::UnevenGroupMove(bool gathers, const std::vector<Transfer>& transfers,
                                 const Shape& before, const Shape& after, const Communicator& group,
                                 const Limits& limits)
    : group_(group),
      gathers_(gathers),
      sends_(static_cast<std::size_t>(group.processes())),
      receives_(static_cast<std::size_t>(group.processes())) {
  const Size self = group.process();
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  const auto add = [](Side& side, Size place, Size bytes, const Transfer& transfer,
                      std::vector<Transfer>& list) {
    const auto member = static_cast<std::size_t>(place);
    side.bytes[member] = bytes;
    side.box[member] = list.size();
    list.push_back(transfer);
  };
  for (const Transfer& transfer : transfers) {
    const Size bytes = box_bytes(transfer.shape, limits.element_bytes);
    largest_bytes_ = std::max(largest_bytes_, bytes);
    if (transfer.source == self) add(sends_, transfer.target, bytes, transfer, sent);
    if (transfer.target == self) add(receives_, transfer.source, bytes, transfer, received);
  }
  sends_.boxes.emplace(copy::End::source, limits.element_bytes, before, sent);
  receives_.boxes.emplace(copy::End::target, limits.element_bytes, after, received);
  round_bytes_ =
      limits.round_bytes(limits.chunk_bytes, (gathers ? 1 : 2) * group.processes(), largest_bytes_);
}

Size UnevenGroupMove::received_bytes() const {
  Size out = 0;
  for (std::size_t q = 0; q < receives_.bytes.size(); ++q) {
    if (static_cast<int>(q) != group_.process()) out += receives_.bytes[q];
  }
  return out;
}

void UnevenGroupMove::Side::cut(Size begin, Size most) {
  Size offset = 0;
  for (std::size_t q = 0; q < bytes.size(); ++q) {
    const Size part = std::clamp(bytes[q] - begin, Size{0}, most);
    now.counts[q] = static_cast<int>(part);
    now.offsets[q] = static_cast<int>(offset);
    offset += part;
  }
}

Result<void> UnevenGroupMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  std::byte* const received = buffer + (gathers_ ? 0 : group_.processes() * round_bytes_);
  for (Size begin = 0; begin < largest_bytes_; begin += round_bytes_) {
    const auto each = [begin](Side& side, std::byte* packed, const auto& move) {
      for (std::size_t q = 0; q < side.bytes.size(); ++q) {
        if (side.now.counts[q] == 0) continue;
        copy::BoxStream::Cursor at{.box = side.box[q], .at = begin};
        move(*side.boxes, at, packed + side.now.offsets[q], side.now.counts[q]);
      }
    };
    sends_.cut(begin, round_bytes_);
    receives_.cut(begin, round_bytes_);
    Result<void> sent;
    if (gathers_) {
      // All get the same: the tile as it lies, but for an empty one.
      const int count = sends_.now.counts.front();
      sent = group_.allgather({count > 0 ? from + begin : nullptr, static_cast<std::size_t>(count)},
                              received, receives_.now);
    } else {
      each(sends_, buffer, [from](auto& boxes, auto& at, std::byte* packed, Size room) {
        boxes.pack(at, from, packed, room);
      });
      sent = group_.alltoall(buffer, sends_.now, received, receives_.now);
    }
    if (!sent) return sent;
    each(receives_, received, [to](auto& boxes, auto& at, std::byte* packed, Size room) {
      boxes.unpack(at, packed, to, room);
    });
  }
  return {};
}

}  // namespace retile::mpi
