// How much longer does planning take than in another checkout, problem by problem? Both planners are
// loaded into one process (plan_side.cpp) and take turns on each problem.
//
//   plan_pairs BEFORE.so AFTER.so [--problems N] [--seed S] [--only TEXT] [--file PROBLEMS]
//              [--steps-before one_dim] [--output FILE.json]
//
// --steps-before one_dim: the one before plans steps along one dimension each, as with `--one-dim`.
// A line per family: the geometric mean, the median and the 99th percentile of time after / time
// before, the sum of times, and what plans say. --file: lines `mesh TAB from TAB to`, as one more family.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/plan_cases.h"
#include "retile/notation/paper/notation.h"

namespace {

using Json = nlohmann::ordered_json;
using bench::Case;
using bench::cases;
using bench::quantile;
using bench::Texts;
using retile::Mesh;

struct Family {
  std::string name;
  std::vector<Texts> problems;
};

/// The planner of one checkout.
struct Side {
  void* (*problem)(const char*, const char*, const char*) = nullptr;
  long (*plan)(const void*, bool) = nullptr;
  int (*words)(const void*) = nullptr;
  bool several_dims = true;

  explicit Side(const char* file, bool along_several = true) : several_dims(along_several) {
    void* object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (object == nullptr) {
      fmt::print(stderr, "{}\n", dlerror());
      std::exit(2);
    }
    problem = reinterpret_cast<decltype(problem)>(dlsym(object, "plan_side_problem"));
    plan = reinterpret_cast<decltype(plan)>(dlsym(object, "plan_side_plan"));
    words = reinterpret_cast<decltype(words)>(dlsym(object, "plan_side_words"));
  }
};

/// Processor time of this thread, in microseconds.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

double time_of(const Side& side, const void* problem, int repetitions) {
  const double start = now_us();
  for (int k = 0; k < repetitions; ++k) side.plan(problem, side.several_dims);
  return (now_us() - start) / repetitions;
}

/// \param draw  problem number k of a mesh
template <class Draw>
Family drawn(const Case& test, int problems, std::uint64_t seed, const Draw& draw) {
  support::Random random(seed);
  const Mesh mesh = retile::parse_mesh(test.mesh).value();
  Family out{test.name, {}};
  for (int k = 0; k < problems; ++k) out.problems.push_back(draw(random, test, mesh, k));
  return out;
}

std::vector<Family> all_drawn(int problems, std::uint64_t seed) {
  std::vector<Family> out;
  for (const Case& test : cases()) {
    out.push_back(drawn(test, problems, seed, [](auto& random, auto& one, auto& mesh, int k) {
      return bench::texts_of(one, bench::draw_ends(random, mesh, one, k));
    }));
  }
  for (const Case& test : bench::sum_cases()) {
    out.push_back(drawn(test, problems, seed, bench::draw_sum));
  }
  for (const Case& test : bench::uneven_cases()) {
    out.push_back(drawn(test, problems, seed, [](auto& random, auto& one, auto& mesh, int) {
      return bench::draw_uneven(random, one, mesh);
    }));
  }
  return out;
}

Family read(const std::string& file) {
  Family out{file.substr(file.rfind('/') + 1), {}};
  std::ifstream in(file);
  for (Texts texts; std::getline(in, texts.mesh, '\t') && std::getline(in, texts.from, '\t') &&
                    std::getline(in, texts.to);) {
    out.problems.push_back(texts);
  }
  return out;
}

/// One problem: the least time of each side over rounds in which they take turns.
struct Pair {
  double before = 0;
  double after = 0;
  long cost_before = 0;
  long cost_after = 0;
  int words_before = 0;
  int words_after = 0;
};

Pair measure(const Side& before, const Side& after, const Texts& texts) {
  constexpr int rounds = 7;
  constexpr double least_us = 60;  // of one measurement, or one call
  const auto problem_of = [&](const Side& side) {
    return side.problem(texts.mesh.c_str(), texts.from.c_str(), texts.to.c_str());
  };
  const void* const a = problem_of(before);
  const void* const b = problem_of(after);
  Pair out;
  out.cost_before = before.plan(a, before.several_dims);
  out.cost_after = after.plan(b, true);
  out.words_before = before.words(a);
  out.words_after = after.words(b);
  const int repetitions = 1 + static_cast<int>(least_us / std::max(1.0, time_of(before, a, 1)));
  out.before = out.after = 1e18;
  for (int round = 0; round < rounds; ++round) {
    for (const bool first : {round % 2 == 0, round % 2 != 0}) {
      double& best = first ? out.before : out.after;
      best = std::min(best, time_of(first ? before : after, first ? a : b, repetitions));
    }
  }
  return out;
}

Json run(const Family& family, const Side& before, const Side& after) {
  std::vector<double> ratios;
  double logs = 0, sum_before = 0, sum_after = 0;
  int cheaper = 0, dearer = 0, optimal = 0, optimal_before = 0, one_dim = 0;
  Json pairs = Json::array();
  std::vector<std::pair<double, std::size_t>> worst;
  for (std::size_t k = 0; k < family.problems.size(); ++k) {
    const Pair pair = measure(before, after, family.problems[k]);
    ratios.push_back(pair.after / pair.before);
    worst.emplace_back(pair.after - pair.before, k);
    logs += std::log(ratios.back());
    sum_before += pair.before;
    sum_after += pair.after;
    cheaper += pair.cost_after < pair.cost_before ? 1 : 0;
    dearer += pair.cost_after > pair.cost_before ? 1 : 0;
    optimal_before += pair.words_before & 1;
    optimal += pair.words_after == 1 ? 1 : 0;
    one_dim += pair.words_after == 3 ? 1 : 0;
    pairs.push_back({std::round(pair.before * 1e3) / 1e3, std::round(pair.after * 1e3) / 1e3});
  }
  const double mean = std::exp(logs / static_cast<double>(ratios.size()));
  fmt::print(
      "{:36} x{:.3f} (median {:.3f}, p99 {:.2f}, max {:.2f}), {:.2f} -> {:.2f} ms; cheaper {}, "
      "dearer {}; optimal {} among all steps, {} along one dimension, before {}, of {}\n",
      family.name, mean, quantile(ratios, 0.5), quantile(ratios, 0.99), quantile(ratios, 1),
      sum_before / 1e3, sum_after / 1e3, cheaper, dearer, optimal, one_dim, optimal_before,
      ratios.size());
  std::sort(worst.rbegin(), worst.rend());
  Json slowest = Json::array();
  for (std::size_t w = 0; w < std::min<std::size_t>(3, worst.size()); ++w) {
    const Texts& texts = family.problems[worst[w].second];
    slowest.push_back({worst[w].first, texts.mesh, texts.from, texts.to});
  }
  std::fflush(stdout);
  return {{"family", family.name},
          {"problems", ratios.size()},
          {"geometric_mean", mean},
          {"median", quantile(ratios, 0.5)},
          {"p99", quantile(ratios, 0.99)},
          {"max", quantile(ratios, 1)},
          {"sum_before_us", sum_before},
          {"sum_after_us", sum_after},
          {"cheaper", cheaper},
          {"dearer", dearer},
          {"optimal_among_all_steps", optimal},
          {"optimal_along_one_dim_alone", one_dim},
          {"optimal_before", optimal_before},
          {"us", std::move(pairs)}};
}

}  // namespace

int main(int argc, char** argv) {
  int problems = 400;
  std::uint64_t seed = 1;
  std::string only;
  std::string output;
  bool several_before = true;
  std::vector<Family> files;
  if (argc < 3) return 2;
  for (int k = 3; k + 1 < argc; k += 2) {
    const std::string key = argv[k];
    if (key == "--problems") problems = std::atoi(argv[k + 1]);
    if (key == "--seed") seed = std::strtoull(argv[k + 1], nullptr, 10);
    if (key == "--only") only = argv[k + 1];
    if (key == "--output") output = argv[k + 1];
    if (key == "--steps-before") several_before = std::string(argv[k + 1]) != "one_dim";
    if (key == "--file") files.push_back(read(argv[k + 1]));
  }
  const Side before(argv[1], several_before);
  const Side after(argv[2]);
  std::vector<Family> families = all_drawn(problems, seed);
  families.insert(families.begin(), files.begin(), files.end());
  Json result{{"schema", "retile.bench.plan_pairs/1"},
              {"compiler", __VERSION__},
              {"times", "least of 7 rounds, processor time in us: before, after"},
              {"seed", seed},
              {"steps_before", several_before ? "several_dims" : "one_dim"},
              {"families", Json::array()}};
  for (const Family& family : families) {
    if (family.name.find(only) == std::string::npos) continue;
    result["families"].push_back(run(family, before, after));
  }
  if (!output.empty()) std::ofstream(output) << result.dump() << "\n";
  return 0;
}
