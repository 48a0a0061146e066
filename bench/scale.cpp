// What does one process of many need to find its own part of an exchange? Without MPI: the rule alone (Routes), and the list
// that a Redistributor makes of it.
//
//     scale [--output FILE]      a line for each problem and number of processes; FILE gets retile.scale/1
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "retile/exec/exchange/routes.h"
#include "retile/notation/paper/problem.h"

namespace {

using bench::median;
using retile::Layout;
using retile::Size;
using retile::Transfer;

struct Named {
  std::string name;
  std::string mesh;
  std::string from;
  std::string to;
};

Size ceil_div(Size a, Size b) { return (a + b - 1) / b; }

/// A square mesh x, y of so many processes, and arrays of some thousand elements in every tile.
std::vector<Named> problems(Size processes) {
  const auto side = static_cast<Size>(std::lround(std::sqrt(static_cast<double>(processes))));
  const std::string mesh = fmt::format("x:{},y:{}", side, side);
  const Size n = side * 64;        // even along either axis
  const Size all = processes * 4;  // even along both
  const Size odd = n - 3;
  const Size odd_all = all - 5;
  const Size tile = ceil_div(odd, side);
  const Size tile_all = ceil_div(odd_all, processes);
  return {
      {"mesh swap", mesh, fmt::format("[64{{x}}{0}, 64{{y}}{0}]", n),
       fmt::format("[64{{y}}{0}, 64{{x}}{0}]", n)},
      {"rows to columns over x", mesh, fmt::format("[64{{x}}{0}, {0}]", n),
       fmt::format("[{0}, 64{{x}}{0}]", n)},
      {"rows to columns over both", mesh, fmt::format("[4{{x,y}}{0}, {0}]", all),
       fmt::format("[{0}, 4{{x,y}}{0}]", all)},
      {"other order of axes", mesh, fmt::format("[4{{x,y}}{0}, 8]", all),
       fmt::format("[4{{y,x}}{0}, 8]", all)},
      {"gathered over y", mesh, fmt::format("[4{{y,x}}{0}, 8]", all),
       fmt::format("[{1}{{x}}{0}, 8]", all, 4 * side)},
      {"replicas split", mesh, fmt::format("[64{{x}}{0}, {0}]", n),
       fmt::format("[64{{y}}{0}, {0}]", n)},
      {"mesh swap, uneven", mesh, fmt::format("[{1}{{x}}{0}, {1}{{y}}{0}]", odd, tile),
       fmt::format("[{1}{{y}}{0}, {1}{{x}}{0}]", odd, tile)},
      {"rows to columns over x, uneven", mesh, fmt::format("[{1}{{x}}{0}, {0}]", odd, tile),
       fmt::format("[{0}, {1}{{x}}{0}]", odd, tile)},
      {"rows to columns over both, uneven", mesh,
       fmt::format("[{1}{{x,y}}{0}, {0}]", odd_all, tile_all),
       fmt::format("[{0}, {1}{{x,y}}{0}]", odd_all, tile_all)},
      {"other blocks, uneven", mesh, fmt::format("[{1}{{x,y}}{0}, 8]", odd_all, tile_all),
       fmt::format("[{1}~{{y,x}}{0}, 8]", odd_all, tile_all + 1)},
  };
}

struct Figures {
  Size boxes = 0;       ///< received, kept ones among them, and sent
  double rule_ms = 0;   ///< median: all boxes looked at
  double list_ms = 0;   ///< median: and put into a list
  Size rule_bytes = 0;  ///< held by the rule while it runs, as it says itself
  Size list_bytes = 0;  ///< of the list
};

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

Figures measure(const Layout& from, const Layout& to) {
  Figures out;
  std::vector<double> rule;
  std::vector<double> list;
  const Size device = from.devices() / 3 + 1;
  for (int round = 0; round < 9; ++round) {
    auto begin = std::chrono::steady_clock::now();
    const retile::Routes routes(from, to);
    out.boxes = 0;
    routes.received(device, [&](const Transfer&) { ++out.boxes; });
    routes.sent(device, [&](const Transfer&) { ++out.boxes; });
    rule.push_back(milliseconds(begin));
    out.rule_bytes = routes.table_bytes(device);
    begin = std::chrono::steady_clock::now();
    const auto before = static_cast<Size>(mallinfo2().uordblks + mallinfo2().hblkhd);
    std::vector<Transfer> own;
    own.reserve(static_cast<std::size_t>(out.boxes));
    routes.received(device, [&](const Transfer& transfer) { own.push_back(transfer); });
    routes.sent(device, [&](const Transfer& transfer) { own.push_back(transfer); });
    list.push_back(milliseconds(begin));
    out.list_bytes = static_cast<Size>(mallinfo2().uordblks + mallinfo2().hblkhd) - before;
  }
  out.rule_ms = median(rule);
  out.list_ms = median(list);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Size processes : {Size{1024}, Size{4096}, Size{65536}, Size{1048576}}) {
    for (const Named& named : problems(processes)) {
      const auto problem = retile::parse_problem(named.mesh, named.from, named.to);
      if (!problem) {
        std::cerr << render(problem.error());
        return 2;
      }
      const Figures figures = measure(problem->from, problem->to);
      fmt::print(
          "{:8} processes, {:34} {:8} boxes: rule {:8.3f} ms, {:9} bytes; list {:8.3f} ms, {:10} "
          "bytes\n",
          processes, named.name, figures.boxes, figures.rule_ms, figures.rule_bytes,
          figures.list_ms, figures.list_bytes);
      rows.push_back({{"processes", processes},
                      {"problem", named.name},
                      {"mesh", named.mesh},
                      {"from", named.from},
                      {"to", named.to},
                      {"boxes", figures.boxes},
                      {"rule_ms", figures.rule_ms},
                      {"rule_bytes", figures.rule_bytes},
                      {"list_ms", figures.list_ms},
                      {"list_bytes", figures.list_bytes}});
    }
  }
  if (argc == 3 && std::string(argv[1]) == "--output") {
    std::ofstream(argv[2])
        << nlohmann::ordered_json{{"schema", "retile.scale/1"}, {"rows", rows}}.dump(1) << "\n";
  }
  return 0;
}
