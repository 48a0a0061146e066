// How long the steps of Programs take as MPI collectives, side by side in one run, and how long the
// exchange of the first one's ends: mpirun -n P steps --programs FILE,FILE .. [options].
//
// Every Program first moves every element, and every element is compared. Then in every round each is
// run once. All processes begin at the time that the first one says, so that a barrier over slow
// links is no part of what is timed. scripts/evaluate-network publishes the figures.
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "processes.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/program/forms/text.h"

namespace {

using bench::give_up;
using bench::value_of;
using retile::Program;
using retile::Size;
using retile::mpi::Redistributor;
using retile::mpi::Strategy;
using Json = nlohmann::ordered_json;

constexpr Size element_bytes = 4;
constexpr double until_all_wait = 0.02;  // seconds, more than any link takes to tell them when

const char* const usage =
    "usage: mpirun -n P steps --programs FILE,FILE .. [--runs N] [--output FILE]\n"
    "\n"
    "  --programs FILES  Programs of P devices and with the same ends\n"
    "  --runs N          timed runs of each (default 5)\n"
    "  --output FILE     the seconds as JSON, by file, and of the exchange\n";

Program read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) give_up("cannot read " + path);
  auto programs = value_of(retile::parse_programs(text.str()), path);
  if (programs.size() != 1) give_up(path + ": not one Program");
  return std::move(programs.front());
}

/// One way to bring the data of a Program to its place, with tiles of its own.
class Way {
 public:
  Way(std::string name, const Program& program, Strategy strategy)
      : name_(std::move(name)),
        mover_(value_of(Redistributor::make(MPI_COMM_WORLD, program, element_bytes,
                                            {.strategy = strategy,
                                             .wrong_buffers = retile::mpi::WrongBuffers::end_job}),
                        name_)),
        in_(static_cast<std::size_t>(mover_.in_bytes())),
        out_(static_cast<std::size_t>(mover_.out_bytes())) {
    retile::fill_pattern(program.from, bench::process, element_bytes, in_);
    bench::succeed(mover_.run(in_, out_));
    if (retile::find_pattern_mismatch(program.to, bench::process, element_bytes, out_)) {
      give_up(name_ + ": wrong bytes");
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Collective. From the common beginning to when the last process is through.
  double seconds() {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = bench::seconds_of_node() + until_all_wait;
    MPI_Bcast(&begin, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    std::this_thread::sleep_for(std::chrono::duration<double>(begin - bench::seconds_of_node()));
    bench::succeed(mover_.run(in_, out_));
    double taken = bench::seconds_of_node() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return taken;
  }

 private:
  std::string name_;
  Redistributor mover_;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string files;
  std::string output;
  int runs = 5;
  bench::begin(argc, argv, usage,
               {{"--programs", bench::into(files)},
                {"--runs", bench::into(runs)},
                {"--output", bench::into(output)}});
  std::vector<Way> ways;
  std::istringstream names(files);
  for (std::string name; std::getline(names, name, ',');) {
    const Program program = read(name);
    if (ways.empty()) ways.emplace_back("exchange", program, Strategy::exchange);
    ways.emplace_back(name, program, Strategy::collectives);
  }
  Json results{{"mpi", bench::mpi_version()}, {"processes", bench::processes}};
  for (int round = 0; round < runs; ++round) {
    for (Way& way : ways) results["seconds"][way.name()].push_back(way.seconds());
  }
  ways.clear();  // before MPI ends
  bench::end(results, output);
}
