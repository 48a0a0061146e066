// A short attack on `optimal`, the same that `retile-optimum` makes at length, and its controls.
#include "plan/optimum/attack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

namespace retile::attack_test {
namespace {

using optimum::Control;
using optimum::Decided;

std::uint64_t number(const optimum::Counts& counts, Decided decided) {
  return counts.decided[static_cast<std::size_t>(decided)];
}

optimum::Counts attack(std::uint64_t problems, Control control, std::uint64_t seed = 1) {
  optimum::Attack attack({.problems = problems,
                          .seed = seed,
                          .near = 20,
                          .known = RETILE_UNDECIDED,
                          .control = control,
                          .log = control == Control::none ? &std::cout : nullptr});
  attack.run();
  const optimum::Counts& counts = attack.counts();
  for (std::size_t k = 0; k < counts.decided.size(); ++k) {
    std::cout << optimum::decided_names[k] << ' ' << counts.decided[k] << ", ";
  }
  std::cout << counts.certified << " certificates accepted, " << counts.contradictions
            << " contradictions\n";
  return counts;
}

TEST(Attack, nothing_contradicts_what_the_planner_says) {
  const optimum::Counts counts = attack(2000, Control::none);
  EXPECT_EQ(counts.contradictions, 0U);
  EXPECT_GT(number(counts, Decided::brute_force), 50U);
  EXPECT_GT(number(counts, Decided::counting), 150U);
  EXPECT_GT(number(counts, Decided::certificate), 1200U);
  EXPECT_GT(number(counts, Decided::undecided), 5U);
  EXPECT_LT(number(counts, Decided::open), 20U);
  EXPECT_GT(counts.replayed, 5U);
}

TEST(Attack, a_seed_says_what_is_drawn) {
  const optimum::Counts one = attack(200, Control::none, 3);
  EXPECT_EQ(one.decided, attack(200, Control::none, 3).decided);
  EXPECT_NE(one.ranks, attack(200, Control::none, 4).ranks);
}

/// W in elements a device receives, by Dijkstra over all localtypes; no bound and no normal forms.
Size weak_cost_received(const Problem& problem) {
  const Size devices = problem.from.devices();
  const spec::Sizes g(problem.from.global().begin(), problem.from.global().end());
  const spec::Sizes end(problem.to.tile().begin(), problem.to.tile().end());
  std::set<std::pair<Size, spec::Sizes>> open{
      {0, {problem.from.tile().begin(), problem.from.tile().end()}}};
  std::set<spec::Sizes> settled;
  while (true) {
    const auto [cost, c] = *open.begin();
    open.erase(open.begin());
    if (c == end) return cost;
    if (!settled.insert(c).second) continue;
    const Size tile = spec::size_of(c);
    for (const spec::WeakCollective& p : spec::weak_steps(devices, g, c)) {
      const Size price = p.p == spec::Op::dynslice    ? 0
                         : p.p == spec::Op::allgather ? tile * (p.n - 1)
                                                      : tile - tile / p.n;
      open.emplace(cost + price, *spec::weak_step(devices, g, p, c));
    }
  }
}

/// In bytes several gathers cost what one costs, so that they may serve several dimensions.
TEST(WeakCost, in_bytes_is_the_least_of_all_weak_sequences) {
  support::Random random(7);
  Size several = 0;
  for (int k = 0; k < 1000; ++k) {
    const Problem problem = optimum::draw_moving(random, optimum::small_source());
    const Plan made = plan(problem, {.cost_model = CostModel::bytes, .element_bytes = 1}).value();
    ASSERT_EQ(made.weak_cost, weak_cost_received(problem))
        << to_text(problem.spelling->mesh) << " " << problem.spelling->from << " "
        << problem.spelling->to;
    several +=
        std::count_if(made.steps.begin(), made.steps.end(),
                      [](const PlanStep& step) { return step.op == Collective::allgather; }) > 1
            ? 1
            : 0;
  }
  std::cout << several << " of 1000 plans with several gathers\n";
  EXPECT_GT(several, 60);
}

/// Without valleys below the largest one that the ends allow, a plan can cost more than OPT. The
/// lower bound is about all sequences, those valleys included.
TEST(LowerBound, holds_for_valleys_that_the_plan_may_not_have) {
  const Problem problem =
      parse_problem("x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]").value();
  const optimum::Ends ends = optimum::ends_of(problem);
  const Size optimum = optimum::ByCounting(ends.from, ends.to, Size{1} << 24).optimum().value();
  EXPECT_EQ(plan(problem).value().cost, optimum);
  const Plan made = plan(problem, {.over_partition = false}).value();
  EXPECT_GT(made.cost, optimum);
  EXPECT_LE(made.lower_bound, optimum);
  EXPECT_FALSE(made.optimal);
}

// Controls: a planner that says too much of one kind is found.

TEST(AttackControl, a_planner_that_calls_all_plans_optimal_is_found) {
  EXPECT_GT(attack(1500, Control::optimal).contradictions, 0U);
}
TEST(AttackControl, a_lower_bound_above_the_optimum_is_found) {
  EXPECT_GT(attack(100, Control::bound).contradictions, 5U);
}
TEST(AttackControl, a_cost_below_the_optimum_is_found) {
  EXPECT_GT(attack(100, Control::cost).contradictions, 5U);
}
TEST(AttackControl, a_certificate_of_more_than_is_true_is_found) {
  EXPECT_GT(attack(100, Control::certificate).contradictions, 50U);
}

/// Every line that `contradiction` can say, by the claim that it is for; and a claim that is true.
TEST(Contradiction, finds_each_false_claim) {
  const optimum::Claim right{10, 10, 8, true};
  const optimum::Claim modest{12, 8, 8, false};
  const optimum::Known ten{.searched = 10, .counted = 10, .certified = true};
  EXPECT_EQ(contradiction(right, ten), "");
  EXPECT_EQ(contradiction(modest, ten), "");
  EXPECT_EQ(contradiction(modest, {}), "");
  EXPECT_NE(contradiction({10, 10, 8, false}, ten), "");
  EXPECT_NE(contradiction({10, 9, 8, false}, ten), "");
  EXPECT_NE(contradiction({12, 12, 8, true}, ten), "");
  EXPECT_NE(contradiction({12, 11, 8, false}, ten), "");
  EXPECT_NE(contradiction({12, 8, 11, false}, ten), "");
  EXPECT_NE(contradiction({9, 8, 8, false}, ten), "");
  EXPECT_NE(contradiction(right, {.searched = 10, .counted = 9}), "");
  EXPECT_NE(contradiction(right, {.certified = false}), "");
  EXPECT_NE(contradiction(right, {.replayed = 0}), "");
  EXPECT_EQ(contradiction(right, {.replayed = 10}), "");
}

}  // namespace
}  // namespace retile::attack_test
