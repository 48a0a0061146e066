// The right protocol under hundreds of patterns of delays. flaws_test.cpp shows what the same runs
// find in wrong ones.
#include "exec/team/stress.h"

#include <gtest/gtest.h>

#include <iostream>

namespace stress_test {
namespace {

using namespace team_test;

void expect_good(Route route) {
  constexpr int seeds = 40;
  constexpr int runs = 3;
  int patterns = 0;
  Size checked = 0;
  for (const Case& test : stress_cases(route)) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const StressOutcome outcome = stress<Flaw::none>(test, route, runs, seed);
      ASSERT_TRUE(outcome.good()) << test.name << ", seed " << seed << ": " << outcome.wrong
                                  << " wrong bytes " << outcome.error;
      checked += outcome.checked;
      ++patterns;
    }
  }
  std::cout << patterns << " patterns of delays, " << checked << " bytes right\n";
}

TEST(TeamStress, direct_writes_come_in_time_and_never_too_early) { expect_good(Route::held); }

TEST(TeamStress, passes_push_in_time_and_never_too_early) { expect_good(Route::pushed); }

TEST(TeamStress, passes_pull_what_is_complete_and_stays) { expect_good(Route::pulled); }

TEST(TeamStress, copies_are_read_when_made_and_overwritten_when_read) {
  expect_good(Route::copied);
}

TEST(TeamStress, slots_are_read_when_full_and_written_when_empty) { expect_good(Route::staged); }

}  // namespace
}  // namespace stress_test
