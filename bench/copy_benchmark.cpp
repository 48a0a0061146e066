// How near to the copy limit is a pass? All ways in turn, in one run, by processes that copy at
// once.
//
//     copy_benchmark [--rounds N] [--smallest BYTES] [--largest BYTES] [--processes P] [--run
//     BYTES]
//                    [--output FILE]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "copy_limit.h"
#include "copy_team.h"
#include "figures.h"
#include "machine.h"

namespace {

using copy_bench::Contestant;
using copy_bench::Problem;
using copy_bench::Team;
using copy_bench::Timing;
using retile::Size;
using retile::copy::Options;

constexpr Size kilobyte = 1024;

std::vector<Problem> problems(Size processes, Size total_bytes) {
  using namespace copy_bench;
  std::vector<Problem> out;
  for (const Size run :
       {Size{4}, Size{16}, Size{64}, Size{256}, Size{1024}, 4 * kilobyte, 8 * kilobyte}) {
    if (run * processes * processes > total_bytes) continue;
    out.push_back(rows_to_columns(processes, total_bytes, run));
    out.push_back(columns_to_rows(processes, total_bytes, run));
  }
  for (const Size run : {Size{64}, 4 * kilobyte}) {
    if (run * 8 * processes * processes <= total_bytes) {
      out.push_back(axis_move(processes, total_bytes, run));
    }
  }
  if (processes >= 4 && 4096 * processes * processes <= total_bytes) {
    out.push_back(mesh_swap(processes, total_bytes));
  }
  out.push_back(gather(processes, total_bytes));
  return out;
}

nlohmann::ordered_json measure(Team& team, const Problem& problem, Size total_bytes, int rounds) {
  const copy_bench::Tiles tiles(team, problem);
  const Options options{.cache_share_bytes =
                            retile::copy::detected_cache_share_bytes(problem.processes)};
  const copy_bench::Passes push(problem, true, options);
  const copy_bench::Passes pull(problem, false, options);
  const Size bytes = problem.target_bytes();
  // The references copy as many bytes as a device gets; `in` has as many as `out`.
  const auto reference = [&team, bytes](auto copy) {
    return [&team, bytes, copy](Size me) {
      copy(team.out() + me * bytes, team.in() + me * bytes, bytes);
    };
  };
  const std::vector<Contestant> contestants{
      {"limit", reference([](std::byte* to, const std::byte* from, Size n) {
         retile::copy::copy_limit(to, from, n);
       }),
       false},
      {"one_stream", reference([](std::byte* to, const std::byte* from, Size n) {
         retile::copy::copy_limit(to, from, n, 1);
       }),
       false},
      {"memcpy", reference([](std::byte* to, const std::byte* from, Size n) {
         std::memcpy(to, from, static_cast<std::size_t>(n));
       }),
       false},
      {"push",
       [&](Size me) {
         push.of_process[static_cast<std::size_t>(me)].run(tiles.sources, tiles.targets);
       }},
      {"pull",
       [&](Size me) {
         pull.of_process[static_cast<std::size_t>(me)].run(tiles.sources, tiles.targets);
       }},
  };
  // A time of less than a millisecond says little.
  const int repeats = static_cast<int>(std::max<Size>((Size{16} << 20) / total_bytes, 1));
  const auto times = team.run(problem, contestants, rounds, repeats);

  nlohmann::ordered_json out{{"problem", problem.name},    {"processes", problem.processes},
                             {"total_bytes", total_bytes}, {"run_bytes", problem.run_bytes},
                             {"rounds", rounds},           {"repeats", repeats}};
  const bool pushes = push.of_process[0].in_order_bytes() >= pull.of_process[0].in_order_bytes();
  out["chosen"] = pushes ? "push" : "pull";
  out["streaming"] = (pushes ? push : pull).of_process[0].streaming();
  for (std::size_t c = 0; c < contestants.size(); ++c) {
    std::vector<double> processor;
    std::vector<double> wall;
    std::vector<double> seconds;
    for (std::size_t r = 0; r < times[c].size(); ++r) {
      processor.push_back(times[c][r].processor_seconds / times[0][r].processor_seconds);
      wall.push_back(times[c][r].wall_seconds / times[0][r].wall_seconds);
      seconds.push_back(times[c][r].processor_seconds);
    }
    out[contestants[c].name] = {
        {"ratio", bench::quantile(processor, 0.5)},
        {"ratio_quartiles", {bench::quantile(processor, 0.25), bench::quantile(processor, 0.75)}},
        {"wall_ratio", bench::quantile(wall, 0.5)},
        {"wall_ratio_quartiles", {bench::quantile(wall, 0.25), bench::quantile(wall, 0.75)}},
        {"processor_seconds", bench::quantile(seconds, 0.5)}};
  }
  std::printf("%s %-16s P %lld %9lld B run %6lld |", pushes ? "push" : "pull", problem.name.c_str(),
              static_cast<long long>(problem.processes), static_cast<long long>(total_bytes),
              static_cast<long long>(problem.run_bytes));
  for (const char* name : {"push", "pull"}) {
    std::printf(" %s %.2f [%.2f %.2f] wall %.2f |", name, out[name]["ratio"].get<double>(),
                out[name]["ratio_quartiles"][0].get<double>(),
                out[name]["ratio_quartiles"][1].get<double>(),
                out[name]["wall_ratio"].get<double>());
  }
  std::printf(
      " one stream %.2f memcpy %.2f | %.1f GB/s\n", out["one_stream"]["ratio"].get<double>(),
      out["memcpy"]["ratio"].get<double>(),
      static_cast<double>(total_bytes) / out["limit"]["processor_seconds"].get<double>() / 1e9);
  std::fflush(stdout);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  int rounds = 15;
  Size only_processes = 0;
  Size only_run = 0;
  Size smallest = 0;
  Size largest = Size{256} << 20;
  std::string output;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string option = arguments[i];
    if (option == "--rounds") rounds = std::atoi(arguments[i + 1]);
    if (option == "--smallest") smallest = std::atoll(arguments[i + 1]);
    if (option == "--largest") largest = std::atoll(arguments[i + 1]);
    if (option == "--processes") only_processes = std::atoll(arguments[i + 1]);
    if (option == "--run") only_run = std::atoll(arguments[i + 1]);
    if (option == "--output") output = arguments[i + 1];
  }
  nlohmann::ordered_json all{{"schema", "retile.copy_benchmark/1"},
                             {"machine", copy_bench::machine()},
                             {"results", nlohmann::ordered_json::array()}};
  for (const Size total :
       {64 * kilobyte, kilobyte * kilobyte, 16 * kilobyte * kilobyte, 256 * kilobyte * kilobyte}) {
    if (total < smallest || total > largest) continue;
    for (const Size processes : {Size{1}, Size{2}, Size{4}, Size{8}}) {
      if (only_processes != 0 && processes != only_processes) continue;
      Team team(processes, total);
      for (const Problem& problem : problems(processes, total)) {
        if (only_run != 0 && problem.run_bytes != only_run) continue;
        all["results"].push_back(measure(team, problem, total, rounds));
      }
    }
  }
  if (!output.empty()) std::ofstream(output) << all.dump(1) << '\n';
  return 0;
}
