// The planner against the truth: OPT by exhaustive search over tile maps (spec/search/tiles.h), for
// every pair of types on small meshes. Of steps along several dimensions over_dims_optimum_test.cpp asks.
//
// What a Plan promises is asserted: its cost is not below OPT, its lower bound is one, and where it
// says optimal it is. So is what it does not promise: on these meshes its cost is OPT.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>

#include "every_pair.h"
#include "retile/plan/plan.h"

namespace retile::optimum_test {
namespace {

using every_pair::Claim;
using every_pair::refutation;
using every_pair::Row;

class EveryPairByBruteForce : public ::testing::TestWithParam<Row> {};

TEST_P(EveryPairByBruteForce, is_planned_at_the_optimum) {
  Size pairs = 0, exact = 0, proved = 0, exact_unproved = 0;
  std::map<std::string, Size> excess;  // cost / OPT, and how often
  std::string first_excess;
  every_pair::for_each_pair(
      GetParam(), false, [&](const Problem& problem, const std::string& text, Size optimum) {
        const auto made = plan(problem);
        ASSERT_TRUE(made.has_value()) << render(made.error());
        const Claim claim{made->cost, made->lower_bound, made->optimal};
        const std::string why = refutation(claim, optimum);
        if (!why.empty() && !HasFailure()) {
          ADD_FAILURE() << why << ": " << text << ", cost " << made->cost << ", lower bound "
                        << made->lower_bound << ", optimum " << optimum;
        }
        ++pairs;
        exact += made->cost == optimum ? 1 : 0;
        proved += made->optimal ? 1 : 0;
        exact_unproved += made->cost == optimum && !made->optimal ? 1 : 0;
        if (made->cost == optimum) return;
        const double ratio = static_cast<double>(made->cost) / static_cast<double>(optimum);
        ++excess[std::to_string(ratio).substr(0, 4)];
        if (first_excess.empty()) {
          first_excess = text + " costs " + std::to_string(made->cost) + ", the optimum is " +
                         std::to_string(optimum);
        }
      });
  std::cout << "mesh " << ::testing::PrintToString(GetParam()) << ": " << pairs << " pairs, "
            << exact << " at the optimum (" << proved << " proved optimal, " << exact_unproved
            << " not), " << pairs - exact << " above";
  for (const auto& [ratio, count] : excess) std::cout << ", " << count << " times " << ratio;
  std::cout << (first_excess.empty() ? "\n" : "\n  first: " + first_excess + "\n");
  EXPECT_GT(pairs, 3000);
  EXPECT_EQ(exact, pairs) << first_excess;
  EXPECT_EQ(proved, pairs) << "plans without a proof";
}

#ifdef RETILE_SLOW_TESTS
INSTANTIATE_TEST_SUITE_P(Large, EveryPairByBruteForce,
                         ::testing::Values(Row{"a:2,b:2,c:3", {1, 2, 3, 4, 6, 12}, 3},
                                           Row{"a:2,b:3,c:3", {2, 3, 6, 9, 18}, 2},
                                           Row{"a:2,b:3,c:5", {2, 6, 10, 15, 30}, 2},
                                           Row{"a:2,b:2,c:2,d:2", {2, 4, 8, 16}, 2}));
#else
INSTANTIATE_TEST_SUITE_P(
    Small, EveryPairByBruteForce,
    ::testing::Values(Row{"a:2,b:2", {1, 2, 4}, 3}, Row{"a:2,b:2", {4, 6, 12}, 3},
                      Row{"a:3,b:3", {1, 3, 6, 9}, 3}, Row{"a:2,b:3", {1, 2, 3, 6}, 3},
                      Row{"a:2,b:3", {2, 4, 6, 9, 12}, 3}, Row{"a:4,b:2", {2, 4, 6, 8}, 3},
                      Row{"a:2,b:2,c:2", {1, 2, 4, 8}, 3},
                      Row{"a:2,b:2,c:3", {2, 3, 4, 6, 12}, 2}));

/// Controls: what `refutation` is for. Claims that no planner may make, from the costs of a right
/// plan: W for one that forgets its permutation, and W + V for one that always permutes, as a lower
/// bound or as optimal. And that such a planner would not be at the optimum on every pair.
TEST(EveryPairControl, planners_that_claim_too_much_are_refuted) {
  Size forgets_permutation = 0, bound_too_high = 0, calls_all_optimal = 0, above = 0, truth = 0;
  every_pair::for_each_pair(
      {"a:2,b:2", {1, 2, 4}, 3}, false,
      [&](const Problem& problem, const std::string&, Size optimum) {
        const auto made = plan(problem).value();
        const Size always_permutes = made.weak_cost + made.valley;
        forgets_permutation += refutation({made.weak_cost, 0, false}, optimum).empty() ? 0 : 1;
        bound_too_high +=
            refutation({always_permutes, always_permutes, false}, optimum).empty() ? 0 : 1;
        calls_all_optimal += refutation({always_permutes, 0, true}, optimum).empty() ? 0 : 1;
        above += always_permutes > optimum ? 1 : 0;
        truth += refutation({optimum, optimum, true}, optimum).empty() ? 0 : 1;
      });
  std::cout << forgets_permutation << " false costs, " << bound_too_high << " false lower bounds, "
            << calls_all_optimal << " false optima refuted; " << above << " above the optimum\n";
  EXPECT_GT(forgets_permutation, 100);
  EXPECT_GT(bound_too_high, 100);
  EXPECT_GT(calls_all_optimal, 100);
  EXPECT_GT(above, 100);
  EXPECT_EQ(truth, 0);
}
#endif

}  // namespace
}  // namespace retile::optimum_test
