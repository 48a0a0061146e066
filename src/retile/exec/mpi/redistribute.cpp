#include "retile/exec/mpi/redistribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/hash.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/mover.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/program/forms/text.h"
#include "retile/program/tile_shapes.h"

namespace retile::mpi {
namespace {

// ---- Checking what was given -------------------------------------------------------------------

/// The Program without what does not change the data: names of axes, claims, and the form of its
/// end tilings.
Program canonical(const Program& program) {
  const auto plain = [](const Layout& map) {
    if (map.is_compact() || map.is_listed()) return map;
    auto same = Layout::listed(map.devices(), map.global(), map.tile(), map.base_offsets());
    RETILE_ASSERT(same, "a tile map that its own base offsets do not make");
    return *same;
  };
  Program out{.devices = program.devices,
              .mesh = {},
              .mesh_to = {},
              .from = plain(program.from),
              .to = plain(program.to),
              .steps = program.steps};
  for (Step& step : out.steps) {
    // Only an exchange says the shape of its tiles nowhere else.
    const bool needs_tile = is_exchange(step);
    step.claims = {.tile = needs_tile ? step.claims.tile : std::nullopt, .map = {}, .at = {}};
  }
  return out;
}

/// What all processes must be given alike, and what to call it.
struct Given {
  const char* name;
  std::uint64_t value;
};

/// One MPI_Allreduce: the processes agree that all succeeded and were given the same, or on what
/// went wrong.
template <std::size_t count>
Result<void> agree_on_arguments(const Communicator& comm, const Result<void>& mine,
                                const std::array<Given, count>& given) {
  // The maximum of x and of ~x: equal everywhere iff the first is the complement of the second.
  std::array<std::uint64_t, 2 * count + 1> values{};
  values[0] = mine ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    values[1 + 2 * i] = given[i].value;
    values[2 + 2 * i] = ~given[i].value;
  }
  or_abort(comm, comm.maximum(values));
  if (values[0] != 0) return agree(comm, mine);
  for (std::size_t i = 0; i < count; ++i) {
    if (values[1 + 2 * i] != ~values[2 + 2 * i]) {
      return refused(Code::disagreement,
                     fmt::format("the processes were given different {}", given[i].name));
    }
  }
  return {};
}

Result<void> check_options(const Options& options) {
  constexpr Size most_chunk_bytes = std::numeric_limits<Size>::max() / 8;
  if (options.chunk_bytes < 1 || options.chunk_bytes > most_chunk_bytes ||
      options.message_bytes < 1 || options.message_bytes > most_message_bytes) {
    return refused(Code::bad_argument, "chunk_bytes or message_bytes is out of range");
  }
  if (options.memory_limit_bytes.value_or(0) < 0 || options.node_processes < 0) {
    return refused(Code::bad_argument, "memory_limit_bytes or node_processes is negative");
  }
  if (strategy_name(options.strategy).empty()) {
    return refused(Code::bad_argument, "there is no such strategy");
  }
  return {};
}

/// Collective: who shares memory with whom.
Result<Nodes> find_nodes(const Communicator& comm, const Options& options) {
  const auto processes = static_cast<std::size_t>(comm.processes());
  Nodes nodes;
  std::vector<std::array<int, 2>> places;
  const auto reserved = or_out_of_memory([&]() -> Result<void> {
    places.resize(processes);
    nodes.first.reserve(processes);
    nodes.member.reserve(processes);
    return {};
  });
  if (auto agreed = agree(comm, reserved); !agreed) return tl::unexpected(agreed.error());
  nodes.mine = or_abort(comm, comm.node());
  if (options.node_processes != 0) {
    const Size block = comm.process() / options.node_processes;
    nodes.mine = or_abort(comm, nodes.mine.split(static_cast<int>(block), nodes.mine.process()));
  }
  // The first process of this one's node, and this one's number there.
  std::array<int, 2> place{comm.process(), nodes.mine.process()};
  or_abort(comm, nodes.mine.broadcast(std::as_writable_bytes(std::span(place).first(1)), 0));
  or_abort(comm,
           comm.allgather(std::as_bytes(std::span(place)).data(),
                          std::as_writable_bytes(std::span(places)).data(), Size{sizeof place}));
  for (const std::array<int, 2>& other : places) {
    nodes.first.push_back(other[0]);
    nodes.member.push_back(other[1]);
    nodes.count += other[1] == 0 ? 1 : 0;
    nodes.most_processes = std::max(nodes.most_processes, other[1] + 1);
  }
  return nodes;
}

/// What making a strategy of one exchange needs for a while, beside what it keeps: the exchange,
/// and a copy of what concerns a node or a process.
Size exchange_bytes(Size devices, Size transfers, Size most_of_one, std::size_t rank) {
  const auto numbers = static_cast<Size>(rank) * Size{sizeof(Size)};
  const Size copy = Size{sizeof(Transfer)} + 3 * (numbers + 16);
  // Of one process: a growing list of copies, and two passes that are compared and one in the
  // making.
  const Size own = copy + 2 * Size{sizeof(Transfer)} + 3 * (512 + 8 * numbers);
  return direct_bound_bytes(devices, transfers, rank) + transfers * copy + most_of_one * own +
         devices * 256;
}

/// The most transfers in which one process takes part.
Size most_of_one(const Exchange& exchange, Size devices) {
  std::vector<Size> ends(static_cast<std::size_t>(devices), 0);
  for (const Transfer& transfer : exchange.transfers) {
    ++ends[static_cast<std::size_t>(transfer.source)];
    if (transfer.source != transfer.target) ++ends[static_cast<std::size_t>(transfer.target)];
  }
  return *std::max_element(ends.begin(), ends.end());
}

/// The tiles and the description of an exchange of so many transfers.
Size described_bytes(Size transfers, const MoverProblem& problem) {
  return problem.in_bytes + problem.out_bytes +
         exchange_bytes(problem.program.devices, transfers, 0, problem.shapes.front().size());
}

/// How many transfers an exchange may have so that they fit beside the tiles.
Size most_transfers_within(Size limit_bytes, const MoverProblem& problem) {
  const Size room = limit_bytes - described_bytes(0, problem);
  const Size each = described_bytes(1, problem) - described_bytes(0, problem);
  return std::clamp(room / each, Size{0}, DirectOptions{}.transfer_limit);
}

/// What is wrong with the buffers that a process was given.
enum class BufferFault : std::uint64_t { none, sizes, not_its_own, overlap };

/// A BufferFault and the bytes of both, as processes tell each other.
using BufferReport = std::array<std::uint64_t, 3>;

/// The tiles of a strategy that makes none itself, where own ones are wanted.
struct Tiles {
  Buffer in;
  Buffer out;
};

}  // namespace

// ---- Redistributor -----------------------------------------------------------------------------

struct Redistributor::State {
  Communicator comm;
  Nodes nodes;
  Meter meter;
  Size in_bytes = 0;
  Size out_bytes = 0;
  Size peak_limit_bytes = 0;
  Size preparing_limit_bytes = 0;
  Strategy strategy = Strategy::collectives;
  std::vector<std::string> reasons;
  std::span<std::byte> input;
  std::span<std::byte> output;
  Tiles tiles;
  std::unique_ptr<Mover> mover;

  Result<void> make_ready(const Program& program, Size element_bytes, const Options& options);
  Result<void> choose(const MoverProblem& problem, const Options& options, Options& fitted);
  Result<void> allocate_tiles();
  [[nodiscard]] Result<void> agree_on_buffers(BufferReport mine) const;
};

/// Tries the strategies in their order and keeps the first that is possible. Collective; the same
/// on all processes. `fitted` are the options that the problem refers to: where a memory limit asks
/// for it, with smaller buffers than `options`.
Result<void> Redistributor::State::choose(const MoverProblem& problem, const Options& options,
                                          Options& fitted) {
  const bool automatic = options.strategy == Strategy::automatic;
  auto found_nodes = find_nodes(comm, options);
  if (!found_nodes) return tl::unexpected(found_nodes.error());
  nodes = std::move(*found_nodes);

  // A Program that is one exchange is taken at its word.
  Result<Exchange> exchange = refused(Code::unsupported, "not needed");
  bool exchange_fits = true;
  if (options.strategy != Strategy::collectives && options.strategy != Strategy::in_place) {
    const auto found = or_out_of_memory([&]() -> Result<void> {
      const auto& steps = problem.program.steps;
      const auto* const given =
          steps.size() == 1 ? std::get_if<Exchange>(&steps.front().op) : nullptr;
      const Size most = options.memory_limit_bytes
                            ? most_transfers_within(*options.memory_limit_bytes, problem)
                            : DirectOptions{}.transfer_limit;
      exchange_fits = given == nullptr || static_cast<Size>(given->transfers.size()) <= most ||
                      !options.memory_limit_bytes;
      if (given != nullptr) {
        if (exchange_fits) exchange = *given;
      } else if (auto made = retile::direct(problem.program, {.transfer_limit = most}); made) {
        exchange = std::move(std::get<Exchange>(made->steps.front().op));
      } else {
        exchange_fits = made.error().code != Code::limit_reached || !options.memory_limit_bytes;
        exchange = tl::unexpected(made.error());
      }
      if (!exchange_fits) {
        const Size limit = *options.memory_limit_bytes;
        exchange = refused(
            Code::limit_reached,
            most > 0 ? fmt::format("does not fit the memory limit: {} bytes hold the tiles and at "
                                   "most {} of the exchange's transfers",
                                   limit, most)
                     : fmt::format("needs at least {} bytes, the limit is {}",
                                   described_bytes(1, problem), limit));
      }
      return {};
    });
    if (auto agreed = agree(comm, found); !agreed) return agreed;
  }

  const auto look_at = [&](Strategy candidate) -> Result<Prepared> {
    if (nodes.count > 1 && (candidate == Strategy::shared || candidate == Strategy::in_place)) {
      return refused(
          Code::unsupported,
          fmt::format("the processes do not all share memory: they are on {} nodes", nodes.count));
    }
    switch (candidate) {
      case Strategy::shared:
        return exchange ? prepare_shared(problem, *exchange, nodes)
                        : tl::unexpected(exchange.error());
      case Strategy::mixed:
        return exchange ? prepare_mixed(problem, *exchange, nodes)
                        : tl::unexpected(exchange.error());
      case Strategy::direct:
        return exchange ? prepare_direct(problem, *exchange) : tl::unexpected(exchange.error());
      case Strategy::in_place:
        return prepare_in_place(problem);
      default:
        return prepare_collectives(problem);
    }
  };
  // All see the same, but that one may have no memory left.
  const auto prepared = [&](Strategy candidate) -> Result<Prepared> {
    Result<Prepared> out;
    const auto looked = or_out_of_memory([&]() -> Result<void> {
      out = look_at(candidate);
      return {};
    });
    if (auto agreed = agree(comm, looked); !agreed) return tl::unexpected(agreed.error());
    return out;
  };
  // On one node mixed is shared, and where nothing stays on a node, direct.
  const bool worth_mixing = nodes.count > 1 && exchange &&
                            std::any_of(exchange->transfers.begin(), exchange->transfers.end(),
                                        [&](const Transfer& transfer) {
                                          return transfer.source != transfer.target &&
                                                 nodes.together(transfer.source, transfer.target);
                                        });
  std::vector<Strategy> candidates{options.strategy};
  if (automatic) {
    candidates = {Strategy::shared, Strategy::direct, Strategy::collectives, Strategy::in_place};
    if (worth_mixing) candidates.insert(candidates.begin() + 1, Strategy::mixed);
  }
  // What the exchange needs while something is made of it. The lists of hand-made Programs may have
  // room for more than they hold, but not their copies.
  Size preparing = 0;
  Size looking = 0;  // of which while nothing is made of it
  if (exchange) {
    const auto most = or_out_of_memory([&]() -> Result<void> {
      const auto needs_with = [&](Size most_transfers) {
        return exchange_bytes(problem.program.devices,
                              static_cast<Size>(exchange->transfers.capacity()), most_transfers,
                              problem.shapes.front().size());
      };
      looking = needs_with(0);
      preparing = needs_with(most_of_one(*exchange, problem.program.devices));
      return {};
    });
    if (auto agreed = agree(comm, most); !agreed) return agreed;
  }
  std::optional<Size> smallest;
  std::optional<Diagnostic> last;
  Size tried = 0;  // what was held of ways that then failed, at most, and of the one that is taken
  for (const Strategy candidate : candidates) {
    const auto name = strategy_name(candidate);
    fitted = options;
    const bool by_steps = candidate == Strategy::collectives || candidate == Strategy::in_place;
    const Size exchange_needs = by_steps ? 0 : preparing;
    if (by_steps) exchange = refused(Code::unsupported, "not needed any more");
    auto way = prepared(candidate);
    const auto needs = [&] { return way->limit_bytes + exchange_needs; };
    const auto over = [&] {
      return way && options.memory_limit_bytes && needs() > *options.memory_limit_bytes;
    };
    if (over()) {
      fitted.chunk_bytes = 1;
      way = prepared(candidate);
      if (way && !over()) {
        const Size spare = *options.memory_limit_bytes - needs();
        fitted.chunk_bytes = std::min(options.chunk_bytes, 1 + spare);
        way = prepared(candidate);
        RETILE_ASSERT(!over(), "larger buffers need more than they have");
      }
    }
    if (!way) {
      reasons.push_back(fmt::format("{}: {}", name, way.error().message));
      last = way.error();
      continue;
    }
    if (over()) {
      reasons.push_back(fmt::format("{}: needs at least {} bytes, the limit is {}", name, needs(),
                                    *options.memory_limit_bytes));
      smallest = std::min(smallest.value_or(needs()), needs());
      continue;
    }
    tried = std::max(tried, needs());
    auto made = way->make();
    if (!made) {
      meter = {};  // some processes may have got, and counted, what others did not
      reasons.push_back(fmt::format("{}: {}", name, made.error().message));
      last = made.error();
      continue;
    }
    mover = std::move(*made);
    strategy = candidate;
    peak_limit_bytes = way->limit_bytes;
    // Others were looked at before: then there was the exchange, beside tiles of the caller.
    const Size looked_at = looking + (options.own_buffers ? 0 : in_bytes + out_bytes);
    preparing_limit_bytes = std::max(tried, looked_at);
    reasons.push_back(fmt::format("{}: chosen, needs up to {} bytes", name, way->limit_bytes));
    return {};
  }
  if (smallest || !exchange_fits) {
    Diagnostic diagnostic{
        .code = Code::infeasible,
        .message = fmt::format("no way to run the Program within {} bytes per process",
                               *options.memory_limit_bytes),
        .rule = "memory limit",
        .notes = reasons};
    if (smallest) {
      diagnostic.message += fmt::format("; the least that one of them needs is {}", *smallest);
    }
    return refuse(std::move(diagnostic));
  }
  if (automatic) last->notes.insert(last->notes.end(), reasons.begin(), reasons.end());
  return refuse(std::move(*last));
}

Result<void> Redistributor::State::allocate_tiles() {
  input = mover->input();
  output = mover->output();
  if (input.data() != nullptr) return {};
  if (!tiles.in.allocate(in_bytes, meter) || !tiles.out.allocate(out_bytes, meter)) {
    return refused(Code::mpi_error,
                   fmt::format("out of memory: tiles of {} and {} bytes cannot be allocated",
                               in_bytes, out_bytes));
  }
  input = {tiles.in.data(), static_cast<std::size_t>(in_bytes)};
  output = {tiles.out.data(), static_cast<std::size_t>(out_bytes)};
  return {};
}

/// Collective. Finds words for what is wrong when nobody waits for this process any more, so one
/// without memory for them keeps nobody waiting.
Result<void> Redistributor::State::agree_on_buffers(BufferReport report) const {
  const auto failed =
      first_failed(comm, report[0] != static_cast<std::uint64_t>(BufferFault::none));
  if (!failed) return {};
  or_abort(comm, comm.broadcast(std::as_writable_bytes(std::span(report)), *failed));
  try {
    Diagnostic diagnostic{.code = Code::bad_argument, .message = {}};
    switch (static_cast<BufferFault>(report[0])) {
      case BufferFault::sizes:
        diagnostic.message =
            fmt::format("buffers of {} and {} bytes were given, the tiles have {} and {}",
                        report[1], report[2], in_bytes, out_bytes);
        break;
      case BufferFault::not_its_own:
        diagnostic.message =
            "with buffers of its own it moves these, input() and output(), and no others";
        break;
      default:
        diagnostic.message = "the buffers for input and output overlap";
    }
    if (comm.processes() > 1) diagnostic.notes.push_back(found_by(*failed, comm));
    return refuse(std::move(diagnostic));
  } catch (const std::bad_alloc&) {
    return refuse({.code = Code::bad_argument, .message = "wrong buffers"});  // needs no memory
  }
}

Redistributor::Redistributor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Redistributor::Redistributor(Redistributor&&) noexcept = default;
Redistributor& Redistributor::operator=(Redistributor&&) noexcept = default;
Redistributor::~Redistributor() = default;

/// What make() does once there is a communicator. Collective.
Result<void> Redistributor::State::make_ready(const Program& program, Size element_bytes,
                                              const Options& options) {
  std::vector<Shape> shapes;
  std::uint64_t program_hash = 0;
  const auto checked = or_out_of_memory([&]() -> Result<void> {
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8 &&
        element_bytes != 16) {
      return refused(Code::bad_argument,
                     fmt::format("elements of {} bytes cannot be moved", element_bytes));
    }
    if (auto good = check_options(options); !good) return good;
    if (program.devices != comm.processes()) {
      return refused(Code::bad_argument,
                     fmt::format("the Program is for {} devices, the communicator has {} processes",
                                 program.devices, comm.processes()));
    }
    auto found = tile_shapes(program, element_bytes);
    if (!found) return tl::unexpected(found.error());
    shapes = std::move(*found);
    const std::string text = to_text(canonical(program));
    program_hash = hash_bytes(hash_start, std::as_bytes(std::span(text)));
    return {};
  });
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::array<Given, 8> given{{
      {"Programs", program_hash},
      {"element sizes", number(element_bytes)},
      {"options (chunk_bytes)", number(options.chunk_bytes)},
      {"options (message_bytes)", number(options.message_bytes)},
      {"options (strategy)", number(options.strategy)},
      {"options (own_buffers)", number(options.own_buffers)},
      {"options (memory_limit_bytes)", number(options.memory_limit_bytes.value_or(-1))},
      {"options (node_processes)", number(options.node_processes)},
  }};
  if (auto agreed = agree_on_arguments(comm, checked, given); !agreed) return agreed;

  in_bytes = tile_bytes(shapes.front(), element_bytes);
  out_bytes = tile_bytes(shapes.back(), element_bytes);
  Options fitted = options;
  const MoverProblem problem{.comm = comm,
                             .program = program,
                             .shapes = shapes,
                             .element_bytes = element_bytes,
                             .in_bytes = in_bytes,
                             .out_bytes = out_bytes,
                             .options = fitted,
                             .meter = meter};
  if (auto chosen = choose(problem, options, fitted); !chosen) return chosen;
  return options.own_buffers ? agree(comm, allocate_tiles()) : Result<void>();
}

Result<Redistributor> Redistributor::make(MPI_Comm comm, const Program& program, Size element_bytes,
                                          const Options& options) {
  auto duplicate = Communicator::duplicate(comm);
  if (!duplicate) return tl::unexpected(duplicate.error());
  const int process = duplicate->process();
  const bool alone = duplicate->processes() == 1;
  std::unique_ptr<State> state;
  try {
    state = std::make_unique<State>();
    state->comm = std::move(*duplicate);
    if (auto ready = state->make_ready(program, element_bytes, options); !ready) {
      return tl::unexpected(ready.error());
    }
    return Redistributor(std::move(state));
  } catch (const std::bad_alloc&) {
    if (alone) throw;
    // Not even room to say so: the others would wait for this process for ever.
    abort_job(process, environment_failed, "out of memory where the others could not be told");
  }
}

Result<void> Redistributor::run(std::span<const std::byte> in, std::span<std::byte> out) {
  State& state = *state_;
  const bool own = in.data() == state.input.data() && out.data() == state.output.data() &&
                   state.input.data() != nullptr;
  const BufferFault fault = [&] {
    if (static_cast<Size>(in.size()) != state.in_bytes ||
        static_cast<Size>(out.size()) != state.out_bytes) {
      return BufferFault::sizes;
    }
    if (own) return BufferFault::none;
    if (state.input.data() != nullptr) return BufferFault::not_its_own;
    const std::less<const std::byte*> before;
    if (before(in.data(), out.data() + out.size()) && before(out.data(), in.data() + in.size())) {
      return BufferFault::overlap;
    }
    return BufferFault::none;
  }();
  const bool good = fault == BufferFault::none;
  const auto agree_on_buffers = [&] {
    return state.agree_on_buffers({static_cast<std::uint64_t>(fault), in.size(), out.size()});
  };
  // To agree costs about as much as to move a small tile.
  const bool mover_agrees = state.mover->agrees();
  if (!mover_agrees) {
    if (auto agreed = agree_on_buffers(); !agreed) return agreed;
  }
  const Size given_bytes = own || !good ? 0 : state.in_bytes + state.out_bytes;
  state.meter.add(given_bytes);
  if (auto moved = good ? state.mover->move(in, out) : state.mover->move({}, {}); !moved) {
    if (mover_agrees && moved.error().code == Code::bad_argument) {
      state.meter.remove(given_bytes);
      if (auto agreed = agree_on_buffers(); !agreed) return agreed;
    }
    // The others are inside a collective or on their way to one, and nobody could tell them.
    state.comm.abort(environment_failed, moved.error().message);
  }
  state.meter.remove(given_bytes);
  return {};
}

Result<void> Redistributor::run() {
  RETILE_ASSERT(state_->input.data() != nullptr, "run() without buffers of its own");
  return run(state_->input, state_->output);
}

Size Redistributor::in_bytes() const { return state_->in_bytes; }
Size Redistributor::out_bytes() const { return state_->out_bytes; }
std::span<std::byte> Redistributor::input() const { return state_->input; }
std::span<std::byte> Redistributor::output() const { return state_->output; }
Strategy Redistributor::strategy() const { return state_->strategy; }
const std::vector<std::string>& Redistributor::reasons() const { return state_->reasons; }
Size Redistributor::received_bytes() const { return state_->mover->received_bytes(); }
Size Redistributor::peak_bytes() const { return state_->meter.peak_bytes; }
Size Redistributor::peak_limit_bytes() const { return state_->peak_limit_bytes; }
Size Redistributor::preparing_limit_bytes() const { return state_->preparing_limit_bytes; }

Result<void> redistribute(MPI_Comm comm, const Program& program, std::span<const std::byte> in,
                          std::span<std::byte> out, Size element_bytes) {
  auto redistributor = Redistributor::make(comm, program, element_bytes);
  if (!redistributor) return tl::unexpected(redistributor.error());
  return redistributor->run(in, out);
}

}  // namespace retile::mpi
