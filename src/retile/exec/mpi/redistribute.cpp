#include "retile/exec/mpi/redistribute.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/element_type.h"
#include "retile/exec/add/order.h"
#include "retile/exec/mpi/agreement.h"
#include "retile/exec/mpi/choose.h"
#include "retile/exec/mpi/mpi_wrapper.h"
#include "retile/exec/team/memory.h"
#include "retile/program/program_hash.h"
#include "retile/program/tile_shapes.h"

namespace retile::mpi {
namespace {

/// What is wrong with the buffers that a process was given.
enum class BufferFault : std::uint64_t { none, sizes, not_its_own, overlap };

/// A BufferFault and the bytes of both, as processes tell each other.
using BufferReport = std::array<std::uint64_t, 3>;

}  // namespace

std::string_view strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::automatic:
      return "automatic";
    case Strategy::collectives:
      return "collectives";
    case Strategy::exchange:
      return "exchange";
    case Strategy::in_place:
      return "inplace";
  }
  return {};
}

// ---- Making ready ------------------------------------------------------------------------------

struct Redistributor::State {
  explicit State(std::shared_ptr<Context> given) : context(std::move(given)) {}

  [[nodiscard]] const Communicator& comm() const { return context->comm; }

  std::shared_ptr<Context> context;
  Meter meter;
  Size in_bytes = 0;
  Size out_bytes = 0;
  bool own_buffers = false;
  WrongBuffers wrong_buffers = WrongBuffers::refused;
  bool huge_pages = false;
  /// The caller's buffers that were last asked huge pages for.
  std::array<std::span<const std::byte>, 2> advised;
  std::span<std::byte> input;
  std::span<std::byte> output;
  Buffer own_input, own_output;  // of a strategy that makes none itself, where own ones are wanted
  Chosen chosen;

  [[nodiscard]] Result<void> allocate_tiles();
  void advise(std::span<const std::byte> in, std::span<const std::byte> out);
  [[nodiscard]] BufferFault fault(std::span<const std::byte> in,
                                  std::span<const std::byte> out) const;
  [[nodiscard]] std::string words_for(const BufferReport& report) const;
  [[nodiscard]] Result<void> agree_on_buffers(BufferReport mine) const;
};

Result<void> Redistributor::State::allocate_tiles() {
  input = chosen.mover->input();
  output = chosen.mover->output();
  if (input.data() != nullptr) return {};  // an empty tile, too, lies somewhere
  if (!own_input.allocate(in_bytes, meter) || !own_output.allocate(out_bytes, meter)) {
    return refuse(Code::mpi_error,
                  fmt::format("out of memory: tiles of {} and {} bytes cannot be allocated",
                              in_bytes, out_bytes));
  }
  input = {own_input.data(), static_cast<std::size_t>(in_bytes)};
  output = {own_output.data(), static_cast<std::size_t>(out_bytes)};
  return {};
}

void Redistributor::State::advise(std::span<const std::byte> in, std::span<const std::byte> out) {
  const std::array<std::span<const std::byte>, 2> given{in, out};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].data() == advised[i].data() && given[i].size() == advised[i].size()) continue;
    team::advise_huge_pages(given[i]);
    advised[i] = given[i];
  }
}

/// What make() does once there is a communicator.
struct Redistributor::Making {
  State& state;
  const Program& program;
  Size element_bytes;
  const Options& options;

  [[nodiscard]] Result<void> check() const;
  /// The device of this process, where processes stand otherwise than they are ranked.
  [[nodiscard]] std::optional<Size> place() const;
  /// Collective, where all have the same Program: the device of a process is its place.
  void stand() const;
  /// Where the tiles lie, as far as this process knows.
  [[nodiscard]] Result<Placement> placement_here(const std::vector<DeviceShapes>& shapes) const;
  [[nodiscard]] Result<std::vector<DeviceShapes>> agreed_shapes(Placement& placement) const;
  [[nodiscard]] Result<void> tell_places(Placement& placement,
                                         std::vector<DeviceShapes>& shapes) const;
  [[nodiscard]] Result<void> run() const;
};

/// Whether this process was given something good, by itself.
Result<void> Redistributor::Making::check() const {
  if (auto good = check_element_size(element_bytes); !good) return good;
  constexpr Size most_chunk_bytes = std::numeric_limits<Size>::max() / 8;
  if (options.chunk_bytes < 1 || options.chunk_bytes > most_chunk_bytes ||
      options.message_bytes < 1 || options.message_bytes > most_message_bytes) {
    return refuse(Code::bad_argument, "chunk_bytes or message_bytes is out of range");
  }
  if (options.memory_limit_bytes.value_or(0) < 0) {
    return refuse(Code::bad_argument, "memory_limit_bytes is negative");
  }
  if (strategy_name(options.strategy).empty() || options.partition < Partition::nodes ||
      options.partition > Partition::apart || options.wrong_buffers < WrongBuffers::refused ||
      options.wrong_buffers > WrongBuffers::end_job) {
    return refuse(Code::bad_argument,
                  "there is no such strategy, partition or use of wrong buffers");
  }
  if (options.element_type && options.element_type->bytes != element_bytes) {
    return refuse(Code::bad_argument, "element_type has another size than the elements");
  }
  if (addition_of(program) && (options.arrays.in || options.arrays.out)) {
    return refuse(
        Code::unsupported,
        "a Program with addends takes no tiles that lie in larger arrays (options.arrays)");
  }
  const auto adder = add::adder_of(program, options.element_type, " (options.element_type)");
  if (!adder) return refuse(adder.error());
  if (program.devices == state.comm().processes()) return {};
  return refuse(Code::bad_argument,
                fmt::format("the Program is for {} devices, the communicator has {} processes",
                            program.devices, state.comm().processes()));
}

Result<Placement> Redistributor::Making::placement_here(
    const std::vector<DeviceShapes>& shapes) const {
  const Size device = place().value_or(state.comm().process());
  const auto end = [&](const std::optional<LocalArray>& array, const DeviceShapes& tiles,
                       const char* name) {
    return PlacedEnd::make(array, tiles.of(device), program.devices, element_bytes, name);
  };
  auto in = end(options.arrays.in, shapes.front(), "options.arrays.in");
  if (!in) return tl::unexpected(in.error());
  auto out = end(options.arrays.out, shapes.back(), "options.arrays.out");
  if (!out) return tl::unexpected(out.error());
  return Placement{std::move(*in), std::move(*out)};
}

/// Collective: the shapes of all tiles, where all were given the same and it is good, and where this
/// process's lie.
Result<std::vector<DeviceShapes>> Redistributor::Making::agreed_shapes(Placement& placement) const {
  std::vector<DeviceShapes> shapes;
  std::uint64_t program_hash = 0;
  const auto checked = or_out_of_memory([&]() -> Result<void> {
    if (auto good = check(); !good) return good;
    auto found = tile_shapes(program, element_bytes);
    if (!found) return tl::unexpected(found.error());
    shapes = std::move(*found);
    auto placed = placement_here(shapes);
    if (!placed) return tl::unexpected(placed.error());
    placement = std::move(*placed);
    program_hash = hash_of(program);
    return {};
  });
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::optional<ElementType>& type = options.element_type;
  const std::array<Given, 13> given{{
      {"Programs", program_hash},
      {"element sizes", number(element_bytes)},
      {"options (chunk_bytes)", number(options.chunk_bytes)},
      {"options (message_bytes)", number(options.message_bytes)},
      {"options (strategy)", number(options.strategy)},
      {"options (partition)", number(options.partition)},
      {"options (wrong_buffers)", number(options.wrong_buffers)},
      {"options (own_buffers)", number(options.own_buffers)},
      {"options (huge_pages)", number(options.huge_pages)},
      {"options (memory_limit_bytes)", number(options.memory_limit_bytes.value_or(-1))},
      {"options (element_type)", type ? 1 + number(type->kind) : 0},
      {"options (arrays.in)", number(options.arrays.in.has_value())},
      {"options (arrays.out)", number(options.arrays.out.has_value())},
  }};
  if (auto agreed = agree(state.comm(), checked, given); !agreed) {
    return tl::unexpected(agreed.error());
  }
  return shapes;
}

/// Collective: every process tells where its tile lies, and arrays take the place of the end tiles.
Result<void> Redistributor::Making::tell_places(Placement& placement,
                                                std::vector<DeviceShapes>& shapes) const {
  const auto tell = [&](PlacedEnd& end, DeviceShapes& tiles) -> Result<void> {
    if (end.alone()) return {};
    const std::span<const std::byte> mine = end.mine();
    const auto told =
        state.comm().allgather(mine.data(), end.all(), static_cast<Size>(mine.size()));
    // The others wait in it, and nobody could tell them.
    if (!told) state.comm().abort(environment_failed, told.error().message);
    return state.comm().agree(or_out_of_memory([&]() -> Result<void> {
      tiles = end.arrays();
      return {};
    }));
  };
  if (shapes.size() == 1) shapes.push_back(shapes.front());  // without steps both ends are one
  if (auto told = tell(placement.in, shapes.front()); !told) return told;
  return tell(placement.out, shapes.back());
}

std::optional<Size> Redistributor::Making::place() const {
  const auto places = program.numbers.places_by_number();
  if (places.empty()) return std::nullopt;
  return places[static_cast<std::size_t>(state.comm().process())];
}

void Redistributor::Making::stand() const {
  const std::optional<Size> own = place();
  if (!own) return;
  state.context = std::make_shared<Context>(Context{state.comm().split(0, static_cast<int>(*own))});
}

/// Collective.
Result<void> Redistributor::Making::run() const {
  Placement placement;
  auto shapes = agreed_shapes(placement);
  if (!shapes) return tl::unexpected(shapes.error());
  stand();
  const bool placed = !placement.in.alone() || !placement.out.alone();
  if (placed) {
    if (auto told = tell_places(placement, *shapes); !told) return told;
  }
  if (!state.context->nodes) {
    auto found = find_nodes(state.comm(), options.partition);
    if (!found) return tl::unexpected(found.error());
    state.context->nodes = std::move(*found);
  }
  Task task{*state.context, state.comm(), *state.context->nodes, state.meter, program, *shapes,
            element_bytes,  options,      options.chunk_bytes};
  if (placed) task.placement = &placement;
  task.adder = add::adder_of(program, options.element_type).value();
  state.in_bytes = task.in_bytes();
  state.out_bytes = task.out_bytes();
  auto made = choose(task);
  if (!made) return tl::unexpected(made.error());
  state.chosen = std::move(*made);
  state.own_buffers = options.own_buffers;
  state.wrong_buffers = options.wrong_buffers;
  state.huge_pages = options.huge_pages && !options.own_buffers;
  return options.own_buffers ? state.comm().agree(state.allocate_tiles()) : Result<void>();
}

Result<Redistributor> Redistributor::make(MPI_Comm comm, const Program& program, Size element_bytes,
                                          const Options& options) {
  auto context = make_context(comm);
  if (!context) return tl::unexpected(context.error());
  return made_in(std::move(*context), program, element_bytes, options);
}

Result<Redistributor> Redistributor::made_in(std::shared_ptr<Context> context,
                                             const Program& program, Size element_bytes,
                                             const Options& options) {
  const int process = context->comm.process();
  const bool alone = context->comm.processes() == 1;
  try {
    auto state = std::make_unique<State>(std::move(context));
    const Making making{*state, program, element_bytes, options};
    if (auto ready = making.run(); !ready) return tl::unexpected(ready.error());
    return Redistributor(std::move(state));
  } catch (const std::bad_alloc&) {
    if (alone) throw;
    // Not even room to say so: the others would wait for this process for ever.
    abort_job(process, environment_failed, "out of memory where the others could not be told");
  }
}

// ---- Moving ------------------------------------------------------------------------------------

BufferFault Redistributor::State::fault(std::span<const std::byte> in,
                                        std::span<const std::byte> out) const {
  if (static_cast<Size>(in.size()) != in_bytes || static_cast<Size>(out.size()) != out_bytes) {
    return BufferFault::sizes;
  }
  if (own_buffers) {
    const bool own = in.data() == input.data() && out.data() == output.data();
    return own ? BufferFault::none : BufferFault::not_its_own;
  }
  const std::less<const std::byte*> before;
  const bool overlap = !in.empty() && !out.empty() && before(in.data(), out.data() + out.size()) &&
                       before(out.data(), in.data() + in.size());
  return overlap ? BufferFault::overlap : BufferFault::none;
}

std::string Redistributor::State::words_for(const BufferReport& report) const {
  switch (static_cast<BufferFault>(report[0])) {
    case BufferFault::sizes:
      return fmt::format("buffers of {} and {} bytes were given, the tiles have {} and {}",
                         report[1], report[2], in_bytes, out_bytes);
    case BufferFault::not_its_own:
      return "with buffers of its own it moves these, input() and output(), and no others";
    default:
      return "the buffers for input and output overlap";
  }
}

/// Collective. Numbers are told and the words found when nobody waits: a process without memory for
/// them keeps nobody waiting.
Result<void> Redistributor::State::agree_on_buffers(BufferReport report) const {
  const auto failed =
      first_failed(comm(), report[0] != static_cast<std::uint64_t>(BufferFault::none));
  if (!failed) return {};
  comm().broadcast(std::as_writable_bytes(std::span(report)), *failed);
  try {
    Diagnostic diagnostic{.code = Code::bad_argument, .message = words_for(report)};
    if (comm().processes() > 1) diagnostic.notes.push_back(found_by(*failed, comm()));
    return refuse(std::move(diagnostic));
  } catch (const std::bad_alloc&) {
    return refuse({.code = Code::bad_argument, .message = "wrong buffers"});  // needs no memory
  }
}

Result<void> Redistributor::run(std::span<const std::byte> in, std::span<std::byte> out) {
  State& state = *state_;
  Mover& mover = *state.chosen.mover;
  const BufferFault fault = state.fault(in, out);
  const bool good = fault == BufferFault::none;
  const BufferReport report{static_cast<std::uint64_t>(fault), in.size(), out.size()};
  const bool all_refuse = state.wrong_buffers == WrongBuffers::refused;
  if (!good && !all_refuse) state.comm().abort(environment_failed, state.words_for(report));
  if (good && state.huge_pages) state.advise(in, out);
  const auto agree_on_buffers = [&] { return state.agree_on_buffers(report); };
  // To agree costs about as much as to move a small tile.
  const bool mover_agrees = mover.agrees();
  if (!mover_agrees && all_refuse) {
    if (auto agreed = agree_on_buffers(); !agreed) return agreed;
  }
  const Size given_bytes = state.own_buffers || !good ? 0 : state.in_bytes + state.out_bytes;
  state.meter.add(given_bytes);
  // One that was given wrong buffers shows an input of another size than its tile.
  const std::byte byte{};
  const std::span<const std::byte> wrong(&byte, state.in_bytes == 0 ? 1 : 0);
  if (auto moved = good ? mover.move(in, out) : mover.move(wrong, {}); !moved) {
    if (mover_agrees && moved.error().code == Code::bad_argument) {
      state.meter.remove(given_bytes);
      if (auto agreed = agree_on_buffers(); !agreed) return agreed;
    }
    // The others are inside a collective or on their way to one, and nobody could tell them.
    state.comm().abort(environment_failed, moved.error().message);
  }
  state.meter.remove(given_bytes);
  return {};
}

Result<void> Redistributor::run() {
  RETILE_ASSERT(state_->own_buffers, "run() without buffers of its own");
  return run(state_->input, state_->output);
}

Redistributor::Redistributor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Redistributor::Redistributor(Redistributor&&) noexcept = default;
Redistributor& Redistributor::operator=(Redistributor&&) noexcept = default;
Redistributor::~Redistributor() = default;

Size Redistributor::in_bytes() const { return state_->in_bytes; }
Size Redistributor::out_bytes() const { return state_->out_bytes; }
std::span<std::byte> Redistributor::input() const { return state_->input; }
std::span<std::byte> Redistributor::output() const { return state_->output; }
Strategy Redistributor::strategy() const { return state_->chosen.strategy; }
const std::vector<std::string>& Redistributor::reasons() const { return state_->chosen.reasons; }
Size Redistributor::received_bytes() const { return state_->chosen.mover->received_bytes(); }
Size Redistributor::peak_bytes() const { return state_->meter.peak_bytes; }
Size Redistributor::peak_limit_bytes() const { return state_->chosen.peak_limit_bytes; }
Size Redistributor::preparing_limit_bytes() const { return state_->chosen.preparing_limit_bytes; }

Result<void> redistribute(MPI_Comm comm, const Program& program, std::span<const std::byte> in,
                          std::span<std::byte> out, Size element_bytes, const LocalArrays& arrays) {
  auto context = kept_context(comm);
  if (!context) return tl::unexpected(context.error());
  auto redistributor =
      Redistributor::made_in(std::move(*context), program, element_bytes, {.arrays = arrays});
  if (!redistributor) return tl::unexpected(redistributor.error());
  return redistributor->run(in, out);
}

}  // namespace retile::mpi
