// How much longer does planning between uneven tiles take that are cut alike at both ends, against the even problem over
// the tiles filled up (U1)? Random problems for 65,536 devices. Plans that are one exchange are left out and counted.
//
//     aligned_bench            prints a line for each mesh and rank
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "bench/plan_cases.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {

using bench::median;

double microseconds(const retile::Problem& problem) {
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = retile::plan(problem);
  const auto end = std::chrono::steady_clock::now();
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

struct Figures {
  double even = 0;  ///< microseconds, summed over the problems
  double aligned = 0;
  std::vector<double> ratios;
  int exchanges = 0;
};

void measure(Figures& figures, support::Random& random, const std::string& mesh_text,
             std::size_t rank) {
  const bench::Filled filled =
      bench::draw_filled(random, retile::parse_mesh(mesh_text).value(), rank);
  const auto problem = [&](const retile::Shape& global) {
    const bench::Texts texts = filled.texts(mesh_text, global);
    return retile::parse_problem(texts.mesh, texts.from, texts.to).value();
  };
  const retile::Problem even = problem(filled.whole);
  const retile::Problem aligned = problem(bench::one_short(filled));
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
  support::Random random(1);
  Figures all;
  for (const auto& [size, count] :
       {std::pair("2", 16), std::pair("4", 8), std::pair("16", 4), std::pair("256", 2)}) {
    for (const std::size_t rank : {2U, 4U, 6U, 8U}) {
      Figures figures;
      for (int n = 0; n < 100; ++n) measure(figures, random, bench::axes(count, size), rank);
      const auto plans = static_cast<double>(figures.ratios.size());
      fmt::print(
          "{}^{}, rank {}: {} plans, {} exchanges; even {:.1f} us, aligned {:.1f} us: {:.3f}; "
          "median of the "
          "ratios {:.3f}\n",
          size, count, rank, figures.ratios.size(), figures.exchanges, figures.even / plans,
          figures.aligned / plans, figures.aligned / figures.even, median(figures.ratios));
      all.even += figures.even;
      all.aligned += figures.aligned;
      all.ratios.insert(all.ratios.end(), figures.ratios.begin(), figures.ratios.end());
    }
  }
  fmt::print("all: {} plans, {:.3f}; median of the ratios {:.3f}\n", all.ratios.size(),
             all.aligned / all.even, median(all.ratios));
}
