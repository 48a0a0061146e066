// How long does planning take, and do plans for many devices lower and check fast? Random problems
// drawn as in the paper's evaluation (Sec. 8, tests/support/random_problems.h).
//
//   plan_bench [--problems N] [--seed S] [--only TEXT] [--network LINKS] [--output FILE.json]
//
// With --network also how much longer planning for these links takes, of groups of successive devices that
// divide those of a case.
//
// A line per case: median, 99th percentile and maximum of the processor time of one call of `plan`,
// the target, and how many plans are proved optimal. The raw file has every time, the calibration
// loop before and after, the compiler and the peak memory of the process after each case.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/plan_cases.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/network/plan.h"
#include "retile/network/read.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

namespace {

using Json = nlohmann::ordered_json;
using bench::Case;
using bench::cases;
using bench::quantile;
using retile::Mesh;
using retile::Size;

/// Time of this process's processor, in milliseconds: what others do on the machine does not count.
double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// Time of a fixed amount of integer work, in milliseconds.
double calibration_ms() {
  const double start = now_ms();
  std::uint64_t x = 1;
  for (int k = 0; k < 100'000'000; ++k) x = x * 6364136223846793005U + 1442695040888963407U;
  const double time = now_ms() - start;
  return x == 0 ? 0 : time;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// \param links  of a network, or empty
Json run(const Case& test, int problems, std::uint64_t seed, const std::string& links) {
  support::Random random(seed);
  const Mesh mesh = retile::parse_mesh(test.mesh).value();
  // Groups that do not divide the devices are no network of theirs.
  const auto network = retile::network::read_network(links, "--network", {}, mesh.device_count());
  std::vector<double> times;
  std::vector<double> network_times;
  std::vector<double> network_ratios;
  int least = 0;
  double gains = 0;
  std::vector<double> lower_times;
  std::vector<double> check_times;
  int optimal = 0;
  int permuted = 0;
  Size states = 0;
  std::size_t lines = 0;
  double slowest = -1;
  std::string slowest_pair;
  for (int k = 0; k < problems; ++k) {
    const auto [from, to] = bench::draw_ends(random, mesh, test, k);
    const auto problem = retile::make_problem(mesh, from, to).value();
    const double start = now_ms();
    const auto plan = retile::plan(problem);
    const double time = now_ms() - start;
    if (!plan) {
      fmt::print(stderr, "{}", retile::render(plan.error()));
      std::exit(1);
    }
    times.push_back(time);
    if (network) {
      const double begin = now_ms();
      const auto for_network =
          retile::network::plan(problem, *network, {.element_bytes = 1}).value();
      network_times.push_back(now_ms() - begin);
      network_ratios.push_back(network_times.back() / time);
      gains += std::log(static_cast<double>(for_network.usual_time + 1) /
                        static_cast<double>(for_network.time + 1));
      least += for_network.optimal ? 1 : 0;
    }
    optimal += plan->optimal ? 1 : 0;
    permuted += plan->permutes() > 0 ? 1 : 0;
    states = std::max(states, plan->states);
    if (time > slowest) {
      slowest = time;
      slowest_pair = "'" + retile::to_text(from) + "' '" + retile::to_text(to) + "'";
    }
    if (mesh.device_count() != 65536 || k % 20 != 0) continue;
    const double before = now_ms();
    const retile::Program program = retile::lower(*plan);
    const double lowered = now_ms();
    const retile::Verdict verdict = retile::check(program);
    check_times.push_back(now_ms() - lowered);
    lower_times.push_back(lowered - before);
    if (verdict.answer == retile::Answer::wrong) {
      fmt::print(stderr, "a plan is wrong: {}\n", slowest_pair);
      std::exit(1);
    }
    const std::string text = retile::to_text(program);
    lines = std::max(lines, static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  }
  const double median = quantile(times, 0.5);
  const double most = quantile(times, 1);
  const bool met = (test.median_target_ms == 0 || median <= test.median_target_ms) &&
                   most <= test.most_target_ms;
  fmt::print(
      "{:36} median {:8.3f}  p99 {:8.3f}  max {:8.3f} ms  (target {}{} ms: {})  optimal {}"
      "/{}\n",
      test.name, median, quantile(times, 0.99), most,
      test.median_target_ms == 0 ? "" : fmt::format("{} and ", test.median_target_ms),
      test.most_target_ms, met ? "met" : "MISSED", optimal, problems);
  std::fflush(stdout);
  Json out;
  out["case"] = test.name;
  out["mesh"] = test.mesh;
  out["problems"] = problems;
  out["median_ms"] = median;
  out["p99_ms"] = quantile(times, 0.99);
  out["max_ms"] = most;
  if (test.median_target_ms != 0) out["median_target_ms"] = test.median_target_ms;
  out["max_target_ms"] = test.most_target_ms;
  out["met"] = met;
  out["optimal"] = optimal;
  out["permuted"] = permuted;
  out["most_states"] = states;
  out["slowest"] = slowest_pair;
  out["peak_mib_of_the_process_so_far"] = peak_mib();
  if (!lower_times.empty()) {
    out["lowered_and_checked"] = lower_times.size();
    out["lower_median_ms"] = quantile(lower_times, 0.5);
    out["lower_max_ms"] = quantile(lower_times, 1);
    out["check_median_ms"] = quantile(check_times, 0.5);
    out["check_max_ms"] = quantile(check_times, 1);
    out["most_program_lines"] = lines;
    fmt::print(
        "  lower: median {:.3f}, max {:.3f} ms; check: median {:.3f}, max {:.3f} ms; at most "
        "{} lines\n",
        quantile(lower_times, 0.5), quantile(lower_times, 1), quantile(check_times, 0.5),
        quantile(check_times, 1), lines);
  }
  if (network) {
    out["network"] = {{"links", links},
                      {"median_ms", quantile(network_times, 0.5)},
                      {"p99_ms", quantile(network_times, 0.99)},
                      {"max_ms", quantile(network_times, 1)},
                      {"median_of_ratios", quantile(network_ratios, 0.5)},
                      {"usual_over_planned", std::exp(gains / problems)},
                      {"optimal", least}};
    fmt::print(
        "  for a network: median {:.3f}, p99 {:.3f}, max {:.3f} ms; {:.1f} times as long; optimal "
        "{}; the usual plan takes {:.2f} times as long\n",
        quantile(network_times, 0.5), quantile(network_times, 0.99), quantile(network_times, 1),
        quantile(network_ratios, 0.5), least, std::exp(gains / problems));
  }
  out["times_ms"] = Json::array();
  for (const double time : times) {
    out["times_ms"].push_back(static_cast<double>(static_cast<long>(time * 1e4 + 0.5)) / 1e4);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  int problems = 1000;
  std::uint64_t seed = 1;
  std::string only;
  std::string links;
  std::string output;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string key = argv[k];
    if (key == "--problems") problems = std::atoi(argv[k + 1]);
    if (key == "--seed") seed = std::strtoull(argv[k + 1], nullptr, 10);
    if (key == "--only") only = argv[k + 1];
    if (key == "--network") links = argv[k + 1];
    if (key == "--output") output = argv[k + 1];
  }
  Json result;
  result["schema"] = "retile.bench.plan/1";
#ifdef NDEBUG
  result["build"] = "release";
#else
  result["build"] = "with assertions";
#endif
  result["compiler"] = __VERSION__;
  result["seed"] = seed;
  result["calibration"] = "10^8 steps of a 64-bit linear congruential generator, in ms";
  result["calibration_before_ms"] = calibration_ms();
  fmt::print("calibration: {:.1f} ms\n", result["calibration_before_ms"].get<double>());
  result["cases"] = Json::array();
  for (const Case& test : cases()) {
    if (test.name.find(only) != std::string::npos)
      result["cases"].push_back(run(test, problems, seed, links));
  }
  result["calibration_after_ms"] = calibration_ms();
  fmt::print("calibration: {:.1f} ms; peak memory {:.0f} MiB\n",
             result["calibration_after_ms"].get<double>(), peak_mib());
  if (!output.empty()) std::ofstream(output) << result.dump() << "\n";
  return 0;
}
