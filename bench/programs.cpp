// What a module's redistributions take by their plans, and by gathering all and slicing, side by side
// in one run on real MPI processes: mpirun -n P programs MODULE GATHERED [options]. GATHERED is the
// same module with steps behind every redistribution.
//
// Every way first runs its whole module, and every element of the result is compared. Then in every
// round every way carries out all redistributions, between barriers; each is timed until the last
// process is through. scripts/evaluate-programs publishes the figures.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine.h"
#include "modules.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#include "retile/spmd/run/run.h"

namespace {

using module_bench::give_up;
using module_bench::Source;
using module_bench::value_of;
using retile::Executor;
using retile::Processes;
using retile::Program;
using retile::Size;
using retile::mpi::Strategy;
using Json = nlohmann::ordered_json;

constexpr retile::ElementType element = {};  // f32

/// One way to carry out all redistributions of a module.
class Way {
 public:
  Way(const Processes& processes, std::string name, const Source& source, Strategy strategy)
      : processes_(processes), name_(std::move(name)), source_(source), strategy_(strategy) {}

  [[nodiscard]] Json described() const {
    Json out{{"name", name_},
             {"verified", true},
             {"compared", report_.compared},
             {"received_bytes", report_.received_bytes},
             {"module_peak_bytes", report_.peak_bytes}};
    for (std::size_t k = 0; k < source_.routes.size(); ++k) {
      out["redistributions"].push_back(
          {{"cost", source_.routes[k].verdict.cost}, {"way", movers_[k]->way()}});
    }
    return out;
  }

  /// Runs the whole module, and compares every element of what it returns.
  void verify() {
    const auto make = [this](const Program& program) { return made(program); };
    report_ = value_of(retile::spmd::run(processes_, source_.module, source_.routes, element, make),
                       name_);
    if (report_.difference) give_up(name_ + ": the result is wrong");
  }

  /// What moves the data, with tiles that were written to.
  void prepare() {
    for (const auto& route : source_.routes) {
      movers_.push_back(value_of(made(route.program), name_));
      const auto tile = movers_.back()->input(processes_.process());
      std::memset(tile.data(), 0, tile.size());
    }
    (void)seconds();  // once, so that everything has been touched
  }

  /// Of all redistributions together, until the last process is through.
  double seconds() {
    double out = 0;
    for (const auto& mover : movers_) {
      processes_.barrier();
      const auto begin = std::chrono::steady_clock::now();
      if (auto moved = mover->move(); !moved) give_up(name_ + ": " + render(moved.error()));
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      out += processes_.maximum(taken.count());
    }
    return out;
  }

 private:
  retile::Result<std::unique_ptr<Executor>> made(const Program& program) const {
    return retile::mpi::make_executor(processes_, program, element.bytes,
                                      {.strategy = strategy_, .element_type = element});
  }

  const Processes& processes_;
  std::string name_;
  const Source& source_;
  Strategy strategy_;
  retile::spmd::RunReport report_;
  std::vector<std::unique_ptr<Executor>> movers_;
};

constexpr const char* usage =
    "usage: mpirun -n P programs MODULE GATHERED [--rounds N] [--output FILE]\n"
    "\n"
    "  --rounds N     timed rounds (default 5)\n"
    "  --output FILE  the results as JSON\n";

struct Arguments {
  std::vector<std::string> files;
  int rounds = 5;
  std::string output;
};

std::optional<Arguments> arguments(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      out.files.push_back(word);
    } else if (i + 1 == argc) {
      return std::nullopt;
    } else if (word == "--rounds") {
      out.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--output") {
      out.output = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  return out.files.size() == 2 ? std::optional(out) : std::nullopt;
}

Json measured(const Processes& processes, const Arguments& given) {
  const Source planned(given.files[0], processes);
  const Source gathered(given.files[1], processes);
  std::vector<Way> ways;
  ways.emplace_back(processes, "plan", planned, Strategy::automatic);
  ways.emplace_back(processes, "plan, collectives", planned, Strategy::collectives);
  ways.emplace_back(processes, "gather and slice, collectives", gathered, Strategy::collectives);
  ways.emplace_back(processes, "gather and slice, automatic", gathered, Strategy::automatic);
  for (Way& way : ways) way.verify();
  for (Way& way : ways) way.prepare();
  std::vector<std::vector<double>> seconds(ways.size());
  for (int round = 0; round < given.rounds; ++round) {
    for (std::size_t k = 0; k < ways.size(); ++k) seconds[k].push_back(ways[k].seconds());
  }
  Json out{{"schema", "retile.programs_run/1"},
           {"processes", processes.processes()},
           {"rounds", given.rounds},
           {"machine", copy_bench::machine()},
           {"ways", Json::array()}};
  for (std::size_t k = 0; k < ways.size(); ++k) {
    Json one = ways[k].described();
    one["seconds"] = seconds[k];
    out["ways"].push_back(std::move(one));
  }
  return out;
}

void write(const Json& result, const std::string& path) {
  for (const Json& one : result["ways"]) {
    auto seconds = one["seconds"].get<std::vector<double>>();
    std::sort(seconds.begin(), seconds.end());
    std::printf("%-32s %10.3f ms, %10lld bytes received\n", one["name"].get<std::string>().c_str(),
                seconds[seconds.size() / 2] * 1e3,
                static_cast<long long>(one["received_bytes"].get<Size>()));
  }
  if (!path.empty()) module_bench::write(result, path);
}

}  // namespace

int main(int argc, char** argv) {
  const auto environment =
      value_of(retile::mpi::Environment::start(&argc, &argv), "MPI cannot be started");
  const Processes& processes = environment.processes();
  const auto given = arguments(argc, argv);
  if (!given) {
    if (processes.is_first()) std::cerr << usage;
    return 2;
  }
  const Json result = measured(processes, *given);
  if (processes.is_first()) write(result, given->output);
  return 0;
}
