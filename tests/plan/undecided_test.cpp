// Problems that the planner cannot decide: it must not say that their plans are optimal.
//
// Of each some choice of slices leads to the target for less than the plan costs, so `optimal` would
// be false. No digits of the device number say that choice, so the planner cannot follow it. The
// file optimum/undecided.txt has them, with OPT by counting (S4). Here OPT is found again for those
// with few devices, by counting and by brute force over tile maps.
#include "plan/optimum/undecided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "plan/optimum/examine.h"
#include "retile/plan/plan.h"

namespace retile::undecided_test {
namespace {

const std::vector<optimum::Undecided>& lines() {
  static const auto all = optimum::read_undecided(RETILE_UNDECIDED);
  return all;
}

Plan plan_of(const optimum::Undecided& line) { return plan(line.problem()).value(); }

TEST(Undecided, there_are_many_of_many_meshes) {
  Size least = 1 << 20;
  Size below = 0;
  for (const optimum::Undecided& line : lines()) {
    least = std::min(least, line.problem().from.devices());
    below += line.optimum && *line.optimum < line.cost ? 1 : 0;
  }
  std::cout << lines().size() << " problems, " << below << " with OPT below the cost, from "
            << least << " devices on\n";
  EXPECT_GE(lines().size(), 1000U);
  EXPECT_GE(below, static_cast<Size>(lines().size()) * 9 / 10);
  EXPECT_EQ(least, 36);
}

TEST(Undecided, are_not_called_optimal) {
  for (const optimum::Undecided& line : lines()) {
    const Plan made = plan_of(line);
    EXPECT_FALSE(made.optimal) << to_text(line);
    EXPECT_FALSE(made.complete) << to_text(line);
    EXPECT_EQ(made.cost, line.cost) << to_text(line);
    EXPECT_EQ(made.lower_bound, line.lower_bound) << to_text(line);
    EXPECT_EQ(optimum::contradiction(optimum::claim_of(made), {.counted = line.optimum}), "")
        << to_text(line);
  }
}

/// Control: a planner that calls them optimal contradicts what is known of them.
TEST(UndecidedControl, calling_them_optimal_is_refuted) {
  for (const optimum::Undecided& line : lines()) {
    if (!line.optimum) continue;
    const optimum::Claim claim{line.cost, line.cost, line.lower_bound, true};
    EXPECT_NE(optimum::contradiction(claim, {.counted = line.optimum}), "") << to_text(line);
  }
}

TEST(Undecided, cost_more_than_the_optimum_by_counting_and_by_brute_force) {
  Size counted = 0;
  Size searched = 0;
  for (const optimum::Undecided& line : lines()) {
    const Problem problem = line.problem();
    if (problem.from.devices() > 84 || !line.optimum || counted == 60) continue;
    const optimum::Ends ends = optimum::ends_of(problem);
    ASSERT_EQ(optimum::ByCounting(ends.from, ends.to, Size{1} << 24).optimum(), line.optimum)
        << to_text(line);
    EXPECT_LT(*line.optimum, line.cost) << to_text(line);
    ++counted;
    if (problem.from.devices() > 60 || searched == 12) continue;
    EXPECT_EQ(optimum::search(ends, Size{1} << 20), line.optimum) << to_text(line);
    ++searched;
  }
  std::cout << counted << " by counting, " << searched << " by brute force\n";
  EXPECT_GE(counted, 60);
  EXPECT_GE(searched, 12);
}

TEST(Undecided, lower_bounds_are_proved) {
  Size accepted = 0;
  for (const optimum::Undecided& line : lines()) {
    if (line.problem().from.devices() > 210 || accepted == 60) continue;
    const Plan made = plan_of(line);
    const optimum::Claim claim = optimum::claim_of(made);
    EXPECT_EQ(optimum::certify(made, claim, Size{1} << 24), true) << to_text(line);
    // Control: nothing more is proved.
    optimum::Claim more = claim;
    ++more.lower_bound;
    EXPECT_EQ(optimum::certify(made, more, Size{1} << 24), false) << to_text(line);
    ++accepted;
  }
  std::cout << accepted << " certificates accepted\n";
  EXPECT_GE(accepted, 60);
}

/// They are undecided for want of digits, not of time: more of it changes nothing.
TEST(Undecided, stay_so_with_a_larger_search_limit) {
  for (std::size_t k = 0; k < std::min<std::size_t>(lines().size(), 16); ++k) {
    const auto made = plan(lines()[k].problem(), {.search_limit = Size{1} << 26});
    EXPECT_FALSE(made.value().optimal) << to_text(lines()[k]);
    EXPECT_EQ(made.value().lower_bound, lines()[k].lower_bound) << to_text(lines()[k]);
  }
}

TEST(Undecided, lines_are_written_as_they_are_read) {
  const optimum::Undecided line{"x:2,y:3", "[3{x}6]", "[2{y}6]", 9, 6, std::nullopt};
  EXPECT_EQ(to_text(line), "x:2,y:3 | [3{x}6] | [2{y}6] | 9 | 6 | -");
  EXPECT_EQ(to_text(lines().front()),
            "a:2,b:3,c:5,d:7 | [840, 111{c,d}3885, 30{a}60] | [840, 3885, 4{c,b}60] | 16783200 | "
            "15850800 | 15850800");
}

}  // namespace
}  // namespace retile::undecided_test
