#include "retile/exec/team/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include "retile/core/cases.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/team/cycles.h"
#include "retile/exec/team/turn.h"
#include "retile/program/apply.h"
#include "retile/program/tile_shapes.h"

namespace retile::team {
namespace {

std::size_t bytes_of(Size bytes) { return static_cast<std::size_t>(bytes); }

/// Pieces between the members of a group: every batch is a matrix of runs, one row (or, turned
/// before, column) per member, of which this member has `runs` runs for each. Blocks of `width`
/// runs follow their cycles through all memories; panels of one block for each member are turned
/// apart.
struct PiecesStep {
  std::vector<int> members;
  Size position = 0;
  Size batches = 1;
  Size runs = 1;
  Size run_bytes = 1;
  bool turned_before = false;  ///< [runs][members] becomes [members][runs]; else the other way
  Size width = 1;
  std::optional<Cycles> cycles;

  [[nodiscard]] BlockTurn blocks() const {
    return {.members = static_cast<Size>(members.size()),
            .columns = runs / width,
            .block_bytes = width * run_bytes,
            .batches = batches,
            .turned_before = turned_before};
  }
};

struct GatherStep {
  std::vector<int> members;
  Size position = 0;
  Size batches = 1;
  Size segment_bytes = 1;  // of one member's tile
};

struct SliceStep {
  Size pieces = 1;
  Size position = 0;
  Size batches = 1;
  Size segment_bytes = 1;  // of the piece
};

/// The tiles of a cycle: device cycle[k] gets that of cycle[k + 1].
struct PermuteStep {
  std::vector<int> cycle;
  Size share = 0;  // which slices are this member's
  Size tile_bytes = 1;
};

using Move = std::variant<PiecesStep, GatherStep, SliceStep, PermuteStep>;

Size product(const Shape& shape, std::size_t begin, std::size_t end) {
  Size out = 1;
  for (std::size_t i = begin; i < end; ++i) out *= shape[i];
  return out;
}

/// \param most_blocks  of a batch of all members
PiecesStep pieces_of(const Alltoall& step, const Shape& shape, Size element_bytes, Size panel_bytes,
                     Size most_blocks) {
  const Size n = step.groups.columns();
  const std::size_t rank = shape.size();
  PiecesStep out;
  const std::size_t outer = std::min(step.split, step.concat);
  const std::size_t inner = std::max(step.split, step.concat);
  out.batches = product(shape, 0, outer);
  if (step.split == step.concat) {
    out.run_bytes = shape[outer] / n * product(shape, outer + 1, rank) * element_bytes;
  } else if (step.split < step.concat) {
    // [n, m, B, c_i, C] becomes [m, B, n, c_i, C].
    out.runs = shape[outer] / n * product(shape, outer + 1, inner);
    out.run_bytes = product(shape, inner, rank) * element_bytes;
  } else {
    // [c_i, B, n, m, C] becomes [n, c_i, B, m, C].
    out.turned_before = true;
    out.runs = product(shape, outer, inner);
    out.run_bytes = shape[inner] / n * product(shape, inner + 1, rank) * element_bytes;
  }
  // Runs of 512 bytes and more move on their own, in one pass. Shorter ones move in blocks, which
  // are turned in a second pass: one pass of 256 bytes at a time takes longer than both. Where no
  // panel has a good divisor, pieces are swapped as they lie.
  constexpr Size long_run_bytes = 512;
  constexpr Size least_block_bytes = 4096;
  const Size most_columns = most_blocks / n / n;
  if (out.run_bytes >= long_run_bytes && out.runs <= most_columns) return out;
  out.width = panel_columns(n, out.runs, out.run_bytes, panel_bytes);
  if (out.width * out.run_bytes < least_block_bytes || out.runs / out.width > most_columns) {
    out.width = out.runs;
  }
  return out;
}

}  // namespace

struct InPlace::State {
  Size in_bytes = 0;
  Size out_bytes = 0;
  Size memory_bytes = 0;
  Size received_bytes = 0;
  std::vector<Move> moves;
  Size panel_bytes = 0;
  std::unique_ptr<std::byte[]> memory;
  Scratch scratch;

  Result<void> run(PiecesStep& step, Team& team) const;
  Result<void> run(const GatherStep& step, Team& team) const;
  Result<void> run(const SliceStep& step, Team& team) const;
  Result<void> run(const PermuteStep& step, Team& team) const;
};

Result<void> InPlace::State::run(PiecesStep& step, Team& team) const {
  const auto n = static_cast<Size>(step.members.size());
  const auto turn_panels = [&] {
    if (step.width == 1) return;
    std::byte* const mine = team.memory(team.member()).data();
    const Size panels = step.batches * (step.runs / step.width);
    for (Size panel = 0; panel < panels; ++panel) {
      turn(mine + panel * n * step.width * step.run_bytes, step.turned_before ? step.width : n,
           step.turned_before ? n : step.width, step.run_bytes, scratch);
    }
  };
  if (step.turned_before) turn_panels();
  if (auto all = team.barrier(); !all) return all;
  step.cycles->keep(team, scratch.panel);
  if (auto all = team.barrier(); !all) return all;
  step.cycles->run(scratch.panel);
  if (auto all = team.barrier(); !all) return all;
  if (!step.turned_before) turn_panels();
  return {};
}

Result<void> InPlace::State::run(const GatherStep& step, Team& team) const {
  const auto n = static_cast<Size>(step.members.size());
  std::byte* const mine = team.memory(team.member()).data();
  const auto place = [&](Size batch) { return (batch * n + step.position) * step.segment_bytes; };
  for (Size batch = step.batches; batch-- > 0;) {
    std::memmove(mine + place(batch), mine + batch * step.segment_bytes,
                 bytes_of(step.segment_bytes));
  }
  if (auto all = team.barrier(); !all) return all;
  // In stretches that stay in the cache while they go to all members.
  const Size together = std::max<Size>(1, panel_bytes / 2 / step.segment_bytes);
  for (Size batch = 0; batch < step.batches; batch += together) {
    const Size batches = std::min(together, step.batches - batch);
    for (Size begin = 0; begin < step.segment_bytes; begin += panel_bytes / 2) {
      const Size bytes = std::min(panel_bytes / 2, step.segment_bytes - begin);
      for (Size k = 1; k < n; ++k) {  // everyone starts with another member
        const auto s = static_cast<std::size_t>((step.position + k) % n);
        std::byte* const to = team.memory(step.members[s]).data();
        const Size at = place(batch) + begin;
        const Size stride = n * step.segment_bytes;
        copy::copy_runs(to + at, stride, mine + at, stride, bytes, batches);
      }
    }
  }
  return team.barrier();
}

Result<void> InPlace::State::run(const SliceStep& step, Team& team) const {
  std::byte* const mine = team.memory(team.member()).data();
  for (Size batch = 0; batch < step.batches; ++batch) {
    std::memmove(mine + batch * step.segment_bytes,
                 mine + (batch * step.pieces + step.position) * step.segment_bytes,
                 bytes_of(step.segment_bytes));
  }
  return {};
}

Result<void> InPlace::State::run(const PermuteStep& step, Team& team) const {
  if (auto all = team.barrier(); !all) return all;
  const auto length = static_cast<Size>(step.cycle.size());
  const Size slice = panel_bytes;
  for (Size begin = step.share * slice; length > 1 && begin < step.tile_bytes;
       begin += length * slice) {
    const std::size_t bytes = bytes_of(std::min(slice, step.tile_bytes - begin));
    const auto at = [&](std::size_t k) { return team.memory(step.cycle[k]).data() + begin; };
    std::memcpy(scratch.panel.data(), at(0), bytes);
    for (std::size_t k = 0; k + 1 < step.cycle.size(); ++k) std::memcpy(at(k), at(k + 1), bytes);
    std::memcpy(at(step.cycle.size() - 1), scratch.panel.data(), bytes);
  }
  return team.barrier();
}

InPlace::InPlace(std::unique_ptr<State> state) : state_(std::move(state)) {}
InPlace::InPlace(InPlace&&) noexcept = default;
InPlace& InPlace::operator=(InPlace&&) noexcept = default;
InPlace::~InPlace() = default;

namespace {

std::vector<int> numbers(const std::vector<Size>& devices) {
  std::vector<int> out;
  out.reserve(devices.size());
  for (const Size device : devices) out.push_back(static_cast<int>(device));
  return out;
}

/// The cycle through `device`, from its lowest device on.
PermuteStep permute_of(const Allpermute& step, Size devices, Size device, Size tile_bytes) {
  const std::vector<Size> source = sources(step, devices);
  Size lowest = device;
  for (Size d = source[static_cast<std::size_t>(device)]; d != device;
       d = source[static_cast<std::size_t>(d)]) {
    lowest = std::min(lowest, d);
  }
  PermuteStep out{.cycle = {}, .share = 0, .tile_bytes = tile_bytes};
  Size d = lowest;
  do {
    if (d == device) out.share = static_cast<Size>(out.cycle.size());
    out.cycle.push_back(static_cast<int>(d));
    d = source[static_cast<std::size_t>(d)];
  } while (d != lowest);
  return out;
}

}  // namespace

Result<InPlace> InPlace::make(const Program& program, Size element_bytes, int member,
                              Size panel_bytes) {
  const auto refused = [](Code code, std::string message) {
    return refuse({.code = code, .message = std::move(message)});
  };
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8 &&
      element_bytes != 16) {
    return refused(Code::bad_argument,
                   fmt::format("elements of {} bytes cannot be moved", element_bytes));
  }
  if (member < 0 || member >= program.devices) {
    return refused(Code::bad_argument, fmt::format("there is no member {}", member));
  }
  if (panel_bytes < program.devices * element_bytes) {
    return refused(
        Code::bad_argument,
        fmt::format("a panel of {} bytes holds less than an element per member", panel_bytes));
  }
  auto shapes = tile_shapes(program, element_bytes);
  if (!shapes) return tl::unexpected(shapes.error());
  const auto tile_bytes = [&](std::size_t i) {
    const Shape& shape = (*shapes)[i];
    return product(shape, 0, shape.size()) * element_bytes;
  };
  auto state = std::make_unique<State>();
  state->panel_bytes = panel_bytes;
  const std::size_t scratch_bytes = bytes_of(in_place_scratch_bytes(panel_bytes));
  state->memory.reset(new (std::nothrow) std::byte[scratch_bytes]);
  if (state->memory == nullptr) return refused(Code::mpi_error, "out of memory");
  const std::span<std::byte> scratch(state->memory.get(), scratch_bytes);
  state->scratch = {.panel = scratch.first(bytes_of(panel_bytes)),
                    .marks = scratch.subspan(bytes_of(panel_bytes), bytes_of(turn_marks_bytes))};
  std::span<std::byte> leaders = scratch.last(bytes_of(cycle_marks_bytes));
  state->in_bytes = tile_bytes(0);
  state->out_bytes = tile_bytes(program.steps.size());
  state->memory_bytes = state->in_bytes;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    state->memory_bytes = std::max(state->memory_bytes, tile_bytes(i + 1));
    const Step& step = program.steps[i];
    const Shape& shape = (*shapes)[i];
    if (moves_nothing(step)) continue;
    const auto receive = [&](Size bytes) {
      state->received_bytes =
          checked_add(state->received_bytes, bytes).value_or(std::numeric_limits<Size>::max());
    };
    auto added = match(
        step.op,
        [&](const Dynslice& slice) -> Result<void> {
          const Size n = group_size(slice);
          state->moves.emplace_back(SliceStep{
              .pieces = n,
              .position = piece_of(slice, member),
              .batches = product(shape, 0, slice.dim),
              .segment_bytes = product(shape, slice.dim, shape.size()) / n * element_bytes});
          return {};
        },
        [&](const Allgather& gather) -> Result<void> {
          const Membership mine = membership(gather.groups, member);
          receive(tile_bytes(i + 1) - tile_bytes(i));
          state->moves.emplace_back(GatherStep{
              .members = numbers(mine.members),
              .position = static_cast<Size>(mine.position),
              .batches = product(shape, 0, gather.dim),
              .segment_bytes = product(shape, gather.dim, shape.size()) * element_bytes});
          return {};
        },
        [&](const Alltoall& exchange) -> Result<void> {
          const Membership mine = membership(exchange.groups, member);
          PiecesStep pieces = pieces_of(exchange, shape, element_bytes, panel_bytes,
                                        static_cast<Size>(leaders.size()) * 8);
          pieces.members = numbers(mine.members);
          pieces.position = static_cast<Size>(mine.position);
          receive(tile_bytes(i) - tile_bytes(i) / static_cast<Size>(pieces.members.size()));
          const BlockTurn blocks = pieces.blocks();
          pieces.cycles.emplace(blocks, pieces.members, pieces.position, panel_bytes, leaders);
          const std::size_t used = bytes_of(Cycles::mark_bytes(blocks));
          if (used <= leaders.size()) leaders = leaders.subspan(used);
          state->moves.emplace_back(std::move(pieces));
          return {};
        },
        [&](const Allpermute& source) -> Result<void> {
          PermuteStep permute = permute_of(source, program.devices, member, tile_bytes(i));
          if (permute.cycle.size() > 1) receive(tile_bytes(i));
          state->moves.emplace_back(std::move(permute));
          return {};
        },
        [&](const Exchange&) -> Result<void> {
          return refused(Code::unsupported,
                         fmt::format("step {} (exchange) is not run in place", i));
        });
    if (!added) return tl::unexpected(added.error());
  }
  return InPlace(std::move(state));
}

Size InPlace::in_bytes() const { return state_->in_bytes; }
Size InPlace::out_bytes() const { return state_->out_bytes; }
Size InPlace::memory_bytes() const { return state_->memory_bytes; }
Size InPlace::received_bytes() const { return state_->received_bytes; }
Size InPlace::scratch_bytes() const { return in_place_scratch_bytes(state_->panel_bytes); }

Result<void> InPlace::run(Team& team) {
  for (Move& move : state_->moves) {
    auto moved = std::visit([&](auto& step) { return state_->run(step, team); }, move);
    if (!moved) return moved;
  }
  return {};
}

}  // namespace retile::team
