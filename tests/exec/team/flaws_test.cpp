// Negative controls: a protocol with one precaution left out is caught by the runs of
// stress_test.cpp.
#include "exec/team/flaws.h"

#include <gtest/gtest.h>

#include <iostream>

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

TEST(TeamFlaws, every_precaution_left_out_is_caught_by_the_stress) { each_flaw(Catch{}); }

}  // namespace
}  // namespace flaws_test
