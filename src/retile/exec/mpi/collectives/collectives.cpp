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
#include "retile/exec/add/order.h"
#include "retile/exec/mpi/collectives/group_move.h"
#include "retile/exec/mpi/collectives/ordered_move.h"
#include "retile/exec/mpi/collectives/reduce_move.h"
#include "retile/exec/mpi/collectives/uneven_group_move.h"
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

/// What a step moves between these devices, which are numbered anew: device k is members[k].
std::vector<Transfer> transfers_among(const std::vector<Size>& members, const Op& step,
                                      const DeviceShapes& tiles) {
  TileShapes before;
  for (const Size member : members) before.push_back(tiles.of(member));
  auto out = moves_of({step, {}}, before);
  RETILE_ASSERT(out.has_value(), "the shapes are those that the steps make");
  return std::move(out->transfers);
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
  [[nodiscard]] StepMove move_of(const Op& op, std::size_t step, const Shape& shape);
  [[nodiscard]] StepMove move_of(const Dynslice& slice, const Shape& shape);
  [[nodiscard]] StepMove move_of(const Allpermute& permute, const DeviceShapes& shapes);
  /// As move_of, of tiles that are not all alike.
  [[nodiscard]] StepMove uneven_move_of(std::size_t step);
  /// Of a step that adds, or an exchange.
  [[nodiscard]] StepMove ordered_move_of(std::size_t step, std::vector<Transfer> transfers);
  [[nodiscard]] StepMove adding_move_of(const Exchange& exchange, std::size_t step);
  [[nodiscard]] StepMove adding_move_of(Adding auto adding, std::size_t step);
  [[nodiscard]] StepMove reducing_move_of(bool scatters, std::size_t step,
                                          const std::vector<Transfer>& transfers);
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
  std::vector<std::size_t> group_of_step_;
  std::vector<Communicator> groups_;
  std::vector<Move> moves_;
  Size shift_bytes_ = 0;  // a dynslice of whole rows only moves the start
  Size received_ = 0;
  Buffer first_, second_, chunk_;
};

const DeviceTable* Collectives::talking_groups(const Op& op) const {
  using Table = const DeviceTable*;
  return match(
      op, [](const Dynslice&) -> Table { return nullptr; },
      [](const Allgather& gather) -> Table { return &gather.groups; },
      [](const Alltoall& exchange) -> Table { return &exchange.groups; },
      [](const Allpermute&) -> Table { return nullptr; },
      [](const Exchange&) -> Table { return nullptr; },
      [this](const Reducescatter& reduce) -> Table { return in_order_ ? nullptr : &reduce.groups; },
      [this](const Allreduce& reduce) -> Table { return in_order_ ? nullptr : &reduce.groups; },
      [](const Unreduce&) -> Table { return nullptr; },
      [](const Embed&) -> Table { return nullptr; },
      [](const OverDims auto& step) -> Table { return &step.groups; });
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
    splits_.push_back({.color = static_cast<int>(lowest), .key = static_cast<int>(mine.position)});
    tables.push_back(table);
  }
  groups_.reserve(splits_.size());
}

/// Collective.
void Collectives::split_groups() {
  for (const Split& split : splits_) {
    groups_.push_back(comm_.split(split.color, split.key));
  }
}

StepMove Collectives::move_of(const Dynslice& slice, const Shape& shape) {
  const Size n = group_size(slice);
  if (n == 1) return {};
  const Size q = piece_of(slice, comm_.process());
  const Size piece_bytes = tile_bytes(shape) / n;
  if (std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(slice.dim),
                  [](Size extent) { return extent == 1; })) {
    shift_bytes_ += q * piece_bytes;
    return {};
  }
  return {.run = [pieces = pieces_along(shape, slice.dim, n, limits_.element_bytes),
                  at = copy::BoxStream::Cursor{.box = static_cast<std::size_t>(q)}, piece_bytes](
                     const std::byte* from, std::byte* to, std::byte*) mutable -> Result<void> {
    auto cursor = at;
    pieces.pack(cursor, from, to, piece_bytes);
    return {};
  }};
}

StepMove Collectives::move_of(const Allpermute& permute, const DeviceShapes& shapes) {
  const Size device = comm_.process();
  const std::vector<Size> source = sources(permute, comm_.processes());
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

StepMove Collectives::reducing_move_of(bool scatters, std::size_t step,
                                       const std::vector<Transfer>& transfers) {
  const Communicator& group = groups_[group_of_step_[step]];
  ReduceMove move(scatters, transfers, task_.shapes[step].of(comm_.process()), group, *reduction_,
                  limits_);
  const Size buffer_bytes = move.buffer_bytes();
  return {.run = std::move(move), .buffer_bytes = buffer_bytes};
}

StepMove Collectives::adding_move_of(const Exchange& exchange, std::size_t step) {
  std::vector<Transfer> transfers;
  for (const std::size_t k : by_target(exchange.transfers)) {
    const Transfer& transfer = exchange.transfers[k];
    transfers.push_back(transfer);
    if (transfer.target == comm_.process() && transfer.source != comm_.process()) {
      receive(tile_bytes(transfer.shape));
    }
  }
  return ordered_move_of(step, std::move(transfers));
}

StepMove Collectives::adding_move_of(Adding auto adding, std::size_t step) {
  using Op = decltype(adding);
  const auto [members, position] = membership(adding.groups, comm_.process());
  adding.groups = one_group(members.size());
  std::vector<Transfer> transfers = transfers_among(members, adding, task_.shapes[step]);
  for (const Transfer& transfer : transfers) {
    const auto place = static_cast<Size>(position);
    if (transfer.target == place && transfer.source != place) receive(tile_bytes(transfer.shape));
  }
  constexpr bool reduces = std::is_same_v<Op, Reducescatter> || std::is_same_v<Op, Allreduce>;
  if (reduces && !in_order_ && members.size() > 1) {
    return reducing_move_of(std::is_same_v<Op, Reducescatter>, step, transfers);
  }
  for (Transfer& transfer : transfers) {
    transfer.target = members[static_cast<std::size_t>(transfer.target)];
    transfer.source = members[static_cast<std::size_t>(transfer.source)];
  }
  return ordered_move_of(step, std::move(transfers));
}

StepMove Collectives::uneven_move_of(std::size_t step) {
  const DeviceShapes& tiles = task_.shapes[step];
  const Size device = comm_.process();
  const auto in_group = [&](auto collective) -> StepMove {
    const std::vector<Size> members = membership(collective.groups, device).members;
    if (members.size() == 1) return {};
    collective.groups = one_group(members.size());
    using Collective = decltype(collective);
    constexpr bool gathers =
        std::is_same_v<Collective, Allgather> || std::is_same_v<Collective, AllgatherDims>;
    UnevenGroupMove move(gathers, transfers_among(members, collective, tiles), tiles.of(device),
                         task_.shapes[step + 1].of(device), groups_[group_of_step_[step]], limits_);
    receive(move.received_bytes());
    const Size buffer_bytes = move.buffer_bytes();
    return {.run = std::move(move), .buffer_bytes = buffer_bytes};
  };
  // What a device keeps of its own tile.
  const auto keep = [&](const Op& own) -> StepMove {
    copy::BoxStream box(copy::End::source, limits_.element_bytes, tiles.of(device),
                        transfers_among({device}, own, tiles));
    return {.run = [box = std::move(box)](const std::byte* from, std::byte* to,
                                          std::byte*) mutable -> Result<void> {
      copy::BoxStream::Cursor begin;
      box.pack(begin, from, to, box.bytes());
      return {};
    }};
  };
  return match(
      task_.program.steps[step].op,
      [&](Dynslice slice) {
        const Size piece = piece_of(slice, device);
        slice.pieces = PartList{group_size(slice), DeviceTable::list({piece})};
        return keep(slice);
      },
      [&](const Allgather& gather) { return in_group(gather); },
      [&](Alltoall exchange) {
        if (exchange.groups.columns() > 1) return in_group(exchange);
        exchange.groups = one_group(1);
        return keep(exchange);
      },
      [&](const Allpermute& permute) { return move_of(permute, tiles); },
      [&](const Exchange& exchange) { return adding_move_of(exchange, step); },
      [&](const Adding auto& adding) { return adding_move_of(adding, step); },
      [&](const OverDims auto& collective) { return in_group(collective); });
}

StepMove Collectives::move_of(const Op& op, std::size_t step, const Shape& shape) {
  const Size whole = tile_bytes(shape);
  const auto in_group = [&](const auto& collective) -> StepMove {
    GroupMove move(collective, shape, groups_[group_of_step_[step]], limits_);
    const Size buffer_bytes = move.buffer_bytes();
    return {.run = std::move(move), .buffer_bytes = buffer_bytes};
  };
  return match(
      op, [&](const Dynslice& slice) { return move_of(slice, shape); },
      [&](const Allgather& gather) -> StepMove {
        const Size n = gather.groups.columns();
        if (n == 1) return {};
        receive((n - 1) * whole);
        return in_group(gather);
      },
      [&](const Alltoall& exchange) -> StepMove {
        const Size n = exchange.groups.columns();
        if (n == 1) return {};
        receive((n - 1) * (whole / n));
        return in_group(exchange);
      },
      [&](const Allpermute& permute) { return move_of(permute, task_.shapes[step]); },
      [](const Exchange&) -> StepMove {
        RETILE_ASSERT(false, "collectives() refuses an exchange");
        return {};
      },
      [](const Adding auto&) -> StepMove {
        RETILE_ASSERT(false, "a Program that adds is not even");
        return {};
      },
      [](const OverDims auto&) -> StepMove {
        RETILE_ASSERT(false, "a Program with a step along several dimensions is not even");
        return {};
      });
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
    const DeviceShapes& tiles = task_.shapes[i];
    StepMove what = tiles.alike() ? move_of(steps[i].op, i, tiles.largest()) : uneven_move_of(i);
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
