// What the strategies have in common. Not a public header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::mpi {

/// What Options::message_bytes may be at most.
inline constexpr Size most_message_bytes = Size{1} << 30;

/// Counts what is alive, and the most that ever was.
struct Meter {
  Size live_bytes = 0;
  Size peak_bytes = 0;
  void add(Size bytes) {
    live_bytes += bytes;
    peak_bytes = std::max(peak_bytes, live_bytes);
  }
  void remove(Size bytes) { live_bytes -= bytes; }
};

/// Uninitialised bytes that a meter knows of.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] bool allocate(Size bytes, Meter& meter) {
    if (bytes == 0) return true;
    data_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
    if (data_ == nullptr) return false;
    meter.add(bytes);
    return true;
  }

  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  std::unique_ptr<std::byte[]> data_;
};

/// What is to be moved. comm and meter outlive the mover, the rest only its making.
struct MoverProblem {
  const Communicator& comm;
  const Program& program;
  const std::vector<Shape>& shapes;  ///< of the tiles before the first step and after each
  Size element_bytes = 1;
  Size in_bytes = 0;
  Size out_bytes = 0;
  const Options& options;
  Meter& meter;
};

/// Which processes share memory.
struct Nodes {
  Communicator mine;        ///< the processes of this one's node, in their order
  std::vector<int> first;   ///< for every process, the first process of its node
  std::vector<int> member;  ///< for every process, its number on its node
  int count = 0;
  int most_processes = 0;  ///< on one node
  [[nodiscard]] bool together(Size one, Size other) const {
    return first[static_cast<std::size_t>(one)] == first[static_cast<std::size_t>(other)];
  }
};

/// One strategy, ready to run.
class Mover {
 public:
  Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  virtual ~Mover() = default;

  /// Whether move() itself makes sure that no process was given wrong buffers. Such a process calls
  /// it with empty ones; then nothing moves, and the error is bad_argument on all.
  [[nodiscard]] virtual bool agrees() const { return false; }
  /// Collective. The buffers have the right sizes on all processes and overlap only where the
  /// strategy allows it. Another error than that of agrees() means that others may wait for this
  /// process.
  [[nodiscard]] virtual Result<void> move(std::span<const std::byte> in,
                                          std::span<std::byte> out) = 0;
  /// Bytes that this process gets from others in one run.
  [[nodiscard]] virtual Size received_bytes() const = 0;
  /// Own buffers, counted by the meter; empty where the strategy makes none.
  [[nodiscard]] virtual std::span<std::byte> input() const { return {}; }
  [[nodiscard]] virtual std::span<std::byte> output() const { return {}; }
};

/// A strategy before anything is made of it: what it would need.
struct Prepared {
  Strategy strategy = Strategy::collectives;
  /// What the meter never exceeds on any process, tiles included.
  Size limit_bytes = 0;
  /// Collective; fails on all processes or on none.
  std::function<Result<std::unique_ptr<Mover>>()> make;
};

/// What another mover does of an exchange while messages are under way.
struct Meanwhile {
  /// Which transfers; none where this is empty.
  std::function<bool(const Transfer&)> moves;
  /// As in Prepared. What it needs is in nobody else's limit.
  std::function<Result<std::unique_ptr<Mover>>()> make;
};

/// Not collective, and the same on all processes. The error says why the strategy cannot be used.
/// All that is given must outlive what is prepared; `exchange` is the whole Program as one
/// exchange.
[[nodiscard]] Result<Prepared> prepare_collectives(const MoverProblem& problem);
[[nodiscard]] Result<Prepared> prepare_direct(const MoverProblem& problem, const Exchange& exchange,
                                              const Meanwhile& meanwhile = {});
/// Of `exchange` only what stays on a node; the rest is left alone.
[[nodiscard]] Result<Prepared> prepare_shared(const MoverProblem& problem, const Exchange& exchange,
                                              const Nodes& nodes);
[[nodiscard]] Result<Prepared> prepare_mixed(const MoverProblem& problem, const Exchange& exchange,
                                             const Nodes& nodes);
/// Also needs all processes on one node, which the caller sees to.
[[nodiscard]] Result<Prepared> prepare_in_place(const MoverProblem& problem);

// What several of them need.

/// Elements of a shape times the bytes of one. Precondition: fits (tile_shapes).
[[nodiscard]] Size tile_bytes(const Shape& shape, Size element_bytes);

[[nodiscard]] tl::unexpected<Diagnostic> refused(Code code, std::string message,
                                                 std::string rule = {});

/// An exception on one process would leave the others waiting, so it becomes an error to agree on.
template <typename Function>
Result<void> or_out_of_memory(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return refused(Code::mpi_error, "out of memory");
  }
}

}  // namespace retile::mpi
