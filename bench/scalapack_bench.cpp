// What it takes to bring a block-cyclic matrix of doubles into another block-cyclic layout: ScaLAPACK's
// own Cpdgemr2d beside the library, in one run on real MPI processes: mpirun -n P scalapack_bench [options].
//
// ScaLAPACK keeps local matrices by columns. The library is given the transposed matrix, whose tile by
// rows has the same bytes. Every element of every output is compared with what its global indices say
// it is, by a formula that knows neither library, and the outputs with each other, byte by byte.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blacs.h"
#include "figures.h"
#include "machine.h"
#include "processes.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"

namespace {

using bench::give_up;
using bench::into;
using bench::median;
using bench::process;
using bench::processes;
using bench::succeed;
using bench::time_of_all;
using bench::value_of;
using retile::Program;
using retile::Size;
using retile::mpi::Redistributor;
using Json = nlohmann::ordered_json;

// ---- Layouts -----------------------------------------------------------------------------------

/// Rows or columns of a matrix, dealt out in blocks to the parts of a grid.
struct Side {
  Size extent = 1;
  Size block = 1;
  Size parts = 1;
  std::string axis = {};  ///< of the library's mesh; none where there is one part

  /// How many the part has, and which the n-th of them is.
  [[nodiscard]] Size count(Size part) const {
    const Size round = block * parts;
    return extent / round * block + std::clamp(extent % round - part * block, Size{0}, block);
  }
  [[nodiscard]] Size index(Size part, Size n) const {
    return (n / block * parts + part) * block + n % block;
  }
  [[nodiscard]] std::string type() const {
    const std::string all = std::to_string(extent);
    return parts == 1 ? all : std::to_string(block) + "@{" + axis + "}" + all;
  }
};

/// A matrix on a grid; the processes go along its rows, or along its columns.
struct BlockCyclic {
  Side rows, columns;
  bool by_columns = false;

  [[nodiscard]] Size row_of(Size number) const {
    return by_columns ? number % rows.parts : number / columns.parts;
  }
  [[nodiscard]] Size column_of(Size number) const {
    return by_columns ? number / rows.parts : number % columns.parts;
  }
  /// The transposed matrix as the library's type.
  [[nodiscard]] std::string type() const { return "[" + columns.type() + ", " + rows.type() + "]"; }
  [[nodiscard]] Size elements() const {
    return rows.count(row_of(process)) * columns.count(column_of(process));
  }
};

/// Calls use(place, row, column) for every element of this process's local matrix, by columns.
template <typename Use>
void for_each_element(const BlockCyclic& matrix, const Use& use) {
  const Size row = matrix.row_of(process);
  const Size column = matrix.column_of(process);
  std::size_t place = 0;
  for (Size c = 0; c < matrix.columns.count(column); ++c) {
    for (Size r = 0; r < matrix.rows.count(row); ++r) {
      use(place++, matrix.rows.index(row, r), matrix.columns.index(column, c));
    }
  }
}

double element(const BlockCyclic& matrix, Size row, Size column) {
  return static_cast<double>(row * matrix.columns.extent + column + 1);
}

std::vector<double> filled(const BlockCyclic& matrix) {
  std::vector<double> out(static_cast<std::size_t>(matrix.elements()));
  for_each_element(matrix, [&](std::size_t place, Size row, Size column) {
    out[place] = element(matrix, row, column);
  });
  return out;
}

/// The first wrong element, in words.
std::optional<std::string> wrong(const BlockCyclic& matrix, const std::vector<double>& found) {
  std::optional<std::string> out;
  for_each_element(matrix, [&](std::size_t place, Size row, Size column) {
    if (out || found[place] == element(matrix, row, column)) return;
    out = "row " + std::to_string(row) + ", column " + std::to_string(column) + " holds " +
          std::to_string(found[place]);
  });
  return out;
}

struct Problem {
  std::string name;
  BlockCyclic from, to;
  std::string mesh, mesh_to;
  std::string type_from = from.type();
  std::string type_to = to.type();
  bool is_view = false;
};

/// The grid that is nearest to a square, with no more rows than columns.
std::pair<Size, Size> grid() {
  Size rows = 1;
  while ((2 * rows) * (2 * rows) <= processes) rows *= 2;
  return {rows, processes / rows};
}

/// Rows or columns that lie one by one before and in one block each after, as three dimensions of which
/// the last is cut before and the first after. Precondition: the parts divide every block.
std::string viewed(const Side& side, bool before) {
  if (side.parts == 1) return std::to_string(side.extent);
  const std::string whole = std::to_string(side.parts);
  const std::string cut = "1{" + side.axis + "}" + whole;
  const std::string middle = std::to_string(side.extent / side.parts / side.parts);
  return (before ? whole : cut) + ", " + middle + ", " + (before ? cut : whole);
}

std::string viewed(const BlockCyclic& matrix, bool before) {
  return "[" + viewed(matrix.columns, before) + ", " + viewed(matrix.rows, before) + "]";
}

std::vector<Problem> problems(Size rows, Size columns) {
  const auto [r, c] = grid();
  const auto blocks = [r = r, c = c](Side row, Side column) {
    return BlockCyclic{{row.extent, row.block, r, "r"}, {column.extent, column.block, c, "c"}};
  };
  const auto in_one = [](Size extent, Size parts) { return (extent + parts - 1) / parts; };
  const BlockCyclic in_64 = blocks({rows, 64}, {columns, 64});
  const BlockCyclic in_48{{rows, 48, processes, "p"}, {columns, 48, 1, ""}};
  // The process of row i and column j stands at row j and column i of the other grid.
  const BlockCyclic transposed{{rows, 64, c, "c"}, {columns, 64, r, "r"}, true};
  const Size even_rows = (rows + 63) / 64 * 64;
  const Size even_columns = (columns + 63) / 64 * 64;
  const BlockCyclic even = blocks({even_rows, 1}, {even_columns, 1});
  const BlockCyclic even_blocks =
      blocks({even_rows, even_rows / r}, {even_columns, even_columns / c});
  const auto name = [](Size p, Size q) { return std::to_string(p) + " x " + std::to_string(q); };
  const std::string two = "r:" + std::to_string(r) + ",c:" + std::to_string(c);
  const std::string one = "p:" + std::to_string(processes);
  return {
      {"blocks of 64, " + name(r, c) + ", to blocks of 48, " + name(processes, 1), in_64, in_48,
       two, one},
      {"blocks of 64, " + name(r, c) + ", to the transposed grid", in_64, transposed, two, two},
      {"elements in turn, " + name(r, c) + ", to one block each", blocks({rows, 1}, {columns, 1}),
       blocks({rows, in_one(rows, r)}, {columns, in_one(columns, c)}), two, two},
      {"the same in whole rounds, as a view", even, even_blocks, two, two, viewed(even, true),
       viewed(even_blocks, false), true},
  };
}

/// A matrix of about so many bytes whose extents no block divides.
std::pair<Size, Size> extents(Size bytes) {
  const Size elements = bytes / Size{sizeof(double)};
  Size rows = static_cast<Size>(std::sqrt(static_cast<double>(elements) * 4 / 3)) | 1;
  while (rows % 3 == 0) rows += 2;
  Size columns = std::max<Size>(elements / rows, 1) | 1;
  while (columns % 3 == 0) columns += 2;
  return {rows, columns};
}

struct Given {
  std::string sizes = "1024,4096,16384,262144";
  std::string only, path, falsified;
  int rounds = 9;
};

// ---- Contenders --------------------------------------------------------------------------------

/// A grid of BLACS with the descriptor of a matrix on it.
class OnGrid {
 public:
  explicit OnGrid(const BlockCyclic& matrix) {
    Cblacs_get(0, 0, &context_);
    const Size rows = matrix.rows.parts;
    std::vector<int> map(static_cast<std::size_t>(rows * matrix.columns.parts));
    for (Size number = 0; number < rows * matrix.columns.parts; ++number) {
      map[static_cast<std::size_t>(matrix.row_of(number) + matrix.column_of(number) * rows)] =
          static_cast<int>(number);
    }
    const auto integer = [](Size value) { return static_cast<int>(value); };
    Cblacs_gridmap(&context_, map.data(), integer(rows), integer(rows),
                   integer(matrix.columns.parts));
    const Size local_rows = matrix.rows.count(matrix.row_of(process));
    descriptor_ = {1,
                   context_,
                   integer(matrix.rows.extent),
                   integer(matrix.columns.extent),
                   integer(matrix.rows.block),
                   integer(matrix.columns.block),
                   0,
                   0,
                   integer(std::max<Size>(local_rows, 1))};
  }
  ~OnGrid() { Cblacs_gridexit(context_); }
  OnGrid(const OnGrid&) = delete;
  OnGrid& operator=(const OnGrid&) = delete;
  [[nodiscard]] int* descriptor() { return descriptor_.data(); }
  [[nodiscard]] int context() const { return context_; }

 private:
  int context_ = -1;
  std::array<int, 9> descriptor_{};
};

struct Contender {
  std::string name;
  std::function<void()> run;
};

/// At most so many pieces do the cuts of both ends make.
Size pieces(const Side& from, const Side& to) {
  const auto of = [](const Side& side) {
    return side.parts == 1 ? Size{1} : (side.extent + side.block - 1) / side.block;
  };
  return of(from) + of(to) - 1;
}

/// A list of a million boxes takes a gigabyte or two on every process while a Redistributor is made.
retile::Result<Program> program_of(const Problem& problem) {
  constexpr Size most = 1'500'000;
  const Size boxes =
      pieces(problem.from.rows, problem.to.rows) * pieces(problem.from.columns, problem.to.columns);
  if (!problem.is_view && boxes > most) {
    return retile::refuse({.code = retile::Code::limit_reached,
                           .message = "not tried: a list of " + std::to_string(boxes) + " boxes"});
  }
  const auto placed = [](const std::string& mesh) {
    return retile::PlacedMesh{value_of(retile::parse_mesh(mesh)), std::nullopt};
  };
  const auto read = value_of(retile::parse_problem(placed(problem.mesh), placed(problem.mesh_to),
                                                   problem.type_from, problem.type_to));
  return retile::program_of(value_of(plan(read)));
}

/// Runs everyone once and compares all elements. Returns how long the runs took.
double verify(const Problem& problem, const std::vector<Contender>& contenders,
              std::vector<double>& out, const std::string& falsified) {
  std::vector<double> first;
  double seconds = 0;
  for (const Contender& contender : contenders) {
    std::fill(out.begin(), out.end(), -1.0);
    seconds += time_of_all(contender.run);
    if (contender.name == falsified && !out.empty()) out[out.size() / 2] += 1;
    if (const auto where = wrong(problem.to, out)) {
      give_up(problem.name + ": " + contender.name + " gives wrong elements: " + *where);
    }
    if (first.empty()) first = out;
    if (!std::ranges::equal(std::as_bytes(std::span(first)), std::as_bytes(std::span(out)))) {
      give_up(problem.name + ": " + contender.name + " gives other bytes");
    }
  }
  return seconds;
}

void print(const Problem& problem, Size kib, const std::vector<Contender>& contenders,
           const std::vector<std::vector<double>>& seconds) {
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    std::printf("%8lld KiB  %d processes  %-52s %-22s %9.3f ms, %5.2f of Cpdgemr2d\n",
                static_cast<long long>(kib), processes, problem.name.c_str(),
                contenders[k].name.c_str(), median(seconds[k]) * 1e3,
                median(seconds[k]) / median(seconds[0]));
  }
  std::fflush(stdout);
}

/// What is timed in turn; medians are of as many rounds as fit in some seconds.
std::vector<std::vector<double>> timed(const std::vector<Contender>& contenders, int rounds,
                                       double seconds_of_round) {
  constexpr double most_seconds = 20;
  const auto fitting = static_cast<int>(most_seconds / seconds_of_round);
  std::vector<std::vector<double>> out(contenders.size());
  for (int round = 0; round < std::min(rounds, std::max(fitting, 1)); ++round) {
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const std::size_t turn = (k + static_cast<std::size_t>(round)) % contenders.size();
      out[turn].push_back(time_of_all(contenders[turn].run));
    }
  }
  return out;
}

Json described(const Problem& problem, Size kib) {
  return {{"problem", problem.name},
          {"rows", problem.from.rows.extent},
          {"columns", problem.from.columns.extent},
          {"mesh", problem.mesh},
          {"mesh_to", problem.mesh_to},
          {"from", problem.type_from},
          {"to", problem.type_to},
          {"kib", kib}};
}

/// The matrices of a problem, and who moves them: all but the first only where the library can say the
/// exchange.
class Case {
 public:
  Case(const Problem& problem, const retile::Result<Program>& program)
      : problem_(problem),
        everybody_({{processes, 1, processes, "p"}, {1, 1, 1, ""}}),
        from_(problem.from),
        to_(problem.to),
        in_(filled(problem.from)),
        out_(static_cast<std::size_t>(problem.to.elements())) {
    contenders_.push_back({"Cpdgemr2d", [this] { by_scalapack(); }});
    if (!program) return;
    kept_.emplace(value_of(Redistributor::make(MPI_COMM_WORLD, *program, sizeof(double))));
    contenders_.push_back({"Redistributor::run()", [this] { succeed(kept_->run(in(), out())); }});
    contenders_.push_back(
        {"redistribute()", [this, &program = *program] {
           succeed(retile::mpi::redistribute(MPI_COMM_WORLD, program, in(), out(), sizeof(double)));
         }});
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] const std::vector<Contender>& contenders() const { return contenders_; }
  [[nodiscard]] std::vector<double>& output() { return out_; }
  [[nodiscard]] const std::optional<Redistributor>& kept() const { return kept_; }

 private:
  [[nodiscard]] std::span<const std::byte> in() const { return std::as_bytes(std::span(in_)); }
  [[nodiscard]] std::span<std::byte> out() { return std::as_writable_bytes(std::span(out_)); }
  void by_scalapack() {
    Cpdgemr2d(static_cast<int>(problem_.from.rows.extent),
              static_cast<int>(problem_.from.columns.extent), in_.data(), 1, 1, from_.descriptor(),
              out_.data(), 1, 1, to_.descriptor(), everybody_.context());
  }

  const Problem& problem_;
  OnGrid everybody_, from_, to_;
  std::vector<double> in_, out_;
  std::optional<Redistributor> kept_;
  std::vector<Contender> contenders_;
};

Json measure(const Problem& problem, Size kib, const Given& given) {
  Json result = described(problem, kib);
  const auto program = program_of(problem);
  Case all(problem, program);
  const double once = verify(problem, all.contenders(), all.output(), given.falsified);
  const auto seconds = timed(all.contenders(), given.rounds, once);
  if (process == 0) print(problem, kib, all.contenders(), seconds);
  if (!program) result["refused"] = program.error().message;
  if (all.kept()) result["strategy"] = strategy_name(all.kept()->strategy());
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    result["contenders"].push_back(
        {{"name", all.contenders()[k].name}, {"verified", true}, {"seconds", seconds[k]}});
  }
  return result;
}

constexpr const char* usage =
    "usage: mpirun -n P scalapack_bench [options]     P a power of two\n"
    "\n"
    "  --sizes N,..    KiB of the matrices, all processes together (default "
    "1024,4096,16384,262144)\n"
    "  --rounds N      timed rounds (default 9)\n"
    "  --only TEXT     problems with this in their names\n"
    "  --output FILE   the results as JSON\n"
    "  --falsify NAME  change an element of what this contender brought: it must be found\n";

}  // namespace

int main(int argc, char** argv) {
  Given given;
  bench::begin(argc, argv, usage,
               {{"--sizes", into(given.sizes)},
                {"--rounds", into(given.rounds)},
                {"--only", into(given.only)},
                {"--output", into(given.path)},
                {"--falsify", into(given.falsified)}});
  if ((processes & (processes - 1)) != 0) give_up("the number of processes is no power of two");
  Json results{{"schema", "retile.scalapack_run/1"},
               {"processes", processes},
               {"rounds", given.rounds},
               {"machine", copy_bench::machine()},
               {"mpi", bench::mpi_version()},
               {"problems", Json::array()}};
  for (std::size_t at = 0; at <= given.sizes.size();) {
    const std::size_t comma = std::min(given.sizes.find(',', at), given.sizes.size());
    const Size kib = std::stoll(given.sizes.substr(at, comma - at));
    const auto [rows, columns] = extents(kib << 10);
    for (const Problem& problem : problems(rows, columns)) {
      if (problem.name.find(given.only) == std::string::npos) continue;
      results["problems"].push_back(measure(problem, kib, given));
    }
    at = comma + 1;
  }
  bench::end(results, given.path);
  return 0;
}
