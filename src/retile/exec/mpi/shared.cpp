// Strategies over memory that all processes share: the one exchange, and the Program in place.
#include "retile/exec/team/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "retile/exec/mpi/mover.h"
#include "retile/exec/team/in_place.h"
#include "retile/exec/team/memory.h"
#include "retile/exec/team/team.h"

namespace retile::mpi {
namespace {

using team::SharedKind;
using team::SharedMemory;
using team::Team;

constexpr Size page_bytes = 4096;
constexpr Size most_slots_bytes = Size{1} << 20;  // more would leave the caches
constexpr Size slot_alignment = 64;

Size in_pages(Size bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

/// Bytes of the control block, with the page in which it lies.
Size control_bytes(int processes) { return in_pages(Team::control_bytes(processes)); }

/// All processes of a communicator as a team with `memory_bytes` of shared memory each.
class TeamOfProcesses {
 public:
  /// Collective; fails on all processes or on none.
  /// \error shared_memory_error
  [[nodiscard]] Result<void> make(const Communicator& comm, Size memory_bytes) {
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

  [[nodiscard]] Team& team() { return *team_; }
  [[nodiscard]] std::span<std::byte> memory() const { return team_->memory(team_->member()); }

 private:
  /// Collective; the control block of all, in a segment with a name where another one cannot be
  /// made or reached, as with tiles (share_memory).
  [[nodiscard]] Result<void> share_control(const Communicator& comm) {
    auto anonymous = share_control(comm, SharedKind::anonymous);
    if (anonymous) return anonymous;
    // All have the same error, so all try again.
    auto named = share_control(comm, SharedKind::named);
    if (named) return named;
    named.error().notes.push_back("without a name: " + anonymous.error().message);
    return named;
  }

  [[nodiscard]] Result<void> share_control(const Communicator& comm, SharedKind kind) {
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

  SharedMemory control_;
  std::vector<SharedMemory> memories_;
  std::optional<Team> team_;
};

// ---- One exchange ------------------------------------------------------------------------------

/// Where tiles and slots lie in a process's memory.
struct SegmentMap {
  Size output_offset = 0;
  Size slots_bytes = 0;
  bool copies = false;
  Size copies_offset = 0;
  Size bytes = 0;

  [[nodiscard]] team::SharedOptions options() const {
    return {.slots_offset = 0,
            .slots_bytes = slots_bytes,
            .copies = copies,
            .copies_offset = copies_offset};
  }
};

/// A tile up to here is copied in less time than a barrier takes, which is longer the more wait for
/// it, and the copies stay in a second-level cache.
Size most_copied_bytes(int processes) {
  return std::min(Size{processes} * (Size{4} << 10), Size{64} << 10);
}

SegmentMap segment_map_of(const MoverProblem& problem, int processes) {
  SegmentMap out;
  if (problem.options.own_buffers) {
    out.output_offset = in_pages(problem.in_bytes);
    out.bytes = out.output_offset + in_pages(problem.out_bytes);
  }
  if (problem.in_bytes <= most_copied_bytes(problem.comm.processes())) {
    out.copies = true;
    out.copies_offset = out.bytes;
    out.bytes += in_pages(team::copies_bytes(problem.in_bytes));
    return out;
  }
  if (problem.options.own_buffers) return out;
  const Size others = processes - 1;
  if (others == 0) {
    out.bytes = page_bytes;
    return out;
  }
  // Two slots for every other process.
  const Size each = 2 * others * slot_alignment;
  const Size most = std::min(problem.options.chunk_bytes, most_slots_bytes) / page_bytes;
  out.bytes = std::max(most * page_bytes, in_pages(each));
  out.slots_bytes = out.bytes / each * each;
  return out;
}

class Shared final : public Mover {
 public:
  Shared(const MoverProblem& problem, const SegmentMap& layout)
      : problem_in_bytes_(problem.in_bytes),
        problem_out_bytes_(problem.out_bytes),
        layout_(layout) {}

  /// Collective; fails on all processes or on none.
  [[nodiscard]] Result<void> make(const MoverProblem& problem, const Exchange& exchange,
                                  const Nodes& nodes) {
    // The processes of a node fail together, but other nodes do not know.
    return agree(problem.comm, make_on_node(problem, exchange, nodes));
  }

  [[nodiscard]] bool agrees() const override { return true; }
  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    auto moved = exchange_->run(in, out);
    if (!moved) return refuse(std::move(moved.error()));
    return {};
  }
  [[nodiscard]] Size received_bytes() const override { return received_bytes_; }
  [[nodiscard]] std::span<std::byte> input() const override { return tile(0, problem_in_bytes_); }
  [[nodiscard]] std::span<std::byte> output() const override {
    return tile(layout_.output_offset, problem_out_bytes_);
  }

 private:
  /// Collective over a node.
  [[nodiscard]] Result<void> make_on_node(const MoverProblem& problem, const Exchange& exchange,
                                          const Nodes& nodes) {
    const Communicator& node = nodes.mine;
    if (auto made = team_.make(node, layout_.bytes); !made) return made;
    team::SharedProblem shared;
    const auto copied = or_out_of_memory([&]() -> Result<void> {
      shared = {.exchange = {},
                .in_tile = problem.shapes.front(),
                .out_tile = problem.shapes.back(),
                .element_bytes = problem.element_bytes,
                .whole = nodes.count == 1};
      const auto stays_here = [&](const Transfer& transfer) {
        return nodes.together(transfer.source, transfer.target) &&
               nodes.together(transfer.source, problem.comm.process());
      };
      shared.exchange.transfers.reserve(static_cast<std::size_t>(
          std::count_if(exchange.transfers.begin(), exchange.transfers.end(), stays_here)));
      for (const Transfer& transfer : exchange.transfers) {
        if (!stays_here(transfer)) continue;
        Transfer& here = shared.exchange.transfers.emplace_back(transfer);
        here.source = nodes.member[static_cast<std::size_t>(transfer.source)];
        here.target = nodes.member[static_cast<std::size_t>(transfer.target)];
      }
      return {};
    });
    if (auto agreed = agree(node, copied); !agreed) return agreed;
    auto made = team::SharedExchange::create(team_.team(), shared, layout_.options());
    // All have failed or none has, but each with words of its own.
    const Result<void> mine = made ? Result<void>() : tl::unexpected(made.error());
    if (auto agreed = agree(node, mine); !agreed) return agreed;
    exchange_.emplace(std::move(*made));
    own_buffers_ = problem.options.own_buffers;
    // Own tiles are counted here for good; those of others when they are given.
    problem.meter.add(exchange_->held_bytes() - layout_.slots_bytes + layout_.bytes +
                      control_bytes(node.processes()));
    for (const Transfer& transfer : shared.exchange.transfers) {
      if (transfer.target != node.process() || transfer.source == transfer.target) continue;
      received_bytes_ += tile_bytes(transfer.shape, problem.element_bytes);
    }
    return {};
  }

  [[nodiscard]] std::span<std::byte> tile(Size offset, Size bytes) const {
    if (!own_buffers_) return {};
    return team_.memory().subspan(static_cast<std::size_t>(offset),
                                  static_cast<std::size_t>(bytes));
  }

  Size problem_in_bytes_ = 0;
  Size problem_out_bytes_ = 0;
  SegmentMap layout_;
  TeamOfProcesses team_;
  std::optional<team::SharedExchange> exchange_;
  bool own_buffers_ = false;
  Size received_bytes_ = 0;
};

/// The most transfers within a node in which one process takes part; one from it to itself counts
/// twice.
Size most_transfers(const Exchange& exchange, const Nodes& nodes) {
  std::vector<Size> transfers(nodes.first.size(), 0);
  for (const Transfer& transfer : exchange.transfers) {
    if (!nodes.together(transfer.source, transfer.target)) continue;
    ++transfers[static_cast<std::size_t>(transfer.source)];
    ++transfers[static_cast<std::size_t>(transfer.target)];
  }
  return *std::max_element(transfers.begin(), transfers.end());
}

// ---- In place ----------------------------------------------------------------------------------

class InPlaceMover final : public Mover {
 public:
  explicit InPlaceMover(team::InPlace in_place) : in_place_(std::move(in_place)) {
    received_bytes_ = in_place_.received_bytes();
  }

  [[nodiscard]] Result<void> make(const MoverProblem& problem) {
    if (auto made = team_.make(problem.comm, in_pages(in_place_.memory_bytes())); !made)
      return made;
    problem.meter.add(in_pages(in_place_.memory_bytes()) + in_place_.scratch_bytes() +
                      control_bytes(problem.comm.processes()));
    return {};
  }
  [[nodiscard]] Result<void> move(std::span<const std::byte>, std::span<std::byte>) override {
    return in_place_.run(team_.team());
  }
  [[nodiscard]] Size received_bytes() const override { return received_bytes_; }
  [[nodiscard]] std::span<std::byte> input() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_.in_bytes()));
  }
  [[nodiscard]] std::span<std::byte> output() const override {
    return team_.memory().first(static_cast<std::size_t>(in_place_.out_bytes()));
  }

 private:
  team::InPlace in_place_;
  TeamOfProcesses team_;
  Size received_bytes_ = 0;
};

}  // namespace

Result<Prepared> prepare_shared(const MoverProblem& problem, const Exchange& exchange,
                                const Nodes& nodes) {
  const int most = nodes.most_processes;
  const SegmentMap layout = segment_map_of(problem, most);
  const Size described = team::shared_bound_bytes(most, most_transfers(exchange, nodes),
                                                  problem.shapes.front().size(), layout.options()) -
                         layout.slots_bytes;
  const Size tiles = problem.options.own_buffers ? 0 : problem.in_bytes + problem.out_bytes;
  return Prepared{.strategy = Strategy::shared,
                  .limit_bytes = tiles + layout.bytes + described + control_bytes(most),
                  .make = [&problem, &exchange, &nodes]() -> Result<std::unique_ptr<Mover>> {
                    auto mover = std::make_unique<Shared>(
                        problem, segment_map_of(problem, nodes.mine.processes()));
                    if (auto made = mover->make(problem, exchange, nodes); !made) {
                      return tl::unexpected(made.error());
                    }
                    return mover;
                  }};
}

Result<Prepared> prepare_in_place(const MoverProblem& problem) {
  if (!problem.options.own_buffers) {
    return refused(Code::unsupported, "in place needs buffers of the library's own (own_buffers)");
  }
  for (std::size_t i = 0; i < problem.program.steps.size(); ++i) {
    if (is_exchange(problem.program.steps[i])) {
      return refused(Code::unsupported, fmt::format("step {} (exchange) is not run in place", i));
    }
  }
  Size memory = 0;
  for (const Shape& shape : problem.shapes) {
    memory = std::max(memory, tile_bytes(shape, problem.element_bytes));
  }
  const Size panel =
      std::max(team::default_panel_bytes, problem.program.devices * problem.element_bytes);
  return Prepared{.strategy = Strategy::in_place,
                  .limit_bytes = in_pages(memory) + team::in_place_scratch_bytes(panel) +
                                 control_bytes(problem.comm.processes()),
                  .make = [&problem, panel]() -> Result<std::unique_ptr<Mover>> {
                    std::unique_ptr<InPlaceMover> mover;
                    const auto ready = or_out_of_memory([&]() -> Result<void> {
                      auto made = team::InPlace::make(problem.program, problem.element_bytes,
                                                      problem.comm.process(), panel);
                      if (!made) return tl::unexpected(made.error());
                      mover = std::make_unique<InPlaceMover>(std::move(*made));
                      return {};
                    });
                    if (auto agreed = agree(problem.comm, ready); !agreed) {
                      return tl::unexpected(agreed.error());
                    }
                    if (auto made = mover->make(problem); !made)
                      return tl::unexpected(made.error());
                    return mover;
                  }};
}

}  // namespace retile::mpi
