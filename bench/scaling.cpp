// How a module scales over hosts, where one machine stands for all of them: redistributions are really
// carried out, and computations are replaced by waits: mpirun -n P scaling --module FILE --rate N [options].
//
// A wait is as long as the operations on elements in a device's own statement take at the stated rate, so
// no host takes a core from another one. First the whole module runs with its computations, and every
// element of the result is compared. In the timed runs the tiles that are moved hold numbers whose sums
// say where they came from, and every element that arrives is compared, too. scripts/evaluate-scaling
// publishes the figures.
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "modules.h"
#include "retile/core/layout_facts.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/program/ops.h"
#include "retile/spmd/run/run.h"
#include "retile/spmd/tensor.h"

/// Processes that wait for a message give their core away: there are more of them than cores. Open MPI
/// calls this where nothing came, and finds it here before the C library's.
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  const timespec a_little{.tv_sec = 0, .tv_nsec = 50'000};
  return nanosleep(&a_little, nullptr);
}

namespace {

using module_bench::give_up;
using module_bench::Source;
using module_bench::value_of;
using retile::Executor;
using retile::Layout;
using retile::Processes;
using retile::Shape;
using retile::Size;
using retile::spmd::Expression;
using retile::spmd::LocalOp;
using retile::spmd::Module;
using retile::spmd::SpmdOp;
using Json = nlohmann::ordered_json;

constexpr retile::ElementType element = {};  // f32
constexpr double until_all_wait = 0.05;      // seconds, more than any link takes to tell them when

void succeed(const retile::Result<void>& done) {
  if (!done) give_up(render(done.error()));
}

/// Seconds by a clock that all hosts share, as they are one machine.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double elements_of(const Shape& shape) {
  double out = 1;
  for (const Size n : shape) out *= static_cast<double>(n);
  return out;
}

/// Operations on elements: of a sum of products one for each factor, of others one for each element of the
/// result. What only copies has none.
double operations(const Expression& e, const std::vector<Shape>& values) {
  double out = 0;
  std::vector<Shape> operands;
  for (const Expression& operand : e.operands) {
    out += operations(operand, values);
    operands.push_back(retile::spmd::typed(operand, values));
  }
  const Shape shape = retile::spmd::typed(e, values);
  switch (e.op) {
    case LocalOp::value:
    case LocalOp::fill:
    case LocalOp::transpose:
    case LocalOp::trim:
      return out;
    case LocalOp::einsum: {
      const auto extents = retile::spmd::label_extents(e.einsum, operands);
      double points = 1;
      for (const auto& [label, extent] : extents.value()) points *= static_cast<double>(extent);
      return out + points * static_cast<double>(operands.size());
    }
    case LocalOp::reduce_sum:
    case LocalOp::reduce_max:
      return out + elements_of(operands[0]);
    default:
      return out + elements_of(shape) *
                       static_cast<double>(std::max<std::size_t>(1, operands.size() - 1));
  }
}

double operations(const Module& module, const SpmdOp& op, Size device) {
  std::vector<Shape> shapes;
  for (const std::size_t x : op.arguments) shapes.push_back(module.values[x].type.shape(device));
  double out = 0;
  for (const auto& [name, e] : op.definitions) {
    out += operations(e, shapes);
    shapes.push_back(retile::spmd::typed(e, shapes));
  }
  return out + operations(op.result, shapes);
}

/// How a Program is carried out: step by step, or where an exchange is among the steps as one exchange.
retile::mpi::Options options_of(const retile::Program& program) {
  const bool exchanges =
      std::any_of(program.steps.begin(), program.steps.end(),
                  [](const retile::Step& step) { return retile::op_name(step) == "exchange"; });
  return {
      .strategy = exchanges ? retile::mpi::Strategy::exchange : retile::mpi::Strategy::collectives,
      .element_type = element};
}

/// A redistribution with tiles of its own.
class Move {
 public:
  Move(const Processes& processes, const retile::spmd::Route& route)
      : processes_(processes),
        program_(route.program),
        mover_(value_of(
            retile::mpi::make_executor(processes, program_, element.bytes, options_of(program_)),
            "a redistribution")) {
    if (program_.to.addend_count() > 1) give_up("what arrives has addends, so it is not compared");
    if (addition_or_sum(program_.from) != retile::Addition::sum) give_up("only sums are compared");
    for_each(
        program_.from, mover_->input(processes.process()),
        [&](Size at, Size addend, float& x) { x = number(at) * static_cast<float>(addend + 1); });
  }
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  ~Move() = default;

  void clear() { succeed(mover_->clear_output()); }
  void run() { succeed(mover_->move()); }
  /// How many elements arrived, all of them right.
  /// \param falsified  as if the last one were another one
  Size compare(bool falsified) {
    const std::span<std::byte> arrived = mover_->output(processes_.process());
    if (falsified && !arrived.empty()) arrived.back() ^= std::byte{1};
    const auto k = static_cast<float>(program_.from.addend_count());
    const float all = k * (k + 1) / 2;
    Size compared = 0;
    for_each(program_.to, mover_->output(processes_.process()), [&](Size at, Size, const float& x) {
      ++compared;
      if (x != number(at) * all) give_up("a wrong element arrived");
    });
    return compared;
  }
  [[nodiscard]] std::string steps() const {
    std::string out;
    for (const retile::Step& step : program_.steps) {
      out += (out.empty() ? "" : ", ") + std::string(retile::op_name(step));
    }
    return out;
  }
  [[nodiscard]] Size received() const { return mover_->figures().received; }

 private:
  /// So small that sums over all addends are exact.
  static float number(Size at) {
    return static_cast<float>(retile::splitmix64(static_cast<std::uint64_t>(at)) % 1024);
  }
  template <typename F>
  void for_each(const Layout& layout, std::span<std::byte> bytes, const F& f) const {
    const Size device = processes_.process();
    if (bytes.empty()) return;
    std::vector<float> tile(bytes.size() / sizeof(float));
    std::memcpy(tile.data(), bytes.data(), bytes.size());
    retile::spmd::for_each_element(
        layout, layout.local_shape(device), device, [&](std::size_t global, std::size_t local) {
          f(static_cast<Size>(global), layout.addend(device), tile[local]);
        });
    std::memcpy(bytes.data(), tile.data(), bytes.size());
  }

  const Processes& processes_;
  const retile::Program& program_;
  std::unique_ptr<Executor> mover_;
};

/// A statement in timed runs: a wait or a move.
struct Part {
  Json described;
  double wait = 0;  // of this process
  std::unique_ptr<Move> move = nullptr;
  std::vector<double> seconds = {};  // by run
};

class Timed {
 public:
  Timed(const Processes& processes, const Module& module,
        const std::vector<retile::spmd::Route>& routes, double rate, std::string falsified)
      : processes_(processes), falsified_(std::move(falsified)) {
    std::size_t next = 0;
    for (const auto& statement : module.body) {
      Part& part = parts_.emplace_back();
      const auto& made = module.values[statement.value];
      part.described["value"] = made.name;
      if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
        const double own = operations(module, *op, processes.process());
        part.wait = own / rate;
        part.described["operations"] = processes.maximum(own);
        part.described["wait_seconds"] = processes.maximum(part.wait);
        continue;
      }
      const auto& from =
          module.values[std::get<retile::spmd::RedistributeOp>(statement.op).argument];
      part.described["from"] = from.type.text;
      part.described["to"] = made.type.text;
      part.move = std::make_unique<Move>(processes, routes[next++]);
    }
  }

  /// One run. From the common beginning to when the last process is through.
  double run() {
    for (Part& part : parts_) {
      if (part.move) part.move->clear();
    }
    processes_.barrier();
    const auto soon = static_cast<std::uint64_t>((now() + until_all_wait) * 1e9);
    const double begin = static_cast<double>(processes_.broadcast(soon, 0)) / 1e9;
    std::this_thread::sleep_for(std::chrono::duration<double>(begin - now()));
    std::vector<std::array<double, 2>> times;
    for (Part& part : parts_) {
      const double before = now();
      if (part.move) {
        part.move->run();
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(part.wait));
      }
      times.push_back({before, now()});
    }
    const double end = processes_.maximum(now());
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const double first = processes_.maximum(times[k][0]);
      parts_[k].seconds.push_back(processes_.maximum(times[k][1]) - first);
      if (!parts_[k].move) continue;
      compared_ += parts_[k].move->compare(parts_[k].described["value"] == falsified_);
    }
    return end - begin;
  }

  /// Collective.
  [[nodiscard]] Json described() {
    Json out = Json::array();
    for (Part& part : parts_) {
      Json one = part.described;
      one["seconds"] = part.seconds;
      if (part.move) {
        std::array<std::uint64_t, 1> received = {static_cast<std::uint64_t>(part.move->received())};
        processes_.maximum(received);
        one["steps"] = part.move->steps();
        one["received_bytes"] = received[0];
      }
      out.push_back(std::move(one));
    }
    return out;
  }
  /// Collective: elements that arrived in all runs.
  [[nodiscard]] std::uint64_t compared() const {
    std::array<std::uint64_t, 1> all = {static_cast<std::uint64_t>(compared_)};
    processes_.sum(all);
    return all[0];
  }

 private:
  const Processes& processes_;
  std::string falsified_;
  std::vector<Part> parts_;
  Size compared_ = 0;
};

const char* const usage =
    "usage: mpirun -n P scaling --module FILE --rate N [--runs N] [--output FILE] [--falsify "
    "NAME]\n"
    "\n"
    "  --module FILE   a module of P devices; redistributions run step by step, or as exchanges "
    "where\n"
    "                  they have one\n"
    "  --rate N        operations on elements in a second, which waits stand for\n"
    "  --runs N        timed runs (default 3)\n"
    "  --output FILE   the seconds as JSON\n"
    "  --falsify NAME  change an element of this value that arrived: it must be seen\n";

struct Arguments {
  std::string module, output, falsified;
  double rate = 0;
  int runs = 3;
};

std::optional<Arguments> arguments(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i], value = argv[i + 1];
    if (word == "--module") {
      out.module = value;
    } else if (word == "--output") {
      out.output = value;
    } else if (word == "--falsify") {
      out.falsified = value;
    } else if (word == "--rate") {
      out.rate = std::atof(value.c_str());
    } else if (word == "--runs") {
      out.runs = std::max(1, std::atoi(value.c_str()));
    } else {
      return std::nullopt;
    }
  }
  const bool is_whole = argc % 2 == 1 && !out.module.empty() && out.rate > 0;
  return is_whole ? std::optional(out) : std::nullopt;
}

Json measured(const Processes& processes, const Arguments& given) {
  const Source source(given.module, processes);
  const auto make = [&](const retile::Program& program) {
    return retile::mpi::make_executor(processes, program, element.bytes, options_of(program));
  };
  const auto report = value_of(
      retile::spmd::run(processes, source.module, source.routes, element, make), given.module);
  if (report.difference) give_up("the result is wrong");

  Timed timed(processes, source.module, source.routes, given.rate, given.falsified);
  (void)timed.run();  // connections are made, and memory is touched
  std::vector<double> seconds;
  for (int run = 0; run < given.runs; ++run) seconds.push_back(timed.run());
  Json out{{"schema", "retile.scaling_run/1"},
           {"processes", processes.processes()},
           {"rate", given.rate},
           {"compared", report.compared},
           {"seconds", seconds}};
  out["statements"] = timed.described();
  out["arrived"] = timed.compared();
  // The first run only prepares.
  for (Json& one : out["statements"]) one["seconds"].erase(0);
  return out;
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
  if (!processes.is_first()) return 0;
  if (given->output.empty()) {
    std::cout << result.dump(1) << '\n';
    return 0;
  }
  module_bench::write(result, given->output);
  return 0;
}
