// Steps as C: functions that C programs have, and calls of them.
#include "retile/emit/c_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "retile/core/cases.h"
#include "retile/emit/trace.h"
#include "retile/program/apply.h"

namespace retile::emit {
namespace {

constexpr std::string_view helper_text = R"C(
static int rank;

element *space(int64_t count) {
  element *out = calloc(count > 0 ? (size_t)count : 1, sizeof(element));
  if (out == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return out;
}

int64_t product(const int64_t *shape, int from, int to) {
  int64_t out = 1;
  for (int i = from; i < to; ++i) out *= shape[i];
  return out;
}

/* Copies a box between two arrays in C order; nothing of a box without elements. */
void copy_box(element *to, const int64_t *to_shape, const int64_t *to_start, const element *from,
                     const int64_t *from_shape, const int64_t *from_start, const int64_t *box) {
  int64_t at[RANK] = {0};
  if (product(box, 0, RANK) == 0) return;
  for (;;) {
    int64_t target = 0, source = 0;
    for (int i = 0; i < RANK; ++i) {
      target = target * to_shape[i] + to_start[i] + at[i];
      source = source * from_shape[i] + from_start[i] + at[i];
    }
    to[target] = from[source];
    int i = RANK;
    while (i-- > 0) {
      if (++at[i] < box[i]) break;
      at[i] = 0;
    }
    if (i < 0) return;
  }
}

/* Adds a box to a part of an array, or puts it there where nothing was written yet. */
void add_box(element *to, char *written, const int64_t *to_shape, const int64_t *to_start, const element *box,
                    const int64_t *shape, MPI_Op add) {
  const int64_t count = product(shape, 0, RANK);
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = k, target = 0, stride = 1;
    for (int i = RANK; i-- > 0; rest /= shape[i]) {
      target += (to_start[i] + rest % shape[i]) * stride;
      stride *= to_shape[i];
    }
    const element old = to[target], new = box[k];
    const int is_better = add == MPI_MAX ? new > old : new < old;
    to[target] = !written[target] ? new : add == MPI_SUM ? old + new : is_better ? new : old;
    written[target] = 1;
  }
}

/* Piece q of n of a tile along a dimension. */
element *piece(const element *tile, const int64_t *shape, int dim, int64_t n, int64_t q) {
  int64_t part[RANK], start[RANK], zero[RANK] = {0};
  memcpy(part, shape, sizeof part);
  memset(start, 0, sizeof start);
  part[dim] /= n;
  start[dim] = q * part[dim];
  element *out = space(product(part, 0, RANK));
  copy_box(out, part, zero, tile, shape, start, part);
  return out;
}

/* Puts n tiles, one behind the other in memory, one behind the other along a dimension. */
element *concatenated(element *tiles, const int64_t *shape, int dim, int64_t n) {
  int64_t whole[RANK], start[RANK], zero[RANK] = {0};
  memcpy(whole, shape, sizeof whole);
  whole[dim] *= n;
  element *out = space(product(whole, 0, RANK));
  for (int64_t q = 0; q < n; ++q) {
    memset(start, 0, sizeof start);
    start[dim] = q * shape[dim];
    copy_box(out, whole, start, tiles + q * product(shape, 0, RANK), shape, zero, shape);
  }
  free(tiles);
  return out;
}

MPI_Comm group_of(const int *group, const int *place) {
  MPI_Comm out;
  MPI_Comm_split(MPI_COMM_WORLD, group[rank], place[rank], &out);
  return out;
}

/* n pieces of a tile, one behind the other in memory. */
element *pieces(element *tile, const int64_t *shape, int dim, int64_t n) {
  const int64_t size = product(shape, 0, RANK) / n;
  element *out = space(size * n);
  for (int64_t q = 0; q < n; ++q) {
    element *one = piece(tile, shape, dim, n, q);
    memcpy(out + q * size, one, (size_t)size * sizeof(element));
    free(one);
  }
  free(tile);
  return out;
}

element *dynslice(element *tile, const int64_t *shape, int dim, int64_t n, int64_t q) {
  element *out = piece(tile, shape, dim, n, q);
  free(tile);
  return out;
}

element *allgather(element *tile, const int64_t *shape, int dim, int n, const int *group,
                          const int *place) {
  const int size = (int)product(shape, 0, RANK);
  element *all = space((int64_t)size * n);
  MPI_Comm comm = group_of(group, place);
  MPI_Allgather(tile, size, ELEMENT, all, size, ELEMENT, comm);
  MPI_Comm_free(&comm);
  free(tile);
  return concatenated(all, shape, dim, n);
}

element *alltoall(element *tile, const int64_t *shape, int split, int concat, int n, const int *group,
                         const int *place) {
  int64_t part[RANK];
  const int size = (int)(product(shape, 0, RANK) / n);
  memcpy(part, shape, sizeof part);
  part[split] /= n;
  element *out = pieces(tile, shape, split, n);
  element *in = space((int64_t)size * n);
  MPI_Comm comm = group_of(group, place);
  MPI_Alltoall(out, size, ELEMENT, in, size, ELEMENT, comm);
  MPI_Comm_free(&comm);
  free(out);
  return concatenated(in, part, concat, n);
}

element *allpermute(element *tile, const int64_t *shape, const int *source) {
  const int size = (int)product(shape, 0, RANK);
  element *out = space(size);
  int target = 0;
  while (source[target] != rank) ++target;
  MPI_Sendrecv(tile, size, ELEMENT, target, 0, out, size, ELEMENT, source[rank], 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  free(tile);
  return out;
}

element *reducescatter(element *tile, const int64_t *shape, int dim, int n, MPI_Op add, const int *group,
                              const int *place) {
  const int size = (int)(product(shape, 0, RANK) / n);
  element *all = pieces(tile, shape, dim, n);
  element *out = space(size);
  MPI_Comm comm = group_of(group, place);
  MPI_Reduce_scatter_block(all, out, size, ELEMENT, add, comm);
  MPI_Comm_free(&comm);
  free(all);
  return out;
}

element *allreduce(element *tile, const int64_t *shape, MPI_Op add, const int *group, const int *place) {
  MPI_Comm comm = group_of(group, place);
  MPI_Allreduce(MPI_IN_PLACE, tile, (int)product(shape, 0, RANK), ELEMENT, add, comm);
  MPI_Comm_free(&comm);
  return tile;
}

element *unreduce(element *tile, const int64_t *shape, const int *place) {
  if (place[rank] != 0) memset(tile, 0, (size_t)product(shape, 0, RANK) * sizeof(element));
  return tile;
}

element *embed(element *tile, const int64_t *shape, int dim, int n, const int *place) {
  int64_t whole[RANK], start[RANK] = {0}, zero[RANK] = {0};
  memcpy(whole, shape, sizeof whole);
  whole[dim] *= n;
  start[dim] = place[rank] * shape[dim];
  element *out = space(product(whole, 0, RANK));
  copy_box(out, whole, start, tile, shape, zero, shape);
  free(tile);
  return out;
}

/* Rows of `moves`: target, source, where the box lies in each, its extents. `add` is MPI_OP_NULL where
 * every element is written once. */
element *exchange(element *tile, const int64_t *old_shape, const int64_t *new_shape, const int64_t *moves,
                         int count, MPI_Op add) {
  const int width = 2 + 3 * RANK;
  const int64_t size = product(new_shape, 0, RANK), zero[RANK] = {0};
  int processes, sent = 0, received = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  int *counts = calloc(6 * (size_t)processes, sizeof *counts);
  char *written = calloc(size > 0 ? (size_t)size : 1, 1);
  if (counts == NULL || written == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  int *to = counts + processes, *from = to + processes, *from_at = from + processes;
  int *to_next = from_at + processes, *from_next = to_next + processes, *to_count = counts;
  for (int k = 0; k < count; ++k) {
    const int64_t *move = moves + (int64_t)k * width;
    const int elements = (int)product(move + 2 + 2 * RANK, 0, RANK);
    if (move[1] == rank) to_count[move[0]] += elements;
    if (move[0] == rank) from[move[1]] += elements;
  }
  for (int p = 0; p < processes; ++p) {
    to[p] = to_next[p] = sent;
    from_at[p] = from_next[p] = received;
    sent += to_count[p];
    received += from[p];
  }
  element *out = space(size), *packed = space(sent), *boxes = space(received);
  for (int k = 0; k < count; ++k) {
    const int64_t *move = moves + (int64_t)k * width, *box = move + 2 + 2 * RANK;
    if (move[1] != rank) continue;
    copy_box(packed + to_next[move[0]], box, zero, tile, old_shape, move + 2 + RANK, box);
    to_next[move[0]] += (int)product(box, 0, RANK);
  }
  MPI_Alltoallv(packed, to_count, to, ELEMENT, boxes, from, from_at, ELEMENT, MPI_COMM_WORLD);
  for (int k = 0; k < count; ++k) {
    const int64_t *move = moves + (int64_t)k * width, *box = move + 2 + 2 * RANK;
    if (move[0] != rank) continue;
    const element *in = boxes + from_next[move[1]];
    from_next[move[1]] += (int)product(box, 0, RANK);
    if (add == MPI_OP_NULL) {
      copy_box(out, new_shape, move + 2, in, box, zero, box);
    } else { /* what is written first is not added to anything */
      add_box(out, written, new_shape, move + 2, in, box, add);
    }
  }
  free(boxes);
  free(packed);
  free(written);
  free(counts);
  free(tile);
  return out;
}

)C";
std::string shape_value(const Shape& shape, std::size_t rank) {
  return fmt::format("(const int64_t[]){{{}}}", fmt::join(with_rank(shape, rank, 1), ", "));
}

std::string int_table(const std::vector<Size>& table) {
  return fmt::format("(const int[]){{{}}}", fmt::join(table, ", "));
}

/// Which group every device is in.
std::vector<Size> groups_in(const DeviceTable& table, Size devices) {
  std::vector<Size> out(static_cast<std::size_t>(devices), 0);
  const auto all = rows_of(table);
  for (std::size_t row = 0; row < all.size(); ++row) {
    for (const Size device : all[row])
      out[static_cast<std::size_t>(device)] = static_cast<Size>(row);
  }
  return out;
}

/// Group and place, as the last arguments.
std::string grouping(const DeviceTable& groups, Size devices) {
  return fmt::format("{}, {}", int_table(groups_in(groups, devices)),
                     int_table(places_in(groups, devices)));
}

/// MPI counts elements by int.
void check_count(Size elements) {
  if (elements > INT32_MAX) refuse_form("MPI counts fewer than 2^31 elements of a tile");
}

class Calls {
 public:
  Calls(const Program& program, const CNames& names)
      : program_(program),
        names_(names),
        devices_(program.devices),
        before_(names.rank - program.from.rank()) {}

  /// The call that a step is.
  [[nodiscard]] std::string of(const Step& step, const Shape& before) const {
    const std::string start = fmt::format("{}, {}", names_.tile, shape_value(before, names_.rank));
    return match(
        step.op,
        [&](const Dynslice& op) {
          std::vector<Size> parts;
          for (Size d = 0; d < devices_; ++d) parts.push_back(piece_of(op.pieces, d));
          return fmt::format("dynslice({}, {}, {}, {}[rank])", start, dim(op.dim),
                             group_size(op.pieces), int_table(parts));
        },
        [&](const Allgather& op) {
          return fmt::format("allgather({}, {}, {}, {})", start, dim(op.dim), op.groups.columns(),
                             grouping(op.groups, devices_));
        },
        [&](const Alltoall& op) {
          return fmt::format("alltoall({}, {}, {}, {}, {})", start, dim(op.split), dim(op.concat),
                             op.groups.columns(), grouping(op.groups, devices_));
        },
        [&](const Allpermute& op) {
          return fmt::format("allpermute({}, {})", start,
                             int_table(sources_of(op.source, devices_)));
        },
        [&](const Exchange& op) { return exchange(op); },
        [&](const Reducescatter& op) {
          return fmt::format("reducescatter({}, {}, {}, {}, {})", start, dim(op.dim),
                             op.groups.columns(), c_operation(op.add),
                             grouping(op.groups, devices_));
        },
        [&](const Allreduce& op) {
          return fmt::format("allreduce({}, {}, {})", start, c_operation(op.add),
                             grouping(op.groups, devices_));
        },
        [&](const Unreduce& op) {
          return fmt::format("unreduce({}, {})", start, int_table(places_in(op.groups, devices_)));
        },
        [&](const Embed& op) {
          return fmt::format("embed({}, {}, {}, {})", start, dim(op.dim), op.groups.columns(),
                             int_table(places_in(op.groups, devices_)));
        },
        [&](const OverDims auto&) -> std::string { refuse_over_dims(step, "C"); });
  }

 private:
  [[nodiscard]] std::size_t dim(std::size_t of_program) const { return before_ + of_program; }

  /// What moves in an exchange, and the tiles before and after it.
  [[nodiscard]] std::string exchange(const Exchange& op) const {
    if (program_.steps.size() != 1)
      refuse_form("an exchange between other steps is not written as C yet");
    if (op.add == Addition::stack) refuse_form("MPI adds no stacks");
    std::string moves;
    for (const Transfer& transfer : op.transfers) {
      moves += fmt::format("{}{}, {}, {}", moves.empty() ? "" : ", ", transfer.target,
                           transfer.source, boxes(transfer));
    }
    check_sent(op);
    return fmt::format("exchange({}, {}, {}, (const int64_t[]){{{}}}, {}, {})", names_.tile,
                       names_.from_shape, names_.to_shape, moves.empty() ? "0" : moves,
                       op.transfers.size(), op.add ? c_operation(*op.add) : "MPI_OP_NULL");
  }
  [[nodiscard]] std::string boxes(const Transfer& transfer) const {
    return fmt::format("{}, {}, {}",
                       fmt::join(with_rank(transfer.target_start, names_.rank, 0), ", "),
                       fmt::join(with_rank(transfer.source_start, names_.rank, 0), ", "),
                       fmt::join(with_rank(transfer.shape, names_.rank, 1), ", "));
  }
  /// What a process sends or gets in all is counted, too.
  void check_sent(const Exchange& op) const {
    std::vector<Size> sent(static_cast<std::size_t>(devices_), 0);
    std::vector<Size> received = sent;
    for (const Transfer& transfer : op.transfers) {
      const Size count = checked_product(transfer.shape).value_or(INT64_MAX);
      check_count(count);
      check_count(sent[static_cast<std::size_t>(transfer.source)] += count);
      check_count(received[static_cast<std::size_t>(transfer.target)] += count);
    }
  }

  const Program& program_;
  const CNames& names_;
  Size devices_;
  std::size_t before_;  // dimensions of one element in front of the Program's
};

/// The tiles before each step; of an exchange alone none are needed.
std::vector<Shape> tiles_before(const Program& program) {
  if (program.steps.size() == 1 && is_exchange(program.steps.front())) return {Shape()};
  return even_tiles(program, "C", {"`lower --direct` writes one exchange, which C has"});
}

}  // namespace

std::string_view c_helpers() { return helper_text; }

std::string_view c_operation(Addition addition) {
  return addition == Addition::max ? "MPI_MAX" : addition == Addition::min ? "MPI_MIN" : "MPI_SUM";
}

Shape with_rank(const Shape& shape, std::size_t rank, Size number) {
  Shape out(rank - shape.size(), number);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

Result<std::string> c_steps(const Program& program, const CNames& names) {
  try {
    check_listable(program, "C");
    const std::vector<Shape> tiles = tiles_before(program);
    if (addition_of(program) == Addition::stack) refuse_form("MPI adds no stacks");
    check_count(std::max(program.from.tile_size(), program.to.tile_size()));
    for (const Shape& tile : tiles) check_count(checked_product(tile).value_or(INT64_MAX));
    const Calls calls(program, names);
    std::string out;
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      out += fmt::format("  {} = {};\n", names.tile, calls.of(program.steps[k], tiles[k]));
    }
    return out;
  } catch (Unsayable& reason) {
    return refuse(std::move(reason.diagnostic));
  }
}

}  // namespace retile::emit
