// A C program of MPI calls, which fills its tiles, moves them, and compares every element.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "retile/emit/c_steps.h"
#include "retile/emit/trace.h"

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

}  // namespace

std::string mpi_c(const Program& program) {
  check_listable(program, "C");
  if (!traits_of(program).in_boxes) refuse_form("tiles of several boxes are not written as C yet");
  const Addition addition = addition_of(program).value_or(Addition::sum);
  const std::size_t rank = std::max<std::size_t>(program.from.rank(), 1);
  auto steps = c_steps(program, {.tile = "tile",
                                 .from_shape = "FROM_SHAPE[rank]",
                                 .to_shape = "TO_SHAPE[rank]",
                                 .rank = rank});
  if (!steps) throw Unsayable{std::move(steps.error())};
  std::string out = std::string(c_head);
  for (const std::string_view name : headers) out += fmt::format("#include <{}>\n", name);
  out += std::string(types) + ends_text(program, "// ");
  out += fmt::format(
      "enum {{ DEVICES = {}, RANK = {}, ADDENDS = {}, TO_ADDENDS = {} }};\n#define ADD {}\n",
      program.devices, rank, program.from.addend_count(), program.to.addend_count(),
      c_operation(addition));
  out +=
      fmt::format("static const int64_t GLOBAL[RANK] = {{{}}};\n", numbers(program.from.global()));
  out += c_end("FROM", program.from) + c_end("TO", program.to) + replicas_text(program.to);
  out += std::string(c_helpers()) + "element *reshard(element *tile) {\n";
  return out + *steps + "  return tile;\n}\n" + std::string(c_tail);
}

}  // namespace retile::emit
