#include "retile/exec/team/in_place.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/team/cycles.h"
#include "retile/exec/team/turn.h"
#include "retile/program/apply.h"

namespace retile::team {
namespace {

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

std::vector<int> numbers(const std::vector<Size>& devices) {
  std::vector<int> out;
  for (const Size device : devices) out.push_back(static_cast<int>(device));
  return out;
}

/// How many runs move together. Runs of 512 bytes and more move on their own, in one pass. Shorter
/// ones move in blocks, which are turned in a second pass: one pass of 256 bytes at a time takes
/// longer than both. Where no panel has a good divisor, pieces are swapped as they lie.
/// \param most_columns  for which there are marks
Size width_of(const PiecesStep& step, Size panel_bytes, Size most_columns) {
  constexpr Size long_run_bytes = 512;
  constexpr Size least_block_bytes = 4096;
  if (step.run_bytes >= long_run_bytes && step.runs <= most_columns) return 1;
  const auto n = static_cast<Size>(step.members.size());
  const Size width = panel_columns(n, step.runs, step.run_bytes, panel_bytes);
  const bool good =
      width * step.run_bytes >= least_block_bytes && step.runs / width <= most_columns;
  return good ? width : step.runs;
}

GatherStep gather_of(const OpFacts& step, const Shape& shape, Size element_bytes, Size member) {
  const Membership mine = membership(*step.groups, member);
  const std::size_t dim = step.joins.front();
  return {.members = numbers(mine.members),
          .position = static_cast<Size>(mine.position),
          .batches = product(shape, 0, dim),
          .segment_bytes = product(shape, dim, shape.size()) * element_bytes};
}

SliceStep slice_of(const OpFacts& step, const Shape& shape, Size element_bytes, Size member) {
  const Size n = group_size(step);
  const std::size_t dim = step.cuts.front();
  return {.pieces = n,
          .position = piece_of(*step.pieces, member),
          .batches = product(shape, 0, dim),
          .segment_bytes = product(shape, dim, shape.size()) / n * element_bytes};
}

/// The cycle through `device`, from its lowest device on.
PermuteStep permute_of(const Sources& sources, Size devices, Size device, Size tile_bytes) {
  const std::vector<Size> source = sources_of(sources, devices);
  PermuteStep out{.cycle = {}, .share = 0, .tile_bytes = tile_bytes};
  for (Size d = device; out.cycle.empty() || d != device; d = source[static_cast<std::size_t>(d)]) {
    out.cycle.push_back(static_cast<int>(d));
  }
  const auto lowest = std::min_element(out.cycle.begin(), out.cycle.end());
  out.share = (out.cycle.end() - lowest) % static_cast<Size>(out.cycle.size());
  std::rotate(out.cycle.begin(), lowest, out.cycle.end());
  return out;
}

/// \param marks  of cycles; those that are used are taken away
PiecesStep pieces_of(const OpFacts& step, const Shape& shape, Size element_bytes, Size member,
                     Size panel_bytes, std::span<std::byte>& marks) {
  const Size n = step.groups->columns();
  const std::size_t rank = shape.size();
  const Membership mine = membership(*step.groups, member);
  const std::size_t split = step.cuts.front();
  const std::size_t concat = step.joins.front();
  PiecesStep out;
  out.members = numbers(mine.members);
  out.position = static_cast<Size>(mine.position);
  const std::size_t outer = std::min(split, concat);
  const std::size_t inner = std::max(split, concat);
  out.batches = product(shape, 0, outer);
  if (split == concat) {
    out.run_bytes = shape[outer] / n * product(shape, outer + 1, rank) * element_bytes;
  } else if (split < concat) {
    // [n, m, B, c_i, C] becomes [m, B, n, c_i, C].
    out.runs = shape[outer] / n * product(shape, outer + 1, inner);
    out.run_bytes = product(shape, inner, rank) * element_bytes;
  } else {
    // [c_i, B, n, m, C] becomes [n, c_i, B, m, C].
    out.turned_before = true;
    out.runs = product(shape, outer, inner);
    out.run_bytes = shape[inner] / n * product(shape, inner + 1, rank) * element_bytes;
  }
  out.width = width_of(out, panel_bytes, static_cast<Size>(marks.size()) * 8 / n / n);
  const BlockTurn blocks = out.blocks();
  out.cycles.emplace(blocks, out.members, out.position, panel_bytes, marks);
  const std::size_t used = index(Cycles::mark_bytes(blocks));
  if (used <= marks.size()) marks = marks.subspan(used);
  return out;
}

}  // namespace

struct InPlace::State {
  State(const Program& program, const std::vector<Shape>& shapes, Size element_bytes, int member,
        Size panel);

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
    std::memmove(mine + place(batch), mine + batch * step.segment_bytes, index(step.segment_bytes));
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
        copy::copy_runs({to + at, stride, mine + at, stride, bytes, batches});
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
                 index(step.segment_bytes));
  }
  return {};
}

Result<void> InPlace::State::run(const PermuteStep& step, Team& team) const {
  if (auto all = team.barrier(); !all) return all;
  const auto length = static_cast<Size>(step.cycle.size());
  const Size slice = panel_bytes;
  for (Size begin = step.share * slice; length > 1 && begin < step.tile_bytes;
       begin += length * slice) {
    const std::size_t bytes = index(std::min(slice, step.tile_bytes - begin));
    const auto at = [&](std::size_t k) { return team.memory(step.cycle[k]).data() + begin; };
    std::memcpy(scratch.panel.data(), at(0), bytes);
    for (std::size_t k = 0; k + 1 < step.cycle.size(); ++k) std::memcpy(at(k), at(k + 1), bytes);
    std::memcpy(at(step.cycle.size() - 1), scratch.panel.data(), bytes);
  }
  return team.barrier();
}

InPlace::InPlace(InPlace&&) noexcept = default;
InPlace& InPlace::operator=(InPlace&&) noexcept = default;
InPlace::~InPlace() = default;

InPlace::State::State(const Program& program, const std::vector<Shape>& shapes, Size element_bytes,
                      int member, Size panel)
    : panel_bytes(panel), memory(new std::byte[index(in_place_scratch_bytes(panel))]) {
  RETILE_ASSERT(panel >= program.devices * element_bytes,
                "a panel of less than an element for each");
  const std::span all(memory.get(), index(in_place_scratch_bytes(panel)));
  scratch = {.panel = all.first(index(panel)),
             .marks = all.subspan(index(panel), index(turn_marks_bytes))};
  std::span<std::byte> marks = all.last(index(cycle_marks_bytes));
  const auto tile_bytes = [&](std::size_t i) {
    return product(shapes[i], 0, shapes[i].size()) * element_bytes;
  };
  in_bytes = tile_bytes(0);
  out_bytes = tile_bytes(program.steps.size());
  memory_bytes = in_bytes;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Size before = tile_bytes(i);
    memory_bytes = std::max(memory_bytes, tile_bytes(i + 1));
    if (moves_nothing(program.steps[i])) continue;
    const OpFacts facts = facts_of(program.steps[i].op);
    RETILE_ASSERT(facts.is_plain(), "only Programs whose tiles are all alike are run in place");
    Size received = 0;
    if (facts.sources != nullptr) {
      PermuteStep step = permute_of(*facts.sources, program.devices, member, before);
      received = step.cycle.size() > 1 ? before : 0;
      moves.emplace_back(std::move(step));
    } else if (facts.pieces != nullptr) {
      moves.emplace_back(slice_of(facts, shapes[i], element_bytes, member));
    } else if (facts.cuts.empty()) {
      received = tile_bytes(i + 1) - before;
      moves.emplace_back(gather_of(facts, shapes[i], element_bytes, member));
    } else {
      received = before - before / facts.groups->columns();
      moves.emplace_back(pieces_of(facts, shapes[i], element_bytes, member, panel, marks));
    }
    received_bytes =
        checked_add(received_bytes, received).value_or(std::numeric_limits<Size>::max());
  }
}

InPlace::InPlace(const Program& program, const std::vector<Shape>& shapes, Size element_bytes,
                 int member, Size panel_bytes)
    : state_(std::make_unique<State>(program, shapes, element_bytes, member, panel_bytes)) {}

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
