// Cost models and memory limits against the truth: every pair of types on small meshes, by brute
// force over every tile map (brute_force.h).
//
// Costs in elements (Fig. 11): the plan is the cheapest sequence within the bound (4) and within
// any memory limit, and where there is none the least feasible limit is said. Costs in bytes: the
// lower bound is one; how far the plan is from the optimum is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "brute_force.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "spec/search/search.h"
#include "support/bridge.h"

namespace retile::models_test {
namespace {

using support::BruteForce;
using support::Minimise;

constexpr Size no_limit = Size{1} << 40;

struct Row {
  const char* mesh;
  std::vector<Shape> shapes;
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.mesh; }

std::vector<DistType> all_types(const Mesh& mesh, const Shape& shape) {
  std::vector<DistType> out;
  for (const spec::Type& tau :
       spec::all_types(support::to_spec(mesh), spec::Sizes(shape.begin(), shape.end()))) {
    std::vector<DistDim> dims;
    for (const spec::Dim& dim : tau) dims.push_back({dim.c, {dim.xs.begin(), dim.xs.end()}, dim.s});
    out.push_back(DistType::make(mesh, dims).value());
  }
  return out;
}

/// Brute force from one type, once per bound and limit.
class Truth {
 public:
  explicit Truth(Layout from) : from_(std::move(from)) {}
  std::optional<Size> operator()(Minimise minimise, const Layout& to, Size limit = no_limit) {
    return cost(minimise, to, limit, std::max(from_.tile_size(), to.tile_size()));
  }
  std::optional<Size> above_the_bound(Minimise minimise, const Layout& to, Size limit) {
    return cost(minimise, to, limit, no_limit);
  }

 private:
  std::optional<Size> cost(Minimise minimise, const Layout& to, Size limit, Size bound) {
    const std::tuple key{minimise, bound, limit};
    const auto at = known_.try_emplace(key, from_, minimise, bound, limit).first;
    // Nobody holds an end that is over the limit.
    return to.tile_size() > limit ? std::nullopt : at->second.cost(to);
  }

  Layout from_;
  std::map<std::tuple<Minimise, Size, Size>, BruteForce> known_;
};

class EveryPairAndModel : public ::testing::TestWithParam<Row> {};

TEST_P(EveryPairAndModel, obeys_every_memory_limit_at_the_least_cost) {
  const Mesh mesh = parse_mesh(GetParam().mesh).value();
  Size pairs = 0, asked = 0, infeasible = 0, dearer = 0;
  for (const Shape& shape : GetParam().shapes) {
    const std::vector<DistType> types = all_types(mesh, shape);
    for (const DistType& from : types) {
      Truth truth(make_problem(mesh, from, from).value().from);
      for (const DistType& to : types) {
        const Problem problem = make_problem(mesh, from, to).value();
        const std::string text = to_text(from) + " ~> " + to_text(to);
        const Size least = truth(Minimise::resident, problem.to).value();
        ASSERT_EQ(smallest_feasible_bytes(problem, 4).value(),
                  4 * std::max(least, problem.to.tile_size()))
            << text;
        const Plan free = plan(problem).value();
        ASSERT_EQ(free.cost, truth(Minimise::paper, problem.to).value()) << text;
        ++pairs;
        std::set<Size> limits{least - 1, least};
        for (Size limit = least; limit <= free.resident; limit += std::max<Size>(1, least / 4)) {
          limits.insert(limit);
        }
        limits.insert(free.resident - 1);
        for (const Size limit : limits) {
          const auto got = plan(problem, {.memory_limit_bytes = 4 * limit + 3});
          const auto want = truth(Minimise::paper, problem.to, limit);
          ASSERT_EQ(got.has_value(), want.has_value()) << text << " within " << limit;
          ++asked;
          if (!got) {
            ASSERT_EQ(got.error().code, Code::infeasible);
            ++infeasible;
            continue;
          }
          ASSERT_EQ(got->cost, *want) << text << " within " << limit;
          ASSERT_TRUE(got->optimal);
          ASSERT_LE(got->resident, limit);
          ASSERT_LE(got->height, got->bound);
          dearer += got->cost > free.cost ? 1 : 0;
        }
      }
    }
  }
  std::cout << "mesh " << GetParam().mesh << ": " << pairs << " pairs, " << asked
            << " limits: " << infeasible << " infeasible, " << dearer
            << " cost more than without a limit\n";
  EXPECT_GT(infeasible, 0);
}

/// Sequences whose tiles may be larger than both ends': none is cheaper than the
/// plan, nor needs less memory, whatever the limit. In bytes none is below the lower bound; how
/// many are cheaper than all sequences within the bound is printed.
TEST_P(EveryPairAndModel, no_sequence_above_the_bound_refutes_a_plan) {
  const Mesh mesh = parse_mesh(GetParam().mesh).value();
  const Size devices = mesh.device_count();
  Size asked = 0, infeasible = 0, proved = 0, at_optimum = 0, gained = 0, too_much = 0;
  for (const Shape& shape : GetParam().shapes) {
    const std::vector<DistType> types = all_types(mesh, shape);
    for (const DistType& from : types) {
      Truth truth(make_problem(mesh, from, from).value().from);
      for (const DistType& to : types) {
        const Problem problem = make_problem(mesh, from, to).value();
        const std::string text = to_text(from) + " ~> " + to_text(to);
        const Size least =
            std::max(truth.above_the_bound(Minimise::resident, problem.to, no_limit).value(),
                     problem.to.tile_size());
        ASSERT_EQ(smallest_feasible_bytes(problem, 1).value(), least) << text;
        const Size ends = std::max(problem.from.tile_size(), problem.to.tile_size());
        for (const Size limit :
             {least - 1, least, ends + ends / 2, 2 * ends, 3 * ends, 99 * ends}) {
          PlanOptions options{.element_bytes = 1, .memory_limit_bytes = limit};
          const auto got = plan(problem, options);
          const auto want = truth.above_the_bound(Minimise::paper, problem.to, limit);
          ++asked;
          ASSERT_EQ(got.has_value(), want.has_value()) << text << " within " << limit;
          if (!got) {
            ++infeasible;
            continue;
          }
          ASSERT_EQ(got->cost, *want) << text << " within " << limit;
          ASSERT_TRUE(got->optimal);
          ASSERT_LE(got->resident, limit);
          // Control: W and a permutation, as a lower bound, would be refuted.
          too_much += got->weak_cost + got->valley > *want ? 1 : 0;

          options.cost_model = CostModel::bytes;
          const Plan bytes = plan(problem, options).value();
          const Size optimum = truth.above_the_bound(Minimise::bytes, problem.to, limit).value();
          ASSERT_LE(bytes.lower_bound * devices, optimum) << text << " within " << limit;
          ASSERT_LE(optimum, bytes.cost * devices) << text << " within " << limit;
          ASSERT_EQ(bytes.optimal, bytes.cost == bytes.lower_bound);
          proved += bytes.optimal ? 1 : 0;
          at_optimum += bytes.cost * devices == optimum ? 1 : 0;
          gained += truth(Minimise::bytes, problem.to, limit).value() > optimum ? 1 : 0;
        }
      }
    }
  }
  std::cout << "mesh " << GetParam().mesh << ": " << asked << " limits, " << infeasible
            << " infeasible; in bytes " << at_optimum << " plans at the optimum (" << proved
            << " proved), " << gained << " optima above the bound are cheaper\n";
  EXPECT_GT(infeasible, 0);
  EXPECT_GT(too_much, 0);
}

// Control: brute force without the bound does go above it.
TEST(EveryPairControl, brute_force_without_the_bound_reaches_more_tile_maps) {
  const Problem problem = parse_problem("a:2,b:2", "[2{a}4, 2{b}4]", "[2{b}4, 2{a}4]").value();
  const Size bound = problem.from.tile_size();
  const BruteForce within(problem.from, Minimise::paper, bound, no_limit);
  const BruteForce above(problem.from, Minimise::paper, no_limit, no_limit);
  EXPECT_GT(above.states(), within.states());
}

TEST_P(EveryPairAndModel, lower_bounds_in_bytes_hold) {
  const Mesh mesh = parse_mesh(GetParam().mesh).value();
  const Size devices = mesh.device_count();
  Size pairs = 0, equal = 0, above = 0, proved = 0;
  double worst = 1;
  std::string worst_text;
  for (const Shape& shape : GetParam().shapes) {
    const std::vector<DistType> types = all_types(mesh, shape);
    for (const DistType& from : types) {
      Truth truth(make_problem(mesh, from, from).value().from);
      for (const DistType& to : types) {
        const Problem problem = make_problem(mesh, from, to).value();
        const std::string text = to_text(from) + " ~> " + to_text(to);
        const Plan got =
            plan(problem, {.cost_model = CostModel::bytes, .element_bytes = 1}).value();
        const Size optimum = truth(Minimise::bytes, problem.to).value();
        ASSERT_LE(got.lower_bound * devices, optimum) << text;
        ASSERT_LE(optimum, got.cost * devices) << text;
        ASSERT_EQ(got.optimal, got.cost == got.lower_bound);
        ++pairs;
        proved += got.optimal ? 1 : 0;
        equal += got.cost * devices == optimum ? 1 : 0;
        above += got.cost * devices > optimum ? 1 : 0;
        if (optimum == 0) continue;
        const double ratio = static_cast<double>(got.cost * devices) / static_cast<double>(optimum);
        if (ratio > worst) {
          worst = ratio;
          worst_text = text;
        }
      }
    }
  }
  std::cout << "mesh " << GetParam().mesh << ": " << pairs << " pairs, in bytes " << equal
            << " at the optimum (" << proved << " proved), " << above << " above, at most " << worst
            << " times " << worst_text << "\n";
}

/// S3 is about costs in elements: in bytes a sequence that is no normal form can be cheaper than
/// every normal form with at most one permutation.
TEST(S11, in_bytes_the_cheapest_sequence_need_not_be_a_normal_form) {
  const Problem problem = parse_problem("a:2,b:2", "[4, 3{a}6]", "[1{b,a}4, 6]").value();
  const Plan normal_form =
      plan(problem, {.cost_model = CostModel::bytes, .element_bytes = 1}).value();
  Truth bytes(problem.from);
  const Size optimum = bytes(Minimise::bytes, problem.to).value();
  EXPECT_EQ(2 * normal_form.cost * problem.from.devices(), 3 * optimum);
  EXPECT_FALSE(normal_form.optimal);
  EXPECT_LE(normal_form.lower_bound * problem.from.devices(), optimum);
  // Control: in elements the same normal form is the cheapest.
  EXPECT_TRUE(plan(problem).value().optimal);
}

INSTANTIATE_TEST_SUITE_P(
    Small, EveryPairAndModel,
    ::testing::Values(Row{"a:2,b:2", {{8}, {4, 4}, {4, 6}, {12, 4}, {8, 2}, {2, 4, 2}, {4, 2, 3}}},
                      Row{"a:2,b:3", {{12}, {6, 6}, {2, 18}, {12, 3}}},
                      Row{"a:4", {{8, 4}, {4, 4, 2}}}));

// Control: without allpermutes, or with a bound too low by one, brute force says something else.
TEST(EveryPairControl, a_limit_one_below_the_least_changes_the_answer) {
  const Problem problem = parse_problem("a:2,b:2", "[2{a}4, 2{b}4]", "[2{b}4, 2{a}4]").value();
  const Size bound = problem.from.tile_size();
  EXPECT_EQ(BruteForce(problem.from, Minimise::paper, bound, no_limit).cost(problem.to), 4);
  EXPECT_EQ(BruteForce(problem.from, Minimise::paper, bound, 8).cost(problem.to), 4);
  EXPECT_EQ(BruteForce(problem.from, Minimise::paper, bound, 7).cost(problem.to), std::nullopt);
}

}  // namespace
}  // namespace retile::models_test
