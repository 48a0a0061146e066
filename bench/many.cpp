// What moving the parameters of a model between two groups of processes takes, as `retile run --many` does it,
// beside one call for each tensor, of Redistributor::run() and of MPI_Alltoallw, in one run on real MPI
// processes: mpirun -n P many [options]. Every element of every tensor is compared first.
//
// The first processes of the job hold the tensors as FSDP2 and tensor parallelism leave them, and the others get
// them cut by tensor parallelism alone.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "execution_peers.h"
#include "figures.h"
#include "machine.h"
#include "processes.h"
#include "retile/core/device_numbers.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/many/stack.h"
#include "retile/notation/sharding.h"

namespace {

using bench::give_up;
using bench::into;
using bench::median;
using bench::process;
using bench::processes;
using bench::succeed;
using bench::time_of_all;
using bench::value_of;
using execution_bench::MpiTypes;
using retile::Exchange;
using retile::Program;
using retile::Shape;
using retile::Size;
using retile::mpi::Redistributor;
using Json = nlohmann::ordered_json;

constexpr Size element_bytes = 4;

/// So many tensors of a shape, cut by tensor parallelism along a dimension, or along none.
struct Parameters {
  Size count;
  Shape shape;
  int dim;
};

/// Those of a model like Llama 3 in 22 layers; at scale 1 they have 2 GiB.
std::vector<Parameters> parameters(Size scale) {
  const Size layers = 22;
  const Size width = 1536 / scale;
  const Size hidden = 3712 / scale / 2 * 2;
  const Size words = 16384 / scale;
  return {{2, {words, width}, 0},           {layers, {width, width}, 0},
          {layers, {width, width}, 1},      {2 * layers, {width / 4, width}, 0},
          {2 * layers, {hidden, width}, 0}, {layers, {width, hidden}, 1},
          {2 * layers + 1, {width}, -1}};
}

retile::PlacedMesh mesh(Size rows, Size columns, Size first) {
  std::string text = "DeviceMesh('cpu', [";
  for (Size i = 0; i < rows; ++i) {
    text += i > 0 ? ", [" : "[";
    for (Size j = 0; j < columns; ++j) {
      text += (j > 0 ? ", " : "") + std::to_string(first + i * columns + j);
    }
    text += "]";
  }
  return value_of(retile::parse_any_mesh(text + "])"));
}

/// One kind of tensors and the ways to move them.
struct Kind {
  Size count;
  Program one = {};                          ///< a tensor
  Program all = {};                          ///< all of them as one
  std::vector<std::byte> in = {}, out = {};  ///< their tiles, one behind the other
  std::unique_ptr<MpiTypes> types = {};
  std::unique_ptr<Redistributor> each = {}, stacked = {};

  [[nodiscard]] std::span<const std::byte> old_tile(Size n) const {
    const std::size_t bytes = in.size() / static_cast<std::size_t>(count);
    return std::span(in).subspan(static_cast<std::size_t>(n) * bytes, bytes);
  }
  [[nodiscard]] std::span<std::byte> new_tile(Size n) {
    const std::size_t bytes = out.size() / static_cast<std::size_t>(count);
    return std::span(out).subspan(static_cast<std::size_t>(n) * bytes, bytes);
  }
};

Kind made(const Parameters& given, Size rows, Size columns) {
  const Size first = rows * columns;
  const std::string tp = std::to_string(columns);
  const std::string from = given.dim == 0   ? "(_StridedShard(dim=0, sf=" + tp + "), Shard(0))"
                           : given.dim == 1 ? "(Shard(0), Shard(1))"
                                            : "(Shard(0), Replicate())";
  const std::string to = given.dim < 0 ? "(Replicate(), Replicate())"
                                       : "(Replicate(), Shard(" + std::to_string(given.dim) + "))";
  const retile::ProblemText text{.mesh = mesh(rows, columns, 0),
                                 .mesh_to = mesh(1, processes - first, first),
                                 .shape = given.shape,
                                 .from = from,
                                 .to = to};
  const auto problem = value_of(parse_problem(text), from);
  Kind out{.count = given.count};
  out.one = value_of(retile::direct(problem));
  out.all = value_of(retile::direct(value_of(
      retile::many::stacked(problem, given.count, retile::from_zero(processes), processes))));
  out.in.resize(static_cast<std::size_t>(out.all.from.tile_size(process) * element_bytes));
  out.out.resize(static_cast<std::size_t>(out.all.to.tile_size(process) * element_bytes));
  fill_pattern(out.all.from, process, element_bytes, out.in);
  out.types = std::make_unique<MpiTypes>(std::get<Exchange>(out.one.steps.front().op),
                                         out.one.from.tile(process), out.one.to.tile(process));
  out.each = std::make_unique<Redistributor>(
      value_of(Redistributor::make(MPI_COMM_WORLD, out.one, element_bytes)));
  out.stacked = std::make_unique<Redistributor>(
      value_of(Redistributor::make(MPI_COMM_WORLD, out.all, element_bytes, {.own_buffers = true})));
  const auto own = out.stacked->input();
  fill_pattern(out.all.from, process, element_bytes, own);
  return out;
}

struct Contender {
  std::string name;
  std::function<void(Kind&)> run;
  bool in_own_tiles = false;
};

std::vector<Contender> contenders() {
  return {{"run --many, a kind at once", [](Kind& kind) { succeed(kind.stacked->run()); }, true},
          {"Redistributor::run(), a tensor at once",
           [](Kind& kind) {
             for (Size n = 0; n < kind.count; ++n) {
               succeed(kind.each->run(kind.old_tile(n), kind.new_tile(n)));
             }
           }},
          {"MPI_Alltoallw, a tensor at once", [](Kind& kind) {
             for (Size n = 0; n < kind.count; ++n) {
               kind.types->alltoallw(kind.old_tile(n).data(), kind.new_tile(n).data());
             }
           }}};
}

void verify(const Contender& contender, std::vector<Kind>& kinds, bool falsified) {
  for (Kind& kind : kinds) {
    const std::span<std::byte> out = contender.in_own_tiles ? kind.stacked->output() : kind.out;
    std::fill(out.begin(), out.end(), std::byte{0});
    contender.run(kind);
    if (falsified && !out.empty()) out[out.size() / 2] ^= std::byte{1};
    if (find_pattern_mismatch(kind.all.to, process, element_bytes, out)) {
      give_up(contender.name + " gives wrong elements");
    }
  }
}

Json measure(Size rows, Size columns, Size scale, int rounds, const std::string& falsified) {
  std::vector<Kind> kinds;
  Size tensors = 0;
  Size bytes = 0;
  for (const Parameters& each : parameters(scale)) {
    kinds.push_back(made(each, rows, columns));
    tensors += each.count;
    bytes += each.count * retile::checked_product(each.shape).value() * element_bytes;
  }
  const std::vector<Contender> all = contenders();
  for (const Contender& contender : all) verify(contender, kinds, contender.name == falsified);
  std::vector<std::vector<double>> seconds(all.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      seconds[k].push_back(time_of_all([&] {
        for (Kind& kind : kinds) all[k].run(kind);
      }));
    }
  }
  Json result{{"from", std::to_string(rows) + "x" + std::to_string(columns)},
              {"to", "1x" + std::to_string(processes - rows * columns)},
              {"tensors", tensors},
              {"bytes", bytes}};
  for (std::size_t k = 0; k < all.size(); ++k) {
    result["contenders"].push_back(
        {{"name", all[k].name}, {"verified", true}, {"seconds", seconds[k]}});
    if (process != 0) continue;
    std::printf(
        "%lld to %lld processes, %lld tensors, %5.2f GiB  %-40s %8.3f s, %5.2f of MPI_Alltoallw\n",
        static_cast<long long>(rows * columns), static_cast<long long>(processes - rows * columns),
        static_cast<long long>(tensors), static_cast<double>(bytes) / (1 << 30),
        all[k].name.c_str(), median(seconds[k]), median(seconds[k]) / median(seconds[2]));
  }
  return result;
}

constexpr const char* usage =
    "usage: mpirun -n P many [--from RxC] [--scale N] [--rounds N] [--output FILE] [--falsify "
    "NAME]\n"
    "\n"
    "  --from RxC      the mesh of the first processes, dp x tp (default 2x2); the others get the "
    "tensors\n"
    "  --scale N       a part of the extents, for a smaller model (default 1)\n"
    "  --rounds N      timed rounds (default 5)\n"
    "  --output FILE   the results as JSON\n"
    "  --falsify NAME  change an element of what this contender brought: it must be found\n";

}  // namespace

int main(int argc, char** argv) {
  std::string from = "2x2";
  std::string path;
  std::string falsified;
  int rounds = 5;
  Size scale = 1;
  bench::begin(argc, argv, usage,
               {{"--from", into(from)},
                {"--scale", into(scale)},
                {"--rounds", into(rounds)},
                {"--output", into(path)},
                {"--falsify", into(falsified)}});
  const std::size_t cross = std::min(from.find('x'), from.size() - 1);
  Json results{{"schema", "retile.many_run/1"},
               {"processes", processes},
               {"rounds", rounds},
               {"machine", copy_bench::machine()},
               {"mpi", bench::mpi_version()}};
  results["problem"] = measure(std::stoll(from.substr(0, cross)),
                               std::stoll(from.substr(cross + 1)), scale, rounds, falsified);
  bench::end(results, path);
  return 0;
}
