// Every mutant of the paper's examples: found by check and by the oracle, at the same step and for
// the same reason.
#include "support/mutants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "check/judge.h"
#include "check/mutant_trial.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace check_tests::mutants_test {
namespace {

struct Example {
  std::string name;
  Program program;
};

Program planned(const std::string& mesh, const std::string& from, const std::string& to) {
  const auto problem = retile::parse_problem(mesh, from, to);
  if (!problem) {
    ADD_FAILURE() << retile::render(problem.error());
    return program(example_3_1);
  }
  const auto plan = retile::plan(*problem);
  if (!plan) {
    ADD_FAILURE() << retile::render(plan.error());
    return program(example_3_1);
  }
  return retile::lower(*plan);
}

constexpr std::string_view one_exchange = R"(retile.program/1
mesh x:2
from [2{x}4, 4]
to [4, 2{x}4]
exchange transfers=[[0,0,0,0,0,0,2,2],[0,1,2,0,0,0,2,2],[1,0,0,0,0,2,2,2],[1,1,2,0,0,2,2,2]] tile=[4,2]
)";

// Uneven boxes between tiles that overlap, and a step of the paper behind.
constexpr std::string_view exchanges_and_steps = R"(retile.program/1
mesh x:3
from [2{x}6]
to [2{x}6]
exchange transfers=[[2,1,0,1,1],[0,0,0,0,2],[1,1,0,0,2],[0,1,2,0,1],[2,2,1,0,2],[1,2,2,0,1]] tile=[3] at=[[0],[2],[3]]
exchange transfers=[[0,0,0,0,3],[0,2,3,0,3],[1,0,0,0,3],[1,2,3,0,3],[2,0,0,0,3],[2,2,3,0,3]] tile=[6] map=[6]
dynslice dim=0 groups=[1,3]<=[3] tile=[2]
)";

/// The Programs of docs/reference/program.md and the paper's examples as planned, long dimensions
/// shortened by whole blocks. Those whose plan stands here are planned where slow tests run.
std::vector<Example> examples() {
  return {
#ifdef RETILE_SLOW_TESTS
      {"Example 3.1", planned("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]")},
      {"replication", planned("a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]")},
      {"unequal sizes", planned("a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]")},
#endif
      {"Example 3.1, as documented", program(example_3_1)},
      {"replication, by hand", program(replication)},
      {"unequal sizes, as documented", program(unequal_sizes)},
      {"Listing 3, eight devices", planned("devs:8", "[8, 2{devs}16]", "[1{devs}8, 16]")},
      {"two final allgathers (Lemma 4.7)",
       planned("x:2,y:2,z:2", "[1{x,y}4, 1{z}2]", "[2{z}4, 2]")},
      {"four steps (Lemma 4.6)", planned("x:2,y:2,z:3", "[12, 3{x,y}12]", "[2{z,y}12, 12]")},
      {"factor two (S6)", planned("a:2,b:2,c:3", "[12, 3{a,b}12]", "[6{b}12, 6{a}12]")},
      {"one exchange", program(one_exchange)},
      {"exchanges before and after steps", program(exchanges_and_steps)},
      {"slices and a permutation", planned("a:2,b:2,c:2", "[4{a}8, 8]", "[2{b,c}8, 8]")},
  };
}

TEST(Mutants, of_the_examples_are_all_found) {
  Tally tally;
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const Verdict verdict = judge(example.program);
    ASSERT_EQ(verdict.answer, Answer::right) << retile::to_text(example.program) << show(verdict);
    for (const support::Mutation mutation : support::all_mutations) {
      std::string first_fault;
      Size faults = 0;
      support::for_each_mutant(example.program, mutation, [&](const support::Mutant& mutant) {
        const std::string fault = try_mutant(mutant, tally);
        if (fault.empty()) return;
        if (faults++ == 0) first_fault = fault;
      });
      EXPECT_EQ(faults, 0) << "the first of them: " << first_fault;
    }
  }
  tally.print();
  for (const support::Mutation mutation : support::all_mutations) {
    const auto& row = tally.rows[static_cast<std::size_t>(mutation)];
    EXPECT_GT(row.wrong, 0) << support::name(mutation);
    EXPECT_GT(row.at_the_mutated_step, 0) << support::name(mutation);
  }
  // Control: a checker that forgets one comparison gives another verdict on some of these mutants.
  for (const naive::Fault fault : naive::all_faults) {
    EXPECT_GT(tally.caught[fault], 0) << "fault " << static_cast<int>(fault) << " goes unnoticed";
  }
}

TEST(Mutants, two_replicas_swapped_are_none) {
  // Control of the replay that precedes every trial: some mutants are right, and the trial accepts
  // them.
  Tally tally;
  support::for_each_mutant(
      program(replication), support::Mutation::wrong_group,
      [&](const support::Mutant& mutant) { EXPECT_EQ(try_mutant(mutant, tally), ""); });
  const auto& row = tally.rows[static_cast<std::size_t>(support::Mutation::wrong_group)];
  EXPECT_GT(row.wrong, 0);
  EXPECT_LT(row.wrong, row.mutants);
}

TEST(Mutants, the_trial_notices_a_mutant_that_is_blamed_on_another_step) {
  support::Mutant mutant{support::Mutation::step_left_out, 0, program(example_3_1)};
  mutant.program.steps.erase(mutant.program.steps.begin() + 1);
  Tally tally;
  EXPECT_NE(try_mutant(mutant, tally), "");
  mutant.step = 1;
  EXPECT_EQ(try_mutant(mutant, tally), "");
}

}  // namespace
}  // namespace check_tests::mutants_test
