// The whole Program as one exchange, which is split in two: what stays on a node goes through the
// memory that its processes share, what leaves it in messages.
//
// A transfer is in one of the parts, so together they write what the exchange writes, and no byte
// of a tile is written by both. The messages are begun, the part of the node is done, the messages
// are waited for. No deadlock: the part of the node waits for processes of the same node only, which
// come to it without having waited for anything, and which wait for no message in it. So all get to
// the messages.
//
// Whoever was given wrong buffers does all that others wait for, with bytes that mean nothing. Its
// messages say so. Where not everyone gets a message from everyone, all poll while they are under way.
// Where some message is so long that only a tile holds it, all agree before they begin.
//
// Where all processes are on one node there are no messages; where nothing stays on a node, and
// where that is asked for, there is nothing else.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "retile/exec/mpi/messages.h"
#include "retile/exec/mpi/node_part.h"

namespace retile::mpi {
namespace {

/// Most bytes of chunk_bytes for the slots of the part of the node.
constexpr Size most_node_chunk_bytes = Size{1} << 20;

/// What is left of chunk_bytes for messages, where there is a part of the node beside them.
Size chunks_beside_node(const Task& task) {
  if (task.options.own_buffers) return task.chunk_bytes;  // no slots in shared memory
  const Size node = std::min(task.chunk_bytes / 2, most_node_chunk_bytes);
  return std::max<Size>(task.chunk_bytes - std::max<Size>(node, 1), 1);
}

Size node_chunks(const Task& task) {
  if (task.options.own_buffers) return task.chunk_bytes;
  return std::max<Size>(std::min(task.chunk_bytes / 2, most_node_chunk_bytes), 1);
}

class ExchangeMover final : public Mover {
 public:
  ExchangeMover(const Task& task, const OwnExchange& exchange, Haul haul)
      : task_(task),
        refusals_(task.comm),
        in_bytes_(task.in_bytes()),
        out_bytes_(task.out_bytes()),
        nobody_polls_(task.options.wrong_buffers == WrongBuffers::end_job) {
    const bool leaves_node = task.nodes.count > 1;
    if (haul == Haul::messages) {
      messages_.emplace(task, exchange, Elsewhere());
    } else if (!leaves_node) {
      node_.emplace(task, exchange);
    } else {
      const Size message_chunks = chunks_beside_node(task);
      node_.emplace(task.with_chunks(node_chunks(task)), exchange);
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
    const auto made = or_out_of_memory([&] { return messages_->make_ready(); });
    // Whether somebody is silent to somebody, and whether somebody needs good tiles.
    std::array<std::uint64_t, 2> of_all{made && messages_->hears_of_all() ? 0U : 1U,
                                        made && messages_->needs_tiles() ? 1U : 0U};
    auto agreed = agree_on_maxima(task_.comm, made, of_all);
    agrees_ = of_all[1] == 0;
    nobody_polls_ = nobody_polls_ || of_all[0] == 0 || !agrees_;
    return agreed;
  }

  [[nodiscard]] bool agrees() const override { return agrees_; }
  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    if (!messages_) return node_->run(in, out);
    const bool good =
        static_cast<Size>(in.size()) == in_bytes_ && static_cast<Size>(out.size()) == out_bytes_;
    if (!nobody_polls_) {
      if (auto begun = refusals_.begin(good ? 0 : 1); !begun) return begun;
    }
    const MessagePart::Tiles tiles{good, in, out};
    if (auto begun = messages_->begin(tiles); !begun) return begun;
    const Result<void> moved = node_ ? node_->run(in, out) : Result<void>();
    if (!moved && moved.error().code != Code::bad_argument) return moved;
    if (auto through = messages_->finish(tiles); !through) return through;
    const auto refused =
        nobody_polls_ ? Result<std::uint64_t>(messages_->refused() ? 1 : 0) : refusals_.finish();
    if (!refused) return tl::unexpected(refused.error());
    if (*refused != 0) return wrong_buffers();
    if (moved) return {};
    Diagnostic error = moved.error();  // right sizes, but where the node's others cannot reach them
    error.code = Code::shared_memory_error;
    return refuse(std::move(error));
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
  static Result<void> wrong_buffers() {
    return refuse({.code = Code::bad_argument, .message = "wrong buffers"});  // needs no memory
  }

  std::optional<NodePart> node_;
  std::optional<MessagePart> messages_;
  const Task task_;
  Poll refusals_;  ///< of who was given wrong buffers
  Size in_bytes_;
  Size out_bytes_;
  /// Everyone hears from everyone else; or nobody has to hear of that, or all agreed before.
  bool nobody_polls_;
  /// No message is longer than a slot: then whoever has wrong buffers can do without.
  bool agrees_ = true;
};

}  // namespace

std::unique_ptr<Mover> exchanging(const Task& task, const OwnExchange& exchange, Haul haul) {
  return std::make_unique<ExchangeMover>(task, exchange, haul);
}

}  // namespace retile::mpi
