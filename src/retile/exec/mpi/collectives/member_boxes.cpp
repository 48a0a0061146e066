#include "retile/exec/mpi/collectives/member_boxes.h"

#include "retile/core/assert.h"
#include "retile/core/index.h"

namespace retile::mpi {
namespace {

/// Those in which a device is at this end.
std::vector<Transfer> transfers_at(copy::End end, std::span<const Transfer> transfers,
                                   Size device) {
  std::vector<Transfer> out;
  for (const Transfer& transfer : transfers) {
    if ((end == copy::End::source ? transfer.source : transfer.target) == device) {
      out.push_back(transfer);
    }
  }
  return out;
}

}  // namespace

MemberBoxes::MemberBoxes(copy::End end, std::span<const Transfer> transfers, const Shape& tile,
                         const Communicator& group, Size element_bytes, Handling handling)
    : MemberBoxes(end, transfers_at(end, transfers, group.process()), tile,
                  index(group.processes()), element_bytes, handling) {}

MemberBoxes::MemberBoxes(copy::End end, const std::vector<Transfer>& own, const Shape& tile,
                         std::size_t members, Size element_bytes, Handling handling)
    : handling_(handling),
      bytes_(members, 0),
      offsets_(bytes_.size(), 0),
      boxes_(bytes_.size(), 0),
      stream_(end, element_bytes, tile, own, copy::Boxes::apart),
      parts_(bytes_.size()) {
  std::size_t box = 0;
  for (const Transfer& transfer : own) {
    const std::size_t member = index(end == copy::End::source ? transfer.target : transfer.source);
    bytes_[member] = box_bytes(transfer.shape, element_bytes);
    boxes_[member] = box;
    if (!is_packed()) {
      const auto offset = stream_.unpacked({.box = box, .at = 0}, bytes_[member]);
      RETILE_ASSERT(offset.has_value(), "boxes in place lie in one piece");
      offsets_[member] = *offset;
    }
    ++box;
  }
}

void MemberBoxes::go_to(Size begin, Size most) {
  begin_ = begin;
  Size packed = 0;
  for (std::size_t q = 0; q < bytes_.size(); ++q) {
    const Size part = std::clamp(bytes_[q] - begin, Size{0}, most);
    const Size offset = is_packed() ? packed : offsets_[q] + std::min(begin, bytes_[q]);
    parts_.counts[q] = static_cast<int>(part);
    parts_.offsets[q] = static_cast<int>(offset);
    packed += part;
  }
}

template <typename Move>
void MemberBoxes::each(const Move& move) {
  if (!is_packed()) return;
  for (std::size_t q = 0; q < bytes_.size(); ++q) {
    if (parts_.counts[q] == 0) continue;
    copy::BoxStream::Cursor at{.box = boxes_[q], .at = begin_};
    move(at, parts_.offsets[q], parts_.counts[q]);
  }
}

void MemberBoxes::pack(const std::byte* tile, std::byte* packed) {
  each([&](copy::BoxStream::Cursor& at, int offset, Size bytes) {
    stream_.pack(at, tile, packed + offset, bytes);
  });
}

void MemberBoxes::unpack(const std::byte* packed, std::byte* tile) {
  each([&](copy::BoxStream::Cursor& at, int offset, Size bytes) {
    stream_.unpack(at, packed + offset, tile, bytes);
  });
}

}  // namespace retile::mpi
