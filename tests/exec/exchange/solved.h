// A problem from plan to verdict, and what its first step moves.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "retile/program/moves.h"
#include "support/values.h"

namespace retile::exchange_tests {

struct Solved {
  Plan plan;
  Program program;
  Verdict verdict;
};

/// The verdict is right, and says what the plan says; the text of the Program reads as it.
inline Solved solve(const char* mesh, const std::string& from, const std::string& to) {
  const Problem problem = support::problem(mesh, from.c_str(), to.c_str());
  Plan planned = plan(problem).value();
  Program program = program_of(planned).value();
  const Verdict verdict = check(program);
  EXPECT_EQ(verdict.answer, Answer::right) << to_text(program);
  EXPECT_TRUE(verdict.within_bound) << to_text(program);
  EXPECT_EQ(verdict.cost, planned.cost) << to_text(program);
  EXPECT_EQ(verdict.height, planned.height);
  EXPECT_EQ(verdict.bound, planned.bound);
  EXPECT_EQ(parse_programs(to_text(program)).value().front(), program) << to_text(program);
  return {std::move(planned), std::move(program), verdict};
}

inline std::vector<Transfer> transfers_of(const Program& program) {
  return moves_of(program.steps.front(), shapes_of(program.from)).value().transfers;
}

/// What each device receives from others, in elements.
inline std::vector<Size> received(const Program& program) {
  std::vector<Size> out(static_cast<std::size_t>(program.devices), 0);
  for (const Transfer& transfer : transfers_of(program)) {
    if (transfer.source == transfer.target) continue;
    out[static_cast<std::size_t>(transfer.target)] += checked_product(transfer.shape).value();
  }
  return out;
}

}  // namespace retile::exchange_tests
