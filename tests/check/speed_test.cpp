// How long `check` takes: in an ordinary build, as instruments take time of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "check/judge.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "support/mutants.h"

namespace check_tests::speed_test {
namespace {

/// The least time of several runs, in seconds: what the machine does besides is not ours.
double least_seconds(const Program& program, Answer expected) {
  double least = 1e9;
  for (int run = 0; run < 7; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = retile::check(program);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(verdict.answer, expected) << show(verdict);
    least = std::min(least, taken.count());
  }
  return least;
}

TEST(CheckSpeed, planned_programs_of_65536_devices_take_less_than_100_ms) {
  const std::vector<std::array<std::string, 2>> ends = {
      {"[16{a}256, 16{b}256, 16{c}256, 16{d}256]", "[16{d}256, 16{a}256, 16{b}256, 16{c}256]"},
      {"[1{a,b}256, 1{c,d}256, 256, 256]", "[256, 256, 1{d,a}256, 1{b,c}256]"},
      {"[256, 16{c}256, 256, 1{a,b}256]", "[16{b}256, 1{d,c}256, 256, 256]"},
      {"[1{a,b,c,d}65536, 4, 4, 4]", "[65536, 4, 4, 4]"},
  };
  for (const auto& [from, to] : ends) {
    const auto problem = retile::parse_problem("a:16,b:16,c:16,d:16", from, to);
    ASSERT_TRUE(problem) << from;
    const auto plan = retile::plan(*problem);
    ASSERT_TRUE(plan);
    const Program program = retile::lower(*plan);
    const double seconds = least_seconds(program, Answer::right);
    const double silent = least_seconds(support::without_claims(program), Answer::right);
    std::cout << from << " -> " << to << ": " << program.steps.size() << " steps, " << seconds * 1e3
              << " ms, " << silent * 1e3 << " ms without claims\n";
#ifdef __OPTIMIZE__
    EXPECT_LT(seconds, 0.1) << retile::to_text(program);
#endif
  }
}

}  // namespace
}  // namespace check_tests::speed_test
