#include "retile/exec/mpi/node_part.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace retile::mpi {
namespace {

using team::SharedKind;
using team::SharedMemory;
using team::Team;

constexpr Size page_bytes = 4096;
constexpr Size most_slots_bytes = Size{1} << 20;  // more would leave the caches
constexpr Size slot_alignment = 64;

/// A tile up to here is copied in less time than a barrier takes, which is longer the more wait for
/// it, and the copies stay in a second-level cache.
Size most_copied_bytes(int processes) {
  return std::min(Size{processes} * (Size{4} << 10), Size{64} << 10);
}

/// The most transfers within a node in which one process takes part; one from it to itself counts
/// twice.
Size most_transfers(const Exchange& exchange, const Nodes& nodes) {
  std::vector<Size> transfers(nodes.first.size(), 0);
  for (const Transfer& transfer : exchange.transfers) {
    if (!nodes.together(transfer)) continue;
    ++transfers[static_cast<std::size_t>(transfer.source)];
    ++transfers[static_cast<std::size_t>(transfer.target)];
  }
  return *std::max_element(transfers.begin(), transfers.end());
}

/// Of an exchange the transfers on this process's node, by numbers on that node.
TileExchange on_this_node(const Task& task, const Exchange& exchange) {
  TileExchange out{.exchange = {},
                   .in_tile = task.shapes.front(),
                   .out_tile = task.shapes.back(),
                   .element_bytes = task.element_bytes,
                   .whole = task.nodes.count == 1};
  const int here = task.nodes.first[static_cast<std::size_t>(task.comm.process())];
  const auto stays_here = [&](const Transfer& transfer) {
    return task.nodes.together(transfer) &&
           task.nodes.first[static_cast<std::size_t>(transfer.source)] == here;
  };
  out.exchange.transfers.reserve(static_cast<std::size_t>(
      std::count_if(exchange.transfers.begin(), exchange.transfers.end(), stays_here)));
  for (const Transfer& transfer : exchange.transfers) {
    if (!stays_here(transfer)) continue;
    Transfer& moved = out.exchange.transfers.emplace_back(transfer);
    moved.source = task.nodes.member[static_cast<std::size_t>(transfer.source)];
    moved.target = task.nodes.member[static_cast<std::size_t>(transfer.target)];
  }
  return out;
}

}  // namespace

Size in_pages(Size bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

Size TeamOfProcesses::control_bytes(int processes) {
  return in_pages(Team::control_bytes(processes));
}

Result<void> TeamOfProcesses::make(const Communicator& comm, Size memory_bytes) {
  if (auto made = share_control(comm); !made) return made;
  Result<void> mine;
  Team empty(control_.bytes().data(), comm.process(),
             std::vector<std::span<std::byte>>(static_cast<std::size_t>(comm.processes())));
  auto shared = team::share_memory(empty, memory_bytes);
  if (!shared) mine = tl::unexpected(shared.error());
  if (auto agreed = agree(comm, mine); !agreed) return agreed;
  memories_ = std::move(*shared);
  team_.emplace(control_.bytes().data(), comm.process(), team::spans_of(memories_));
  return {};
}

/// Collective; the control block of all, in a segment with a name where another one cannot be made
/// or reached, as with tiles (share_memory).
Result<void> TeamOfProcesses::share_control(const Communicator& comm) {
  auto anonymous = share_control(comm, SharedKind::anonymous);
  if (anonymous) return anonymous;
  // All have the same error, so all try again.
  auto named = share_control(comm, SharedKind::named);
  if (named) return named;
  named.error().notes.push_back("without a name: " + anonymous.error().message);
  return named;
}

Result<void> TeamOfProcesses::share_control(const Communicator& comm, SharedKind kind) {
  const Size bytes = control_bytes(comm.processes());
  const bool first = comm.process() == 0;
  Result<void> mine;
  std::array<std::uint64_t, 2> words{};
  if (first) {
    auto made = SharedMemory::create(bytes, kind);
    if (made) {
      control_ = std::move(*made);
      Team::initialise(control_.bytes().data(), comm.processes());
      words = {control_.handle().place, control_.handle().identity};
    } else {
      mine = tl::unexpected(made.error());
    }
  }
  if (auto agreed = agree(comm, mine); !agreed) return agreed;
  or_abort(comm, comm.broadcast(std::as_writable_bytes(std::span(words)), 0));
  if (!first) {
    auto found = SharedMemory::attach({.place = words[0], .identity = words[1]}, bytes);
    if (found) {
      control_ = std::move(*found);
    } else {
      mine = tl::unexpected(found.error());
    }
  }
  auto agreed = agree(comm, mine);
  if (!agreed) control_ = SharedMemory();
  control_.unlink();
  return agreed;
}

Segment Segment::of(const Task& task, int processes) {
  Segment out;
  out.places.slots_bytes = 0;
  if (task.own_buffers) {
    out.output_offset = in_pages(task.in_bytes());
    out.bytes = out.output_offset + in_pages(task.out_bytes());
  }
  if (task.in_bytes() <= most_copied_bytes(task.comm.processes())) {
    out.places.copies = true;
    out.places.copies_offset = out.bytes;
    out.bytes += in_pages(team::copies_bytes(task.in_bytes()));
    return out;
  }
  if (task.own_buffers) return out;
  const Size others = processes - 1;
  if (others == 0) {
    out.bytes = page_bytes;
    return out;
  }
  // Two slots for every other process.
  const Size each = 2 * others * slot_alignment;
  const Size most = std::min(task.chunk_bytes, most_slots_bytes) / page_bytes;
  out.bytes = std::max(most * page_bytes, in_pages(each));
  out.places.slots_bytes = out.bytes / each * each;
  return out;
}

Size NodePart::limit_bytes(const Task& task, const Exchange& exchange) {
  const int most = task.nodes.most_processes;
  const Segment segment = Segment::of(task, most);
  const Size described =
      team::shared_bound_bytes(most, most_transfers(exchange, task.nodes), task.rank(),
                               segment.places) -
      segment.places.slots_bytes;
  return segment.bytes + described + TeamOfProcesses::control_bytes(most);
}

Result<void> NodePart::make(const Task& task, const Exchange& exchange) {
  // The processes of a node fail together, but other nodes do not know.
  return agree(task.comm, make_on_node(task, exchange));
}

/// Collective over a node.
Result<void> NodePart::make_on_node(const Task& task, const Exchange& exchange) {
  const Communicator& node = task.nodes.mine;
  const Segment segment = Segment::of(task, node.processes());
  if (auto made = team_.make(node, segment.bytes); !made) return made;
  TileExchange here;
  const auto copied = or_out_of_memory([&]() -> Result<void> {
    here = on_this_node(task, exchange);
    return {};
  });
  if (auto agreed = agree(node, copied); !agreed) return agreed;
  auto made = team::SharedExchange::create(team_.team(), here, segment.places);
  // All have failed or none has, but each with words of its own.
  const Result<void> mine = made ? Result<void>() : tl::unexpected(made.error());
  if (auto agreed = agree(node, mine); !agreed) return agreed;
  exchange_.emplace(std::move(*made));
  if (task.own_buffers) {
    input_ = team_.memory().first(static_cast<std::size_t>(task.in_bytes()));
    output_ = team_.memory().subspan(static_cast<std::size_t>(segment.output_offset),
                                     static_cast<std::size_t>(task.out_bytes()));
  }
  // Own tiles are counted here for good; those of others when they are given.
  task.meter.add(exchange_->held_bytes() - segment.places.slots_bytes + segment.bytes +
                 TeamOfProcesses::control_bytes(node.processes()));
  for (const Transfer& transfer : here.exchange.transfers) {
    if (transfer.target != node.process() || transfer.source == transfer.target) continue;
    received_bytes_ += box_bytes(transfer.shape, task.element_bytes);
  }
  return {};
}

Result<void> NodePart::run(std::span<const std::byte> in, std::span<std::byte> out) {
  auto moved = exchange_->run(in, out);
  if (!moved) return refuse(std::move(moved.error()));
  return {};
}

}  // namespace retile::mpi
