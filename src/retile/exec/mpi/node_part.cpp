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
  if (auto agreed = comm.agree(mine); !agreed) return agreed;
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
  if (auto agreed = comm.agree(mine); !agreed) return agreed;
  comm.broadcast(std::as_writable_bytes(std::span(words)), 0);
  if (!first) {
    auto found = SharedMemory::attach({.place = words[0], .identity = words[1]}, bytes);
    if (found) {
      control_ = std::move(*found);
    } else {
      mine = tl::unexpected(found.error());
    }
  }
  auto agreed = comm.agree(mine);
  if (!agreed) control_ = SharedMemory();
  control_.unlink();
  return agreed;
}

/// By numbers on the node whose first process is `here`.
DeviceShapes NodePart::on_node(const DeviceShapes& tiles, int here) const {
  const Nodes& nodes = task_.nodes;
  TileShapes out(static_cast<std::size_t>(nodes.mine.processes()));
  for (std::size_t device = 0; device < nodes.first.size(); ++device) {
    if (nodes.first[device] != here) continue;
    out[static_cast<std::size_t>(nodes.member[device])] = tiles.of(static_cast<Size>(device));
  }
  return DeviceShapes(std::move(out));
}

TileExchange NodePart::on_this_node(const OwnExchange& exchange) const {
  const Nodes& nodes = task_.nodes;
  TileExchange out{.exchange = {},
                   .in_tiles = task_.shapes.front(),
                   .out_tiles = task_.shapes.back(),
                   .element_bytes = task_.element_bytes};
  const int here = nodes.first[static_cast<std::size_t>(task_.comm.process())];
  if (!out.in_tiles.alike()) out.in_tiles = on_node(task_.shapes.front(), here);
  if (!out.out_tiles.alike()) out.out_tiles = on_node(task_.shapes.back(), here);
  const std::vector<Transfer>& own = exchange.exchange().transfers;
  out.exchange.transfers.reserve(static_cast<std::size_t>(std::count_if(
      own.begin(), own.end(), [&](const Transfer& transfer) { return nodes.together(transfer); })));
  for (const Transfer& transfer : own) {
    if (!nodes.together(transfer)) continue;
    Transfer& moved = out.exchange.transfers.emplace_back(transfer);
    moved.source = nodes.member[static_cast<std::size_t>(transfer.source)];
    moved.target = nodes.member[static_cast<std::size_t>(transfer.target)];
  }
  return out;
}

NodePart::Segment NodePart::segment(int processes) const {
  Segment out;
  out.places.slots_bytes = 0;
  if (task_.options.own_buffers) {
    out.output_offset = in_pages(task_.most_in_bytes());
    out.bytes = out.output_offset + in_pages(task_.most_out_bytes());
  }
  if (task_.most_in_bytes() <= most_copied_bytes(task_.comm.processes())) {
    out.places.copies = true;
    out.places.copies_offset = out.bytes;
    out.bytes += in_pages(team::copies_bytes(task_.most_in_bytes()));
    return out;
  }
  if (task_.options.own_buffers) return out;
  const Size others = processes - 1;
  if (others == 0) {
    out.bytes = page_bytes;
    return out;
  }
  // Two slots for every other process.
  const Size each = 2 * others * slot_alignment;
  const Size most = std::min(task_.chunk_bytes, most_slots_bytes) / page_bytes;
  out.bytes = std::max(most * page_bytes, in_pages(each));
  out.places.slots_bytes = out.bytes / each * each;
  return out;
}

Size NodePart::limit_bytes() const {
  const int most = task_.nodes.most_processes;
  const Segment place = segment(most);
  const Size described =
      place.places.bound_bytes(most, most_transfers_, task_.rank()) - place.places.slots_bytes;
  return place.bytes + described + TeamOfProcesses::control_bytes(most);
}

Result<void> NodePart::make_ready() {
  // The processes of a node fail together, but other nodes do not know.
  const Result<void> made = make_on_node();
  return task_.nodes.count > 1 ? task_.comm.agree(made) : made;
}

/// Collective over a node.
Result<void> NodePart::make_team(Size bytes) {
  Context& context = task_.context;
  if (context.team && static_cast<Size>(context.team->memory().size()) >= bytes) {
    team_ = context.team;
    return {};
  }
  context.team.reset();
  team_ = std::make_shared<TeamOfProcesses>();
  auto made = team_->make(task_.nodes.mine, bytes);
  if (made && context.keeps_team) context.team = team_;
  return made;
}

/// Collective over a node.
Result<void> NodePart::make_on_node() {
  const Communicator& node = task_.nodes.mine;
  const Segment place = segment(node.processes());
  if (auto made = make_team(place.bytes); !made) return made;
  const TileExchange here = *std::exchange(here_, std::nullopt);
  auto made = team::SharedExchange::create(team_->team(), here, place.places);
  // All have failed or none has, but each with words of its own.
  if (!made) return node.agree(tl::unexpected(made.error()));
  exchange_.emplace(std::move(*made));
  if (task_.options.own_buffers) {
    input_ = team_->memory().first(static_cast<std::size_t>(task_.in_bytes()));
    output_ = team_->memory().subspan(static_cast<std::size_t>(place.output_offset),
                                      static_cast<std::size_t>(task_.out_bytes()));
  }
  // Own tiles are counted here for good; those of others when they are given.
  task_.meter.add(exchange_->held_bytes() - place.places.slots_bytes + place.bytes +
                  TeamOfProcesses::control_bytes(node.processes()));
  for (const Transfer& transfer : here.exchange.transfers) {
    if (transfer.target != node.process() || transfer.source == transfer.target) continue;
    received_bytes_ += box_bytes(transfer.shape, task_.element_bytes);
  }
  return {};
}

Result<void> NodePart::run(std::span<const std::byte> in, std::span<std::byte> out) {
  auto moved = exchange_->run(in, out);
  if (!moved) return refuse(std::move(moved.error()));
  return {};
}

}  // namespace retile::mpi
