// All ways to move the data of one problem, and the peers, side by side in one run on real MPI
// processes: mpirun -n P execution [options]. Every output is verified before anything is timed.
//
// In every round every contender runs once, between barriers, and is timed until the last process
// is through. What is reported is the ratio to the copy limit of the same round: all processes
// copying as many bytes as the larger end tile with streaming stores at once.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "retile/core/notation.h"
#include "retile/exec/copy/limit.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"

namespace {

using retile::Exchange;
using retile::Program;
using retile::Shape;
using retile::Size;
using retile::Transfer;
using retile::mpi::Redistributor;
using retile::mpi::Strategy;
using Json = nlohmann::ordered_json;

constexpr Size element_bytes = 4;
constexpr std::size_t line_bytes = 64;

int process = 0;
int processes = 1;

[[noreturn]] void give_up(const std::string& message) {
  std::cerr << "execution: process " << process << ": " << message << '\n';
  MPI_Abort(MPI_COMM_WORLD, 4);
  std::abort();
}

template <typename T>
T value_of(retile::Result<T> result, const std::string& what) {
  if (!result) give_up(what + ": " + render(result.error()));
  return std::move(*result);
}

/// Seconds since the machine started, the same for all processes.
double seconds_of_node() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- Problems ----------------------------------------------------------------------------------

struct Problem {
  std::string name;
  std::string mesh;
  std::string from;
  std::string to;
  Size run_bytes = 0;  ///< the shorter of the runs that lie in one piece on both sides
};

std::string text(Size number) { return std::to_string(number); }

/// The problems for this number of processes with arrays of about `bytes` bytes.
std::vector<Problem> problems(Size bytes) {
  const Size p = processes;
  const Size elements = bytes / element_bytes;
  const std::string d = "{d}";
  const std::string mesh = "d:" + text(p);
  const auto part = [&](Size whole) { return text(whole / p) + d + text(whole); };
  std::vector<Problem> out;
  for (const Size run : {64, 256, 1024, 4096, 32768}) {
    const Size columns = run / element_bytes * p;
    const Size rows = elements / columns / p * p;
    if (rows < p) continue;
    out.push_back({"rows to columns, runs of " + text(run), mesh,
                   "[" + part(rows) + ", " + text(columns) + "]",
                   "[" + text(rows) + ", " + part(columns) + "]", run});
    out.push_back({"columns to rows, runs of " + text(run), mesh,
                   "[" + text(rows) + ", " + part(columns) + "]",
                   "[" + part(rows) + ", " + text(columns) + "]", run});
  }
  if (p >= 4 && p % 2 == 0) {
    const Size a = 2;
    const Size b = p / 2;
    const Size columns = 4096;
    const Size rows = std::max<Size>(elements / columns / p * p, p);
    const auto by = [&](Size whole, Size n, const char* axis) {
      return text(whole / n) + "{" + axis + "}" + text(whole);
    };
    out.push_back({"mesh swap", "a:" + text(a) + ",b:" + text(b),
                   "[" + by(rows, a, "a") + ", " + by(columns, b, "b") + "]",
                   "[" + by(rows, b, "b") + ", " + by(columns, a, "a") + "]",
                   columns / p * element_bytes});
  }
  {
    const Size z = 64;
    const Size y = 128;
    const Size x = std::max<Size>(elements / (z * y) / p * p, p);
    const std::string ends = ", " + text(z) + "]";
    out.push_back({"three dimensions, first to second", mesh, "[" + part(x) + ", " + text(y) + ends,
                   "[" + text(x) + ", " + part(y) + ends, y / p * z * element_bytes});
    out.push_back({"three dimensions, first to last", mesh, "[" + part(x) + ", " + text(y) + ends,
                   "[" + text(x) + ", " + text(y) + ", " + part(z) + "]", z / p * element_bytes});
  }
  {
    // Batch, sequence, heads, size of a head.
    const Size heads = 16;
    const Size size = 64;
    const Size sequence = std::max<Size>(elements / (2 * heads * size) / p * p, p);
    out.push_back({"attention, sequence to heads", mesh,
                   "[2, " + part(sequence) + ", " + text(heads) + ", " + text(size) + "]",
                   "[2, " + text(sequence) + ", " + part(heads) + ", " + text(size) + "]",
                   heads / p * size * element_bytes});
  }
  {
    // The result is the whole array on everyone, so the array is smaller.
    const Size columns = 1024;
    const Size rows = std::max<Size>(elements / p / columns / p * p, p);
    out.push_back({"gather rows", mesh, "[" + part(rows) + ", " + text(columns) + "]",
                   "[" + text(rows) + ", " + text(columns) + "]",
                   rows / p * columns * element_bytes});
    out.push_back({"gather columns", mesh, "[" + text(rows) + ", " + part(columns) + "]",
                   "[" + text(rows) + ", " + text(columns) + "]", columns / p * element_bytes});
  }
  if (p == 8) {
    const std::string cube = "a:2,b:2,c:2";
    out.push_back({"Fig. 13 P1", cube, "[360, 184{c}368, 320]", "[90{c,a}360, 368, 160{b}320]", 0});
    out.push_back({"Fig. 13 P2", cube, "[80, 40{c}80, 72, 64]", "[40{b}80, 80, 36{c}72, 64]", 0});
    out.push_back({"Fig. 13 P3", cube, "[296, 360, 156{c}312]", "[74{b,c}296, 180{a}360, 312]", 0});
    out.push_back({"Fig. 13 P4", cube, "[8{c}16, 16, 16, 8{a}16, 16, 8{b}16]",
                   "[16, 16, 16, 16, 16, 8{a}16]", 0});
  }
  return out;
}

Program planned(const Problem& problem) {
  auto read = value_of(retile::parse_problem(problem.mesh, problem.from, problem.to), problem.name);
  return lower(value_of(plan(read), problem.name));
}

// ---- Buffers of a caller -----------------------------------------------------------------------

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Tile = std::unique_ptr<std::byte, Free>;

Tile tile_of(Size bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const auto rounded = (static_cast<std::size_t>(bytes) + huge - 1) / huge * huge;
  Tile out(static_cast<std::byte*>(std::aligned_alloc(huge, rounded)));
  if (out == nullptr) give_up("out of memory");
  std::memset(out.get(), 1, rounded);  // first touch
  return out;
}

// ---- Contenders --------------------------------------------------------------------------------

struct Contender {
  std::string name;
  bool peer = false;
  bool verified = true;                   ///< false: moves as many bytes, but not to their places
  std::function<void()> prepare = [] {};  ///< not timed: before every run
  std::function<void()> run = [] {};
  std::span<const std::byte> result = {};
  Size peak_bytes = 0;
};

/// Where a box lies in a tile, as an MPI type.
MPI_Datatype box_type(const std::vector<const Transfer*>& boxes, const Shape& tile, bool source) {
  std::vector<MPI_Datatype> types;
  for (const Transfer* box : boxes) {
    const Shape& at = source ? box->source_start : box->target_start;
    std::vector<int> sizes(tile.begin(), tile.end());
    std::vector<int> extents(box->shape.begin(), box->shape.end());
    std::vector<int> starts(at.begin(), at.end());
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(static_cast<int>(tile.size()), sizes.data(), extents.data(),
                             starts.data(), MPI_ORDER_C, MPI_FLOAT, &type);
    types.push_back(type);
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  const std::vector<int> ones(types.size(), 1);
  const std::vector<MPI_Aint> zeros(types.size(), 0);
  MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), zeros.data(), types.data(),
                         &all);
  MPI_Type_commit(&all);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  return all;
}

/// MPI_Alltoallw on the boxes where they lie; MPI_Pack, MPI_Alltoallv, MPI_Unpack.
struct MpiTypes {
  std::vector<MPI_Datatype> send;
  std::vector<MPI_Datatype> receive;
  std::vector<int> send_counts, receive_counts, zeros;
  std::vector<int> send_bytes, receive_bytes, send_at, receive_at;
  std::vector<std::byte> packed, unpacked;

  MpiTypes(const Exchange& exchange, const Shape& in_tile, const Shape& out_tile) {
    const auto count = static_cast<std::size_t>(processes);
    std::vector<std::vector<const Transfer*>> to(count);
    std::vector<std::vector<const Transfer*>> from(count);
    for (const Transfer& transfer : exchange.transfers) {
      if (transfer.source == process)
        to[static_cast<std::size_t>(transfer.target)].push_back(&transfer);
      if (transfer.target == process)
        from[static_cast<std::size_t>(transfer.source)].push_back(&transfer);
    }
    zeros.assign(count, 0);
    const auto fill = [&](auto& boxes, const Shape& tile, bool source, auto& types, auto& counts,
                          auto& bytes, auto& at, auto& buffer) {
      int sum = 0;
      for (std::size_t k = 0; k < count; ++k) {
        counts.push_back(boxes[k].empty() ? 0 : 1);
        types.push_back(boxes[k].empty() ? MPI_FLOAT : box_type(boxes[k], tile, source));
        int size = 0;
        if (!boxes[k].empty()) MPI_Type_size(types.back(), &size);
        bytes.push_back(size);
        at.push_back(sum);
        sum += size;
      }
      buffer.resize(static_cast<std::size_t>(sum));
    };
    fill(to, in_tile, true, send, send_counts, send_bytes, send_at, packed);
    fill(from, out_tile, false, receive, receive_counts, receive_bytes, receive_at, unpacked);
  }
  MpiTypes(const MpiTypes&) = delete;
  MpiTypes& operator=(const MpiTypes&) = delete;
  ~MpiTypes() {
    for (auto* types : {&send, &receive}) {
      for (MPI_Datatype& type : *types) {
        if (type != MPI_FLOAT) MPI_Type_free(&type);
      }
    }
  }

  void alltoallw(const std::byte* in, std::byte* out) const {
    MPI_Alltoallw(in, send_counts.data(), zeros.data(), send.data(), out, receive_counts.data(),
                  zeros.data(), receive.data(), MPI_COMM_WORLD);
  }
  void pack_alltoallv(const std::byte* in, std::byte* out) {
    int position = 0;
    for (std::size_t k = 0; k < send.size(); ++k) {
      if (send_counts[k] == 0) continue;
      MPI_Pack(in, 1, send[k], packed.data(), static_cast<int>(packed.size()), &position,
               MPI_COMM_WORLD);
    }
    MPI_Alltoallv(packed.data(), send_bytes.data(), send_at.data(), MPI_BYTE, unpacked.data(),
                  receive_bytes.data(), receive_at.data(), MPI_BYTE, MPI_COMM_WORLD);
    position = 0;
    for (std::size_t k = 0; k < receive.size(); ++k) {
      if (receive_counts[k] == 0) continue;
      MPI_Unpack(unpacked.data(), static_cast<int>(unpacked.size()), &position, out, 1, receive[k],
                 MPI_COMM_WORLD);
    }
  }
};

struct Bench {
  const Problem& problem;
  Program program;
  Exchange exchange;
  Size in_bytes, out_bytes;
  Tile in, out, copied_from, copied_to;
  std::vector<std::unique_ptr<Redistributor>> redistributors;
  std::optional<MpiTypes> types;
  std::vector<Contender> contenders;

  explicit Bench(const Problem& which) : problem(which), program(planned(which)) {
    exchange = std::get<Exchange>(value_of(retile::direct(program), which.name).steps.front().op);
    in_bytes = program.from.tile_size() * element_bytes;
    out_bytes = program.to.tile_size() * element_bytes;
    in = tile_of(in_bytes);
    out = tile_of(out_bytes);
    fill_pattern(program.from, process, element_bytes, input());
  }

  std::span<std::byte> input() { return {in.get(), static_cast<std::size_t>(in_bytes)}; }
  std::span<std::byte> output() { return {out.get(), static_cast<std::size_t>(out_bytes)}; }

  void add_strategy(const std::string& name, Strategy strategy, bool own) {
    auto made = Redistributor::make(MPI_COMM_WORLD, program, element_bytes,
                                    {.strategy = strategy, .own_buffers = own});
    if (!made) {
      if (process == 0) std::cerr << name << " left out: " << made.error().message << '\n';
      return;
    }
    redistributors.push_back(std::make_unique<Redistributor>(std::move(*made)));
    Redistributor* const mover = redistributors.back().get();
    Contender contender{.name = name};
    contender.peak_bytes = mover->peak_limit_bytes();
    if (own) {
      fill_pattern(program.from, process, element_bytes, mover->input());
      if (mover->strategy() == Strategy::in_place) {
        contender.prepare = [this, mover] {
          std::memcpy(mover->input().data(), in.get(), static_cast<std::size_t>(in_bytes));
        };
      }
      contender.run = [mover] { value_of_void(mover->run()); };
      contender.result = mover->output();
    } else {
      contender.run = [this, mover] { value_of_void(mover->run(input(), output())); };
      contender.result = output();
    }
    contenders.push_back(std::move(contender));
  }
  static void value_of_void(const retile::Result<void>& done) {
    if (!done) give_up(render(done.error()));
  }

  void add_peers() {
    const auto fits = [](const Shape& shape) {
      return std::all_of(shape.begin(), shape.end(), [](Size n) { return n < (Size{1} << 31); });
    };
    if (!fits(program.from.tile()) || !fits(program.to.tile()) ||
        std::max(in_bytes, out_bytes) >= (Size{1} << 31) || program.from.rank() == 0) {
      return;
    }
    types.emplace(exchange, program.from.tile(), program.to.tile());
    contenders.push_back({.name = "MPI_Alltoallw",
                          .peer = true,
                          .run = [this] { types->alltoallw(in.get(), out.get()); },
                          .result = output()});
    contenders.push_back({.name = "MPI_Pack, MPI_Alltoallv",
                          .peer = true,
                          .run = [this] { types->pack_alltoallv(in.get(), out.get()); },
                          .result = output()});
    const bool gathers = out_bytes == in_bytes * processes;
    if (gathers) {
      contenders.push_back(
          {.name = "MPI_Allgather, contiguous", .peer = true, .verified = false, .run = [this] {
             MPI_Allgather(in.get(), static_cast<int>(in_bytes), MPI_BYTE, out.get(),
                           static_cast<int>(in_bytes), MPI_BYTE, MPI_COMM_WORLD);
           }});
    } else if (in_bytes == out_bytes) {
      contenders.push_back(
          {.name = "MPI_Alltoall, contiguous", .peer = true, .verified = false, .run = [this] {
             const int count = static_cast<int>(in_bytes / processes);
             MPI_Alltoall(in.get(), count, MPI_BYTE, out.get(), count, MPI_BYTE, MPI_COMM_WORLD);
           }});
    }
  }

  void add_limit() {
    const Size bytes = std::max(in_bytes, out_bytes) / static_cast<Size>(line_bytes) *
                       static_cast<Size>(line_bytes);
    copied_from = tile_of(bytes);
    copied_to = tile_of(bytes);
    contenders.insert(contenders.begin(),
                      {.name = "copy limit", .verified = false, .run = [this, bytes] {
                         retile::copy::copy_limit(copied_to.get(), copied_from.get(), bytes);
                       }});
  }

  /// Runs the contender once and looks at every element.
  void verify(Contender& contender) {
    if (!contender.verified) return;
    auto* const bytes = const_cast<std::byte*>(contender.result.data());
    if (contender.name != "in place") std::memset(bytes, 0, contender.result.size());
    contender.prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    contender.run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (find_pattern_mismatch(program.to, process, element_bytes, contender.result)) {
      give_up(contender.name + " gives wrong elements in: " + problem.name);
    }
  }

  double time_once(Contender& contender) {
    contender.prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    // From when the first begins to when the last is through: where there are more processes than
    // processors, they take turns. All read the clock of the one node; MPI_Wtime would begin with
    // each process.
    double times[2] = {-seconds_of_node(), 0};
    contender.run();
    times[1] = seconds_of_node();
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return times[0] + times[1];
  }
};

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

Json measure(const Problem& problem, int rounds) {
  Bench bench(problem);
  bench.add_strategy("automatic", Strategy::automatic, true);
  bench.add_strategy("shared, private tiles", Strategy::shared, false);
  bench.add_strategy("direct", Strategy::direct, false);
  bench.add_strategy("collectives", Strategy::collectives, false);
  bench.add_strategy("in place", Strategy::in_place, true);
  bench.add_peers();
  for (Contender& contender : bench.contenders) bench.verify(contender);
  bench.add_limit();

  const std::size_t count = bench.contenders.size();
  std::vector<std::vector<double>> seconds(count);
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (std::size_t k = 0; k < count; ++k) {
      const double time = bench.time_once(bench.contenders[k]);
      if (round >= 0) seconds[k].push_back(time);
    }
  }
  Json out;
  out["problem"] = problem.name;
  out["mesh"] = problem.mesh;
  out["from"] = problem.from;
  out["to"] = problem.to;
  out["run_bytes"] = problem.run_bytes;
  out["in_bytes"] = bench.in_bytes;
  out["out_bytes"] = bench.out_bytes;
  out["processes"] = processes;
  out["rounds"] = rounds;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < seconds[k].size(); ++r) {
      ratios.push_back(seconds[k][r] / seconds[0][r]);
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    Json one;
    one["name"] = bench.contenders[k].name;
    one["peer"] = bench.contenders[k].peer;
    one["verified"] = bench.contenders[k].verified;
    one["seconds"] = median(seconds[k]);
    one["ratio"] = median(ratios);
    one["ratio_least"] = *low;
    one["ratio_most"] = *high;
    one["least_seconds_ratio"] = *std::min_element(seconds[k].begin(), seconds[k].end()) /
                                 *std::min_element(seconds[0].begin(), seconds[0].end());
    if (bench.contenders[k].peak_bytes > 0) one["peak_bytes"] = bench.contenders[k].peak_bytes;
    out["contenders"].push_back(std::move(one));
  }
  return out;
}

void print(const Json& result) {
  std::printf("%s, %lld KiB per process\n", result["problem"].get<std::string>().c_str(),
              static_cast<long long>(result["in_bytes"].get<Size>() / 1024));
  for (const Json& one : result["contenders"]) {
    std::printf("  %-28s %8.2f (%5.2f to %6.2f; least times %5.2f) %10.3f ms\n",
                one["name"].get<std::string>().c_str(), one["ratio"].get<double>(),
                one["ratio_least"].get<double>(), one["ratio_most"].get<double>(),
                one["least_seconds_ratio"].get<double>(), one["seconds"].get<double>() * 1e3);
  }
  std::fflush(stdout);
}

constexpr const char* usage =
    "usage: mpirun -n P execution [--kib N]... [--rounds N] [--only WORDS] [--output FILE]\n"
    "\n"
    "  --kib N        bytes of the arrays, all processes together (default 262144); may be "
    "repeated\n"
    "  --rounds N     timed runs of every contender (default 11)\n"
    "  --only WORDS   problems whose names hold these words\n"
    "  --output FILE  the results as JSON\n";

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  std::vector<Size> kib;
  int rounds = 11;
  std::string only;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || i + 1 == argc) {
      if (process == 0) std::cout << usage;
      MPI_Finalize();
      return option == "--help" ? 0 : 2;
    }
    const std::string value = argv[++i];
    if (option == "--kib") {
      kib.push_back(std::stoll(value));
    } else if (option == "--rounds") {
      rounds = std::max(1, std::stoi(value));
    } else if (option == "--only") {
      only = value;
    } else if (option == "--output") {
      path = value;
    } else {
      give_up("unknown option " + option);
    }
  }
  if (kib.empty()) kib.push_back(Size{256} << 10);
  Json results = Json::array();
  for (const Size size : kib) {
    for (const Problem& problem : problems(size << 10)) {
      if (problem.name.find(only) == std::string::npos) continue;
      Json result = measure(problem, rounds);
      result["kib"] = size;
      if (process == 0) print(result);
      results.push_back(std::move(result));
    }
  }
  if (process == 0 && !path.empty()) {
    if (FILE* file = std::fopen(path.c_str(), "w"); file != nullptr) {
      std::fputs((results.dump(1) + "\n").c_str(), file);
      std::fclose(file);
    } else {
      give_up("cannot write " + path);
    }
  }
  MPI_Finalize();
  return 0;
}
