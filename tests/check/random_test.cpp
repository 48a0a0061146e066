// Properties: random Programs of others, and random mutants of what the planner makes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check/judge.h"
#include "check/mutant_trial.h"
#include "check/random_programs.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "support/mutants.h"
#include "support/random_problems.h"
#include "support/samples.h"

namespace check_tests::random_test {
namespace {

/// Choices that RapidCheck draws, so that a failing case shrinks.
Choose drawn() {
  // Not scaled with RapidCheck's size: small ranges would only ever give the first choice.
  return [](Size bound) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Size>(0, bound));
  };
}

Program random_planned_program(const Choose& choose) {
  const ProblemText text = random_problem(choose);
  const auto problem = retile::parse_problem(text.mesh, text.from, text.to);
  if (!problem) throw std::logic_error(retile::render(problem.error()));
  const auto plan = retile::plan(*problem);
  if (!plan) throw std::logic_error(retile::render(plan.error()));
  return retile::lower(*plan);
}

/// A mutant of a kind drawn among those that the Program has, if it has any.
std::optional<support::Mutant> any_mutant(const Program& program, const Choose& choose) {
  const auto kinds = static_cast<Size>(support::all_mutations.size());
  const Size first = choose(kinds);
  for (Size k = 0; k < kinds; ++k) {
    const auto mutation = support::all_mutations[static_cast<std::size_t>((first + k) % kinds)];
    if (auto mutant = support::mutate(program, mutation, choose)) return mutant;
  }
  return std::nullopt;
}

RC_GTEST_PROP(CheckVsSpec, any_program_gets_one_verdict, ()) {
  const Program program = random_program(drawn());
  const std::string fault = disagreement(program);
  RC_TAG(outcome(retile::check(program)));
  if (!fault.empty()) RC_FAIL(fault);
}

RC_GTEST_PROP(CheckVsSpec, any_mutant_of_any_program_gets_one_verdict, ()) {
  const Choose choose = drawn();
  const Program program = random_program(choose);
  const auto mutant = any_mutant(program, choose);
  if (!mutant) {
    RC_TAG(std::string("no such mutant"));
    return;
  }
  RC_TAG(std::string(support::name(mutant->mutation)));
  const std::string fault = disagreement(mutant->program);
  if (!fault.empty()) RC_FAIL(fault);
}

RC_GTEST_PROP(Mutants, of_planned_programs_are_found, ()) {
  const Choose choose = drawn();
  const Program program = random_planned_program(choose);
  if (const auto fault = disagreement(program); !fault.empty()) RC_FAIL(fault);
  const Verdict verdict = retile::check(program);
  if (verdict.answer != Answer::right) RC_FAIL(retile::to_text(program) + show(verdict));
  const auto mutant = any_mutant(program, choose);
  if (!mutant) {
    RC_TAG(std::string("no such mutant"));
    return;
  }
  Tally tally;
  const std::string fault = try_mutant(*mutant, tally);
  const bool wrong = tally.rows[static_cast<std::size_t>(mutant->mutation)].wrong > 0;
  RC_TAG(std::string(support::name(mutant->mutation)) + (wrong ? "" : " (harmless)"));
  if (!fault.empty()) RC_FAIL(fault);
}

/// The same in bulk, without shrinking.
TEST(CheckVsSpec, thousands_of_programs_get_one_verdict) {
  std::map<std::string, Size> outcomes;
  for (std::uint64_t seed = 0; seed < support::samples(3'600U); ++seed) {
    const Choose choose = support::random_choices(seed);
    const Program program = random_program(choose);
    ASSERT_EQ(disagreement(program), "") << "seed " << seed;
    ++outcomes[outcome(retile::check(program))];
    if (const auto mutant = any_mutant(program, choose)) {
      ASSERT_EQ(disagreement(mutant->program), "") << "seed " << seed;
      ++outcomes[outcome(retile::check(mutant->program))];
    }
  }
  for (const std::string seen : {"right", "groups", "bijection", "indivisible", "transfers",
                                 "tile_claim", "map_claim", "not_a_box", "end"}) {
    std::cout << seen << ": " << outcomes[seen] << '\n';
    EXPECT_GE(outcomes[seen], support::samples(12)) << seen;
  }
}

/// Mutants of planned Programs in bulk.
TEST(Mutants, of_hundreds_of_planned_programs_are_found) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < support::samples(400U); ++seed) {
    const Choose choose = support::random_choices(seed);
    const Program program = random_planned_program(choose);
    ASSERT_EQ(disagreement(program), "") << "seed " << seed;
    ASSERT_EQ(retile::check(program).answer, Answer::right) << retile::to_text(program);
    for (const support::Mutation mutation : support::all_mutations) {
      const auto mutant = support::mutate(program, mutation, choose);
      if (!mutant) continue;
      ASSERT_EQ(try_mutant(*mutant, tally), "") << "seed " << seed;
    }
  }
  tally.print();
  for (const support::Mutation mutation : support::all_mutations) {
    const Size wrong = tally.rows[static_cast<std::size_t>(mutation)].wrong;
    EXPECT_EQ(wrong > 0, support::changes_plans(mutation)) << support::name(mutation);
  }
}

/// The same Program with the base offsets of `from` in a list, so that nothing is said in digits.
Program with_listed_start(Program program) {
  program.from = retile::Layout::listed(program.devices, program.from.global(), program.from.tile(),
                                        program.from.base_offsets())
                     .value();
  return program;
}

/// On more devices than the other checkers can replay, with digits that do and do not fit.
TEST(Check, digits_and_lists_of_base_offsets_get_one_verdict) {
  std::map<std::string, Size> outcomes;
  std::array<Size, 2> first_steps = {0, 0};  // wrong at the first step, and later
  for (const char* text : {"a:16,b:8,c:8", "a:2,b:3,c:5,d:7", "a:6,b:4,c:5", "a:36,b:30",
                           "a:2,b:2,c:2,d:2,e:2,f:2,g:2,h:2", "a:12,b:18,c:9"}) {
    support::Random random(7);
    const retile::Mesh mesh = retile::parse_mesh(text).value();
    for (std::uint64_t seed = 0; seed < support::samples(160U); ++seed) {
      const Choose choose = support::random_choices(seed);
      std::vector<Program> programs = {
          retile::lower(retile::plan(support::draw_problem(random, mesh)).value())};
      if (seed % 2 == 0) {  // claims name the fault first
        for (retile::Step& step : programs.front().steps) step.claims = {};
      }
      for (int mutants = 0; mutants < 4; ++mutants) {
        if (auto mutant = any_mutant(programs.front(), choose)) {
          programs.push_back(std::move(mutant->program));
        }
      }
      for (const Program& program : programs) {
        const Verdict digits = retile::check(program);
        const Verdict lists = retile::check(with_listed_start(program));
        ASSERT_EQ(show(digits), show(lists)) << retile::to_text(program);
        ++outcomes[outcome(digits)];
        if (digits.answer == Answer::wrong) ++first_steps[digits.wrong->step > 0 ? 1 : 0];
      }
    }
  }
  for (const auto& [seen, count] : outcomes) std::cout << seen << ": " << count << '\n';
  for (const std::string seen : {"right", "map_claim", "not_a_box", "end"}) {
    EXPECT_GT(outcomes[seen], 10) << seen;
  }
  EXPECT_GT(first_steps[0], 10);
  EXPECT_GT(first_steps[1], 10);
}

/// Control: the comparison that the properties rest on tells a faulty checker from a sound one
/// within few Programs.
TEST(CheckVsSpec, a_checker_that_forgets_a_comparison_is_noticed) {
  for (const naive::Fault fault : naive::all_faults) {
    Size noticed = 0;
    for (std::uint64_t seed = 0; seed < 2000 && noticed == 0; ++seed) {
      const Choose choose = support::random_choices(seed);
      const Program program = random_program(choose);
      const auto mutant = any_mutant(program, choose);
      for (const Program& candidate : {program, mutant ? mutant->program : program}) {
        if (!naive::same_judgement(naive::check(candidate, fault), retile::check(candidate)))
          ++noticed;
      }
    }
    EXPECT_GT(noticed, 0) << "fault " << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace check_tests::random_test
