// What goes between nodes: every box straight from the process that holds it to the one that needs
// it, packed into slots of bounded size. Not a public header.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "retile/exec/copy/box_stream.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/mpi/own_exchange.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// Which transfers somebody else moves; none where this is empty.
using Elsewhere = std::function<bool(const Transfer&)>;

/// The messages of one direction, in the order in which they go: the first ones of all pairs, by
/// distance of the other process, then the second ones, ... So at any time everyone sends to another one, and
/// what goes to different ones from the same place in a tile goes while that is in the caches.
class MessageQueue {
 public:
  /// Where a message begins.
  struct Message {
    std::size_t traffic = 0;
    copy::BoxStream::Cursor cursor;
  };

  void reserve(std::size_t others) {
    traffic_.reserve(others);
    live_.reserve(others);
  }
  /// \param room  what a message has at most
  void add(int other, copy::BoxStream boxes, Size room) {
    traffic_.push_back({.next = {.traffic = traffic_.size(), .cursor = {}},
                        .other = other,
                        .room = room,
                        .boxes = std::move(boxes)});
  }
  void rewind();
  /// Where so much is received that the caches do not keep it, what is unpacked goes past them.
  void unpack_past_caches(Size processes_here);
  /// Makes types of what goes to or comes from one process in one short message.
  void make_types(Size element_bytes);
  /// That of a message; nothing where it goes through a slot.
  [[nodiscard]] const TileType& type(const Message& message) const {
    return traffic_[message.traffic].type;
  }
  /// The next message, or nothing when all have gone; whoever takes it moves it on.
  [[nodiscard]] Message* next();
  [[nodiscard]] copy::BoxStream& boxes(const Message& message) {
    return traffic_[message.traffic].boxes;
  }
  [[nodiscard]] int other(const Message& message) const { return traffic_[message.traffic].other; }
  [[nodiscard]] Size room(const Message& message) const { return traffic_[message.traffic].room; }
  [[nodiscard]] std::size_t others() const { return traffic_.size(); }
  [[nodiscard]] Size bytes() const;
  /// The most that goes through one slot, or would.
  [[nodiscard]] Size longest(Size slot_bytes) const;
  /// Whether some message has more than that.
  [[nodiscard]] bool passes(Size slot_bytes) const;
  [[nodiscard]] Size held_bytes() const;
  /// What held_bytes() never exceeds with room for `others` processes, but for their boxes.
  [[nodiscard]] static Size bound_bytes(Size others, std::size_t rank);

 private:
  struct Traffic {
    Message next;
    int other;
    Size room;
    copy::BoxStream boxes;
    TileType type = {};
  };
  std::vector<Traffic> traffic_;
  /// Of those that may have more messages: what comes in this round, and before it what stays for the next.
  std::vector<std::size_t> live_;
  std::size_t in_round_ = 0;
  std::size_t staying_ = 0;
};

/// Everyone sends a message to the process one after it, then to the one two after it, .., and again from
/// the first; up to 8 messages in either direction are under way, and fewer long ones where processes share
/// cores.
///
/// No deadlock: of all messages that are not through, one of the earliest round and in it of the
/// least distance is under way at its sender, whose earlier ones are all through, and for the same
/// reason expected in a slot of its receiver. What is done between begin() and finish() waits for no message, so everyone gets past
/// it.
class MessagePart {
 public:
  MessagePart(const Task& task, const OwnExchange& exchange, Elsewhere elsewhere);

  /// What this part never counts more than, on any process, beside the tiles.
  [[nodiscard]] Size limit_bytes() const;
  /// Only what can fail on this process alone.
  /// \error mpi_error (out of memory)
  [[nodiscard]] Result<void> make_ready();

  /// Whether this process has messages that no slot holds, so that it needs good tiles for them.
  [[nodiscard]] bool needs_tiles() const {
    return sends_.passes(slot_bytes_) || receives_.passes(slot_bytes_);
  }

  /// A process that was given wrong buffers sends all that others expect of it, but no bytes that
  /// mean anything, and drops what it gets: so nobody waits for it. Precondition: good, where some process
  /// needs_tiles().
  struct Tiles {
    bool good;  ///< else no byte of them is looked at
    std::span<const std::byte> in;
    std::span<std::byte> out;
  };
  /// Begins the first messages and moves what stays on this process.
  [[nodiscard]] Result<void> begin(const Tiles& tiles);
  /// Goes on with messages until all are through.
  [[nodiscard]] Result<void> finish(const Tiles& tiles);
  /// Whether this process was given wrong buffers, or a message said so of its sender. Of all others
  /// only where it hears_of_all().
  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] bool hears_of_all() const {
    return receives_.others() + 1 == static_cast<std::size_t>(task_.comm.processes());
  }
  [[nodiscard]] Size received_bytes() const { return receives_.bytes(); }

 private:
  /// What a message has at most whose transfers are these: where all lies together in the tiles of both, no
  /// slot bounds it. Both ends find the same.
  [[nodiscard]] Size room_of(std::span<const Transfer> transfers) const;
  /// Begins the next message in a free place: the first half of them receive, the others send.
  /// Whether there was one.
  [[nodiscard]] Result<bool> begin(std::size_t place, const Tiles& tiles);
  /// How many messages in either direction this process has under way.
  [[nodiscard]] Size places_here() const;
  [[nodiscard]] std::span<std::byte> slot(std::size_t place) const;

  const Task task_;
  const OwnExchange* exchange_;
  Elsewhere elsewhere_;
  Size slots_;  ///< at most, in either direction
  Size slot_bytes_;
  Messages messages_;
  MessageQueue sends_;
  MessageQueue receives_;
  Buffer memory_;
  std::optional<copy::Pass> kept_;
  /// What a place receives into its slot; nothing where it comes straight into the tile.
  std::vector<std::optional<MessageQueue::Message>> expected_;
  Size under_way_ = 0;
  bool refused_ = false;
};

}  // namespace retile::mpi
