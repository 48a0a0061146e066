// The planner against the truth where steps go along several dimensions, too: OPT by exhaustive search
// over tile maps with all of these (spec/search/along_dims.h), for every pair of types on small meshes.
//
// What a plan promises is asserted in the scope that it names: its cost is not below OPT, its lower
// bound is one, and where it says optimal it is. Every tenth Program is checked, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

#include "every_pair.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"

namespace retile::over_dims_optimum_test {
namespace {

using every_pair::Claim;
using every_pair::for_each_pair;
using every_pair::refutation;
using every_pair::Row;

const PlanOptions several_dims{.steps = Scope::several_dims};

bool cut_in_two(const Layout& end) {
  return std::count_if(end.cuts().begin(), end.cuts().end(),
                       [](const Cuts& cuts) { return cuts.count() > 1; }) > 1;
}

/// What a plan says of all steps. An optimum among those along one dimension is no claim about others.
Claim claim_of(const Plan& made) {
  if (made.scope == Scope::one_dim) return {made.cost, 0, false};
  return {made.cost, made.lower_bound, made.optimal};
}

struct Tally {
  Size pairs = 0, in_two = 0, merged = 0, optimum = 0, optimal = 0, one_dim = 0, lowered = 0;
  std::string above;  // the first that is

  void add(const Problem& problem, const Plan& made, const std::string& text, Size least) {
    ++pairs;
    in_two += cut_in_two(problem.from) || cut_in_two(problem.to) ? 1 : 0;
    merged += std::any_of(made.steps.begin(), made.steps.end(),
                          [](const PlanStep& step) { return !step.parts.empty(); })
                  ? 1
                  : 0;
    optimum += made.cost == least ? 1 : 0;
    optimal += made.optimal && made.scope == Scope::several_dims ? 1 : 0;
    one_dim += made.scope == Scope::one_dim ? 1 : 0;
    if (made.cost > least && above.empty()) {
      above = text + " costs " + std::to_string(made.cost) + ", the optimum is " +
              std::to_string(least);
    }
  }
};

class EveryPairOverDims : public ::testing::TestWithParam<Row> {};

TEST_P(EveryPairOverDims, no_plan_claims_too_much) {
  Tally tally;
  for_each_pair(GetParam(), true, [&](const Problem& problem, const std::string& text, Size least) {
    if (HasFailure()) return;
    const auto made = plan(problem, several_dims);
    ASSERT_TRUE(made.has_value()) << render(made.error());
    const std::string why = refutation(claim_of(*made), least);
    EXPECT_TRUE(why.empty()) << why << ": " << text << ", cost " << made->cost << ", lower bound "
                             << made->lower_bound << " of " << scope_name(made->scope)
                             << ", optimum " << least;
    tally.add(problem, *made, text, least);
    if (tally.pairs % 10 != 0) return;
    const Program program = lower(*made);
    const Verdict verdict = check(program);
    EXPECT_EQ(verdict.answer, Answer::right) << text;
    EXPECT_EQ(verdict.cost, made->cost) << text;
    EXPECT_EQ(verdict.height, made->height) << text;
    ++tally.lowered;
  });
  std::cout << "mesh " << ::testing::PrintToString(GetParam()) << ": " << tally.pairs << " pairs, "
            << tally.in_two << " cut in two dimensions or more; " << tally.merged
            << " plans with steps along several; " << tally.optimum << " at the optimum, "
            << tally.optimal << " called optimal among all steps, " << tally.one_dim
            << " among those along one dimension alone; " << tally.lowered << " Programs right\n"
            << (tally.above.empty() ? "" : "  first above: " + tally.above + "\n");
  EXPECT_GT(tally.pairs, 1000);
  EXPECT_GT(tally.merged, 0);
  // On meshes of one prime all are decided.
  if (tally.one_dim == 0) {
    EXPECT_EQ(tally.optimum, tally.pairs) << tally.above;
  }
}

#ifdef RETILE_SLOW_TESTS
INSTANTIATE_TEST_SUITE_P(
    Large, EveryPairOverDims,
    ::testing::Values(Row{"a:2,b:2,c:2", {1, 2, 4, 8}, 3}, Row{"a:2,b:3", {2, 4, 6, 9, 12}, 3},
                      Row{"a:2,b:2,c:3", {1, 2, 3, 4, 6, 12}, 2}, Row{"a:2,b:2,c:3", {2, 6, 12}, 3},
                      Row{"a:3,b:3", {1, 3, 6, 9}, 3}, Row{"a:4,b:2", {2, 4, 6, 8}, 3}));
#else
INSTANTIATE_TEST_SUITE_P(Small, EveryPairOverDims,
                         ::testing::Values(Row{"a:2,b:2", {1, 2, 4}, 3},
                                           Row{"a:2,b:3", {1, 2, 3, 6}, 3},
                                           Row{"a:2,b:2,c:2", {2, 4, 8}, 2},
                                           Row{"a:2,b:2,c:3", {2, 6, 12}, 2}));

/// Control: what was said before there were such steps, that nothing is cheaper than the cheapest steps
/// along one dimension each.
TEST(EveryPairOverDimsControl, the_optimum_along_one_dimension_is_refuted_as_that_of_all) {
  Size false_optima = 0, false_bounds = 0, truths = 0;
  for_each_pair({"a:2,b:2", {1, 2, 4}, 3}, true,
                [&](const Problem& problem, const std::string&, Size least) {
                  const auto made = plan(problem).value();
                  false_optima += refutation({made.cost, 0, true}, least).empty() ? 0 : 1;
                  false_bounds += refutation({made.cost, made.cost, false}, least).empty() ? 0 : 1;
                  truths += refutation({least, least, true}, least).empty() ? 0 : 1;
                });
  std::cout << false_optima << " false optima and " << false_bounds << " false bounds refuted\n";
  EXPECT_GT(false_optima, 100);
  EXPECT_EQ(false_bounds, false_optima);
  EXPECT_EQ(truths, 0);
}

/// The smallest known: 20 along one dimension each, 16 at once.
TEST(EveryPairOverDimsControl, unsharding_a_matrix_cut_both_ways_takes_one_step) {
  const Mesh mesh = parse_mesh("x:2,y:2").value();
  const auto problem = make_problem(mesh, parse_type("[2{x}4, 2{y}4]", mesh).value(),
                                    parse_type("[4, 4]", mesh).value())
                           .value();
  const auto all = plan(problem, several_dims).value();
  EXPECT_EQ(all.cost, 16);
  EXPECT_TRUE(all.optimal);
  EXPECT_EQ(all.scope, Scope::several_dims);
  ASSERT_EQ(all.steps.size(), 1U);
  EXPECT_EQ(step_name(all.steps[0]), "allgather_dims");
  const auto single = plan(problem).value();
  EXPECT_EQ(single.cost, 20);
  EXPECT_TRUE(single.optimal);
  EXPECT_EQ(single.scope, Scope::one_dim);
}

TEST(EveryPairOverDimsControl, one_gather_does_not_hold_the_tile_between) {
  const Mesh mesh = parse_mesh("x:2,y:2").value();
  const auto problem = make_problem(mesh, parse_type("[1{x}2, 1{y}2]", mesh).value(),
                                    parse_type("[2, 2]", mesh).value())
                           .value();
  EXPECT_EQ(smallest_feasible_bytes(problem, 1), 6);
  EXPECT_EQ(smallest_feasible_bytes(problem, 1, false, Scope::several_dims), 5);
  const PlanOptions tight{
      .element_bytes = 1, .memory_limit_bytes = 5, .steps = Scope::several_dims};
  EXPECT_EQ(plan(problem, tight)->cost, 4);
  EXPECT_EQ(plan(problem, {.element_bytes = 1, .memory_limit_bytes = 5}).error().code,
            Code::infeasible);
}
#endif

}  // namespace
}  // namespace retile::over_dims_optimum_test
