// What one call of redistribute() takes, with everything made ready for it, beside MPI_Alltoallw, in one run on
// real MPI processes: mpirun -n P one_shot [options]. Every element of every output is compared first.
//
// Rows to columns: every process has something for every other. MPI_Alltoallw is timed with types that are
// kept, and with types that are made and freed each time.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "execution_peers.h"
#include "execution_problems.h"
#include "figures.h"
#include "machine.h"
#include "processes.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

using bench::give_up;
using bench::into;
using bench::median;
using bench::process;
using bench::processes;
using bench::succeed;
using bench::time_of_all;
using bench::value_of;
using execution_bench::element_bytes;
using execution_bench::MpiTypes;
using retile::Exchange;
using retile::Program;
using retile::Size;
using retile::mpi::Redistributor;
using Json = nlohmann::ordered_json;

struct Contender {
  std::string name;
  std::function<void()> run;
};

execution_bench::Problem rows_to_columns(Size bytes) {
  const execution_bench::Notation notation(processes);
  const Size elements = bytes / element_bytes;
  Size side = 1;
  while (side * side < elements) side *= 2;
  const retile::Shape extents{elements / side / processes * processes,
                              side / processes * processes};
  return {"rows to columns", "", "d:" + std::to_string(processes), notation.type(extents, 0),
          notation.type(extents, 1)};
}

Json measure(Size bytes, int rounds, const std::string& falsified) {
  const execution_bench::Problem problem = rows_to_columns(bytes);
  const auto read = value_of(retile::parse_problem(problem.mesh, problem.from, problem.to));
  const Program program = value_of(retile::program_of(value_of(plan(read))));
  const auto whole = value_of(retile::direct(program));
  const auto& exchange = std::get<Exchange>(whole.steps.front().op);
  std::vector<std::byte> in(
      static_cast<std::size_t>(program.from.tile_size(process) * element_bytes));
  std::vector<std::byte> out(
      static_cast<std::size_t>(program.to.tile_size(process) * element_bytes));
  fill_pattern(program.from, process, element_bytes, in);

  auto kept = value_of(Redistributor::make(MPI_COMM_WORLD, program, element_bytes));
  const MpiTypes types(exchange, program.from.tile(), program.to.tile());
  const std::vector<Contender> contenders{
      {"redistribute()",
       [&] {
         succeed(retile::mpi::redistribute(MPI_COMM_WORLD, program, in, out, element_bytes));
       }},
      {"Redistributor::run()", [&] { succeed(kept.run(in, out)); }},
      {"MPI_Alltoallw", [&] { types.alltoallw(in.data(), out.data()); }},
      {"MPI_Alltoallw and its types",
       [&] {
         MpiTypes(exchange, program.from.tile(), program.to.tile())
             .alltoallw(in.data(), out.data());
       }},
  };
  for (const Contender& contender : contenders) {
    std::memset(out.data(), 0, out.size());
    contender.run();
    if (contender.name == falsified) out[out.size() / 2] ^= std::byte{1};
    if (find_pattern_mismatch(program.to, process, element_bytes, out)) {
      give_up(contender.name + " gives wrong elements");
    }
  }
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < contenders.size(); ++k)
      seconds[k].push_back(time_of_all(contenders[k].run));
  }
  Json result{
      {"problem", problem.name}, {"from", problem.from}, {"to", problem.to}, {"kib", bytes >> 10}};
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    result["contenders"].push_back(
        {{"name", contenders[k].name}, {"verified", true}, {"seconds", seconds[k]}});
    if (process != 0) continue;
    std::printf("%8lld KiB  %2d processes  %-28s %9.3f ms, %5.2f of MPI_Alltoallw\n",
                static_cast<long long>(bytes >> 10), processes, contenders[k].name.c_str(),
                median(seconds[k]) * 1e3, median(seconds[k]) / median(seconds[2]));
  }
  return result;
}

constexpr const char* usage =
    "usage: mpirun -n P one_shot [--sizes N,..] [--rounds N] [--output FILE] [--falsify NAME]\n"
    "\n"
    "  --sizes N,..    KiB of the arrays, all processes together (default 16384,262144)\n"
    "  --rounds N      timed rounds (default 9)\n"
    "  --output FILE   the results as JSON\n"
    "  --falsify NAME  change an element of what this contender brought: it must be found\n";

}  // namespace

int main(int argc, char** argv) {
  std::string sizes = "16384,262144";
  std::string path;
  std::string falsified;
  int rounds = 9;
  bench::begin(argc, argv, usage,
               {{"--sizes", into(sizes)},
                {"--rounds", into(rounds)},
                {"--output", into(path)},
                {"--falsify", into(falsified)}});
  Json results{{"schema", "retile.one_shot_run/1"},
               {"processes", processes},
               {"rounds", rounds},
               {"machine", copy_bench::machine()},
               {"mpi", bench::mpi_version()},
               {"problems", Json::array()}};
  for (std::size_t at = 0; at <= sizes.size();) {
    const std::size_t comma = std::min(sizes.find(',', at), sizes.size());
    results["problems"].push_back(
        measure(Size{std::stoll(sizes.substr(at, comma - at))} << 10, rounds, falsified));
    at = comma + 1;
  }
  bench::end(results, path);
  return 0;
}
