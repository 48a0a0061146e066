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

class ExchangeMover final : public Mover {
 public:
  ExchangeMover(const Task& task, const OwnExchange& exchange, bool by_messages) : Mover(task) {
    const bool leaves_node = task.nodes.count > 1;
    if (by_messages) {
      messages_.emplace(task, exchange, Elsewhere());
    } else if (!leaves_node) {
      node_.emplace(task, exchange);
    } else {
      Size node_chunks = task.chunk_bytes;
      Size message_chunks = task.chunk_bytes;
      if (!task.options.own_buffers) {  // else there are no slots in shared memory
        node_chunks = std::max<Size>(std::min(task.chunk_bytes / 2, most_node_chunk_bytes), 1);
        message_chunks = std::max<Size>(task.chunk_bytes - node_chunks, 1);
      }
      node_.emplace(task.with_chunks(node_chunks), exchange);
      messages_.emplace(
          task.with_chunks(message_chunks), exchange,
          [&nodes = task.nodes](const Transfer& transfer) { return nodes.together(transfer); });
    }
  }

  [[nodiscard]] Size limit_bytes() const override {
    // The tiles lie in the memory of the node where they are the library's.
    const bool in_memory = node_ && task_.options.own_buffers;
    return (in_memory ? 0 : task_.most_in_bytes() + task_.most_out_bytes()) +
           (node_ ? node_->limit_bytes() : 0) + (messages_ ? messages_->limit_bytes() : 0);
  }
  [[nodiscard]] Result<void> make_ready() override {
    if (node_) {
      if (auto made = node_->make_ready(); !made) return made;
    }
    if (!messages_) return {};
    return task_.comm.agree(or_out_of_memory([&] { return messages_->make_ready(); }));
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

std::unique_ptr<Mover> exchanging(const Task& task, const OwnExchange& exchange, bool by_messages) {
  return std::make_unique<ExchangeMover>(task, exchange, by_messages);
}

}  // namespace retile::mpi
