// The Program's steps as MPI collectives: portable, and the order in which the Program says it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/mpi/mover.h"
#include "retile/program/apply.h"

namespace retile::mpi {
namespace {

struct Limits {
  Size chunk_bytes = 1;
  Size message_bytes = 1;
  Size element_bytes = 1;
};

// ---- Copying -----------------------------------------------------------------------------------

/// One of n pieces of a tile along a dimension: segments of `segment_bytes`, every n-th is the
/// piece's, from the q-th on.
struct Piece {
  Size segment_bytes = 1;
  Size n = 1;
  Size q = 0;
};

enum class Direction { pack, unpack };

template <Direction direction>
void copy_bytes(std::byte* packed, std::byte* tile, std::size_t bytes) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, tile, bytes);
  } else {
    std::memcpy(tile, packed, bytes);
  }
}

/// Copies the bytes [begin, begin + bytes) of a piece, counted in the piece, from or to its tile.
template <Direction direction>
void transfer(std::byte* packed, std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  const Size segment = piece.segment_bytes;
  const Size stride = segment * piece.n;
  const Size inside = begin % segment;
  Size at =
      begin / segment * stride + piece.q * segment;  // where in the tile the current segment starts
  if (inside != 0) {  // the rest of a segment that an earlier round began
    const Size length = std::min(segment - inside, bytes);
    copy_bytes<direction>(packed, tile + at + inside, static_cast<std::size_t>(length));
    packed += length;
    bytes -= length;
    at += stride;
  }
  const Size count = bytes / segment;
  if constexpr (direction == Direction::pack) {
    copy::copy_runs(packed, segment, tile + at, stride, segment, count);
  } else {
    copy::copy_runs(tile + at, stride, packed, segment, segment, count);
  }
  const Size rest = bytes % segment;
  if (rest != 0) {
    copy_bytes<direction>(packed + count * segment, tile + at + count * stride,
                          static_cast<std::size_t>(rest));
  }
}

/// Packing only reads the tile; one template serves both directions.
void pack(std::byte* packed, const std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  transfer<Direction::pack>(packed, const_cast<std::byte*>(tile), piece, begin, bytes);
}

void unpack(const std::byte* packed, std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  transfer<Direction::unpack>(const_cast<std::byte*>(packed), tile, piece, begin, bytes);
}

/// Bytes of the slices of `shape` behind dimension `dim`, times its extent.
Size block_bytes(const Shape& shape, std::size_t dim, Size element_bytes) {
  Size bytes = element_bytes;
  for (std::size_t i = dim; i < shape.size(); ++i) bytes *= shape[i];
  return bytes;
}

// ---- The moves of one process ------------------------------------------------------------------

enum class Slot : std::size_t { in, out, first, second };

struct SliceMove {
  Piece piece;
};
struct GatherMove {
  std::size_t communicator = 0;
  Size members = 1;
  Size segment_bytes = 1;  // of one member's tile in the result
};
struct ExchangeMove {
  std::size_t communicator = 0;
  Size members = 1;
  Size piece_bytes = 1;
  Size send_segment_bytes = 1;
  Size receive_segment_bytes = 1;
};
struct PermuteMove {
  int source = 0;
  int target = 0;
};
struct CopyMove {};

struct Move {
  std::variant<SliceMove, GatherMove, ExchangeMove, PermuteMove, CopyMove> what;
  std::size_t step = 0;      // of the Program, for messages
  Size in_bytes = 0;         // of the tile it reads
  Size out_bytes = 0;        // of the tile it writes
  Size in_offset_bytes = 0;  // where that tile starts in its slot
  Slot from = Slot::in;
  Slot to = Slot::out;
};

/// The most bytes of each member's part that one round may take: whole elements, at least one.
Size round_bytes(Size budget_bytes, Size parts, Size part_bytes, Size element_bytes) {
  const Size share = budget_bytes / parts / element_bytes * element_bytes;
  return std::min(part_bytes, std::max(share, element_bytes));
}

// How each collective goes: straight between tiles where they lie in one piece, else in rounds
// through a buffer.
struct Rounds {
  bool straight_send = false;
  bool straight_receive = false;
  Size bytes = 0;  // of one member's part per round
  [[nodiscard]] Size buffer_bytes(Size parts_sent, Size parts_received) const {
    return (straight_send ? 0 : parts_sent * bytes) +
           (straight_receive ? 0 : parts_received * bytes);
  }
};

Rounds rounds_of(const GatherMove& move, Size tile_bytes, const Limits& limits) {
  // What is sent is the tile as it lies; only what is received may have to be spread.
  Rounds rounds{.straight_send = true};
  const bool in_one_piece = move.segment_bytes == tile_bytes;
  if (in_one_piece && tile_bytes <= limits.message_bytes / move.members) {
    rounds.straight_receive = true;
    rounds.bytes = tile_bytes;
    return rounds;
  }
  rounds.bytes = round_bytes(std::min(limits.chunk_bytes, most_message_bytes), move.members,
                             tile_bytes, limits.element_bytes);
  return rounds;
}

Rounds rounds_of(const ExchangeMove& move, const Limits& limits) {
  const bool send_in_one_piece = move.send_segment_bytes == move.piece_bytes;
  const bool receive_in_one_piece = move.receive_segment_bytes == move.piece_bytes;
  const Size parts =
      (send_in_one_piece ? 0 : move.members) + (receive_in_one_piece ? 0 : move.members);
  if (move.piece_bytes <= limits.message_bytes / move.members &&
      (parts == 0 || move.piece_bytes <= limits.chunk_bytes / parts)) {
    return {.straight_send = send_in_one_piece,
            .straight_receive = receive_in_one_piece,
            .bytes = move.piece_bytes};
  }
  return {.straight_send = false,
          .straight_receive = false,
          .bytes = round_bytes(std::min(limits.chunk_bytes, most_message_bytes), 2 * move.members,
                               move.piece_bytes, limits.element_bytes)};
}

Limits limits_of(const MoverProblem& problem) {
  return {.chunk_bytes = problem.options.chunk_bytes,
          .message_bytes = problem.options.message_bytes,
          .element_bytes = problem.element_bytes};
}

/// What the collectives need of one process.
struct Collectives final : public Mover {
  explicit Collectives(const MoverProblem& problem)
      : comm(problem.comm),
        limits(limits_of(problem)),
        in_bytes(problem.in_bytes),
        out_bytes(problem.out_bytes),
        meter(problem.meter) {}

  [[nodiscard]] Result<void> move(std::span<const std::byte> in,
                                  std::span<std::byte> out) override {
    return move_data(in.data(), out.data());
  }
  [[nodiscard]] Size received_bytes() const override { return received; }

  const Communicator& comm;
  std::vector<Communicator> groups;
  std::vector<Move> moves;
  Limits limits{};
  Size in_bytes = 0;
  Size out_bytes = 0;
  Size received = 0;
  Meter& meter;
  Buffer first;
  Buffer second;
  Buffer chunk;

  void plan(const Program& program, const std::vector<Shape>& shapes);
  void find_groups(const Program& program);
  void split_groups();
  [[nodiscard]] bool allocate();
  Result<void> run(const Move& move, const std::byte* from, std::byte* to);
  Result<void> move_data(const std::byte* in, std::byte* out);

 private:
  /// What this process says in the split that makes a communicator.
  struct Split {
    int color;
    int key;
  };
  // From find_groups: what split_groups has to make, and for plan, which of it each step uses.
  std::vector<Split> splits_;
  std::vector<std::size_t> communicator_of_step_;
  void place(std::vector<Move>& planned);
};

/// Everything about the groups that can fail on one process alone, so that split_groups cannot.
void Collectives::find_groups(const Program& program) {
  std::vector<const DeviceTable*> tables;
  communicator_of_step_.assign(program.steps.size(), 0);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    // A dynslice moves nothing between processes, so its groups need no communicator.
    const DeviceTable* const table = std::holds_alternative<Dynslice>(program.steps[i].op)
                                         ? nullptr
                                         : groups_of(program.steps[i].op);
    if (table == nullptr || table->columns() == 1) continue;
    const auto known = std::find_if(tables.begin(), tables.end(),
                                    [&](const DeviceTable* other) { return *other == *table; });
    communicator_of_step_[i] = static_cast<std::size_t>(known - tables.begin());
    if (known != tables.end()) continue;
    const Membership mine = membership(*table, comm.process());
    const Size lowest = *std::min_element(mine.members.begin(), mine.members.end());
    splits_.push_back({.color = static_cast<int>(lowest), .key = static_cast<int>(mine.position)});
    tables.push_back(table);
  }
  groups.reserve(splits_.size());
}

/// Collective.
void Collectives::split_groups() {
  for (const Split& split : splits_) {
    groups.push_back(or_abort(comm, comm.split(split.color, split.key)));
  }
}

void Collectives::plan(const Program& program, const std::vector<Shape>& shapes) {
  const Size device = comm.process();
  const Size width = limits.element_bytes;
  std::vector<Move> planned;
  Size offset_bytes = 0;  // a dynslice of whole rows only moves the start
  const auto add = [&](std::size_t i, auto what) {
    planned.push_back({.what = what,
                       .step = i,
                       .in_bytes = tile_bytes(shapes[i], width),
                       .out_bytes = tile_bytes(shapes[i + 1], width),
                       .in_offset_bytes = std::exchange(offset_bytes, 0)});
  };
  const auto receive = [&](Size bytes) {
    received = checked_add(received, bytes).value_or(std::numeric_limits<Size>::max());
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Shape& shape = shapes[i];
    const Size whole_bytes = tile_bytes(shape, width);
    match(
        program.steps[i].op,
        [&](const Dynslice& slice) {
          const Size n = group_size(slice);
          if (n == 1) return;
          const Piece piece{.segment_bytes = block_bytes(shape, slice.dim, width) / n,
                            .n = n,
                            .q = piece_of(slice, device)};
          if (piece.segment_bytes == whole_bytes / n) {
            offset_bytes += piece.q * piece.segment_bytes;
          } else {
            add(i, SliceMove{.piece = piece});
          }
        },
        [&](const Allgather& gather) {
          const Size n = gather.groups.columns();
          if (n == 1) return;
          add(i, GatherMove{.communicator = communicator_of_step_[i],
                            .members = n,
                            .segment_bytes = block_bytes(shape, gather.dim, width)});
          receive((n - 1) * whole_bytes);
        },
        [&](const Alltoall& exchange) {
          const Size n = exchange.groups.columns();
          if (n == 1) return;
          Shape piece_shape = shape;
          piece_shape[exchange.split] /= n;
          add(i, ExchangeMove{
                     .communicator = communicator_of_step_[i],
                     .members = n,
                     .piece_bytes = whole_bytes / n,
                     .send_segment_bytes = block_bytes(piece_shape, exchange.split, width),
                     .receive_segment_bytes = block_bytes(piece_shape, exchange.concat, width)});
          receive((n - 1) * (whole_bytes / n));
        },
        [&](const Allpermute& permute) {
          const std::vector<Size> source = sources(permute, program.devices);
          const Size from = source[static_cast<std::size_t>(device)];
          if (from == device) return;  // then it is its own target as well
          const auto target = std::find(source.begin(), source.end(), device) - source.begin();
          add(i, PermuteMove{.source = static_cast<int>(from), .target = static_cast<int>(target)});
          receive(whole_bytes);
        },
        [](const Exchange&) { RETILE_ASSERT(false, "prepare_collectives refuses an exchange"); });
  }
  if (planned.empty() || offset_bytes != 0 || planned.back().out_bytes != out_bytes) {
    planned.push_back({.what = CopyMove{},
                       .step = program.steps.size(),
                       .in_bytes = out_bytes,
                       .out_bytes = out_bytes,
                       .in_offset_bytes = offset_bytes});
  }
  place(planned);
}

/// Gives every move its slots. The last one writes `out`; backwards from there the results
/// alternate between one scratch buffer and `out`, or a second scratch buffer where `out` is too
/// small.
void Collectives::place(std::vector<Move>& planned) {
  moves = std::move(planned);
  for (std::size_t back = 0; back < moves.size(); ++back) {
    Move& move = moves[moves.size() - 1 - back];
    move.to = back % 2 == 1 ? Slot::first : move.out_bytes <= out_bytes ? Slot::out : Slot::second;
  }
  for (std::size_t i = 1; i < moves.size(); ++i) moves[i].from = moves[i - 1].to;
}

bool Collectives::allocate() {
  Size first_bytes = 0;
  Size second_bytes = 0;
  Size chunk_bytes = 0;
  for (const Move& move : moves) {
    if (move.to == Slot::first) first_bytes = std::max(first_bytes, move.out_bytes);
    if (move.to == Slot::second) second_bytes = std::max(second_bytes, move.out_bytes);
    if (const auto* gather = std::get_if<GatherMove>(&move.what)) {
      const Rounds rounds = rounds_of(*gather, move.in_bytes, limits);
      chunk_bytes = std::max(chunk_bytes, rounds.buffer_bytes(1, gather->members));
    } else if (const auto* exchange = std::get_if<ExchangeMove>(&move.what)) {
      const Rounds rounds = rounds_of(*exchange, limits);
      chunk_bytes =
          std::max(chunk_bytes, rounds.buffer_bytes(exchange->members, exchange->members));
    }
  }
  return first.allocate(first_bytes, meter) && second.allocate(second_bytes, meter) &&
         chunk.allocate(chunk_bytes, meter);
}

Result<void> Collectives::run(const Move& move, const std::byte* from, std::byte* to) {
  if (const auto* slice = std::get_if<SliceMove>(&move.what)) {
    pack(to, from, slice->piece, 0, move.out_bytes);
    return {};
  }
  if (const auto* gather = std::get_if<GatherMove>(&move.what)) {
    const Communicator& group = groups[gather->communicator];
    const Rounds rounds = rounds_of(*gather, move.in_bytes, limits);
    if (rounds.straight_receive) return group.allgather(from, to, move.in_bytes);
    for (Size begin = 0; begin < move.in_bytes; begin += rounds.bytes) {
      const Size bytes = std::min(rounds.bytes, move.in_bytes - begin);
      if (auto sent = group.allgather(from + begin, chunk.data(), bytes); !sent) return sent;
      for (Size q = 0; q < gather->members; ++q) {
        const Piece piece{.segment_bytes = gather->segment_bytes, .n = gather->members, .q = q};
        unpack(chunk.data() + q * bytes, to, piece, begin, bytes);
      }
    }
    return {};
  }
  if (const auto* exchange = std::get_if<ExchangeMove>(&move.what)) {
    const Communicator& group = groups[exchange->communicator];
    const Rounds rounds = rounds_of(*exchange, limits);
    const Size n = exchange->members;
    std::byte* const to_send = chunk.data();
    std::byte* const to_unpack = chunk.data() + (rounds.straight_send ? 0 : n * rounds.bytes);
    for (Size begin = 0; begin < exchange->piece_bytes; begin += rounds.bytes) {
      const Size bytes = std::min(rounds.bytes, exchange->piece_bytes - begin);
      for (Size q = 0; q < n && !rounds.straight_send; ++q) {
        pack(to_send + q * bytes, from,
             {.segment_bytes = exchange->send_segment_bytes, .n = n, .q = q}, begin, bytes);
      }
      if (auto sent = group.alltoall(rounds.straight_send ? from : to_send,
                                     rounds.straight_receive ? to : to_unpack, bytes);
          !sent) {
        return sent;
      }
      for (Size q = 0; q < n && !rounds.straight_receive; ++q) {
        unpack(to_unpack + q * bytes, to,
               {.segment_bytes = exchange->receive_segment_bytes, .n = n, .q = q}, begin, bytes);
      }
    }
    return {};
  }
  if (const auto* permute = std::get_if<PermuteMove>(&move.what)) {
    const Size most = round_bytes(limits.message_bytes, 1, move.in_bytes, limits.element_bytes);
    for (Size begin = 0; begin < move.in_bytes; begin += most) {
      const auto bytes = static_cast<std::size_t>(std::min(most, move.in_bytes - begin));
      if (auto sent = comm.send_receive({from + begin, bytes}, permute->target, {to + begin, bytes},
                                        permute->source);
          !sent) {
        return sent;
      }
    }
    return {};
  }
  std::memcpy(to, from, static_cast<std::size_t>(move.out_bytes));
  return {};
}

Result<void> Collectives::move_data(const std::byte* in, std::byte* out) {
  const auto writable = [&](Slot slot) {
    return slot == Slot::out ? out : slot == Slot::first ? first.data() : second.data();
  };
  for (const Move& next : moves) {
    const std::byte* from =
        (next.from == Slot::in ? in : writable(next.from)) + next.in_offset_bytes;
    if (auto moved = run(next, from, writable(next.to)); !moved) {
      Diagnostic diagnostic = moved.error();
      diagnostic.message = fmt::format("step {}: {}", next.step, diagnostic.message);
      return refuse(std::move(diagnostic));
    }
  }
  return {};
}

/// The bound that redistribute.h states; the same on all processes, whatever each of them could
/// save.
Size limit_of(const MoverProblem& problem) {
  Size between = 0;
  Size between_over_out = 0;
  Size largest_group = 1;
  for (std::size_t i = 0; i < problem.program.steps.size(); ++i) {
    if (i + 1 < problem.program.steps.size()) {
      const Size bytes = tile_bytes(problem.shapes[i + 1], problem.element_bytes);
      between = std::max(between, bytes);
      if (bytes > problem.out_bytes) between_over_out = std::max(between_over_out, bytes);
    }
    const Op& op = problem.program.steps[i].op;
    const DeviceTable* const groups = groups_of(op);
    if (groups != nullptr && !std::holds_alternative<Dynslice>(op)) {
      largest_group = std::max(largest_group, groups->columns());
    }
  }
  return problem.in_bytes + problem.out_bytes + between + between_over_out +
         std::max(problem.options.chunk_bytes, 2 * largest_group * problem.element_bytes);
}

Result<std::unique_ptr<Mover>> make(const MoverProblem& problem) {
  auto mover = std::make_unique<Collectives>(problem);
  const auto found = or_out_of_memory([&]() -> Result<void> {
    mover->find_groups(problem.program);
    return {};
  });
  if (auto agreed = agree(problem.comm, found); !agreed) return tl::unexpected(agreed.error());
  mover->split_groups();
  const auto ready = or_out_of_memory([&]() -> Result<void> {
    mover->plan(problem.program, problem.shapes);
    if (!mover->allocate()) {
      return refused(Code::mpi_error,
                     fmt::format("out of memory: buffers of up to {} bytes cannot be allocated",
                                 limit_of(problem) - problem.in_bytes - problem.out_bytes));
    }
    return {};
  });
  if (auto agreed = agree(problem.comm, ready); !agreed) return tl::unexpected(agreed.error());
  return mover;
}

}  // namespace

Result<Prepared> prepare_collectives(const MoverProblem& problem) {
  for (std::size_t i = 0; i < problem.program.steps.size(); ++i) {
    if (is_exchange(problem.program.steps[i])) {
      return refused(Code::unsupported,
                     fmt::format("step {} (exchange) is not run by the collectives", i));
    }
  }
  return Prepared{.strategy = Strategy::collectives,
                  .limit_bytes = limit_of(problem),
                  .make = [&problem] { return make(problem); }};
}

}  // namespace retile::mpi
