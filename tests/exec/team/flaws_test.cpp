// Negative controls: a protocol with one precaution left out is caught by the runs of
// stress_test.cpp.
#include "exec/team/flaws.h"

#include <gtest/gtest.h>

#include <iostream>

#include "exec/team/summing.h"

namespace flaws_test {
namespace {

using namespace team_test;

struct Catch {
  template <Flaw flaw>
  void operator()(std::string_view name, Route route) {
    constexpr std::uint64_t most_seeds = 200;
    int tries = 0;
    for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
      for (const Case& test : stress_cases(route)) {
        ++tries;
        const StressOutcome outcome = stress<flaw>(test, route, 3, seed);
        if (outcome.good()) continue;
        std::cout << name << ": caught in pattern " << tries << ", " << outcome.wrong
                  << " wrong bytes " << outcome.error << "\n";
        return;
      }
    }
    ADD_FAILURE() << name << " was not caught in " << tries << " patterns of delays";
  }
};

/// Sums without a wait, from tiles that all see (no slots) and from private ones.
void expect_caught(summing_test::Flaw flaw, retile::Size slots_bytes) {
  const summing_test::Problem problem(summing_test::pieces_of(203), {}, 6);
  constexpr std::uint64_t most_seeds = 500;
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    if (!summing_test::run_problem(problem, slots_bytes, flaw, seed).good()) return;
  }
  ADD_FAILURE() << "flaw " << static_cast<int>(flaw) << " with slots of " << slots_bytes
                << " bytes was not caught";
}

TEST(TeamFlaws, sums_that_do_not_wait_are_caught) {
  for (const auto flaw : {summing_test::Flaw::no_entry, summing_test::Flaw::no_wait}) {
    expect_caught(flaw, 0);
    expect_caught(flaw, 1000);
  }
}

TEST(TeamFlaws, every_precaution_left_out_is_caught_by_the_stress) { each_flaw(Catch{}); }

}  // namespace
}  // namespace flaws_test
