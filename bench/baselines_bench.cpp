// How good are plans? Against other ways (baselines.h) and against plans without over-partitioning,
// on random problems drawn as in the paper's evaluation (Sec. 8). Ends with 1 if any other way is
// cheaper.
//
//   baselines_bench [--problems N] [--seed S] [--output FILE.json]
//
// A way that is over the bound has more room than a plan, and is counted as cheaper all the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "baselines.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "support/random_problems.h"

namespace {

using Json = nlohmann::ordered_json;
using baselines::Outcome;
using retile::Mesh;
using retile::Plan;
using retile::Problem;
using retile::Size;

struct Tally {
  Size problems = 0;
  Size worse = 0;
  Size cheaper = 0;
  Size over_bound = 0;
  Size from_nothing = 0;  // costs something where the optimum is 0
  double ratio_sum = 0;   // over those that are worse and where the optimum is not 0
  double most_ratio = 1;
  double most_height = 1;  // over the bound
  Size steps = 0;
  Size plan_steps = 0;
  std::string worst;

  void add(const Outcome& way, const Plan& plan, const std::string& text) {
    ++problems;
    steps += way.steps;
    plan_steps += static_cast<Size>(plan.steps.size());
    cheaper += way.cost < plan.cost ? 1 : 0;
    const double height = static_cast<double>(way.height) / static_cast<double>(plan.bound);
    over_bound += way.height > plan.bound ? 1 : 0;
    most_height = std::max(most_height, height);
    if (way.cost <= plan.cost) return;
    ++worse;
    if (plan.cost == 0) {
      ++from_nothing;
      return;
    }
    const double ratio = static_cast<double>(way.cost) / static_cast<double>(plan.cost);
    ratio_sum += ratio;
    if (ratio > most_ratio) {
      most_ratio = ratio;
      worst = text;
    }
  }
  [[nodiscard]] Json json(const std::string& name) const {
    const Size counted = worse - from_nothing;
    return {{"way", name},
            {"problems", problems},
            {"worse", worse},
            {"cheaper", cheaper},
            {"costs_something_where_the_optimum_is_0", from_nothing},
            {"mean_ratio_where_worse", counted == 0 ? 1 : ratio_sum / static_cast<double>(counted)},
            {"most_ratio", most_ratio},
            {"over_bound", over_bound},
            {"most_height_over_bound", most_height},
            {"mean_steps",
             static_cast<double>(steps) / static_cast<double>(std::max<Size>(1, problems))},
            {"mean_steps_of_the_plan",
             static_cast<double>(plan_steps) / static_cast<double>(std::max<Size>(1, problems))},
            {"worst", worst}};
  }
};

/// Valleys below the smaller end.
struct OverPartitioning {
  Size used = 0;       // by the plan
  Size mandatory = 0;  // every plan has it: the ends' tiles do not divide each other
  Size pays = 0;       // the plan is cheaper than any with the largest possible valley
  double ratio_sum = 0;
  double most_ratio = 1;
  std::string most;
};

Json run(const std::string& mesh_text, Size problems, std::uint64_t seed, bool& cheaper) {
  support::Random random(seed);
  const Mesh mesh = retile::parse_mesh(mesh_text).value();
  const std::vector<std::string> names = {"paper, ties at random", "gather everything, then slice",
                                          "axis by axis, greedily",
                                          "shortest path, one axis per step"};
  std::vector<Tally> tallies(names.size());
  OverPartitioning over;
  Size optimal = 0;
  Size permuted = 0;
  for (Size k = 0; k < problems; ++k) {
    const Problem problem = support::draw_problem(random, mesh);
    const Plan plan = retile::plan(problem).value();
    const std::string text = "'" + problem.spelling->from + "' '" + problem.spelling->to + "'";
    optimal += plan.optimal ? 1 : 0;
    permuted += static_cast<Size>(plan.permutes());
    tallies[0].add(baselines::paper_planner<std::uint64_t>(problem, plan, random), plan, text);
    tallies[1].add(baselines::gather_then_slice(problem), plan, text);
    if (const auto way = baselines::axis_by_axis(problem)) tallies[2].add(*way, plan, text);
    tallies[3].add(baselines::one_axis_shortest_path(problem, {}), plan, text);

    const Plan shallow = retile::plan(problem, {.over_partition = false}).value();
    const Size smaller = std::min(problem.from.tile_size(), problem.to.tile_size());
    over.used += plan.valley < smaller ? 1 : 0;
    over.mandatory += shallow.valley < smaller ? 1 : 0;
    if (shallow.cost > plan.cost) {
      ++over.pays;
      const double ratio = static_cast<double>(shallow.cost) / static_cast<double>(plan.cost);
      over.ratio_sum += ratio;
      if (ratio > over.most_ratio) {
        over.most_ratio = ratio;
        over.most = text;
      }
    }
    if (shallow.cost < plan.cost) cheaper = true;
  }
  Json out{
      {"mesh", mesh_text}, {"problems", problems}, {"optimal", optimal}, {"permuted", permuted}};
  out["ways"] = Json::array();
  fmt::print("{}: {} problems, {} plans proved optimal, {} with a permutation\n", mesh_text,
             problems, optimal, permuted);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const Json row = tallies[k].json(names[k]);
    out["ways"].push_back(row);
    fmt::print(
        "  {:34} of {:6}: worse {:6}, cheaper {}, mean {:.2f}, at most {:.2f}; over the bound "
        "{:6}, at most {:.0f} times; steps {:.2f} ({:.2f})\n",
        names[k], tallies[k].problems, tallies[k].worse, tallies[k].cheaper,
        row["mean_ratio_where_worse"].get<double>(), tallies[k].most_ratio, tallies[k].over_bound,
        tallies[k].most_height, row["mean_steps"].get<double>(),
        row["mean_steps_of_the_plan"].get<double>());
    if (tallies[k].cheaper > 0) cheaper = true;
  }
  const double mean = over.pays == 0 ? 1 : over.ratio_sum / static_cast<double>(over.pays);
  out["over_partitioning"] = {{"used", over.used},
                              {"mandatory", over.mandatory},
                              {"pays", over.pays},
                              {"mean_ratio_where_it_pays", mean},
                              {"most_ratio", over.most_ratio},
                              {"most", over.most}};
  fmt::print(
      "  over-partitioning: used {}, mandatory {}, pays {}: mean {:.2f}, at most {:.2f} times\n",
      over.used, over.mandatory, over.pays, mean, over.most_ratio);
  std::fflush(stdout);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Size problems = 20000;
  std::uint64_t seed = 1;
  std::string output;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string key = argv[k];
    if (key == "--problems") problems = std::atoi(argv[k + 1]);
    if (key == "--seed") seed = std::strtoull(argv[k + 1], nullptr, 10);
    if (key == "--output") output = argv[k + 1];
  }
  Json result{{"schema", "retile.bench.baselines/1"}, {"compiler", __VERSION__}, {"seed", seed}};
  result["meshes"] = Json::array();
  bool cheaper = false;
  for (const char* mesh :
       {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:8,y:4,z:4", "x:6,y:4,z:5", "x:16,y:8,z:8"}) {
    result["meshes"].push_back(run(mesh, problems, seed, cheaper));
  }
  if (!output.empty()) std::ofstream(output) << result.dump() << "\n";
  return cheaper ? 1 : 0;
}
