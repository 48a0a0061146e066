// How the processes of an exchange reach each other on the host. The executor for devices needs no
// more of its surroundings than this, so it runs under MPI, under a launcher of its own, or between
// threads.
#pragma once

#include <cstddef>
#include <span>

#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::cuda {

/// One member's view. barrier(), gather() and send_receive() are collective, or have a partner, and
/// members make them in the same order.
class Transport {
 public:
  /// Most bytes that a member may bring to gather().
  static constexpr std::size_t most_gathered_bytes = 512;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int member() const = 0;
  [[nodiscard]] virtual int members() const = 0;

  /// How many members of lower number run on this member's machine: members of a machine take its
  /// GPUs in turn.
  [[nodiscard]] virtual int place_on_machine() const = 0;
  /// Whether that member runs on this member's machine, without which it cannot open memory there.
  [[nodiscard]] virtual bool on_same_machine(int member) const = 0;
  /// Whether send_receive() takes memory of a device as well.
  [[nodiscard]] virtual bool takes_device_memory() const = 0;

  /// Waits until all members have called it. What a member did on the host before is seen by all
  /// after it.
  [[nodiscard]] virtual Result<void> barrier() = 0;

  /// Everybody's bytes, member after member, to everybody. Precondition: as many bytes on every
  /// member, at most most_gathered_bytes; all.size() == members() * mine.size().
  [[nodiscard]] virtual Result<void> gather(std::span<const std::byte> mine,
                                            std::span<std::byte> all) = 0;

  /// Sends to one member while it receives from another, at most 2^30 bytes; complete on return. The
  /// partners call it with buffers of the same size. Where a buffer is empty its member does not
  /// matter and need not call.
  /// Precondition: members call it in rounds in which everyone's partners are of the same round.
  [[nodiscard]] virtual Result<void> send_receive(int target, std::span<const std::byte> out,
                                                  int source, std::span<std::byte> in) = 0;

  /// Ends the waits of the others with an error. For a member that cannot go on; need not return.
  virtual void give_up(const Diagnostic& why) = 0;
};

/// All members learn whether all could: nothing where everybody's `mine` is good, else an error on
/// all: its own for who failed, for the others the code and message of the first that did.
/// Collective.
[[nodiscard]] Result<void> agree(Transport& transport, const Result<void>& mine);

}  // namespace retile::cuda
