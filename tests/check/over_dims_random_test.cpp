// Random steps along several dimensions, right and spoiled: `check` and the oracle say the same, the
// simulator makes what they say, and the steps do what single steps do one after the other.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check/judge.h"
#include "check/over_dims_programs.h"
#include "retile/program/forms/text.h"
#include "retile/program/grid.h"
#include "support/samples.h"

namespace check_tests::over_dims {
namespace {

using over_dims_programs::Draws;

/// What both say of a text, and nothing where they differ.
std::optional<std::string> agreed(const std::string& text) {
  const auto ours = retile::parse_programs(text);
  const auto theirs = spec::parse_programs(text);
  if (!ours || theirs.error) {
    EXPECT_TRUE(!ours && theirs.error) << text << (ours ? theirs.error->message : "");
    return "refused";
  }
  const Verdict got = retile::check(ours->front());
  const Verdict oracle = in_our_words(spec::check(theirs.programs.front()));
  EXPECT_TRUE(naive::same_judgement(got, oracle))
      << text << "check:  " << show(got) << "\noracle: " << show(oracle);
  return outcome(got);
}

TEST(OverDimsRandom, right_steps_do_what_single_steps_do) {
  Draws draws(20261124);
  std::map<std::size_t, std::size_t> longest;  // by the number of single steps
  std::size_t alone = 0;                       // where no single steps do it
  std::size_t quick = 0;                       // where check has single steps instead
  for (int trial = 0; trial < support::samples(18'000); ++trial) {
    const auto both = draws.right();
    if (!both) continue;
    const std::string text = to_text(both->at_once);
    ASSERT_EQ(agreed(text), "right") << text;
    if (const auto replaced = along_one_dim(both->at_once)) {
      const Verdict same = retile::check(replaced->program);
      ASSERT_EQ(same.answer, Answer::right) << text << to_text(replaced->program);
      EXPECT_EQ(same.cost - replaced->saved, retile::check(both->at_once).cost) << text;
      ++quick;
    }
    if (!both->one_by_one) {
      ++alone;
      continue;
    }
    const Verdict single = retile::check(*both->one_by_one);
    ASSERT_EQ(single.answer, Answer::right) << text << to_text(*both->one_by_one);
    const Verdict got = retile::check(both->at_once);
    EXPECT_LE(got.cost, single.cost) << text;
    if (both->one_by_one->steps.size() == 1) {
      EXPECT_EQ(got.cost, single.cost) << text;
    }
    ++longest[both->one_by_one->steps.size()];
  }
  for (const std::size_t steps : {1U, 2U, 3U})
    EXPECT_GT(longest[steps], support::samples(50U)) << steps;
  EXPECT_GT(alone, support::instrumented ? 0U : 20U);
  EXPECT_GT(quick, support::samples(1'000U));
}

TEST(OverDimsRandom, both_checkers_say_the_same) {
  Draws draws(20261125);
  std::map<std::string, std::size_t> counts;
  for (int trial = 0; trial < support::samples(6'000) && !testing::Test::HasFailure(); ++trial) {
    const auto both = draws.right();
    std::vector<std::string> texts{to_text(draws.any())};
    if (both) texts.push_back(to_text(both->at_once));
    const std::size_t whole = texts.size();
    for (std::size_t k = 0; k < whole; ++k) {
      for (int i = 0; i < 2; ++i) texts.push_back(draws.spoiled(texts[k]));
    }
    for (const std::string& text : texts) ++counts[agreed(text).value_or("differ")];
  }
  for (const auto& [what, count] : counts) std::cout << what << ' ' << count << ' ';
  std::cout << '\n';
  for (const char* what : {"right", "refused", "groups", "ragged", "indivisible", "not_a_box",
                           "end", "tile_claim", "map_claim"}) {
    EXPECT_GT(counts[what], support::instrumented ? 2U : 20U) << what;
  }
}

}  // namespace
}  // namespace check_tests::over_dims
