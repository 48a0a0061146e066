// Sums of the arrays of all processes, as the library makes them and as MPI does, side by side in one
// run on real MPI processes: mpirun -n P sums [options]. Every element of every output is compared
// before anything is timed.
//
// A reduce-scatter leaves every process a part of the sum, an all-reduce all of it. In every round
// every contender runs once, between barriers, and is timed until the last process is through.
// scripts/evaluate-sums repeats the whole program and judges.
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "figures.h"
#include "machine.h"
#include "processes.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "sum_limit.h"

namespace {

using bench::give_up;
using bench::into;
using bench::median;
using bench::process;
using bench::processes;
using bench::time_of_all;
using bench::value_of;
using retile::Program;
using retile::Size;
using retile::mpi::Redistributor;
using retile::mpi::Strategy;
using Json = nlohmann::ordered_json;

constexpr Size element_bytes = sizeof(float);
// ---- Elements ------------------------------------------------------------------------------------

/// Whole numbers so small that their sums are exact in any order.
float addend(int number, Size element) {
  const auto word = static_cast<std::uint64_t>(element) * 0x9e3779b97f4a7c15U +
                    static_cast<std::uint64_t>(number) * 0xbf58476d1ce4e5b9U;
  return static_cast<float>(static_cast<int>((word >> 40U) % 4096) - 2048);
}

float sum_of_all(Size element) {
  float sum = 0;
  for (int number = 0; number < processes; ++number) sum += addend(number, element);
  return sum;
}

struct Free {
  void operator()(float* elements) const { std::free(elements); }
};

/// Memory of a caller, touched once; in pages of 2 MiB where it is asked for.
class Buffer {
 public:
  Buffer(Size elements, bool huge) {
    constexpr std::size_t page = std::size_t{2} << 20;
    const std::size_t bytes =
        (static_cast<std::size_t>(elements * element_bytes) + page) / page * page;
    memory_.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
    if (memory_ == nullptr) give_up("out of memory");
    if (huge) madvise(memory_.get(), bytes, MADV_HUGEPAGE);
    std::memset(memory_.get(), 1, bytes);
    elements_ = {memory_.get(), static_cast<std::size_t>(elements)};
  }
  [[nodiscard]] std::span<float> elements() const { return elements_; }

 private:
  std::unique_ptr<float, Free> memory_;
  std::span<float> elements_;
};

// ---- Contenders --------------------------------------------------------------------------------

struct Contender {
  std::string name;
  std::string kind;  ///< strategy, peer, or reference: it sends nothing to anybody
  std::function<void()> run;
  std::span<float> input;
  std::span<float> output;
  Redistributor* redistributor = nullptr;
};

class Bench {
 public:
  Bench(bool scatters, Size elements)
      : scatters_(scatters),
        in_elements_(elements),
        out_elements_(scatters ? elements / processes : elements),
        in_(in_elements_, false),
        out_(out_elements_, false),
        huge_in_(in_elements_, true),
        huge_out_(out_elements_, true) {
    const std::string n = std::to_string(elements);
    const std::string piece = std::to_string(out_elements_);
    from_ = "sum{p}[" + n + "]";
    to_ = scatters ? "[" + piece + "{p}" + n + "]" : "[" + n + "]";
    const auto problem =
        value_of(retile::parse_problem("p:" + std::to_string(processes), from_, to_), "problem");
    program_ = value_of(retile::program_of(value_of(plan(problem), "plan")), "plan");
    add("limit", "reference", huge_in_, huge_out_, [](auto in, auto out) {
      sums_bench::sum_limit(in.data(), in.size(), out.data(), out.size(), processes);
    });
    add_strategy("automatic", {.own_buffers = true});
    add_strategy("automatic, caller's memory", {});
    add_strategy("by messages", {.partition = retile::mpi::Partition::apart});
    add_strategy("collectives", {.strategy = Strategy::collectives});
    const std::string peer = scatters ? "MPI_Reduce_scatter_block" : "MPI_Allreduce";
    const auto reduce = [this](auto in, auto out) {
      const auto count = static_cast<int>(out.size());
      if (scatters_) {
        MPI_Reduce_scatter_block(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      } else {
        MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
    };
    add(peer, "peer", in_, out_, reduce);
    add(peer + ", huge pages", "peer in huge pages", huge_in_, huge_out_, reduce);
  }

  [[nodiscard]] const std::vector<Contender>& contenders() const { return contenders_; }
  [[nodiscard]] const std::string& from() const { return from_; }
  [[nodiscard]] const std::string& to() const { return to_; }

  /// Runs the contender once and looks at every element. `falsify` changes one first.
  void verify(const Contender& contender, bool falsify) const {
    std::fill(contender.output.begin(), contender.output.end(), -0.5F);
    for (Size i = 0; i < in_elements_; ++i) {
      contender.input[static_cast<std::size_t>(i)] = addend(process, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    contender.run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (contender.kind == "reference") return;
    if (falsify && process == processes - 1) contender.output[contender.output.size() / 2] += 1;
    const Size first = scatters_ ? process * out_elements_ : 0;
    for (Size i = 0; i < out_elements_; ++i) {
      if (contender.output[static_cast<std::size_t>(i)] == sum_of_all(first + i)) continue;
      give_up(contender.name + " gives a wrong element " + std::to_string(first + i));
    }
  }

 private:
  template <typename Run>
  void add(const std::string& name, const std::string& kind, const Buffer& in, const Buffer& out,
           Run run) {
    contenders_.push_back({.name = name,
                           .kind = kind,
                           .run = [=, from = in.elements(), to = out.elements()] { run(from, to); },
                           .input = in.elements(),
                           .output = out.elements()});
  }

  void add_strategy(const std::string& name, retile::mpi::Options options) {
    options.element_type = retile::ElementType{};
    movers_.push_back(std::make_unique<Redistributor>(
        value_of(Redistributor::make(MPI_COMM_WORLD, program_, element_bytes, options), name)));
    Redistributor* const mover = movers_.back().get();
    Contender contender{.name = name,
                        .kind = "strategy",
                        .run = {},
                        .input = in_.elements(),
                        .output = out_.elements(),
                        .redistributor = mover};
    if (options.own_buffers) {
      const auto floats = [](std::span<std::byte> tile) {
        return std::span(reinterpret_cast<float*>(tile.data()), tile.size() / sizeof(float));
      };
      contender.input = floats(mover->input());
      contender.output = floats(mover->output());
    }
    contender.run = [mover, in = std::as_bytes(contender.input),
                     out = std::as_writable_bytes(contender.output)] {
      if (auto done = mover->run(in, out); !done) give_up(render(done.error()));
    };
    contenders_.push_back(std::move(contender));
  }

  bool scatters_;
  Size in_elements_;
  Size out_elements_;
  Buffer in_, out_, huge_in_, huge_out_;
  std::string from_, to_;
  Program program_;
  std::vector<std::unique_ptr<Redistributor>> movers_;
  std::vector<Contender> contenders_;
};

Size most_of_all(Size mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

Json measure(bool scatters, Size elements, int rounds, const std::string& falsified) {
  const Bench bench(scatters, elements);
  const auto& contenders = bench.contenders();
  for (const Contender& contender : contenders) {
    bench.verify(contender, contender.name == falsified);
    time_of_all(contender.run);  // once more, so that MPI has what it needs
  }
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      seconds[k].push_back(time_of_all(contenders[k].run));
    }
  }
  Json out{{"problem", scatters ? "reduce-scatter" : "all-reduce"},
           {"from", bench.from()},
           {"to", bench.to()},
           {"tile_bytes", elements * element_bytes}};
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    Json one{{"name", contenders[k].name},
             {"kind", contenders[k].kind},
             {"verified", contenders[k].kind != "reference"},
             {"seconds", seconds[k]}};
    if (const Redistributor* mover = contenders[k].redistributor; mover != nullptr) {
      one["strategy"] = strategy_name(mover->strategy());
      one["peak_bytes"] = most_of_all(mover->peak_bytes());
      one["peak_limit_bytes"] = mover->peak_limit_bytes();
    }
    out["contenders"].push_back(std::move(one));
  }
  return out;
}

void print(const Json& result) {
  std::printf("%s, %lld KiB per process\n", result["problem"].get<std::string>().c_str(),
              static_cast<long long>(result["tile_bytes"].get<Size>() / 1024));
  const double limit = median(result["contenders"][0]["seconds"].get<std::vector<double>>());
  for (const Json& one : result["contenders"]) {
    const double middle = median(one["seconds"].get<std::vector<double>>());
    std::printf("  %-38s %10.3f ms, %6.2f times the limit\n",
                one["name"].get<std::string>().c_str(), middle * 1e3, middle / limit);
  }
  std::fflush(stdout);
}

constexpr const char* usage =
    "usage: mpirun -n P sums [--kib N] [--rounds N] [--output FILE] [--falsify NAME]\n"
    "\n"
    "  --kib N         KiB of the array of every process (default 262144)\n"
    "  --rounds N      timed rounds (default 5)\n"
    "  --output FILE   the results as JSON\n"
    "  --falsify NAME  change an element of what this contender made: it must be found\n";

}  // namespace

int main(int argc, char** argv) {
  Size kib = 262144;
  int rounds = 5;
  std::string path;
  std::string falsified;
  bench::begin(argc, argv, usage,
               {{"--kib", into(kib)},
                {"--rounds", into(rounds)},
                {"--output", into(path)},
                {"--falsify", into(falsified)}});
  const Size elements = std::max<Size>((kib << 10) / element_bytes / processes, 1) * processes;
  Json results{{"schema", "retile.sums_run/1"},
               {"processes", processes},
               {"rounds", rounds},
               {"machine", copy_bench::machine()},
               {"problems", Json::array()},
               {"mpi", bench::mpi_version()}};
  for (const bool scatters : {true, false}) {
    Json result = measure(scatters, elements, rounds, falsified);
    if (process == 0) print(result);
    results["problems"].push_back(std::move(result));
  }
  bench::end(results, path);
  return 0;
}
