// A C program of MPI calls, which fills its tiles, moves them, and compares every element.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "retile/core/cases.h"
#include "retile/emit/trace.h"
#include "retile/program/apply.h"

namespace retile::emit {
namespace {

constexpr std::string_view c_head =
    R"C(/* A plan of retile as MPI calls: mpicc this.c && mpirun -n DEVICES ./a.out
 * `reshard` frees or reuses the tile that it gets, from malloc or calloc, and returns the new one.
 * Elements are int64_t.
 * main fills a tile, calls that, and compares every element. */
)C";

constexpr std::string_view headers[] = {"mpi.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"};

constexpr std::string_view types = R"C(
typedef int64_t element;
#define ELEMENT MPI_INT64_T

)C";

constexpr std::string_view helpers = R"C(
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

/* Rows of `moves`: target, source, where the box lies in each, its extents. */
element *exchange(element *tile, const int64_t *old_shape, const int64_t *new_shape, const int64_t *moves,
                         int count) {
  const int width = 2 + 3 * RANK;
  int64_t zero[RANK] = {0};
  element *out = space(product(new_shape, 0, RANK));
  MPI_Request *requests = malloc((size_t)(2 * count + 1) * sizeof *requests);
  element **buffers = malloc((size_t)(2 * count + 1) * sizeof *buffers);
  int posted = 0;
  if (requests == NULL || buffers == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int side = 0; side < 2; ++side) { /* receives first */
    for (int k = 0; k < count; ++k) {
      const int64_t *move = moves + (int64_t)k * width;
      const int target = (int)move[0], source = (int)move[1];
      const int64_t *box = move + 2 + 2 * RANK;
      const int size = (int)product(box, 0, RANK);
      if ((side == 0 ? target : source) != rank) continue;
      buffers[posted] = space(size);
      if (side == 0) {
        MPI_Irecv(buffers[posted], size, ELEMENT, source, k, MPI_COMM_WORLD, &requests[posted]);
      } else {
        copy_box(buffers[posted], box, zero, tile, old_shape, move + 2 + RANK, box);
        MPI_Isend(buffers[posted], size, ELEMENT, target, k, MPI_COMM_WORLD, &requests[posted]);
      }
      ++posted;
    }
  }
  MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  posted = 0;
  for (int k = 0; k < count; ++k) {
    const int64_t *move = moves + (int64_t)k * width;
    if (move[0] != rank) continue;
    copy_box(out, new_shape, move + 2, buffers[posted++], move + 2 + 2 * RANK, zero, move + 2 + 2 * RANK);
  }
  for (int k = 0; k < count; ++k) posted += moves[(int64_t)k * width + 1] == rank;
  while (posted > 0) free(buffers[--posted]);
  free(buffers);
  free(requests);
  free(tile);
  return out;
}

)C";

constexpr std::string_view c_tail = R"C(
/* Addend k of the array is the array k + 1 times. */
static element value(const int64_t *at, int64_t addend) {
  element number = 0;
  for (int i = 0; i < RANK; ++i) number = number * GLOBAL[i] + at[i];
  return (number + 1) * (addend + 1);
}

/* What `count` addends come to. */
static element total(const int64_t *at) {
  element out = value(at, 0);
  for (int64_t k = 1; k < ADDENDS; ++k) {
    const element next = value(at, k);
    if (ADD == MPI_SUM) out += next;
    if (ADD == MPI_MAX && next > out) out = next;
    if (ADD == MPI_MIN && next < out) out = next;
  }
  return out;
}

/* The global index of a local one. */
static void global_index(int64_t local, const int64_t *start, const int64_t *shape, int64_t *at) {
  for (int i = RANK; i-- > 0;) {
    at[i] = start[i] + local % shape[i];
    local /= shape[i];
  }
}

int main(int argc, char **argv) {
  int processes;
  int64_t at[RANK], wrong = 0, compared, all[2], mine[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes != DEVICES) {
    if (rank == 0) fprintf(stderr, "this plan is for %d processes\n", DEVICES);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  element *tile = space(product(FROM_SHAPE[rank], 0, RANK));
  for (int64_t k = 0; k < product(FROM_SHAPE[rank], 0, RANK); ++k) {
    global_index(k, FROM_START[rank], FROM_SHAPE[rank], at);
    tile[k] = value(at, FROM_ADDEND[rank]);
  }
  tile = reshard(tile);
  compared = product(TO_SHAPE[rank], 0, RANK);
  if (TO_ADDENDS > 1) { /* addends that are left are added, to be compared */
    int place = TO_REPLICA[rank] == 0 ? 0 : MPI_UNDEFINED;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, place == 0 ? TO_TILE[rank] : MPI_UNDEFINED, rank, &comm);
    if (comm != MPI_COMM_NULL) {
      MPI_Allreduce(MPI_IN_PLACE, tile, (int)compared, ELEMENT, ADD, comm);
      MPI_Comm_free(&comm);
    } else {
      compared = 0;
    }
  }
  for (int64_t k = 0; k < compared; ++k) {
    global_index(k, TO_START[rank], TO_SHAPE[rank], at);
    wrong += tile[k] != total(at);
  }
  mine[0] = compared;
  mine[1] = wrong;
  MPI_Reduce(mine, all, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all[1] == 0) printf("right: %lld elements compared\n", (long long)all[0]);
  if (rank == 0 && all[1] != 0) printf("wrong: %lld of %lld elements\n", (long long)all[1], (long long)all[0]);
  if (rank != 0) all[1] = 0;
  free(tile);
  MPI_Finalize();
  return all[1] == 0 ? 0 : 1;
}
)C";

/// `1, 2`; an array of rank 0 is one of an element.
std::string numbers(const Shape& shape, std::string_view of_rank_0 = "1") {
  return shape.empty() ? std::string(of_rank_0) : fmt::format("{}", fmt::join(shape, ", "));
}

/// `{{1, 2}, {3, 4}}`
std::string rows(const std::vector<Shape>& shapes, std::string_view of_rank_0) {
  std::string out;
  for (const Shape& shape : shapes) {
    out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ", numbers(shape, of_rank_0));
  }
  return "{" + out + "}";
}

std::string shape_value(const Shape& shape) {
  return fmt::format("(const int64_t[]){{{}}}", numbers(shape));
}

std::string int_table(const std::vector<Size>& table) {
  return fmt::format("(const int[]){{{}}}", fmt::join(table, ", "));
}

std::string op_text(Addition addition) {
  return addition == Addition::max ? "MPI_MAX" : addition == Addition::min ? "MPI_MIN" : "MPI_SUM";
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

/// What moves in an exchange, and the tiles before and after it.
std::string exchange_text(const Program& program, const Exchange& op) {
  if (program.steps.size() != 1)
    refuse_form("an exchange between other steps is not written as C yet");
  if (op.add) refuse_form("an exchange that adds is not written as C yet");
  std::string moves;
  for (const Transfer& transfer : op.transfers) {
    moves += fmt::format("{}{}", moves.empty() ? "" : ", ", fmt::join(row_of(transfer), ", "));
  }
  return fmt::format(
      "exchange(tile, FROM_SHAPE[rank], TO_SHAPE[rank], (const int64_t[]){{{}}}, {})",
      moves.empty() ? "0" : moves, op.transfers.size());
}

/// The call that a step is.
std::string call_of(const Program& program, const Step& step, const Shape& before) {
  const Size devices = program.devices;
  const std::string shape = shape_value(before);
  return match(
      step.op,
      [&](const Dynslice& op) {
        std::vector<Size> parts;
        for (Size d = 0; d < devices; ++d) parts.push_back(piece_of(op, d));
        return fmt::format("dynslice(tile, {}, {}, {}, {}[rank])", shape, op.dim, group_size(op),
                           int_table(parts));
      },
      [&](const Allgather& op) {
        return fmt::format("allgather(tile, {}, {}, {}, {})", shape, op.dim, op.groups.columns(),
                           grouping(op.groups, devices));
      },
      [&](const Alltoall& op) {
        return fmt::format("alltoall(tile, {}, {}, {}, {}, {})", shape, op.split, op.concat,
                           op.groups.columns(), grouping(op.groups, devices));
      },
      [&](const Allpermute& op) {
        return fmt::format("allpermute(tile, {}, {})", shape, int_table(sources(op, devices)));
      },
      [&](const Exchange& op) { return exchange_text(program, op); },
      [&](const Reducescatter& op) {
        return fmt::format("reducescatter(tile, {}, {}, {}, {}, {})", shape, op.dim,
                           op.groups.columns(), op_text(op.add), grouping(op.groups, devices));
      },
      [&](const Allreduce& op) {
        return fmt::format("allreduce(tile, {}, {}, {})", shape, op_text(op.add),
                           grouping(op.groups, devices));
      },
      [&](const Unreduce& op) {
        return fmt::format("unreduce(tile, {}, {})", shape,
                           int_table(places_in(op.groups, devices)));
      },
      [&](const Embed& op) {
        return fmt::format("embed(tile, {}, {}, {}, {})", shape, op.dim, op.groups.columns(),
                           int_table(places_in(op.groups, devices)));
      },
      [&](const OverDims auto&) -> std::string { refuse_over_dims(step, "C"); });
}

/// Where every device's tile lies, and which addend it is of.
std::string c_end(std::string_view name, const Layout& layout) {
  std::vector<Shape> starts;
  std::vector<Shape> shapes;
  std::vector<Size> addends;
  for (const Box& box : layout.boxes()) {
    starts.push_back(box.at);
    shapes.push_back(box.extent);
  }
  if (name == "FROM") {
    for (Size d = 0; d < layout.devices(); ++d) addends.push_back(layout.addend(d));
  }
  const std::string numbers_of =
      addends.empty()
          ? ""
          : fmt::format("static const int FROM_ADDEND[] = {{{}}};\n", fmt::join(addends, ", "));
  return fmt::format(
      "static const int64_t {0}_START[][RANK] = {1};\nstatic const int64_t {0}_SHAPE[][RANK] "
      "= {2};\n{3}",
      name, rows(starts, "0"), rows(shapes, "1"), numbers_of);
}

/// Of the end: which tile a device has, and how many before it have the same addend of it.
std::string replicas_text(const Layout& layout) {
  std::vector<Size> tiles;
  std::vector<Size> replicas;
  std::map<std::pair<Shape, Shape>, Size> first;
  std::map<std::pair<Size, Size>, Size> seen;
  const std::vector<Box> boxes = layout.boxes();
  for (std::size_t d = 0; d < boxes.size(); ++d) {
    const auto device = static_cast<Size>(d);
    tiles.push_back(first.try_emplace({boxes[d].at, boxes[d].extent}, device).first->second);
    replicas.push_back(seen[{tiles.back(), layout.addend(device)}]++);
  }
  return fmt::format(
      "static const int TO_TILE[] = {{{}}};\nstatic const int TO_REPLICA[] = {{{}}};\n",
      fmt::join(tiles, ", "), fmt::join(replicas, ", "));
}

/// The tiles before each step; of an exchange alone none are needed.
std::vector<Shape> tiles_before(const Program& program) {
  if (program.steps.size() == 1 && is_exchange(program.steps.front())) return {Shape()};
  return even_tiles(program, "C",
                    {"`lower --direct` writes one exchange, which C has without addends"});
}

/// MPI counts elements by int.
void check_counts(const Program& program, const std::vector<Shape>& tiles) {
  Size most = std::max(program.from.tile_size(), program.to.tile_size());
  for (const Shape& tile : tiles) most = std::max(most, checked_product(tile).value_or(INT64_MAX));
  if (most > INT32_MAX) refuse_form("MPI counts fewer than 2^31 elements of a tile");
}

}  // namespace

std::string mpi_c(const Program& program) {
  check_listable(program, "C");
  if (!traits_of(program).in_boxes) refuse_form("tiles of several boxes are not written as C yet");
  const std::vector<Shape> tiles = tiles_before(program);
  const Addition addition = addition_of(program).value_or(Addition::sum);
  if (addition == Addition::stack) refuse_form("MPI adds no stacks");
  check_counts(program, tiles);
  std::string out = std::string(c_head);
  for (const std::string_view name : headers) out += fmt::format("#include <{}>\n", name);
  out += std::string(types) + ends_text(program, "// ");
  out += fmt::format(
      "enum {{ DEVICES = {}, RANK = {}, ADDENDS = {}, TO_ADDENDS = {} }};\n#define ADD {}\n",
      program.devices, std::max<std::size_t>(program.from.rank(), 1), program.from.addend_count(),
      program.to.addend_count(), op_text(addition));
  out +=
      fmt::format("static const int64_t GLOBAL[RANK] = {{{}}};\n", numbers(program.from.global()));
  out += c_end("FROM", program.from) + c_end("TO", program.to) + replicas_text(program.to);
  out += std::string(helpers) + "element *reshard(element *tile) {\n";
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    out += fmt::format("  tile = {};\n", call_of(program, program.steps[k], tiles[k]));
  }
  return out + "  return tile;\n}\n" + std::string(c_tail);
}

}  // namespace retile::emit
