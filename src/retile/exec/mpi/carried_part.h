// What crosses nodes in few messages: the processes of a node put it into memory that they share, one of
// them, the *carrier*, sends it to the other node as it lies, and there all take out what is theirs.
// Not a public header.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "retile/exec/copy/box_stream.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/own_exchange.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// What goes from one node to another is one block: by source, for each by target, the boxes of these two as
/// a BoxStream packs them. It is cut into messages of bounded size. Message k between node a and node b is
/// carried by members (k + b) mod m of a and (k + a) mod m of b, with m the processes of the node, so the
/// work is dealt out where there are several nodes or messages.
///
/// Blocks lie in the memory of member 0, those that go out first. No early read: a carrier sends when all
/// of its node have packed, and unpacking begins when all carriers of the node have received. No early write: nobody
/// packs before all carriers have sent, and carriers receive when all have unpacked. For both the caller
/// has barriers: before begin(), and behind finish().
class CarriedPart {
 public:
  CarriedPart(const Task& task, const OwnExchange& exchange);

  /// Bytes of shared memory in which blocks lie; the same on all processes. The largest Size where they
  /// are more: then it cannot be made ready.
  [[nodiscard]] Size memory_bytes() const;
  /// What this part never counts more than, on any process, beside that memory.
  [[nodiscard]] Size limit_bytes() const;
  /// Collective.
  /// \param blocks  memory_bytes() of the memory of member 0
  /// \error mpi_error (out of memory), on all processes
  [[nodiscard]] Result<void> make_ready(std::span<std::byte> blocks);

  /// Puts what this process has for other nodes into their blocks.
  void pack(std::span<const std::byte> in);
  /// Begins what this process carries. Precondition: all of the node have packed.
  /// \param good  whether they were all given right buffers; else others are told so
  [[nodiscard]] Result<void> begin(bool good);
  /// Waits until what this process carries is through: whether somebody told of wrong buffers.
  [[nodiscard]] Result<bool> finish();
  /// Precondition: all carriers of the node have finished.
  void unpack(std::span<std::byte> out);

  /// Whether every node gets a message from every other one, and so hears of all wrong buffers.
  [[nodiscard]] bool hears_of_all() const { return hears_of_all_; }
  [[nodiscard]] Size received_bytes() const;

 private:
  /// What this process has for another one, or gets from it.
  struct Part {
    copy::BoxStream boxes;
    Size offset;  ///< in the blocks
  };
  /// A message that this process carries.
  struct Message {
    bool received;
    int other;
    Size offset;  ///< in the blocks
    Size bytes;
  };
  struct Making;
  /// At most; of every message but the last of a block.
  [[nodiscard]] Size message_bytes() const;
  [[nodiscard]] Size most_blocks() const { return task_.nodes.count - 1; }

  const Task task_;
  const OwnExchange* exchange_;
  std::span<std::byte> blocks_;
  std::vector<Part> packed_;
  std::vector<Part> unpacked_;
  std::vector<Message> carried_;
  std::optional<Messages> messages_;  ///< once it is known how many are carried
  std::size_t under_way_ = 0;
  bool hears_of_all_ = false;
};

}  // namespace retile::mpi
