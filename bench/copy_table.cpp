// From what size of a pass on do streaming stores pay? Prints the table that src/retile/exec/copy/
// stores.cpp holds, as this machine would have it.
//
//     copy_table [--rounds N] [--processes P] [--output FILE]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "copy_team.h"
#include "figures.h"
#include "machine.h"

namespace {

using copy_bench::Contestant;
using copy_bench::Passes;
using copy_bench::Problem;
using copy_bench::Team;
using retile::Size;
using retile::copy::Stores;

/// Median of streaming over ordinary, in processor time.
double ratio(Team& team, const Problem& problem, bool push, int rounds) {
  const copy_bench::Tiles tiles(team, problem);
  std::vector<Passes> passes;
  std::vector<Contestant> contestants;
  for (const Stores stores : {Stores::ordinary, Stores::streaming}) {
    passes.emplace_back(problem, push, retile::copy::Options{.stores = stores});
  }
  for (std::size_t i = 0; i < passes.size(); ++i) {
    contestants.push_back({i == 0 ? "ordinary" : "streaming", [&passes, &tiles, i](Size me) {
                             passes[i].of_process[static_cast<std::size_t>(me)].run(tiles.sources,
                                                                                    tiles.targets);
                           }});
  }
  const Size total = problem.target_bytes() * problem.processes;
  const int repeats = static_cast<int>(std::max<Size>((Size{16} << 20) / total, 1));
  const auto times = team.run(problem, contestants, rounds, repeats);
  std::vector<double> out;
  for (std::size_t r = 0; r < times[0].size(); ++r) {
    out.push_back(times[1][r].processor_seconds / times[0][r].processor_seconds);
  }
  return bench::quantile(out, 0.5);
}

}  // namespace

int main(int count, char** arguments) {
  int rounds = 9;
  Size processes = 2;
  std::string output;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = arguments[i];
    if (option == "--rounds") rounds = std::atoi(arguments[i + 1]);
    if (option == "--processes") processes = std::atoll(arguments[i + 1]);
    if (option == "--output") output = arguments[i + 1];
  }
  if (!retile::copy::can_stream()) copy_bench::fail("this build cannot stream");
  const Size share = retile::copy::detected_cache_share_bytes(processes);
  const std::vector<Size> tile_bytes{1 << 16, 1 << 18, 1 << 20, 1 << 21, 1 << 22,
                                     1 << 23, 1 << 24, 1 << 25, 1 << 26};
  nlohmann::ordered_json all{{"schema", "retile.copy_table/1"},
                             {"machine", copy_bench::machine()},
                             {"processes", processes},
                             {"rounds", rounds},
                             {"results", nlohmann::ordered_json::array()},
                             {"table", nlohmann::ordered_json::array()}};
  std::printf("streaming / ordinary, bytes of a process:\n%-22s", "run");
  for (const Size bytes : tile_bytes) std::printf(" %8lldK", static_cast<long long>(bytes >> 10));
  std::printf("\n");
  std::string table;
  for (const Size run : {4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384}) {
    std::vector<double> worst(tile_bytes.size(), 0);
    for (const bool push : {true, false}) {
      std::printf("%5lld %-16s", static_cast<long long>(run),
                  push ? "rows to columns" : "columns to rows");
      for (std::size_t i = 0; i < tile_bytes.size(); ++i) {
        const Size total = tile_bytes[i] * processes;
        if (run * processes * processes > total) continue;
        Team team(processes, total);
        const Problem problem = push ? copy_bench::rows_to_columns(processes, total, run)
                                     : copy_bench::columns_to_rows(processes, total, run);
        const double measured = ratio(team, problem, push, rounds);
        worst[i] = std::max(worst[i], measured);
        all["results"].push_back({{"problem", problem.name},
                                  {"run_bytes", run},
                                  {"tile_bytes", tile_bytes[i]},
                                  {"streaming_over_ordinary", measured}});
        std::printf(" %9.2f", measured);
        std::fflush(stdout);
      }
      std::printf("\n");
    }
    // The least size from which on streaming never loses.
    std::size_t first = tile_bytes.size();
    while (first > 0 && worst[first - 1] <= 1.0) --first;
    const double shares = first == tile_bytes.size()
                              ? 1e9
                              : static_cast<double>(tile_bytes[first]) / static_cast<double>(share);
    all["table"].push_back({{"run_bytes", run}, {"cache_shares", shares}});
    table += "{" + std::to_string(run) + ", " + std::to_string(shares) + "}, ";
  }
  std::printf("table: %s\n", table.c_str());
  if (!output.empty()) std::ofstream(output) << all.dump(1) << '\n';
  return 0;
}
