// What is to be moved, and what the strategies make of it. Not a public header.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/sums.h"
#include "retile/exec/exchange/tile_exchange.h"
#include "retile/exec/mpi/agreement.h"
#include "retile/exec/mpi/context.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/mpi/nodes.h"
#include "retile/exec/mpi/options.h"
#include "retile/exec/mpi/placement.h"
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

/// What is to be moved, and through how much. context and meter outlive the mover, the rest
/// only its make_ready().
struct Task {
  Context& context;
  const Communicator& comm;  ///< of the context
  const Nodes& nodes;        ///< likewise
  Meter& meter;
  const Program& program;
  const std::vector<DeviceShapes>& shapes;  ///< before the first step and after each
  Size element_bytes;
  const Options& options;
  Size chunk_bytes;  ///< as in the options, or less where a memory limit asks for it
  std::optional<add::Adder> adder = {};  ///< of a Program that adds
  /// Where tiles lie in larger arrays; then `shapes` has the arrays in the place of the end tiles.
  const Placement* placement = nullptr;

  [[nodiscard]] std::size_t rank() const { return program.from.rank(); }
  /// Of this process's tiles.
  [[nodiscard]] Size in_bytes() const { return bytes_of(shapes.front()); }
  [[nodiscard]] Size out_bytes() const { return bytes_of(shapes.back()); }
  /// Of the largest: limits, and places in memory that others look at, are the same on all processes.
  [[nodiscard]] Size most_in_bytes() const { return most_bytes_of(shapes.front()); }
  [[nodiscard]] Size most_out_bytes() const { return most_bytes_of(shapes.back()); }
  /// Of all tiles before the first step and after each, for who takes no others.
  /// \error unsupported (the tiles are not all alike, or a step goes along several dimensions)
  [[nodiscard]] Result<std::vector<Shape>> alike() const {
    if (auto each = shapes_alike(shapes)) return *std::move(each);
    const bool along = std::any_of(program.steps.begin(), program.steps.end(), over_dims);
    return refuse({.code = Code::unsupported,
                   .message = fmt::format("{}, which inplace does not take so far",
                                          along ? "a step goes along several dimensions"
                                                : "the tiles are not all alike")});
  }
  [[nodiscard]] Task with_chunks(Size bytes) const {
    Task out = *this;
    out.chunk_bytes = bytes;
    return out;
  }

 private:
  [[nodiscard]] Size bytes_of(const DeviceShapes& tiles) const {
    return box_bytes(tiles.of(comm.process()), element_bytes);
  }
  [[nodiscard]] Size most_bytes_of(const DeviceShapes& tiles) const {
    return box_bytes(tiles.largest(), element_bytes);
  }
};

/// One strategy for a task: made ready once, where it is taken at all, then run many times.
class Mover {
 public:
  Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  virtual ~Mover() = default;

  /// What the meter never exceeds on any process, tiles included; the same on all processes. Known
  /// before make_ready().
  [[nodiscard]] virtual Size limit_bytes() const = 0;
  /// Collective; fails on all processes or on none.
  [[nodiscard]] virtual Result<void> make_ready() = 0;

  /// Whether move() itself finds out that a process was given wrong buffers. Such a process calls it with
  /// an input of another size than its tile. Then the error is bad_argument on all, and outputs hold
  /// anything.
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

// Not collective, and the same on all processes. An error says why the strategy cannot be used.

[[nodiscard]] Result<std::unique_ptr<Mover>> collectives(const Task& task);
/// The same, but that boxes of what is added, and of exchanges, go one by one to who owns them, who
/// adds them in the order of add/order.h: for Programs with addends whose steps are too much for
/// summing().
[[nodiscard]] std::unique_ptr<Mover> adding_in_order(const Task& task);
class OwnExchange;
/// How an exchange goes.
enum class Haul {
  memory,    ///< through the memory of a node, and in messages what crosses nodes
  messages,  ///< what stays on a node goes by messages, too
};
/// \param exchange  the whole Program's, its list taken; outlives make_ready()
[[nodiscard]] std::unique_ptr<Mover> exchanging(const Task& task, const OwnExchange& exchange,
                                                Haul haul);
/// The whole of a Program with addends at once.
/// \param sums         of the Program; outlive make_ready()
/// \param by_messages  else all processes are on one node
[[nodiscard]] std::unique_ptr<Mover> summing(const Task& task, const add::Sums& sums,
                                             bool by_messages);
[[nodiscard]] Result<std::unique_ptr<Mover>> in_place(const Task& task);

}  // namespace retile::mpi
