#include "retile/exec/mpi/collectives/ordered_move.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace retile::mpi {

OrderedMove::OrderedMove(std::vector<Transfer> transfers, const Shape& before, const Shape& after,
                         const std::optional<add::Adder>& adder,
                         const std::optional<add::Manner>& manner, const Communicator& comm,
                         const Limits& limits)
    : comm_(comm),
      adder_(adder),
      clears_(manner && manner->clears),
      out_bytes_(box_bytes(after, limits.element_bytes)),
      element_bytes_(limits.element_bytes) {
  // The place of a box among those of its target; then the order in which boxes go.
  struct Placed {
    std::size_t place = 0;
    const Transfer* transfer = nullptr;
  };
  std::vector<Placed> order;
  const Size self = comm.process();
  std::size_t place = 0;
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    place = k > 0 && transfers[k - 1].target == transfers[k].target ? place + 1 : 0;
    if (transfers[k].source != self && transfers[k].target != self) continue;
    order.push_back({place, &transfers[k]});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Placed& a, const Placed& b) { return a.place < b.place; });
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  Size largest = 0;
  for (const auto& [number, transfer] : order) {
    const Size bytes = box_bytes(transfer->shape, element_bytes_);
    largest = std::max(largest, bytes);
    actions_.push_back({.source = static_cast<int>(transfer->source),
                        .target = static_cast<int>(transfer->target),
                        .bytes = bytes,
                        .adds = manner && (number > 0 || !manner->copies_first)});
    if (transfer->source == self) sent.push_back(*transfer);
    if (transfer->target == self) received.push_back(*transfer);
  }
  sends_.emplace(copy::End::source, element_bytes_, before, sent);
  receives_.emplace(copy::End::target, element_bytes_, after, received);
  // Not of this process's largest box alone: both ends of a box cut it alike.
  const Size budget = std::min(limits.chunk_bytes, limits.message_bytes);
  round_bytes_ = limits.round_bytes(budget, 2, std::max(budget, element_bytes_));
  round_bytes_ = std::min(round_bytes_, std::max(largest, element_bytes_));
}

void OrderedMove::take(const Action& action, copy::BoxStream::Cursor& at, const std::byte* packed,
                       std::byte* to, std::byte* spare, Size bytes) {
  if (!action.adds) {
    receives_->unpack(at, packed, to, bytes);
    return;
  }
  copy::BoxStream::Cursor own = at;
  receives_->pack(own, to, spare, bytes);
  adder_->add(spare, packed, static_cast<std::size_t>(bytes / element_bytes_));
  receives_->unpack(at, spare, to, bytes);
}

Result<void> OrderedMove::operator()(const std::byte* from, std::byte* to, std::byte* buffer) {
  if (clears_) adder_->clear(std::span(to, static_cast<std::size_t>(out_bytes_)));
  const int self = comm_.process();
  copy::BoxStream::Cursor sent;
  copy::BoxStream::Cursor received;
  for (const Action& action : actions_) {
    for (Size left = action.bytes; left > 0;) {
      const Size bytes = std::min(left, round_bytes_);
      const std::span part(buffer, static_cast<std::size_t>(bytes));
      if (action.source == self) {
        sends_->pack(sent, from, buffer, bytes);
        if (action.target != self) comm_.send(part, action.target);
      } else {
        comm_.receive(part, action.source);
      }
      if (action.target == self) {
        take(action, received, buffer, to, buffer + round_bytes_, bytes);
      }
      left -= bytes;
    }
  }
  return {};
}

}  // namespace retile::mpi
