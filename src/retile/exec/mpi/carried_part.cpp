#include "retile/exec/mpi/carried_part.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "retile/exec/mpi/agreement.h"

namespace retile::mpi {
namespace {

constexpr Size block_alignment = 64;
/// More goes in several messages, which several members carry side by side. Measured: shorter ones are slower.
constexpr Size longest_message_bytes = Size{256} << 10;

Size aligned(Size bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

/// What make_ready() finds out with the others.
struct CarriedPart::Making {
  CarriedPart& made;
  const Nodes& nodes;
  int self;
  int mine;  ///< the number of this process's node
  copy::DeviceTransfers own{};
  Numbers sent{};           ///< bytes to each node, of this process; of all of this node
  Numbers sent_before{};    ///< of the members before it
  Numbers got{};            ///< bytes from each process, to this one; to all of this node
  Numbers got_before{};     ///< to the members before it
  std::vector<Size> out{};  ///< where the block for each node begins
  std::vector<Size> in{};   ///< and that from each

  [[nodiscard]] Result<void> look();
  void share();
  [[nodiscard]] Result<void> make();
  void place_blocks();
  void add_parts();
  void add_messages(int node, bool received, Size offset, Size bytes);
};

CarriedPart::CarriedPart(const Task& task, const OwnExchange& exchange)
    : task_(task), exchange_(&exchange) {}

Size CarriedPart::memory_bytes() const {
  const MostBoxes& most = exchange_->most();
  const auto both = checked_add(most.far_sent_bytes, most.far_received_bytes);
  const auto of_node = both ? checked_mul(*both, task_.nodes.most_processes) : std::nullopt;
  const Size lines = 2 * most_blocks() * block_alignment;
  return (of_node ? checked_add(*of_node, lines) : std::nullopt)
      .value_or(std::numeric_limits<Size>::max());
}

Size CarriedPart::message_bytes() const {
  return std::min(longest_message_bytes,
                  std::max(task_.options.message_bytes, task_.element_bytes));
}

Size CarriedPart::limit_bytes() const {
  const Size others = task_.program.devices - 1;
  const Size messages = 2 * most_blocks() + memory_bytes() / message_bytes();
  // Growing lists have up to twice as much room as they need.
  return others * (2 * Size{sizeof(Part)} + copy::BoxStream::object_bytes(task_.rank())) * 2 +
         exchange_->most().elsewhere * copy::BoxStream::box_bytes(task_.rank()) +
         messages * 2 * Size{sizeof(Message) + sizeof(MPI_Request)};
}

Result<void> CarriedPart::Making::look() {
  const auto processes = nodes.first.size();
  own = copy::transfers_of(self, static_cast<Size>(processes), made.exchange_->exchange(),
                           [this](const Transfer& transfer) { return nodes.together(transfer); });
  const auto bytes_of = [this](const std::vector<Transfer>& transfers) {
    Size sum = 0;
    for (const Transfer& transfer : transfers) {
      sum += box_bytes(transfer.shape, made.task_.element_bytes);
    }
    return static_cast<std::uint64_t>(sum);
  };
  sent.assign(static_cast<std::size_t>(nodes.count), 0);
  got.assign(processes, 0);
  for (std::size_t other = 0; other < processes; ++other) {
    sent[static_cast<std::size_t>(nodes.number[other])] += bytes_of(own.to[other]);
    got[other] = bytes_of(own.from[other]);
  }
  sent_before = sent;
  got_before = got;
  out.assign(sent.size(), 0);
  in.assign(sent.size(), 0);
  return {};
}

/// Collective over the node.
void CarriedPart::Making::share() {
  nodes.mine.sum_before(sent_before);
  nodes.mine.sum_before(got_before);
  nodes.mine.sum(sent);
  nodes.mine.sum(got);
}

void CarriedPart::Making::place_blocks() {
  Size next = 0;
  for (std::size_t node = 0; node < sent.size(); ++node) {
    out[node] = next;
    next += aligned(static_cast<Size>(sent[node]));
  }
  std::vector<Size> bytes(in.size(), 0);
  for (std::size_t other = 0; other < got.size(); ++other) {
    bytes[static_cast<std::size_t>(nodes.number[other])] += static_cast<Size>(got[other]);
  }
  made.hears_of_all_ = true;
  for (std::size_t node = 0; node < sent.size(); ++node) {
    if (node == static_cast<std::size_t>(mine)) continue;
    add_messages(static_cast<int>(node), false, out[node], static_cast<Size>(sent[node]));
    add_messages(static_cast<int>(node), true, next, bytes[node]);
    made.hears_of_all_ = made.hears_of_all_ && bytes[node] > 0;
    in[node] = next;
    next += aligned(bytes[node]);
  }
}

void CarriedPart::Making::add_messages(int node, bool received, Size offset, Size bytes) {
  const Size most = made.message_bytes();
  const auto members = [this](int number) {
    return static_cast<int>(std::count(nodes.number.begin(), nodes.number.end(), number));
  };
  for (Size at = 0; at < bytes; at += most) {
    const auto number = static_cast<int>((at / most) % std::ssize(nodes.first));
    if ((number + node) % members(mine) != nodes.mine.process()) continue;
    const int carrier = (number + mine) % members(node);
    for (std::size_t other = 0; other < nodes.number.size(); ++other) {
      if (nodes.number[other] != node || nodes.member[other] != carrier) continue;
      made.carried_.push_back({.received = received,
                               .other = static_cast<int>(other),
                               .offset = offset + at,
                               .bytes = std::min(most, bytes - at)});
    }
  }
}

void CarriedPart::Making::add_parts() {
  const Task& task = made.task_;
  const Shape& in_tile = task.shapes.front().of(self);
  const Shape& out_tile = task.shapes.back().of(self);
  for (std::size_t other = 0; other < own.to.size(); ++other) {
    const auto node = static_cast<std::size_t>(nodes.number[other]);
    if (!own.to[other].empty()) {
      made.packed_.push_back({{copy::End::source, task.element_bytes, in_tile, own.to[other]},
                              out[node] + static_cast<Size>(std::exchange(sent_before[node], 0))});
      out[node] = made.packed_.back().offset + made.packed_.back().boxes.bytes();
    }
    if (!own.from[other].empty()) {
      made.unpacked_.push_back({{copy::End::target, task.element_bytes, out_tile, own.from[other]},
                                in[node] + static_cast<Size>(got_before[other])});
    }
    in[node] += static_cast<Size>(got[other]);
  }
}

Result<void> CarriedPart::Making::make() {
  place_blocks();
  add_parts();
  std::stable_partition(made.carried_.begin(), made.carried_.end(),
                        [](const Message& message) { return message.received; });
  made.messages_.emplace(made.task_.comm, made.carried_.size());
  Size held = 0;
  for (const auto* const parts : {&made.packed_, &made.unpacked_}) {
    held += static_cast<Size>(parts->capacity() * sizeof(Part));
    for (const Part& part : *parts) held += part.boxes.held_bytes();
  }
  made.task_.meter.add(
      held + static_cast<Size>(made.carried_.capacity() * (sizeof(Message) + sizeof(MPI_Request))));
  return {};
}

Result<void> CarriedPart::make_ready(std::span<std::byte> blocks) {
  blocks_ = blocks;
  const Nodes& nodes = task_.nodes;
  const int self = task_.comm.process();
  Making making{*this, nodes, self, nodes.number[static_cast<std::size_t>(self)]};
  const auto looked = or_out_of_memory([&] { return making.look(); });
  if (auto agreed = task_.comm.agree(looked); !agreed) return agreed;
  making.share();
  const auto made = or_out_of_memory([&] { return making.make(); });
  std::uint64_t silent = hears_of_all_ ? 0 : 1;
  auto agreed = agree_on_maxima(task_.comm, made, std::span(&silent, 1));
  hears_of_all_ = silent == 0;
  return agreed;
}

void CarriedPart::pack(std::span<const std::byte> in) {
  for (Part& part : packed_) {
    copy::BoxStream::Cursor cursor;
    Size done = 0;
    while (!part.boxes.finished(cursor)) {
      done += part.boxes.pack(cursor, in.data(), blocks_.data() + part.offset + done,
                              part.boxes.bytes() - done);
    }
  }
}

Result<void> CarriedPart::begin(bool good) {
  for (std::size_t place = 0; place < carried_.size(); ++place) {
    const Message& message = carried_[place];
    const auto bytes = blocks_.subspan(static_cast<std::size_t>(message.offset),
                                       static_cast<std::size_t>(message.bytes));
    auto begun = message.received ? messages_->receive(place, bytes, message.other)
                                  : messages_->send(place, bytes, message.other, !good);
    if (!begun) return begun;
  }
  under_way_ = carried_.size();
  return {};
}

Result<bool> CarriedPart::finish() {
  bool refusing = false;
  for (; under_way_ > 0; --under_way_) {
    const auto through = messages_->wait();
    if (!through) return tl::unexpected(through.error());
    refusing = refusing || (carried_[through->place].received && through->refusing);
  }
  return refusing;
}

void CarriedPart::unpack(std::span<std::byte> out) {
  for (Part& part : unpacked_) {
    copy::BoxStream::Cursor cursor;
    Size done = 0;
    while (!part.boxes.finished(cursor)) {
      done += part.boxes.unpack(cursor, blocks_.data() + part.offset + done, out.data(),
                                part.boxes.bytes() - done);
    }
  }
}

Size CarriedPart::received_bytes() const {
  Size sum = 0;
  for (const Part& part : unpacked_) sum += part.boxes.bytes();
  return sum;
}

}  // namespace retile::mpi
