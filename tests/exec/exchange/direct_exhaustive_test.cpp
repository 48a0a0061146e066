// All pairs of tilings over small meshes, and all mutants of their exchanges: check and the oracle
// say the same of every one, and the simulator moves every element to its place.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "exec/exchange/problems.h"

namespace retile::test::direct_exhaustive_test {
namespace {

struct Bounds {
  Shape axes;
  Shape global;
  Size mutants_of_one_in;  // mutants are tried of every so many pairs
};

class SmallMeshes : public testing::TestWithParam<Bounds> {};

TEST_P(SmallMeshes, every_pair_has_a_right_exchange) {
  const std::vector<Layout> maps = all_maps(GetParam().axes, GetParam().global);
  Size pairs = 0;
  for (const Layout& from : maps) {
    for (const Layout& to : maps) {
      ASSERT_EQ(direct_fault(from, to), "");
      ++pairs;
    }
  }
  std::cout << pairs << " pairs, all right\n";
  EXPECT_GT(pairs, 8);
}

TEST_P(SmallMeshes, mutants_are_judged_alike) {
  const std::vector<Layout> maps = all_maps(GetParam().axes, GetParam().global);
  Size pairs = 0;
  Size mutants = 0;
  Size wrong = 0;
  Size wrong_tiles = 0;
  for (const Layout& from : maps) {
    for (const Layout& to : maps) {
      if (pairs++ % GetParam().mutants_of_one_in != 0) continue;
      const Program program = direct(ends(from, to)).value();
      const sim::Tiles before = tags(from);
      const sim::Tiles after = tags(to);
      support::for_each_mutant(
          program, support::Mutation::transfer_changed, [&](const support::Mutant& mutant) {
            EXPECT_EQ(disagreement(mutant.program), "");
            const Verdict verdict = check(mutant.program);
            ++mutants;
            wrong += verdict.answer == Answer::wrong ? 1 : 0;
            // The simulator refuses what check calls `transfers`, and of the others the right ones
            // alone end with the right elements.
            const auto outcome = sim::run(mutant.program, before, 8);
            EXPECT_EQ(outcome.has_value(), support::fields_of(verdict).reason != Reason::transfers);
            if (!outcome) return;
            EXPECT_EQ(outcome->tiles == after, verdict.answer == Answer::right);
            wrong_tiles += outcome->tiles != after ? 1 : 0;
          });
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
  std::cout << mutants << " mutants, " << wrong << " wrong, of which " << wrong_tiles
            << " move all, but not to the right place\n";
  EXPECT_GT(wrong_tiles, 0);
  EXPECT_LT(wrong, mutants);  // replicas
}

INSTANTIATE_TEST_SUITE_P(Direct, SmallMeshes,
                         testing::Values(Bounds{{2, 2}, {4, 4}, 1}, Bounds{{2, 3}, {6, 6}, 1},
                                         Bounds{{4}, {8, 4}, 1}, Bounds{{2, 2, 2}, {8, 8}, 61},
                                         Bounds{{2, 2}, {4, 2, 4}, 7}, Bounds{{3, 2}, {36}, 1}),
                         [](const testing::TestParamInfo<Bounds>& tested) {
                           std::string name;
                           for (const Size axis : tested.param.axes) {
                             name += (name.empty() ? "" : "x") + std::to_string(axis);
                           }
                           return name + "_rank_" + std::to_string(tested.param.global.size());
                         });

}  // namespace
}  // namespace retile::test::direct_exhaustive_test
