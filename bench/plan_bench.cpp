// How long does planning take? Random problems drawn as in the paper's evaluation (Sec. 8): every
// mesh axis independently replicated or put on a dimension, for source and for target.
//
//   plan_bench [problems per mesh] [seed]
//
// One line per mesh and array: the median, the 99th percentile and the largest processor time of
// one call of `plan`, how many plans are proved optimal, how many have a permutation, and the most
// weak types looked at. A calibration loop says how fast the machine is.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "retile/core/notation.h"
#include "retile/plan/plan.h"

namespace {

using retile::Axis;
using retile::DistDim;
using retile::DistType;
using retile::Mesh;
using retile::Shape;
using retile::Size;

using Random = std::mt19937_64;

/// A number in [low, high], the same on every platform.
Size draw(Random& random, Size low, Size high) {
  return low + static_cast<Size>(random() % static_cast<std::uint64_t>(high - low + 1));
}

DistType draw_type(Random& random, const Mesh& mesh, const Shape& global, bool replicate) {
  std::vector<DistDim> dims;
  for (const Size extent : global) dims.push_back({extent, {}, extent});
  std::vector<Axis> axes = mesh.axes();
  for (std::size_t k = axes.size(); k-- > 1;) {
    std::swap(axes[k], axes[static_cast<std::size_t>(draw(random, 0, static_cast<Size>(k)))]);
  }
  for (const Axis& axis : axes) {
    const Size last = static_cast<Size>(dims.size()) - (replicate ? 0 : 1);
    const auto dim = static_cast<std::size_t>(draw(random, 0, last));
    if (dim == dims.size() || dims[dim].tile % axis.size != 0) continue;
    dims[dim].axes.insert(dims[dim].axes.begin(), axis.name);
    dims[dim].tile /= axis.size;
  }
  return DistType::make(mesh, dims).value();
}

struct Case {
  std::string name;
  std::string mesh;
  std::vector<Shape> shapes;  // taken in turn; empty: drawn as in Sec. 8
  bool replicate = true;
};

Shape draw_shape(Random& random, const Mesh& mesh) {
  // Multiples of the devices where 800 MB of 4-byte elements leave room, else of some axes.
  while (true) {
    const auto rank = static_cast<std::size_t>(draw(random, 1, 6));
    Shape global(rank, 1);
    Size bytes = 4;
    for (const Axis& axis : mesh.axes()) {
      for (Size& extent : global) {
        if (bytes <= 800'000'000 / axis.size && draw(random, 0, 3) > 0) {
          extent *= axis.size;
          bytes *= axis.size;
        }
      }
    }
    for (Size& extent : global) {
      const Size most = std::min<Size>(64, 800'000'000 / bytes);
      const Size factor = draw(random, 1, std::max<Size>(most, 1));
      extent *= factor;
      bytes *= factor;
    }
    if (bytes >= 64'000'000 && bytes <= 800'000'000) return global;
  }
}

/// Time of this process's processor, in milliseconds: what others do on the machine does not count.
double now() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Time of a fixed amount of integer work, in milliseconds.
double calibration() {
  const double start = now();
  std::uint64_t x = 1;
  for (int k = 0; k < 100'000'000; ++k) x = x * 6364136223846793005U + 1442695040888963407U;
  const double time = now() - start;
  return x == 0 ? 0 : time;
}

void run(const Case& test, int problems, std::uint64_t seed, const retile::PlanOptions& options) {
  Random random(seed);
  const Mesh mesh = retile::parse_mesh(test.mesh).value();
  std::vector<double> times;
  int optimal = 0;
  int permuted = 0;
  Size states = 0;
  double slowest = 0;
  std::string slowest_pair;
  for (int k = 0; k < problems; ++k) {
    const Shape global = test.shapes.empty()
                             ? draw_shape(random, mesh)
                             : test.shapes[static_cast<std::size_t>(k) % test.shapes.size()];
    const DistType from = draw_type(random, mesh, global, test.replicate);
    const DistType to = draw_type(random, mesh, global, test.replicate);
    const auto problem = retile::Problem::make(mesh, from, to).value();
    const double start = now();
    const auto plan = retile::plan(problem, options);
    const double time = now() - start;
    if (!plan) {
      std::printf("no plan: %s\n", retile::render(plan.error()).c_str());
      continue;
    }
    times.push_back(time);
    optimal += plan->optimal ? 1 : 0;
    permuted += plan->permutes() > 0 ? 1 : 0;
    states = std::max(states, plan->states);
    if (time > slowest) {
      slowest = time;
      slowest_pair = "'" + retile::to_text(from) + "' '" + retile::to_text(to) + "'";
    }
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "%-34s %6zu problems  median %8.3f  p99 %8.3f  max %8.3f ms  optimal %5d  permuted %5d  "
      "states %lld\n",
      test.name.c_str(), times.size(), times[times.size() / 2], times[times.size() * 99 / 100],
      times.back(), optimal, permuted, static_cast<long long>(states));
  if (std::getenv("PLAN_BENCH_SLOWEST") != nullptr) {
    std::printf("    --mesh %s %s\n", test.mesh.c_str(), slowest_pair.c_str());
  }
  std::fflush(stdout);
}

std::string axes(int count, const std::string& size) {
  std::string out;
  for (int k = 0; k < count; ++k) out += (k == 0 ? "a" : ",a") + std::to_string(k) + ":" + size;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const int problems = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::string only = argc > 3 ? argv[3] : "";
  retile::PlanOptions options;
  if (argc > 4 && std::string(argv[4]) == "bytes") options.cost_model = retile::CostModel::bytes;
  std::printf("calibration: %.1f ms for 10^8 steps of a linear congruential generator\n",
              calibration());
  const Size k = 1024;
  std::vector<Case> cases;
  for (const char* mesh :
       {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:8,y:4,z:4", "x:6,y:4,z:5", "x:16,y:8,z:8"}) {
    cases.push_back({std::string("section 8 ") + mesh, mesh, {}, true});
  }
  // Every dimension divisible by the number of devices, beyond 800 MB.
  cases.push_back({"6x4x5, all divisible, rank 6", "x:6,y:4,z:5", {Shape(6, 120)}, true});
  cases.push_back({"16x8x8, all divisible, rank 6", "x:16,y:8,z:8", {Shape(6, k)}, true});
  const Shape rank8(8, 128);
  cases.push_back({"1024 = 2^10, rank 8", axes(10, "2"), {rank8}, true});
  cases.push_back({"1024 = 4^5, rank 8", axes(5, "4"), {rank8}, true});
  cases.push_back({"1024 = 16x8x8, rank 8", "x:16,y:8,z:8", {rank8}, true});
  cases.push_back({"65536 = 2^16, rank 6", axes(16, "2"), {Shape(6, k)}, true});
  cases.push_back({"65536 = 16^4, rank 6", axes(4, "16"), {Shape(6, k)}, true});
  cases.push_back({"65536 = 256x256, rank 6", axes(2, "256"), {Shape(6, k)}, true});
  cases.push_back({"65536 = 2^16, rank 8", axes(16, "2"), {rank8}, true});
  cases.push_back({"65536 = 4^8, rank 8", axes(8, "4"), {rank8}, true});
  cases.push_back({"65536 = 16^4, rank 8", axes(4, "16"), {rank8}, true});
  cases.push_back({"65536 = 2^16, rank 8, no replicas", axes(16, "2"), {rank8}, false});
  const Size m = 107520;
  cases.push_back({"2^10*3*5*7, rank 4",
                   "a:32,b:32,c:3,d:5,e:7",
                   {{m, m, m, 105}, {m, m, 4 * k, 4 * k}},
                   true});
  cases.push_back({"2^10*3*5*7 in small axes, rank 4",
                   axes(10, "2") + ",c:3,d:5,e:7",
                   {{m, m, m, 105}, {m, m, 4 * k, 4 * k}, {16 * 105, 16 * 105, 16 * 105, 16 * 105}},
                   true});
  cases.push_back({"2^10*3*5*7 in 3 axes, rank 4",
                   "a:48,b:80,c:28",
                   {{m, m, m, 105}, {m, m, 4 * k, 4 * k}},
                   true});
  cases.push_back({"2^20 = 2^20, rank 4", axes(20, "2"), {Shape(4, 32 * k)}, true});
  cases.push_back({"2^20 = 32^4, rank 4", axes(4, "32"), {Shape(4, 32 * k)}, true});
  for (const Case& test : cases) {
    if (test.name.find(only) != std::string::npos) run(test, problems, seed, options);
  }
  return 0;
}
