// What is to be moved, and what the strategies make of it. Not a public header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/exchange/tile_exchange.h"
#include "retile/exec/mpi/agreement.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/nodes.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::mpi {

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

/// What is to be moved, and through how much. comm, nodes and meter outlive the mover, the rest only
/// its making.
struct Task {
  const Communicator& comm;
  const Nodes& nodes;
  Meter& meter;
  const Program& program;
  const std::vector<Shape>& shapes;  ///< of the tiles before the first step and after each
  Size element_bytes = 1;
  bool own_buffers = false;
  Size chunk_bytes = 1;  ///< as in Options, or less where a memory limit asks for it
  Size message_bytes = 1;

  [[nodiscard]] std::size_t rank() const { return shapes.front().size(); }
  [[nodiscard]] Size in_bytes() const { return box_bytes(shapes.front(), element_bytes); }
  [[nodiscard]] Size out_bytes() const { return box_bytes(shapes.back(), element_bytes); }
  [[nodiscard]] Task with_chunks(Size bytes) const {
    Task out = *this;
    out.chunk_bytes = bytes;
    return out;
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
  /// What the meter never exceeds on any process, tiles included.
  Size limit_bytes = 0;
  /// Collective; fails on all processes or on none.
  std::function<Result<std::unique_ptr<Mover>>()> make = {};
};

/// Not collective, and the same on all processes. The error says why the strategy cannot be used.
/// What the task refers to, and `exchange`, must outlive what is prepared.
[[nodiscard]] Result<Prepared> prepare_collectives(const Task& task);
/// \param exchange     the whole Program
/// \param by_messages  what stays on a node goes by messages, too
[[nodiscard]] Result<Prepared> prepare_exchange(const Task& task, const Exchange& exchange,
                                                bool by_messages);
[[nodiscard]] Result<Prepared> prepare_in_place(const Task& task);

}  // namespace retile::mpi
