// How much longer does planning between uneven tiles take that are cut alike at both ends, against the even problem over
// the tiles filled up (U1)? Random problems for 65,536 devices. Plans that are one exchange are left out and counted.
//
//     aligned_bench            prints a line for each mesh and rank
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

using Random = std::mt19937_64;

/// The axes that cut each dimension of a type: every axis cuts one.
struct Cutting {
  std::vector<std::string> axes;
  std::vector<long> tiles;
};

Cutting draw(Random& random, std::size_t axes, long size, std::size_t rank) {
  Cutting out{std::vector<std::string>(rank), std::vector<long>(rank, 1)};
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t axis : order) {
    const std::size_t i = random() % rank;
    out.axes[i] += (out.axes[i].empty() ? "" : ",") + std::string(1, static_cast<char>('a' + axis));
    out.tiles[i] *= size;
  }
  return out;
}

/// The type over an array of `global` elements, whose tiles fill `whole` up.
std::string type_of(const Cutting& cutting, const std::vector<long>& whole,
                    const std::vector<long>& global) {
  std::string out;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    out += out.empty() ? "[" : ", ";
    out += cutting.tiles[i] == 1
               ? std::to_string(global[i])
               : fmt::format("{}{{{}}}{}", whole[i] / cutting.tiles[i], cutting.axes[i], global[i]);
  }
  return out + "]";
}

double microseconds(const retile::Problem& problem) {
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = retile::plan(problem);
  const auto end = std::chrono::steady_clock::now();
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Figures {
  double even = 0;  ///< microseconds, summed over the problems
  double aligned = 0;
  std::vector<double> ratios;
  int exchanges = 0;
};

void measure(Figures& figures, Random& random, std::size_t axes, long size, std::size_t rank) {
  std::string mesh;
  for (std::size_t k = 0; k < axes; ++k) {
    mesh += fmt::format("{}{}:{}", k == 0 ? "" : ",", static_cast<char>('a' + k), size);
  }
  const Cutting from = draw(random, axes, size, rank);
  const Cutting to = draw(random, axes, size, rank);
  std::vector<long> whole;
  std::vector<long> less;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool cut = from.tiles[i] > 1 || to.tiles[i] > 1;
    whole.push_back(std::lcm(from.tiles[i], to.tiles[i]) * static_cast<long>(1 + random() % 3));
    less.push_back(whole[i] - (cut ? 1 : 0));
  }
  const auto problem = [&](const std::vector<long>& global) {
    return retile::parse_problem(mesh, type_of(from, whole, global), type_of(to, whole, global))
        .value();
  };
  const retile::Problem even = problem(whole);
  const retile::Problem aligned = problem(less);
  if (retile::plan(aligned).value().exchange) {
    ++figures.exchanges;
    return;
  }
  std::vector<double> a;
  std::vector<double> b;
  for (int round = 0; round < 15; ++round) {
    a.push_back(microseconds(even));
    b.push_back(microseconds(aligned));
  }
  figures.even += median(a);
  figures.aligned += median(b);
  figures.ratios.push_back(median(b) / median(a));
}

}  // namespace

int main() {
  Random random(1);
  Figures all;
  for (const auto& [size, axes] : {std::pair{2L, std::size_t{16}},
                                   {4L, std::size_t{8}},
                                   {16L, std::size_t{4}},
                                   {256L, std::size_t{2}}}) {
    for (const std::size_t rank : {2U, 4U, 6U, 8U}) {
      Figures figures;
      for (int n = 0; n < 100; ++n) measure(figures, random, axes, size, rank);
      const auto count = static_cast<double>(figures.ratios.size());
      fmt::print(
          "{}^{}, rank {}: {} plans, {} exchanges; even {:.1f} us, aligned {:.1f} us: {:.3f}; "
          "median of the "
          "ratios {:.3f}\n",
          size, axes, rank, figures.ratios.size(), figures.exchanges, figures.even / count,
          figures.aligned / count, figures.aligned / figures.even, median(figures.ratios));
      all.even += figures.even;
      all.aligned += figures.aligned;
      all.ratios.insert(all.ratios.end(), figures.ratios.begin(), figures.ratios.end());
    }
  }
  fmt::print("all: {} plans, {:.3f}; median of the ratios {:.3f}\n", all.ratios.size(),
             all.aligned / all.even, median(all.ratios));
}
