// The whole Program as one exchange of messages: every box goes straight from the process that
// holds it to the one that needs it, packed into slots of bounded size.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "retile/exec/copy/box_stream.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/mpi/mover.h"

namespace retile::mpi {
namespace {

using copy::BoxStream;
using copy::End;

constexpr Size most_slots = 8;                     // in either direction
constexpr Size most_slot_bytes = Size{512} << 10;  // so that packing stays in a level-2 cache

struct Slots {
  Size count = 1;
  Size bytes = 1;
};

Slots slots_of(const MoverProblem& problem) {
  const Size chunk = std::max(problem.options.chunk_bytes, 2 * problem.element_bytes);
  Slots slots{.count = std::min(most_slots, chunk / (2 * problem.element_bytes)), .bytes = 0};
  slots.bytes = std::min({chunk / (2 * slots.count), most_slot_bytes,
                          std::max(problem.options.message_bytes, problem.element_bytes)});
  return slots;
}

/// The messages of one direction, in the order in which they go: by distance of the other process,
/// so that at any time everyone sends to another one.
class Queue {
 public:
  /// Where a message begins.
  struct Message {
    std::size_t traffic = 0;
    BoxStream::Cursor cursor;
  };

  void reserve(std::size_t others) { traffic_.reserve(others); }
  void add(int other, BoxStream boxes) { traffic_.push_back({other, std::move(boxes)}); }
  void rewind() { next_ = {}; }
  /// The next message, or nothing when all have gone; whoever takes it moves it on.
  [[nodiscard]] Message* next() {
    while (next_.traffic < traffic_.size() && boxes(next_).finished(next_.cursor)) {
      next_ = {.traffic = next_.traffic + 1, .cursor = {}};
    }
    return next_.traffic < traffic_.size() ? &next_ : nullptr;
  }
  [[nodiscard]] BoxStream& boxes(const Message& message) { return traffic_[message.traffic].boxes; }
  [[nodiscard]] int other(const Message& message) const { return traffic_[message.traffic].other; }
  [[nodiscard]] Size bytes() const {
    Size sum = 0;
    for (const Traffic& traffic : traffic_) sum += traffic.boxes.bytes();
    return sum;
  }
  [[nodiscard]] Size held_bytes() const {
    auto sum = static_cast<Size>(traffic_.capacity() * sizeof(Traffic));
    for (const Traffic& traffic : traffic_) sum += traffic.boxes.held_bytes();
    return sum;
  }
  /// What held_bytes() never exceeds with room for `others` processes, but for their boxes.
  [[nodiscard]] static Size bound_bytes(Size others, std::size_t rank) {
    return others * (Size{sizeof(Traffic)} + BoxStream::object_bytes(rank));
  }

 private:
  struct Traffic {
    int other;
    BoxStream boxes;
  };
  std::vector<Traffic> traffic_;
  Message next_;
};

/// Everyone sends what it has for the process one after it, then for the one two after it, ..; up
/// to `slots` messages in either direction are under way.
///
/// No deadlock: of all messages that are not through, one to the least distance is in a slot of its
/// sender, whose earlier ones are all through, and for the same reason expected in a slot of its
/// receiver. What is done meanwhile waits for no message, so everyone gets past it.
class Direct final : public Mover {
 public:
  Direct(const MoverProblem& problem, const Slots& slots, std::unique_ptr<Mover> meanwhile)
      : slots_(slots),
        messages_(problem.comm, static_cast<std::size_t>(2 * slots.count)),
        meanwhile_(std::move(meanwhile)) {}

  /// Only what can fail on this process alone.
  /// \error mpi_error (out of memory), and Pass's
  [[nodiscard]] Result<void> prepare(const MoverProblem& problem, const Exchange& exchange,
                                     const Meanwhile& meanwhile) {
    const int processes = problem.comm.processes();
    const Size self = problem.comm.process();
    const Shape& in_tile = problem.shapes.front();
    const Shape& out_tile = problem.shapes.back();
    const copy::DeviceTransfers own =
        copy::transfers_of(self, processes, exchange, meanwhile.moves);
    sends_.reserve(static_cast<std::size_t>(processes - 1));
    receives_.reserve(static_cast<std::size_t>(processes - 1));
    for (int distance = 1; distance < processes; ++distance) {
      const int target = (static_cast<int>(self) + distance) % processes;
      const int source = (static_cast<int>(self) + processes - distance) % processes;
      const auto& sent = own.to[static_cast<std::size_t>(target)];
      const auto& got = own.from[static_cast<std::size_t>(source)];
      if (!sent.empty()) {
        sends_.add(target, {End::source, problem.element_bytes, in_tile, sent});
      }
      if (!got.empty()) {
        receives_.add(source, {End::target, problem.element_bytes, out_tile, got});
      }
    }
    if (!own.kept.empty()) {
      auto pass = copy::Pass::make(problem.element_bytes, in_tile, out_tile, own.kept);
      if (!pass) return tl::unexpected(pass.error());
      kept_.emplace(std::move(*pass));
    }
    targets_.assign(static_cast<std::size_t>(processes), nullptr);
    self_ = static_cast<std::size_t>(self);
    expected_.assign(static_cast<std::size_t>(slots_.count), {});
    if (!memory_.allocate(2 * slots_.count * slots_.bytes, problem.meter)) {
      return refused(Code::mpi_error, fmt::format("out of memory: slots of {} bytes",
                                                  2 * slots_.count * slots_.bytes));
    }
    problem.meter.add(sends_.held_bytes() + receives_.held_bytes() +
                      (kept_ ? kept_->held_bytes() : 0));
    return {};
  }

  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    sends_.rewind();
    receives_.rewind();
    Size under_way = 0;
    for (std::size_t place = 0; place < 2 * expected_.size(); ++place) {
      auto begun = begin(place, in);
      if (!begun) return tl::unexpected(begun.error());
      under_way += *begun ? 1 : 0;
    }
    if (kept_) {
      targets_[self_] = out.data();
      kept_->push(in.data(), targets_);
    }
    if (meanwhile_) {
      if (auto moved = meanwhile_->move(in, out); !moved) return moved;
    }
    while (under_way > 0) {
      const auto place = messages_.wait();
      if (!place) return tl::unexpected(place.error());
      if (*place < expected_.size()) {
        Queue::Message message = expected_[*place];
        receives_.boxes(message).unpack(message.cursor, slot(*place).data(), out.data(),
                                        slots_.bytes);
      }
      auto begun = begin(*place, in);
      if (!begun) return tl::unexpected(begun.error());
      under_way -= *begun ? 0 : 1;
    }
    return {};
  }

  [[nodiscard]] Size received_bytes() const override {
    return receives_.bytes() + (meanwhile_ ? meanwhile_->received_bytes() : 0);
  }
  [[nodiscard]] std::span<std::byte> input() const override {
    return meanwhile_ ? meanwhile_->input() : std::span<std::byte>();
  }
  [[nodiscard]] std::span<std::byte> output() const override {
    return meanwhile_ ? meanwhile_->output() : std::span<std::byte>();
  }

 private:
  /// Begins the next message in a free place: the first half of them receive, the others send.
  /// Whether there was one.
  [[nodiscard]] Result<bool> begin(std::size_t place, std::span<const std::byte> in) {
    const bool receives = place < expected_.size();
    Queue& queue = receives ? receives_ : sends_;
    Queue::Message* const message = queue.next();
    if (message == nullptr) return false;
    const int other = queue.other(*message);
    BoxStream& boxes = queue.boxes(*message);
    Result<void> begun;
    if (receives) {
      expected_[place] = *message;
      const auto bytes = boxes.skip(message->cursor, slots_.bytes);
      begun = messages_.receive(place, slot(place).first(static_cast<std::size_t>(bytes)), other);
    } else {
      const auto bytes = boxes.pack(message->cursor, in.data(), slot(place).data(), slots_.bytes);
      begun = messages_.send(place, slot(place).first(static_cast<std::size_t>(bytes)), other);
    }
    if (!begun) return tl::unexpected(begun.error());
    return true;
  }

  [[nodiscard]] std::span<std::byte> slot(std::size_t place) const {
    return {memory_.data() + static_cast<Size>(place) * slots_.bytes,
            static_cast<std::size_t>(slots_.bytes)};
  }

  Slots slots_;
  Messages messages_;
  std::unique_ptr<Mover> meanwhile_;
  Queue sends_;
  Queue receives_;
  Buffer memory_;
  std::optional<copy::Pass> kept_;
  std::vector<std::byte*> targets_;
  std::size_t self_ = 0;
  std::vector<Queue::Message> expected_;  // what a place receives
};

/// What Direct never counts more than, on any process.
Size limit_of(const MoverProblem& problem, const Exchange& exchange, const Meanwhile& meanwhile,
              const Slots& slots) {
  const auto processes = static_cast<std::size_t>(problem.program.devices);
  std::vector<Size> ends(processes, 0);  // a box is described on both of its ends
  std::vector<Size> kept(processes, 0);
  for (const Transfer& transfer : exchange.transfers) {
    if (meanwhile.moves && meanwhile.moves(transfer)) continue;
    if (transfer.source == transfer.target) {
      ++kept[static_cast<std::size_t>(transfer.source)];
      continue;
    }
    ++ends[static_cast<std::size_t>(transfer.source)];
    ++ends[static_cast<std::size_t>(transfer.target)];
  }
  const auto most = [](const std::vector<Size>& counts) {
    return *std::max_element(counts.begin(), counts.end());
  };
  const std::size_t rank = problem.shapes.front().size();
  return problem.in_bytes + problem.out_bytes + 2 * slots.count * slots.bytes +
         2 * Queue::bound_bytes(problem.program.devices - 1, rank) +
         most(ends) * BoxStream::box_bytes(rank) + copy::Pass::bound_bytes(most(kept), rank);
}

}  // namespace

Result<Prepared> prepare_direct(const MoverProblem& problem, const Exchange& exchange,
                                const Meanwhile& meanwhile) {
  const Slots slots = slots_of(problem);
  return Prepared{
      .strategy = Strategy::direct,
      .limit_bytes = limit_of(problem, exchange, meanwhile, slots),
      .make = [&problem, &exchange, slots, meanwhile]() -> Result<std::unique_ptr<Mover>> {
        std::unique_ptr<Mover> other;
        if (meanwhile.make) {
          auto made = meanwhile.make();
          if (!made) return made;
          other = std::move(*made);
        }
        std::unique_ptr<Direct> mover;
        const auto ready = or_out_of_memory([&] {
          mover = std::make_unique<Direct>(problem, slots, std::move(other));
          return mover->prepare(problem, exchange, meanwhile);
        });
        if (auto agreed = agree(problem.comm, ready); !agreed) {
          return tl::unexpected(agreed.error());
        }
        return mover;
      }};
}

}  // namespace retile::mpi
