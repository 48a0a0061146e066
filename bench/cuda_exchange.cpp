// How near exchanges between tiles on a GPU come to the GPU's own copy rate:
// cuda_exchange [--processes P] [--mebibytes M] [--rounds R] [--path peer|staged] [--json FILE]
//
// P processes share the GPUs of this machine. Every process has a tile of about M MiB before and
// after. Every output is verified on the device before anything is timed. In every round all
// processes first copy as many bytes as their larger tile within the device by cudaMemcpyAsync, all
// at once, and then run the exchange; the slowest process counts. Two ratios are reported, of the
// time that copying takes to the time of the exchange: against all processes copying at once, and
// against one process that copies all their bytes alone, which is the device's own copy rate. Where
// every process moves 1 GiB and all together 8 GiB, 0.85 of that is what is asked for, and said of
// each problem; smaller sizes are reported only.
//
// Without a GPU it says why and ends with 77.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/figures.h"
#include "exec/cuda/team_transport.h"
#include "exec/team/fork_team.h"
#include "retile/exec/cuda/boxes.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/cuda/device_exchange.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/team/memory.h"
#include "retile/notation/paper/problem.h"

namespace {

using namespace retile;
using bench::median;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr Size element_bytes = 4;
constexpr std::size_t most_rounds = 64;

// What is asked for, and of whom.
constexpr double wanted_ratio = 0.85;
constexpr Size judged_mebibytes = 1024;
constexpr Size judged_mebibytes_in_all = 8 * 1024;

struct Arguments {
  int processes = 8;
  Size mebibytes = 1024;
  std::size_t rounds = 11;
  cuda::Path path = cuda::Path::peer;
  std::string json;
};

struct Case {
  std::string name;
  std::string mesh, from, to;
};

std::string text(Size number) { return std::to_string(number); }

/// Problems in which the larger tile of a process has about `bytes` bytes.
std::vector<Case> cases(Size p, Size bytes) {
  const Size elements = bytes / element_bytes * p;  // of the whole array
  const std::string mesh = "d:" + text(p);
  const auto part = [&](Size whole) { return text(whole / p) + "{d}" + text(whole); };
  std::vector<Case> out;
  for (const Size run : {64, 256, 1024, 4096, 32768}) {
    const Size columns = run / element_bytes * p;
    const Size rows = elements / columns / p * p;
    const std::string by_rows = "[" + part(rows) + ", " + text(columns) + "]";
    const std::string by_columns = "[" + text(rows) + ", " + part(columns) + "]";
    out.push_back({"rows to columns, runs of " + text(run), mesh, by_rows, by_columns});
    out.push_back({"columns to rows, runs of " + text(run), mesh, by_columns, by_rows});
  }
  if (p >= 4 && p % 2 == 0) {
    const Size columns = 4096;
    const Size rows = elements / columns / p * p;
    const auto by = [&](Size whole, Size n, const char* axis) {
      return text(whole / n) + "{" + axis + "}" + text(whole);
    };
    out.push_back({"mesh swap", "a:2,b:" + text(p / 2),
                   "[" + by(rows, 2, "a") + ", " + by(columns, p / 2, "b") + "]",
                   "[" + by(rows, p / 2, "b") + ", " + by(columns, 2, "a") + "]"});
  }
  const Size z = 64;
  const Size y = 128;
  const Size x = elements / (z * y) / p * p;
  out.push_back({"three dimensions, first to last", mesh,
                 "[" + part(x) + ", " + text(y) + ", " + text(z) + "]",
                 "[" + text(x) + ", " + text(y) + ", " + part(z) + "]"});
  const Size heads = 16;
  const Size size = 64;
  const Size sequence = elements / (2 * heads * size) / p * p;
  out.push_back({"attention, sequence to heads", mesh,
                 "[2, " + part(sequence) + ", " + text(heads) + ", " + text(size) + "]",
                 "[2, " + text(sequence) + ", " + part(heads) + ", " + text(size) + "]"});
  const Size rows = elements / p / 1024 / p * p;
  out.push_back({"gather rows", mesh, "[" + part(rows) + ", 1024]", "[" + text(rows) + ", 1024]"});
  return out;
}

/// What the first process writes for the one that forked it.
struct Answer {
  int done = 0;
  int right = 0;
  std::array<char, 1024> message{};  // why it ended; else the reasons
  std::array<char, 256> device{};
  std::array<double, most_rounds> alone{}, together{}, exchange{};
  Size tile_bytes = 0;
  Size held_bytes = 0;
};

void set(std::span<char> to, const std::string& from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), to.size() - 1));
}

/// For what must not fail: the process ends, and with it the team.
void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

double slowest(cuda::Transport& transport, double mine) {
  std::vector<double> all(static_cast<std::size_t>(transport.members()));
  must(
      transport.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all))));
  return *std::max_element(all.begin(), all.end());
}

/// Seconds of the slowest process, between barriers.
template <typename Work>
double timed(cuda::Transport& transport, const Work& work) {
  must(transport.barrier());
  const auto start = Clock::now();
  work();
  return slowest(transport, std::chrono::duration<double>(Clock::now() - start).count());
}

void copy_within(const cuda::DeviceExchange& exchange, Size bytes) {
  // From the larger tile to the other, as often as it takes.
  const Size step = std::min(exchange.in_bytes(), exchange.out_bytes());
  for (Size done = 0; done < bytes; done += step) {
    const auto now = static_cast<std::size_t>(std::min(step, bytes - done));
    const cudaError_t error = cudaMemcpyAsync(exchange.output(), exchange.input(), now,
                                              cudaMemcpyDeviceToDevice, nullptr);
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  }
  const cudaError_t error = cudaStreamSynchronize(nullptr);
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void measure(cuda::Transport& transport, const Layout& from, const Layout& to,
             const retile::TileExchange& problem, const Arguments& arguments, Answer& answer) {
  const int member = transport.member();
  auto device = cuda::open_cuda_device(member);
  must(cuda::agree(transport, device ? Result<void>() : refuse(device.error())));
  auto exchange = value_of(
      cuda::DeviceExchange::create(**device, transport, problem, {.path = arguments.path}));
  const auto before = value_of(cuda::pattern_tile(from, member, element_bytes));
  const auto after = value_of(cuda::pattern_tile(to, member, element_bytes));
  must((*device)->fill(before, exchange->input()));
  must((*device)->clear(cuda::Lane::out, exchange->output(), exchange->out_bytes()));
  must((*device)->wait_for_all());
  must(transport.barrier());
  must(exchange->run());
  const bool wrong = value_of((*device)->find_mismatch(after, exchange->output())).has_value();
  answer.right = slowest(transport, wrong ? 1 : 0) == 0 ? 1 : 0;
  const Size bytes = std::max(exchange->in_bytes(), exchange->out_bytes());
  for (std::size_t round = 0; round <= arguments.rounds; ++round) {
    const double alone = timed(transport, [&] {
      if (member == 0) copy_within(*exchange, bytes);
    });
    const double together = timed(transport, [&] { copy_within(*exchange, bytes); });
    const double moved = timed(transport, [&] { must(exchange->run()); });
    if (round == 0) continue;  // to warm up
    answer.alone[round - 1] = alone * transport.members();
    answer.together[round - 1] = together;
    answer.exchange[round - 1] = moved;
  }
  answer.tile_bytes = bytes;
  answer.held_bytes = exchange->held_bytes();
  set(answer.device, (*device)->name());
  set(answer.message, exchange->reasons().back());
}

/// The ratios of the rounds, their median and spread.
Json ratios(std::span<const double> of, std::span<const double> to) {
  std::vector<double> all;
  for (std::size_t k = 0; k < of.size(); ++k) all.push_back(of[k] / to[k]);
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  return {{"median", median(all)}, {"min", *low}, {"max", *high}};
}

Arguments read(int argc, char** argv) {
  Arguments out;
  for (int k = 1; k < argc; ++k) {
    const std::string_view name = argv[k];
    const auto value = [&]() -> std::string {
      if (k + 1 < argc) return argv[++k];
      std::cerr << "cuda_exchange: " << name << " needs a value\n";
      std::exit(2);
    };
    if (name == "--processes") {
      out.processes = std::stoi(value());
    } else if (name == "--mebibytes") {
      out.mebibytes = std::stoll(value());
    } else if (name == "--rounds") {
      out.rounds = static_cast<std::size_t>(std::stoul(value()));
    } else if (name == "--path") {
      out.path = value() == "staged" ? cuda::Path::staged : cuda::Path::peer;
    } else if (name == "--json") {
      out.json = value();
    } else {
      std::cerr << "cuda_exchange: unknown option " << name << '\n';
      std::exit(2);
    }
  }
  if (out.processes < 1 || out.mebibytes < 1 || out.rounds < 1 || out.rounds > most_rounds) {
    std::cerr << "cuda_exchange: numbers out of range\n";
    std::exit(2);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const Arguments arguments = read(argc, argv);
  Json report;
  report["processes"] = arguments.processes;
  report["mebibytes_per_tile"] = arguments.mebibytes;
  report["path"] = cuda::path_name(arguments.path);
  report["rounds"] = arguments.rounds;
  report["cases"] = Json::array();
  const bool judged = arguments.mebibytes >= judged_mebibytes &&
                      arguments.mebibytes * arguments.processes >= judged_mebibytes_in_all;
  report["judged"] = judged;
  std::size_t reached = 0;
  bool all_right = true;
  for (const Case& test : cases(arguments.processes, arguments.mebibytes << 20)) {
    const Problem problem = value_of(parse_problem(test.mesh, test.from, test.to));
    Program program;
    program.devices = problem.from.devices();
    program.from = problem.from;
    program.to = problem.to;
    const Program composed = value_of(direct(program));
    retile::TileExchange exchange;
    exchange.exchange = std::get<Exchange>(composed.steps.front().op);
    exchange.in_tiles = program.from.tile();
    exchange.out_tiles = program.to.tile();
    exchange.element_bytes = element_bytes;

    auto place = value_of(team::SharedMemory::create(sizeof(Answer)));
    const auto ends = value_of(team::run_forked(
        arguments.processes, cuda::TeamTransport::memory_bytes, [&](team::Team& team) {
          Answer answer;
          int code = 0;
          try {
            auto transport = value_of(cuda::TeamTransport::create(team));
            try {
              measure(*transport, program.from, program.to, exchange, arguments, answer);
              answer.done = 1;
            } catch (const std::exception& error) {
              transport->give_up({.code = Code::cuda_error, .message = error.what()});
              throw;
            }
          } catch (const std::exception& error) {
            set(answer.message, error.what());
            code = 1;
          }
          if (team.member() == 0) std::memcpy(place.bytes().data(), &answer, sizeof answer);
          return code;
        }));
    Answer answer;
    std::memcpy(&answer, place.bytes().data(), sizeof answer);
    const std::string message = answer.message.data();
    if (answer.done == 0) {
      std::cerr << "cuda_exchange: " << test.name << ": "
                << (message.empty() ? "process 0 ended early" : message) << '\n';
      return message.rfind("no CUDA device", 0) == 0 ? 77 : 4;
    }
    const auto rounds = [&](const auto& times) {
      return std::span<const double>(times).first(arguments.rounds);
    };
    const Json alone = ratios(rounds(answer.alone), rounds(answer.exchange));
    const Json together = ratios(rounds(answer.together), rounds(answer.exchange));
    const double seconds =
        median({answer.exchange.begin(),
                answer.exchange.begin() + static_cast<std::ptrdiff_t>(arguments.rounds)});
    const double all_bytes =
        static_cast<double>(answer.tile_bytes) * static_cast<double>(arguments.processes);
    report["device"] = answer.device.data();
    report["cases"].push_back({{"case", test.name},
                               {"mesh", test.mesh},
                               {"from", test.from},
                               {"to", test.to},
                               {"right", answer.right != 0},
                               {"tile_bytes", answer.tile_bytes},
                               {"held_bytes", answer.held_bytes},
                               {"seconds", seconds},
                               {"bytes_per_second", all_bytes / seconds},
                               {"of_device_copy_rate", alone},
                               {"of_all_copying", together},
                               {"reason", message}});
    all_right = all_right && answer.right != 0;
    const bool enough = alone["median"].get<double>() >= wanted_ratio;
    reached += enough ? 1 : 0;
    if (judged) report["cases"].back()["reached"] = enough;
    std::cout << test.name << ": " << (answer.right != 0 ? "right" : "WRONG") << ", "
              << alone["median"] << " of the device's copy rate (" << alone["min"] << " to "
              << alone["max"] << "), " << together["median"] << " of all copying at once, "
              << all_bytes / seconds / 1e9 << " GB/s" << std::endl;
  }
  if (judged) {
    std::cout << reached << " of " << report["cases"].size() << " problems reach " << wanted_ratio
              << " of the device's copy rate\n";
  }
  if (!arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << report.dump(1) << '\n';
    if (!file) {
      std::cerr << "cuda_exchange: cannot write " << arguments.json << '\n';
      return 4;
    }
  }
  return all_right ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "cuda_exchange: " << error.what() << '\n';
  return 4;
}
