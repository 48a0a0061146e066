#include "retile/exec/mpi/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "retile/exec/copy/stores.h"
#include "retile/exec/team/team.h"

namespace retile::mpi {
namespace {

using copy::BoxStream;
using copy::End;

constexpr Size most_slots = 8;                     // in either direction
constexpr Size most_slot_bytes = Size{512} << 10;  // so that packing stays in a level-2 cache
// Where processes share cores, what is packed for a receiver that has no core yet leaves the caches
// before it is sent.
constexpr Size most_bytes_on_shared_cores = Size{512} << 10;  // in either direction
constexpr Size least_slots_on_shared_cores = 2;

// A short message MPI keeps in memory of its own until it is asked for. From there it copies to the tile,
// which saves the copy from a slot.
constexpr Size most_typed_bytes = Size{64} << 10;
constexpr std::size_t most_types = 64;  // in either direction: MPI's own memory is not counted
constexpr std::size_t most_typed_boxes = 64;  // of a message

/// What lies together becomes a run.
TileType::Box box_of(const BoxStream::Piece& piece, Size element_bytes) {
  TileType::Box out{.offset = piece.offset, .run_bytes = element_bytes, .repeats = {}};
  for (std::size_t i = piece.extents.size(); i-- > 0;) {
    if (piece.extents[i] == 1) continue;
    if (out.repeats.empty() && piece.strides[i] == out.run_bytes) {
      out.run_bytes *= piece.extents[i];
    } else {
      out.repeats.push_back({piece.extents[i], piece.strides[i]});
    }
  }
  return out;
}

}  // namespace

void MessageQueue::make_types(Size element_bytes) {
  if (traffic_.size() > most_types) return;
  for (Traffic& traffic : traffic_) {
    BoxStream& boxes = traffic.boxes;
    if (boxes.bytes() > std::min(traffic.room, most_typed_bytes)) continue;
    if (boxes.unpacked({}, traffic.room)) continue;
    std::vector<TileType::Box> pieces;
    boxes.look_at({}, traffic.room, [&](const BoxStream::Piece& piece) {
      if (pieces.size() <= most_typed_boxes) pieces.push_back(box_of(piece, element_bytes));
    });
    if (pieces.size() <= most_typed_boxes) traffic.type = TileType::make(pieces);
  }
}

void MessageQueue::unpack_past_caches(Size processes_here) {
  const Size all = bytes();
  const Size cache_share = copy::detected_cache_share_bytes(processes_here);
  for (Traffic& traffic : traffic_) traffic.boxes.unpack_past_caches_if_it_pays(all, cache_share);
}

MessageQueue::Message* MessageQueue::next() {
  while (!live_.empty()) {
    if (in_round_ == live_.size()) {
      live_.resize(staying_);
      in_round_ = staying_ = 0;
      continue;
    }
    Traffic& traffic = traffic_[live_[in_round_++]];
    if (traffic.boxes.finished(traffic.next.cursor)) continue;
    live_[staying_++] = traffic.next.traffic;
    return &traffic.next;
  }
  return nullptr;
}

void MessageQueue::rewind() {
  live_.clear();
  in_round_ = staying_ = 0;
  for (Traffic& traffic : traffic_) {
    traffic.next.cursor = {};
    live_.push_back(traffic.next.traffic);
  }
}

Size MessageQueue::bytes() const {
  Size sum = 0;
  for (const Traffic& traffic : traffic_) sum += traffic.boxes.bytes();
  return sum;
}

Size MessageQueue::longest(Size slot_bytes) const {
  Size most = 0;
  for (const Traffic& traffic : traffic_) most = std::max(most, traffic.boxes.bytes());
  return std::min(most, slot_bytes);
}

bool MessageQueue::passes(Size slot_bytes) const {
  return std::any_of(traffic_.begin(), traffic_.end(), [&](const Traffic& traffic) {
    return std::min(traffic.room, traffic.boxes.bytes()) > slot_bytes;
  });
}

Size MessageQueue::held_bytes() const {
  auto sum = static_cast<Size>(traffic_.capacity() * (sizeof(Traffic) + sizeof(std::size_t)));
  for (const Traffic& traffic : traffic_) sum += traffic.boxes.held_bytes();
  return sum;
}

Size MessageQueue::bound_bytes(Size others, std::size_t rank) {
  return others * (Size{sizeof(Traffic) + sizeof(std::size_t)} + BoxStream::object_bytes(rank));
}

MessagePart::MessagePart(const Task& task, const OwnExchange& exchange, Elsewhere elsewhere)
    : task_(task),
      exchange_(&exchange),
      elsewhere_(std::move(elsewhere)),
      slots_(std::clamp(task.chunk_bytes / (2 * task.element_bytes), Size{1}, most_slots)),
      slot_bytes_(
          std::min({std::max(task.chunk_bytes, 2 * task.element_bytes) / (2 * slots_),
                    most_slot_bytes, std::max(task.options.message_bytes, task.element_bytes)})),
      messages_(task.comm, static_cast<std::size_t>(2 * slots_)) {}

Size MessagePart::limit_bytes() const {
  // A box is described on both of its ends. What is kept stays on its node.
  const MostBoxes& most = exchange_->most();
  return 2 * slots_ * slot_bytes_ +
         2 * MessageQueue::bound_bytes(task_.program.devices - 1, task_.rank()) +
         (elsewhere_ ? most.elsewhere : most.others) * BoxStream::box_bytes(task_.rank()) +
         copy::Pass::bound_bytes(elsewhere_ ? 0 : most.kept, task_.rank());
}

Result<void> MessagePart::make_ready() {
  const int processes = task_.comm.processes();
  const int self = task_.comm.process();
  const Size element_bytes = task_.element_bytes;
  const Shape& in_tile = task_.shapes.front().of(self);
  const Shape& out_tile = task_.shapes.back().of(self);
  const copy::DeviceTransfers own =
      copy::transfers_of(self, processes, exchange_->exchange(), elsewhere_);
  sends_.reserve(static_cast<std::size_t>(processes - 1));
  receives_.reserve(static_cast<std::size_t>(processes - 1));
  for (int distance = 1; distance < processes; ++distance) {
    const int target = (self + distance) % processes;
    const int source = (self + processes - distance) % processes;
    const auto& sent = own.to[static_cast<std::size_t>(target)];
    const auto& got = own.from[static_cast<std::size_t>(source)];
    if (!sent.empty())
      sends_.add(target, {End::source, element_bytes, in_tile, sent}, room_of(sent));
    if (!got.empty())
      receives_.add(source, {End::target, element_bytes, out_tile, got}, room_of(got));
  }
  sends_.make_types(element_bytes);
  receives_.make_types(element_bytes);
  receives_.unpack_past_caches(task_.nodes.on_machine);
  if (!own.kept.empty()) kept_.emplace(element_bytes, in_tile, out_tile, own.kept);
  const Size places = places_here();
  expected_.assign(static_cast<std::size_t>(places), {});
  const Size slots_bytes = 2 * places * slot_bytes_;
  if (!memory_.allocate(slots_bytes, task_.meter)) {
    return refuse({.code = Code::mpi_error,
                   .message = fmt::format("out of memory: slots of {} bytes", slots_bytes)});
  }
  task_.meter.add(sends_.held_bytes() + receives_.held_bytes() + (kept_ ? kept_->held_bytes() : 0));
  return {};
}

Size MessagePart::room_of(std::span<const Transfer> transfers) const {
  const auto together = [&](End end, const Shape& tile) {
    BoxStream boxes(end, task_.element_bytes, tile, transfers);
    return boxes.unpacked({}, boxes.bytes()).has_value();
  };
  const Transfer& first = transfers.front();
  const bool on_both = together(End::source, task_.shapes.front().of(first.source)) &&
                       together(End::target, task_.shapes.back().of(first.target));
  return on_both ? std::max(slot_bytes_, task_.options.message_bytes) : slot_bytes_;
}

Size MessagePart::places_here() const {
  if (task_.nodes.on_machine <= team::cores()) return slots_;
  const Size largest = std::max(sends_.longest(slot_bytes_), receives_.longest(slot_bytes_));
  const Size places = largest == 0 ? slots_ : most_bytes_on_shared_cores / largest;
  return std::min(slots_, std::max(places, least_slots_on_shared_cores));
}

Result<void> MessagePart::begin(const Tiles& tiles) {
  sends_.rewind();
  receives_.rewind();
  refused_ = !tiles.good;
  under_way_ = 0;
  for (std::size_t place = 0; place < 2 * expected_.size(); ++place) {
    auto begun = begin(place, tiles);
    if (!begun) return tl::unexpected(begun.error());
    under_way_ += *begun ? 1 : 0;
  }
  if (kept_ && tiles.good) kept_->run(std::array{tiles.in.data()}, std::array{tiles.out.data()});
  return {};
}

Result<void> MessagePart::finish(const Tiles& tiles) {
  while (under_way_ > 0) {
    const auto through = messages_.wait();
    if (!through) return tl::unexpected(through.error());
    const std::size_t place = through->place;
    const bool received = place < expected_.size();
    refused_ = refused_ || (received && through->refusing);
    if (received && expected_[place] && !refused_) {
      MessageQueue::Message message = *expected_[place];
      receives_.boxes(message).unpack(message.cursor, slot(place).data(), tiles.out.data(),
                                      receives_.room(message));
    }
    auto begun = begin(place, tiles);
    if (!begun) return tl::unexpected(begun.error());
    under_way_ -= *begun ? 0 : 1;
  }
  return {};
}

Result<bool> MessagePart::begin(std::size_t place, const Tiles& tiles) {
  const bool receives = place < expected_.size();
  MessageQueue& queue = receives ? receives_ : sends_;
  MessageQueue::Message* const message = queue.next();
  if (message == nullptr) return false;
  const int other = queue.other(*message);
  BoxStream& boxes = queue.boxes(*message);
  const Size room = queue.room(*message);
  // What lies together in a tile goes from there, and there, without a slot; a short message MPI copies.
  const std::optional<Size> at = tiles.good ? boxes.unpacked(message->cursor, room) : std::nullopt;
  const bool together = at.has_value();
  const Size offset = at.value_or(0);
  const TileType& type = queue.type(*message);
  Result<void> begun;
  if (tiles.good && !together && type) {
    static_cast<void>(boxes.skip(message->cursor, room));
    if (receives) expected_[place] = std::nullopt;
    begun = receives ? messages_.receive(place, tiles.out.data(), type, other)
                     : messages_.send(place, tiles.in.data(), type, other);
  } else if (receives) {
    expected_[place] = together ? std::nullopt : std::optional(*message);
    const auto bytes = static_cast<std::size_t>(boxes.skip(message->cursor, room));
    std::byte* const to = together ? tiles.out.data() + offset : slot(place).data();
    begun = messages_.receive(place, {to, bytes}, other);
  } else if (together || !tiles.good) {
    const auto bytes = static_cast<std::size_t>(boxes.skip(message->cursor, room));
    const std::byte* const sent = together ? tiles.in.data() + offset : slot(place).data();
    begun = messages_.send(place, {sent, bytes}, other, !tiles.good);
  } else {
    const auto bytes = boxes.pack(message->cursor, tiles.in.data(), slot(place).data(), room);
    begun = messages_.send(place, slot(place).first(static_cast<std::size_t>(bytes)), other);
  }
  if (!begun) return tl::unexpected(begun.error());
  return true;
}

std::span<std::byte> MessagePart::slot(std::size_t place) const {
  return {memory_.data() + static_cast<Size>(place) * slot_bytes_,
          static_cast<std::size_t>(slot_bytes_)};
}

}  // namespace retile::mpi
