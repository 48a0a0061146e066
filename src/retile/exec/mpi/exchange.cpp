// The whole Program as one exchange, which is split in two: what stays on a node goes through the
// memory that its processes share, what leaves it in messages.
//
// A transfer is in one of the parts, so together they write what the exchange writes, and no byte
// of a tile is written by both. The messages are begun, the part of the node is done, the messages
// are waited for. No deadlock: the part of the node waits for processes of the same node only, which
// come to it without having waited for anything, and which wait for no message in it. So all get to
// the messages.
//
// Where all processes are on one node there are no messages; where nothing stays on a node, and
// where that is asked for, there is nothing else.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "retile/exec/mpi/messages.h"
#include "retile/exec/mpi/node_part.h"

namespace retile::mpi {
namespace {

/// Most bytes of chunk_bytes for the slots of the part of the node.
constexpr Size most_node_chunk_bytes = Size{1} << 20;

/// What each part does, and through how much.
struct Parts {
  Task node;  ///< where on_node
  Task messages;
  bool on_node = false;
  bool by_messages = false;
  Slots slots = {};
  Elsewhere elsewhere = {};  ///< of the messages

  Parts(const Task& task, bool all_by_messages)
      : node(task),
        messages(task),
        on_node(!all_by_messages),
        by_messages(all_by_messages || task.nodes.count > 1) {
    if (on_node && by_messages) {
      const Nodes& nodes = task.nodes;
      elsewhere = [&nodes](const Transfer& transfer) { return nodes.together(transfer); };
      if (!task.own_buffers) {  // else there are no slots in shared memory
        node.chunk_bytes = std::max<Size>(std::min(task.chunk_bytes / 2, most_node_chunk_bytes), 1);
        messages.chunk_bytes = std::max<Size>(task.chunk_bytes - node.chunk_bytes, 1);
      }
    }
    slots = Slots::of(messages);
  }
};

class ExchangeMover final : public Mover {
 public:
  /// Collective; fails on all processes or on none.
  [[nodiscard]] Result<void> make(const Parts& parts, const Exchange& exchange) {
    if (parts.on_node) {
      if (auto made = node_.emplace().make(parts.node, exchange); !made) return made;
    }
    if (!parts.by_messages) return {};
    const auto ready = or_out_of_memory([&] {
      return messages_.emplace(parts.messages, parts.slots)
          .prepare(parts.messages, exchange, parts.elsewhere);
    });
    return agree(parts.messages.comm, ready);
  }

  [[nodiscard]] bool agrees() const override { return !messages_; }
  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    if (!messages_) return node_->run(in, out);
    if (auto begun = messages_->begin(in, out); !begun) return begun;
    if (node_) {
      if (auto moved = node_->run(in, out); !moved) return moved;
    }
    return messages_->finish(in, out);
  }
  [[nodiscard]] Size received_bytes() const override {
    return (node_ ? node_->received_bytes() : 0) + (messages_ ? messages_->received_bytes() : 0);
  }
  [[nodiscard]] std::span<std::byte> input() const override {
    return node_ ? node_->input() : std::span<std::byte>();
  }
  [[nodiscard]] std::span<std::byte> output() const override {
    return node_ ? node_->output() : std::span<std::byte>();
  }

 private:
  std::optional<NodePart> node_;
  std::optional<MessagePart> messages_;
};

}  // namespace

Result<Prepared> prepare_exchange(const Task& task, const Exchange& exchange, bool by_messages) {
  const Parts parts(task, by_messages);
  // The tiles lie in the memory of the node where they are the library's.
  Size limit = parts.on_node && task.own_buffers ? 0 : task.in_bytes() + task.out_bytes();
  if (parts.on_node) limit += NodePart::limit_bytes(parts.node, exchange);
  if (parts.by_messages) {
    limit += MessagePart::limit_bytes(parts.messages, exchange, parts.elsewhere, parts.slots);
  }
  return Prepared{.limit_bytes = limit,
                  .make = [parts, &exchange]() -> Result<std::unique_ptr<Mover>> {
                    auto mover = std::make_unique<ExchangeMover>();
                    if (auto made = mover->make(parts, exchange); !made) {
                      return tl::unexpected(made.error());
                    }
                    return mover;
                  }};
}

}  // namespace retile::mpi
