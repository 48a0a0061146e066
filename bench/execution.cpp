// All ways to move the data of one problem, and the peers, side by side in one run on real MPI
// processes: mpirun -n P execution [options]. Every output is verified before anything is timed.
//
// In every round every contender runs once, between barriers, and is timed until the last process
// is through; where a run is short, as often as fills some milliseconds. The results are the
// seconds of every round. scripts/evaluate-execution repeats the whole program and judges.
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
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "copy_limit.h"
#include "execution_peers.h"
#include "execution_problems.h"
#include "figures.h"
#include "machine.h"
#include "processes.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

using bench::give_up;
using bench::into;
using bench::median;
using bench::process;
using bench::processes;
using bench::succeed;
using bench::time_of_all;
using bench::value_of;
using execution_bench::element_bytes;
using execution_bench::Fftw;
using execution_bench::MpiTypes;
using execution_bench::Problem;
using execution_bench::Scalapack;
using retile::Exchange;
using retile::Layout;
using retile::Program;
using retile::Size;
using retile::mpi::Partition;
using retile::mpi::Redistributor;
using retile::mpi::Strategy;
using Json = nlohmann::ordered_json;

constexpr Size line_bytes = 64;
constexpr Size page_bytes = 4096;
/// A timing of less would be one of the barriers around it.
constexpr double least_seconds = 3e-3;
constexpr double most_repeats = 1000;
/// Arrays up to this size are timed in more rounds: each is short.
constexpr Size small_bytes = Size{1} << 20;
constexpr int rounds_of_small = 3;

const std::string private_tiles = "shared, private tiles";

double most_of_all(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

// ---- Buffers of a caller -----------------------------------------------------------------------

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

enum class Pages { as_given, huge };

/// Memory of a std::vector, as most callers have it: malloc puts large ones 16 bytes beyond a page.
/// Touched once and used for all problems.
class Buffer {
 public:
  [[nodiscard]] std::span<std::byte> bytes(Size count) {
    const auto needed = static_cast<std::size_t>(count);
    if (needed > memory_.size()) {
      memory_ = {};  // before there are two
      memory_.resize(needed, std::byte{1});
    }
    return std::span(memory_).first(needed);
  }

  /// So many bytes beyond a page.
  [[nodiscard]] std::span<std::byte> bytes_at(Size count, Size offset) {
    const std::span<std::byte> all = bytes(count + 2 * page_bytes);
    const auto past = static_cast<Size>(reinterpret_cast<std::uintptr_t>(all.data()) %
                                        static_cast<std::uintptr_t>(page_bytes));
    return all.subspan(static_cast<std::size_t>(page_bytes - past + offset),
                       static_cast<std::size_t>(count));
  }

 private:
  std::vector<std::byte> memory_;
};

/// The same in pages of 2 MiB, in which the library's own tiles lie.
class HugeBuffer {
 public:
  [[nodiscard]] std::span<std::byte> bytes(Size count) {
    constexpr std::size_t huge = std::size_t{2} << 20;
    const auto rounded = (static_cast<std::size_t>(count) + huge - 1) / huge * huge;
    if (rounded > capacity_) {
      bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(huge, rounded)));
      if (bytes_ == nullptr) give_up("out of memory");
      madvise(bytes_.get(), rounded, MADV_HUGEPAGE);
      std::memset(bytes_.get(), 1, rounded);
      capacity_ = rounded;
    }
    return {bytes_.get(), static_cast<std::size_t>(count)};
  }

 private:
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t capacity_ = 0;
};

struct Buffers {
  Buffer in, out;
  Buffer packed, unpacked;
  Buffer placed_in, placed_out;  ///< for what lies at a place that was asked for
  HugeBuffer huge_in, huge_out;
};

// ---- Contenders --------------------------------------------------------------------------------

struct Contender {
  std::string name;
  /// Strategy or peer, maybe in huge pages, or reference: a copy that moves nothing to its place.
  std::string kind;
  std::function<void()> run;
  std::span<std::byte> input;
  std::span<std::byte> output;
  /// What it should bring from where to where; nothing: what the problem says.
  std::optional<retile::Problem> task = {};
  Redistributor* redistributor = nullptr;
};

/// So many elements on every process, each of which the others see nothing of.
retile::Problem to_itself(Size elements) {
  const std::string type =
      "[" + execution_bench::Notation(processes).split(elements * processes) + "]";
  return value_of(retile::parse_problem("d:" + std::to_string(processes), type, type), "copy");
}

/// Pieces of so many elements, one of every process for every other, lie by source or by target.
retile::Problem contiguous_alltoall(Size elements) {
  const execution_bench::Notation notation(processes);
  const retile::Shape extents{processes, processes, elements};
  return value_of(retile::parse_problem("d:" + std::to_string(processes), notation.type(extents, 0),
                                        notation.type(extents, 1)),
                  "MPI_Alltoall");
}

retile::Problem contiguous_allgather(Size elements) {
  const execution_bench::Notation notation(processes);
  const retile::Shape extents{processes, elements};
  return value_of(retile::parse_problem("d:" + std::to_string(processes), notation.type(extents, 0),
                                        notation.type(extents, extents.size())),
                  "MPI_Allgather");
}

/// What all problems are measured with.
struct Measuring {
  Buffers buffers;
  std::string falsified;
  std::vector<std::string> ways;  ///< only these; nothing: all
  std::vector<Size> offsets;      ///< beyond a page, of a caller's buffers once more
};

class Bench {
 public:
  Bench(const Problem& which, Measuring& how)
      : problem_(which),
        ways_(how.ways),
        read_(value_of(retile::parse_problem(which.mesh, which.from, which.to), which.name)),
        program_(value_of(retile::program_of(value_of(plan(read_), which.name)), which.name)),
        exchange_(
            std::get<Exchange>(value_of(retile::direct(program_), which.name).steps.front().op)) {
    Buffers& buffers = how.buffers;
    const Size larger = larger_bytes();
    in_ = buffers.in.bytes(larger);
    out_ = buffers.out.bytes(larger);
    huge_in_ = buffers.huge_in.bytes(larger);
    huge_out_ = buffers.huge_out.bytes(larger);
    add_references();
    add_strategy("automatic", {.own_buffers = true});
    const retile::mpi::Options one_node{.strategy = Strategy::exchange,
                                        .partition = Partition::one_node};
    add_strategy(private_tiles, one_node);
    add_strategy(private_tiles, one_node, Pages::huge);
    add_strategy("direct", {.strategy = Strategy::exchange, .partition = Partition::apart});
    add_strategy("direct, unasked", {.strategy = Strategy::exchange,
                                     .partition = Partition::apart,
                                     .wrong_buffers = retile::mpi::WrongBuffers::end_job});
    add_strategy("collectives", {.strategy = Strategy::collectives});
    add_strategy("in place", {.strategy = Strategy::in_place, .own_buffers = true});
    add_peers(buffers);
    add_peers_in_huge_pages();
    for (const Size offset : how.offsets) add_at(offset, buffers);
  }

  [[nodiscard]] const std::vector<Contender>& contenders() const { return contenders_; }
  /// Of this process.
  [[nodiscard]] Size in_bytes() const { return program_.from.tile_size(process) * element_bytes; }
  [[nodiscard]] Size out_bytes() const { return program_.to.tile_size(process) * element_bytes; }
  [[nodiscard]] Size run_bytes() const {
    return execution_bench::run_bytes(exchange_, program_.from.tile(), program_.to.tile());
  }

  /// Runs the contender once and looks at every element. `falsify` changes one first.
  void verify(const Contender& contender, bool falsify) {
    const Layout& from = contender.task ? contender.task->from : program_.from;
    const Layout& to = contender.task ? contender.task->to : program_.to;
    std::memset(contender.output.data(), 0, contender.output.size());
    // In place both begin at the same byte. Those who share an input leave it as it is.
    const bool common = !contender.task && contender.input.data() == in_.data();
    if (!common || !filled_) fill_pattern(from, process, element_bytes, contender.input);
    if (contender.input.data() == in_.data()) filled_ = common;
    MPI_Barrier(MPI_COMM_WORLD);
    contender.run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (falsify) contender.output[contender.output.size() / 2] ^= std::byte{1};
    if (find_pattern_mismatch(to, process, element_bytes, contender.output)) {
      give_up(contender.name + " gives wrong elements in: " + problem_.name);
    }
  }

  /// Seconds of one run, the mean of so many in a row. In place they go on with what is there: how
  /// long they take does not depend on it. What is short enough to be repeated runs once before the
  /// clock starts: else it would find its buffers in the caches where the one before it used the same.
  static double time(const Contender& contender, int repeats) {
    if (repeats > 1) contender.run();
    const auto run = [&] {
      for (int repeat = 0; repeat < repeats; ++repeat) contender.run();
    };
    return time_of_all(run) / repeats;
  }

  /// How many runs a timing needs, by the least of a few; also warms up.
  static int repeats(const Contender& contender) {
    double least = time(contender, 1);
    int out = 1;
    for (int attempt = 0; attempt < 4 && least * out < least_seconds; ++attempt) {
      out = static_cast<int>(std::min(least_seconds / least + 1, most_repeats));
      least = std::min(least, time(contender, out));
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_even() const { return program_.from.is_even() && program_.to.is_even(); }
  /// Of the largest tile of anybody.
  [[nodiscard]] Size larger_bytes() const {
    return std::max(program_.from.tile_size(), program_.to.tile_size()) * element_bytes;
  }
  [[nodiscard]] std::span<std::byte> input(Pages pages = Pages::as_given) const {
    return (pages == Pages::huge ? huge_in_ : in_).first(static_cast<std::size_t>(in_bytes()));
  }
  [[nodiscard]] std::span<std::byte> output(Pages pages = Pages::as_given) const {
    return (pages == Pages::huge ? huge_out_ : out_).first(static_cast<std::size_t>(out_bytes()));
  }

  void add_references() {
    const Size bytes = std::max(larger_bytes() / line_bytes * line_bytes, line_bytes);
    const auto count = static_cast<std::size_t>(bytes);
    if (count > huge_in_.size()) give_up("tiles of less than a line: " + problem_.name);
    const auto add = [&](const std::string& name, auto copy) {
      // The first one stays: times are printed as ratios to it.
      if (!contenders_.empty() && !wanted(name)) return;
      contenders_.push_back(
          {.name = name,
           .kind = "reference",
           .run = [this, bytes, copy] { copy(huge_out_.data(), huge_in_.data(), bytes); },
           .input = huge_in_.first(count),
           .output = huge_out_.first(count),
           .task = to_itself(bytes / element_bytes)});
    };
    add("copy limit", [](std::byte* to, const std::byte* from, Size size) {
      retile::copy::copy_limit(to, from, size);
    });
    add("one stream", [](std::byte* to, const std::byte* from, Size size) {
      retile::copy::copy_limit(to, from, size, 1);
    });
    add("memcpy", [](std::byte* to, const std::byte* from, Size size) {
      std::memcpy(to, from, static_cast<std::size_t>(size));
    });
  }

  static std::string named(const std::string& name, Pages pages) {
    return pages == Pages::huge ? name + ", huge pages" : name;
  }

  [[nodiscard]] bool wanted(const std::string& name) const {
    return ways_.empty() || std::find(ways_.begin(), ways_.end(), name) != ways_.end();
  }

  /// Null where it cannot be made, on all processes.
  Redistributor* made(const std::string& name, const retile::mpi::Options& options) {
    auto mover = Redistributor::make(MPI_COMM_WORLD, program_, element_bytes, options);
    if (!mover) {
      if (process == 0) std::cerr << name << " left out: " << mover.error().message << '\n';
      return nullptr;
    }
    redistributors_.push_back(std::make_unique<Redistributor>(std::move(*mover)));
    return redistributors_.back().get();
  }

  void add_strategy(const std::string& name, const retile::mpi::Options& options,
                    Pages pages = Pages::as_given) {
    const bool own = options.own_buffers;
    Contender contender;
    contender.name = named(name, pages);
    if (!wanted(contender.name)) return;
    Redistributor* const mover = made(name, options);
    if (mover == nullptr) return;
    contender.kind = pages == Pages::huge ? "strategy in huge pages" : "strategy";
    contender.redistributor = mover;
    if (own) {
      contender.run = [mover] { succeed(mover->run()); };
      contender.input = mover->input();
      contender.output = mover->output();
    } else {
      contender.input = input(pages);
      contender.output = output(pages);
      contender.run = [mover, in = contender.input, out = contender.output] {
        succeed(mover->run(in, out));
      };
    }
    contenders_.push_back(std::move(contender));
  }

  void add_peer(const std::string& name, std::function<void()> run, Pages pages = Pages::as_given,
                std::optional<retile::Problem> task = {}) {
    if (!wanted(named(name, pages))) return;
    contenders_.push_back({.name = named(name, pages),
                           .kind = pages == Pages::huge ? "peer in huge pages" : "peer",
                           .run = std::move(run),
                           .input = input(pages),
                           .output = output(pages),
                           .task = std::move(task)});
  }

  /// The fastest peers once more, in memory like that of the library.
  void add_peers_in_huge_pages() {
    add_peer(
        "MPI_Alltoallw", [this] { types_->alltoallw(huge_in_.data(), huge_out_.data()); },
        Pages::huge);
    if (is_even()) add_contiguous(Pages::huge);
  }

  /// The caller's memory at an offset: the library and the fastest peer.
  void add_at(Size offset, Buffers& buffers) {
    const std::string where = ", at " + std::to_string(offset);
    if (!wanted(private_tiles + where) && !wanted("MPI_Alltoallw" + where)) return;
    if (private_tiles_ == nullptr) {
      private_tiles_ =
          made(private_tiles, {.strategy = Strategy::exchange, .partition = Partition::one_node});
      if (private_tiles_ == nullptr) return;
    }
    const std::span<std::byte> in = buffers.placed_in.bytes_at(in_bytes(), offset);
    const std::span<std::byte> out = buffers.placed_out.bytes_at(out_bytes(), offset);
    contenders_.push_back({.name = private_tiles + where,
                           .kind = "strategy at an offset",
                           .run = [this, in, out] { succeed(private_tiles_->run(in, out)); },
                           .input = in,
                           .output = out,
                           .redistributor = private_tiles_});
    contenders_.push_back({.name = "MPI_Alltoallw" + where,
                           .kind = "peer at an offset",
                           .run = [this, in, out] { types_->alltoallw(in.data(), out.data()); },
                           .input = in,
                           .output = out});
  }

  void add_peers(Buffers& buffers) {
    if (larger_bytes() >= (Size{1} << 31)) give_up("tiles too large for peers");
    types_.emplace(exchange_, program_.from.box(process).extent, program_.to.box(process).extent);
    add_peer("MPI_Alltoallw", [this] { types_->alltoallw(input().data(), output().data()); });
    std::byte* const packed = buffers.packed.bytes(types_->packed_bytes()).data();
    std::byte* const unpacked = buffers.unpacked.bytes(types_->unpacked_bytes()).data();
    add_peer("MPI_Pack, MPI_Alltoallv", [this, packed, unpacked] {
      types_->pack_alltoallv(input().data(), output().data(), packed, unpacked);
    });
    if (!is_even()) return;  // what is below is for even tiles
    add_contiguous(Pages::as_given);
    if (wanted("ScaLAPACK p?gemr2d")) scalapack_ = Scalapack::make(program_.from, program_.to);
    if (scalapack_ != nullptr) {
      add_peer("ScaLAPACK p?gemr2d", [this] { scalapack_->run(input().data(), output().data()); });
    }
    if (wanted("FFTW MPI transpose")) fftw_ = Fftw::make(program_.from, program_.to);
    if (fftw_ != nullptr) {
      add_peer("FFTW MPI transpose", [this] { fftw_->run(); });
      contenders_.back().input = {fftw_->input(), input().size()};
      contenders_.back().output = {fftw_->output(), output().size()};
    }
  }

  /// As many bytes, but not to their places: each gets whole pieces, in the order of the sources.
  void add_contiguous(Pages pages) {
    std::byte* const in = (pages == Pages::huge ? huge_in_ : in_).data();
    std::byte* const out = (pages == Pages::huge ? huge_out_ : out_).data();
    const Size elements = in_bytes() / element_bytes;
    if (out_bytes() == in_bytes() * processes) {
      const int bytes = static_cast<int>(in_bytes());
      add_peer(
          "MPI_Allgather, contiguous",
          [in, out, bytes] {
            MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
          },
          pages, contiguous_allgather(elements));
    } else if (in_bytes() == out_bytes() && elements % processes == 0) {
      const int bytes = static_cast<int>(in_bytes() / processes);
      add_peer(
          "MPI_Alltoall, contiguous",
          [in, out, bytes] {
            MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
          },
          pages, contiguous_alltoall(elements / processes));
    }
  }

  const Problem& problem_;
  const std::vector<std::string>& ways_;
  retile::Problem read_;
  Program program_;
  Exchange exchange_;
  std::span<std::byte> in_, out_;            ///< each as large as the larger tile
  std::span<std::byte> huge_in_, huge_out_;  ///< the same in huge pages
  bool filled_ = false;                      ///< in_ holds the problem's pattern
  std::vector<std::unique_ptr<Redistributor>> redistributors_;
  Redistributor* private_tiles_ = nullptr;
  std::optional<MpiTypes> types_;
  std::unique_ptr<Scalapack> scalapack_;
  std::unique_ptr<Fftw> fftw_;
  std::vector<Contender> contenders_;
};

Size beyond_page(std::span<const std::byte> bytes) {
  return static_cast<Size>(reinterpret_cast<std::uintptr_t>(bytes.data()) %
                           static_cast<std::uintptr_t>(page_bytes));
}

Json measure(const Problem& problem, int rounds, Measuring& how) {
  Bench bench(problem, how);
  const std::vector<Contender>& contenders = bench.contenders();
  for (const Contender& contender : contenders) {
    bench.verify(contender, contender.name == how.falsified);
  }
  std::vector<int> repeats;
  for (const Contender& contender : contenders) repeats.push_back(Bench::repeats(contender));
  std::vector<std::vector<double>> seconds(contenders.size());
  // In another order in every round, the same on all processes: whoever comes behind one that left the
  // caches to other buffers would be slower in all rounds.
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random;
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t k : order) {
      seconds[k].push_back(Bench::time(contenders[k], repeats[k]));
    }
  }
  Json out{{"problem", problem.name},
           {"kind", problem.kind},
           {"mesh", problem.mesh},
           {"from", problem.from},
           {"to", problem.to},
           {"run_bytes", bench.run_bytes()},
           {"in_bytes", bench.in_bytes()},
           {"out_bytes", bench.out_bytes()}};
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    Json one{{"name", contenders[k].name},
             {"kind", contenders[k].kind},
             {"verified", true},
             {"repeats", repeats[k]},
             {"in_offset", beyond_page(contenders[k].input)},
             {"out_offset", beyond_page(contenders[k].output)},
             {"seconds", seconds[k]}};
    if (const Redistributor* mover = contenders[k].redistributor; mover != nullptr) {
      one["strategy"] = strategy_name(mover->strategy());
      one["peak_bytes"] = static_cast<Size>(most_of_all(static_cast<double>(mover->peak_bytes())));
    }
    out["contenders"].push_back(std::move(one));
  }
  return out;
}

void print(const Json& result) {
  std::printf("%s, %lld KiB per process, runs of %lld bytes\n",
              result["problem"].get<std::string>().c_str(),
              static_cast<long long>(result["in_bytes"].get<Size>() / 1024),
              static_cast<long long>(result["run_bytes"].get<Size>()));
  const auto limit = result["contenders"][0]["seconds"].get<std::vector<double>>();
  for (const Json& one : result["contenders"]) {
    const auto seconds = one["seconds"].get<std::vector<double>>();
    std::vector<double> ratios;
    for (std::size_t r = 0; r < seconds.size(); ++r) ratios.push_back(seconds[r] / limit[r]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("  %-28s %8.2f (%5.2f to %6.2f) %10.4f ms x %d\n",
                one["name"].get<std::string>().c_str(), median(ratios), *low, *high,
                median(seconds) * 1e3, one["repeats"].get<int>());
  }
  std::fflush(stdout);
}

constexpr const char* usage =
    "usage: mpirun -n P execution [--sizes N,..] [--rounds N] [--only WORDS] [--output FILE]\n"
    "                             [--ways NAME;..] [--offsets N,..] [--falsify NAME]\n"
    "                             [--uneven yes]\n"
    "\n"
    "  --sizes N,..    KiB of the arrays, all processes together (default 64,1024,16384,262144)\n"
    "  --rounds N      timed rounds (default 5; three times as many up to 1 MiB)\n"
    "  --uneven yes    problems whose extents no number of processes divides, and even neighbours\n"
    "  --only WORDS    problems whose names hold these words\n"
    "  --ways NAME;..  only these contenders, beside the copy limit (default all)\n"
    "  --offsets N,..  a caller's buffers once more, so many bytes beyond a page (default none)\n"
    "  --output FILE   the results as JSON\n"
    "  --falsify NAME  change an element of what this contender brought: it must be found\n";

std::vector<Size> sizes_of(const std::string& text) {
  std::vector<Size> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(std::stoll(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Size> sizes = sizes_of("64,1024,16384,262144");
  int rounds = 5;
  std::string only;
  std::string path;
  Measuring how;
  bool uneven = false;
  bench::begin(argc, argv, usage,
               {{"--sizes", [&](const std::string& value) { sizes = sizes_of(value); }},
                {"--rounds", into(rounds)},
                {"--only", into(only)},
                {"--ways", [&](const std::string& value) { how.ways = names_of(value); }},
                {"--offsets", [&](const std::string& value) { how.offsets = sizes_of(value); }},
                {"--output", into(path)},
                {"--uneven", [&](const std::string& value) { uneven = value == "yes"; }},
                {"--falsify", into(how.falsified)}});
  Json results{{"schema", "retile.execution_run/1"},
               {"processes", processes},
               {"rounds", rounds},
               {"machine", copy_bench::machine()},
               {"memory", "std::vector"},
               {"mpi", bench::mpi_version()}};
  results["fftw"] = Fftw::available() ? execution_bench::fftw_version() : "not built in";
  results["scalapack"] = Scalapack::available() ? "built in" : "not built in";
  results["problems"] = Json::array();
  for (const Size kib : sizes) {
    const Size bytes = kib << 10;
    const int timed = bytes <= small_bytes ? rounds * rounds_of_small : rounds;
    const auto all = uneven ? execution_bench::uneven_problems(processes, bytes)
                            : execution_bench::problems(processes, bytes);
    for (const Problem& problem : all) {
      if (problem.name.find(only) == std::string::npos) continue;
      Json result = measure(problem, timed, how);
      result["kib"] = kib;
      if (process == 0) print(result);
      results["problems"].push_back(std::move(result));
    }
  }
  bench::end(results, path);
  return 0;
}
