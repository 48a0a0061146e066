// The Program's steps as MPI collectives: portable, and the order in which the Program says it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/exec/add/order.h"
#include "retile/exec/mpi/collectives/group_move.h"
#include "retile/exec/mpi/collectives/member_boxes.h"
#include "retile/exec/mpi/collectives/node_gather.h"
#include "retile/exec/mpi/collectives/ordered_move.h"
#include "retile/program/apply.h"
#include "retile/program/moves.h"

namespace retile::mpi {
namespace {

/// Where tiles lie between moves.
enum class Slot { in, out, first, second };

/// From the tile before a step to the tile after it, through a buffer; empty where nothing is left
/// to do on this process. The two tiles do not overlap.
struct StepMove {
  std::function<Result<void>(const std::byte* from, std::byte* to, std::byte* buffer)> run = {};
  Size buffer_bytes = 0;
};

struct Move {
  StepMove what;
  std::size_t step = 0;      // of the Program, for messages
  Size out_bytes = 0;        // of the tile it writes
  Size in_offset_bytes = 0;  // where the tile that it reads starts in its slot
  Slot from = Slot::in;
  Slot to = Slot::out;
};

/// The table of groups between which a step moves something, or null.
const DeviceTable* moving_groups(const Op& op) {
  if (keeps_part(op)) return nullptr;
  return groups_of(op);
}

/// Who moves something together, and how tiles are gathered where they are on several nodes.
struct Group {
  Communicator all;
  std::optional<NodeGather> by_nodes = {};
};

/// A step of a group alone: of its members' tiles, by their places in it.
struct GroupStep {
  Membership group;  // of this process
  TileShapes before;
  Moves moves;
};

/// The collective of MPI that moves what a step of this kind does between the members of a group.
Call call_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::gather:
      return Call::allgather;
    case CollectiveKind::all_to_all:
      return Call::alltoall;
    case CollectiveKind::reduce_scatter:
      return Call::reducescatter;
    case CollectiveKind::all_reduce:
      return Call::allreduce;
    case CollectiveKind::slice:
    case CollectiveKind::permute:
    case CollectiveKind::broadcast:
      break;
  }
  RETILE_ASSERT(false, "the others do not talk in groups");
}

/// One group of so many members, in order.
DeviceTable one_group(std::size_t members) {
  std::vector<Size> row;
  for (Size k = 0; k < static_cast<Size>(members); ++k) row.push_back(k);
  return DeviceTable::rows({std::move(row)});
}

class Collectives final : public Mover {
 public:
  /// \param in_order  what is added goes in the order of add/order.h, and not by MPI's reductions
  Collectives(const Task& task, bool in_order)
      : task_(task), comm_(task.comm), limits_(task), in_order_(in_order) {}

  [[nodiscard]] Size limit_bytes() const override;
  [[nodiscard]] Result<void> make_ready() override;
  [[nodiscard]] Result<void> move(std::span<const std::byte> in, std::span<std::byte> out) override;
  [[nodiscard]] Size received_bytes() const override { return received_; }

 private:
  /// What this process says in the split that makes a communicator.
  struct Split {
    int color;
    int key;
  };
  /// What a step leaves to do on this process: nothing where it only shifts the start of the tile.
  [[nodiscard]] StepMove move_of(std::size_t step);
  [[nodiscard]] StepMove permuted(const Sources& sources, std::size_t step);
  [[nodiscard]] StepMove exchanged(const std::vector<Transfer>& boxes, std::size_t step);
  [[nodiscard]] GroupStep step_of(Membership group, const Op& op, std::size_t step);
  [[nodiscard]] GroupStep group_step_of(Op op, std::size_t step);
  [[nodiscard]] StepMove group_move_of(Call call, const GroupStep& moved, std::size_t step);
  /// Of a process that is alone in its group.
  [[nodiscard]] StepMove kept_move_of(const GroupStep& alone);
  /// Of a step that adds, or an exchange.
  [[nodiscard]] StepMove ordered_move_of(std::size_t step, std::vector<Transfer> transfers);
  /// The table of groups for which a step needs communicators, or null.
  [[nodiscard]] const DeviceTable* talking_groups(const Op& op) const;
  [[nodiscard]] Result<void> make_reduction();
  void receive(Size bytes) {
    received_ = checked_add(received_, bytes).value_or(std::numeric_limits<Size>::max());
  }
  [[nodiscard]] Size tile_bytes(const Shape& shape) const {
    return box_bytes(shape, limits_.element_bytes);
  }
  // In this order.
  void find_groups();
  void split_groups();
  void plan();
  [[nodiscard]] bool allocate();
  void place();

  const Task task_;
  const Communicator& comm_;
  Limits limits_;
  bool in_order_;
  std::optional<Reduction> reduction_;    // of a Program that MPI adds for
  std::vector<std::vector<Size>> ranks_;  // of tiles before every step of one that adds
  std::vector<Split> splits_;
  std::vector<std::optional<MemberPlaces>> places_;  // of the members of this process's group
  std::vector<std::size_t> group_of_step_;
  std::vector<Group> groups_;
  std::vector<Move> moves_;
  Size shift_bytes_ = 0;  // a dynslice of whole rows only moves the start
  Size received_ = 0;
  Buffer first_, second_, chunk_;
};

const DeviceTable* Collectives::talking_groups(const Op& op) const {
  // Of steps that add MPI knows those that clear nothing; what is added in order goes in messages.
  const auto manner = add::manner_of(op);
  return manner && (in_order_ || manner->clears) ? nullptr : moving_groups(op);
}

/// Everything about the groups that can fail on one process alone, so that split_groups cannot.
void Collectives::find_groups() {
  const std::vector<Step>& steps = task_.program.steps;
  std::vector<const DeviceTable*> tables;
  group_of_step_.assign(steps.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const DeviceTable* const table = talking_groups(steps[i].op);
    if (table == nullptr || table->columns() == 1) continue;
    const auto known = std::find_if(tables.begin(), tables.end(),
                                    [&](const DeviceTable* other) { return *other == *table; });
    group_of_step_[i] = static_cast<std::size_t>(known - tables.begin());
    if (known != tables.end()) continue;
    const Membership mine = membership(*table, comm_.process());
    const Size lowest = *std::min_element(mine.members.begin(), mine.members.end());
    places_.push_back(MemberPlaces::find(mine.members, mine.position, task_.nodes));
    splits_.push_back({.color = static_cast<int>(lowest), .key = static_cast<int>(mine.position)});
    tables.push_back(table);
  }
  groups_.reserve(splits_.size());
}

/// Collective.
void Collectives::split_groups() {
  for (std::size_t k = 0; k < splits_.size(); ++k) {
    groups_.push_back({.all = comm_.split(splits_[k].color, splits_[k].key)});
    if (places_[k]) groups_.back().by_nodes.emplace(*std::move(places_[k]), groups_.back().all);
  }
}

StepMove Collectives::kept_move_of(const GroupStep& alone) {
  if (alone.moves.transfers.empty()) return {};  // nothing is left of the tile
  copy::BoxStream box(copy::End::source, limits_.element_bytes, alone.before.front(),
                      alone.moves.transfers);
  if (const auto offset = box.unpacked({}, box.bytes())) {
    shift_bytes_ += *offset;
    return {};
  }
  return {.run = [box = std::move(box)](const std::byte* from, std::byte* to,
                                        std::byte*) mutable -> Result<void> {
    copy::BoxStream::Cursor begin;
    box.pack(begin, from, to, box.bytes());
    return {};
  }};
}

/// Also counts what this process receives.
GroupStep Collectives::step_of(Membership group, const Op& op, std::size_t step) {
  const DeviceShapes& tiles = task_.shapes[step];
  const auto self = static_cast<Size>(group.position);
  // Where tiles are alike, other members move what this one does, and there may be many.
  const bool alike = tiles.alike() && task_.shapes[step + 1].alike();
  TileShapes before;
  for (const Size member : group.members) before.push_back(tiles.of(member));
  auto moves = moves_of({op, {}}, before, {}, alike ? std::optional(self) : std::nullopt);
  RETILE_ASSERT(moves.has_value(), "tile_shapes() has seen that the step can be applied");
  for (const Transfer& transfer : moves->transfers) {
    if (transfer.target == self && transfer.source != self) receive(tile_bytes(transfer.shape));
  }
  return {std::move(group), std::move(before), *std::move(moves)};
}

GroupStep Collectives::group_step_of(Op op, std::size_t step) {
  Membership group = membership(*groups_of(op), comm_.process());
  const Cases regroup{[&](DeviceTable& groups) { groups = one_group(group.members.size()); },
                      [](const auto& /*names no devices*/) {}};
  each_field(op, [&regroup](std::string_view /*key*/, auto& value) { regroup(value); });
  return step_of(std::move(group), op, step);
}

StepMove Collectives::group_move_of(Call call, const GroupStep& moved, std::size_t step) {
  if (moved.before.size() == 1) return kept_move_of(moved);
  Group& group = groups_[group_of_step_[step]];
  GroupMove move(call, moved.before, moved.moves, group.all,
                 group.by_nodes ? &*group.by_nodes : nullptr, limits_,
                 reduction_ ? &*reduction_ : nullptr);
  const Size buffer_bytes = move.buffer_bytes();
  return {.run = std::move(move), .buffer_bytes = buffer_bytes};
}

StepMove Collectives::permuted(const Sources& sources, std::size_t step) {
  const DeviceShapes& shapes = task_.shapes[step];
  const Size device = comm_.process();
  const std::vector<Size> source = sources_of(sources, comm_.processes());
  const auto from_process = static_cast<int>(source[static_cast<std::size_t>(device)]);
  if (from_process == device) return {};  // then it is its own target as well
  const auto to_process =
      static_cast<int>(std::find(source.begin(), source.end(), device) - source.begin());
  const Size sent_bytes = tile_bytes(shapes.of(device));
  const Size received_bytes = tile_bytes(shapes.of(from_process));
  receive(received_bytes);
  // As many messages for all, so that everybody's have a partner; behind the end of a tile they are
  // empty.
  const Size largest = tile_bytes(shapes.largest());
  const Size most = limits_.round_bytes(limits_.message_bytes, 1, largest);
  return {.run = [=, this](const std::byte* from, std::byte* to, std::byte*) -> Result<void> {
    for (Size begin = 0; begin < largest; begin += most) {
      const auto part = [&](auto* tile, Size bytes) {
        const Size at = std::min(begin, bytes);
        return std::span(tile + at, static_cast<std::size_t>(std::min(most, bytes - at)));
      };
      auto sent = comm_.send_receive(part(from, sent_bytes), to_process, part(to, received_bytes),
                                     from_process);
      if (!sent) return sent;
    }
    return {};
  }};
}

StepMove Collectives::ordered_move_of(std::size_t step, std::vector<Transfer> transfers) {
  const Size device = comm_.process();
  const auto manner = add::manner_of(task_.program.steps[step].op);
  if (manner) add::put_in_order(transfers, ranks_[step]);
  OrderedMove move(std::move(transfers), task_.shapes[step].of(device),
                   task_.shapes[step + 1].of(device), task_.adder, manner, comm_, limits_);
  const Size buffer_bytes = move.buffer_bytes();
  return {.run = std::move(move), .buffer_bytes = buffer_bytes};
}

StepMove Collectives::exchanged(const std::vector<Transfer>& boxes, std::size_t step) {
  std::vector<Transfer> transfers;
  for (const std::size_t k : by_target(boxes)) {
    const Transfer& transfer = boxes[k];
    transfers.push_back(transfer);
    if (transfer.target == comm_.process() && transfer.source != comm_.process()) {
      receive(tile_bytes(transfer.shape));
    }
  }
  return ordered_move_of(step, std::move(transfers));
}

StepMove Collectives::move_of(std::size_t step) {
  const Op& op = task_.program.steps[step].op;
  const OpFacts facts = facts_of(op);
  if (facts.transfers != nullptr) return exchanged(*facts.transfers, step);
  if (facts.sources != nullptr) return permuted(*facts.sources, step);
  if (facts.pieces != nullptr) {
    const Size piece = piece_of(*facts.pieces, comm_.process());
    const PartList own{.parts = group_size(facts), .part = DeviceTable::list({piece})};
    const Dynslice alone{.dim = facts.cuts.front(), .pieces = own, .piece = facts.piece};
    return kept_move_of(step_of({{comm_.process()}, 0}, alone, step));
  }
  GroupStep moved = group_step_of(op, step);
  if (talking_groups(op) != nullptr) return group_move_of(call_of(facts.kind), moved, step);
  for (Transfer& transfer : moved.moves.transfers) {
    transfer.target = moved.group.members[index(transfer.target)];
    transfer.source = moved.group.members[index(transfer.source)];
  }
  return ordered_move_of(step, std::move(moved.moves.transfers));
}

void Collectives::plan() {
  const std::vector<Step>& steps = task_.program.steps;
  if (task_.adder) ranks_ = add::ranks_before_steps(task_.program, task_.shapes);
  const auto tile_after = [&](std::size_t step) -> const Shape& {
    return task_.shapes[step + 1].of(comm_.process());
  };
  const auto add = [&](StepMove what, std::size_t step, Size out_bytes, Size offset) {
    moves_.push_back(
        {.what = std::move(what), .step = step, .out_bytes = out_bytes, .in_offset_bytes = offset});
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepMove what = move_of(i);
    if (!what.run) continue;
    add(std::move(what), i, tile_bytes(tile_after(i)), std::exchange(shift_bytes_, 0));
  }
  const Size out_bytes = task_.out_bytes();
  if (moves_.empty() || shift_bytes_ != 0 || moves_.back().out_bytes != out_bytes) {
    const auto copy = [out_bytes](const std::byte* from, std::byte* to,
                                  std::byte*) -> Result<void> {
      if (out_bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(out_bytes));
      return {};
    };
    add({.run = copy}, steps.size(), out_bytes, shift_bytes_);
  }
  place();
}

/// Gives every move its slots. The last one writes `out`; backwards from there the results
/// alternate between one scratch buffer and `out`, or a second scratch buffer where `out` is too
/// small.
void Collectives::place() {
  const Size out_bytes = moves_.back().out_bytes;
  for (std::size_t back = 0; back < moves_.size(); ++back) {
    Move& move = moves_[moves_.size() - 1 - back];
    move.to = back % 2 == 1 ? Slot::first : move.out_bytes <= out_bytes ? Slot::out : Slot::second;
  }
  for (std::size_t i = 1; i < moves_.size(); ++i) moves_[i].from = moves_[i - 1].to;
}

bool Collectives::allocate() {
  Size first_bytes = 0;
  Size second_bytes = 0;
  Size chunk_bytes = 0;
  for (const Move& move : moves_) {
    if (move.to == Slot::first) first_bytes = std::max(first_bytes, move.out_bytes);
    if (move.to == Slot::second) second_bytes = std::max(second_bytes, move.out_bytes);
    chunk_bytes = std::max(chunk_bytes, move.what.buffer_bytes);
  }
  return first_.allocate(first_bytes, task_.meter) && second_.allocate(second_bytes, task_.meter) &&
         chunk_.allocate(chunk_bytes, task_.meter);
}

Result<void> Collectives::move(std::span<const std::byte> in, std::span<std::byte> out) {
  const auto writable = [&](Slot slot) {
    return slot == Slot::out ? out.data() : slot == Slot::first ? first_.data() : second_.data();
  };
  for (const Move& next : moves_) {
    const std::byte* from =
        (next.from == Slot::in ? in.data() : writable(next.from)) + next.in_offset_bytes;
    if (auto moved = next.what.run(from, writable(next.to), chunk_.data()); !moved) {
      Diagnostic diagnostic = moved.error();
      diagnostic.message = fmt::format("step {}: {}", next.step, diagnostic.message);
      return refuse(std::move(diagnostic));
    }
  }
  return {};
}

/// The bound that redistribute.h states; the same on all processes, whatever each of them could
/// save.
Size Collectives::limit_bytes() const {
  const std::vector<Step>& steps = task_.program.steps;
  Size between = 0;
  Size between_over_out = 0;
  Size largest_group = 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i + 1 < steps.size()) {
      const DeviceShapes& tiles = task_.shapes[i + 1];
      const Size bytes = tile_bytes(tiles.largest());
      between = std::max(between, bytes);
      // Of tiles that are not alike every one may be above its own end.
      if (!tiles.alike() || bytes > task_.out_bytes()) {
        between_over_out = std::max(between_over_out, bytes);
      }
    }
    const DeviceTable* const groups = moving_groups(steps[i].op);
    if (groups != nullptr) largest_group = std::max(largest_group, groups->columns());
  }
  return task_.most_in_bytes() + task_.most_out_bytes() + between + between_over_out +
         std::max(task_.chunk_bytes, 2 * largest_group * task_.element_bytes);
}

Result<void> Collectives::make_reduction() {
  if (!task_.adder || in_order_) return {};
  auto made = Reduction::make(*task_.adder);
  if (!made) return tl::unexpected(made.error());
  reduction_ = std::move(*made);
  return {};
}

Result<void> Collectives::make_ready() {
  const auto found = or_out_of_memory([&]() -> Result<void> {
    find_groups();
    return make_reduction();
  });
  if (auto agreed = comm_.agree(found); !agreed) return agreed;
  split_groups();
  return comm_.agree(or_out_of_memory([&]() -> Result<void> {
    plan();
    if (allocate()) return {};
    return refuse(
        {.code = Code::mpi_error,
         .message = fmt::format("out of memory: buffers of up to {} bytes cannot be allocated",
                                limit_bytes() - task_.most_in_bytes() - task_.most_out_bytes())});
  }));
}

}  // namespace

Result<std::unique_ptr<Mover>> collectives(const Task& task) {
  for (std::size_t i = 0; i < task.program.steps.size(); ++i) {
    if (!is_exchange(task.program.steps[i])) continue;
    return refuse({.code = Code::unsupported,
                   .message = fmt::format("step {} (exchange) is not run by the collectives", i)});
  }
  return std::make_unique<Collectives>(task, false);
}

std::unique_ptr<Mover> adding_in_order(const Task& task) {
  return std::make_unique<Collectives>(task, true);
}

}  // namespace retile::mpi
