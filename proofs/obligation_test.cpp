/// The framework of the obligations can fail: on what is false, undecided, vacuous, or where the
/// solvers contradict each other.
#include "obligation.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace proofs {
namespace {

/// What GoogleTest would have reported of `o.check()`; empty when it passed.
std::string failures(Obligation& o) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter catcher(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    o.check();
  }
  std::string text;
  for (int at = 0; at < results.size(); ++at) {
    if (results.GetTestPartResult(at).failed()) text += results.GetTestPartResult(at).message();
  }
  return text;
}

TEST(obligation, a_true_goal_with_a_needed_premise_passes) {
  Obligation o("", "a <= b: a < b + 1");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_EQ(failures(o), "");
}

TEST(obligation, a_false_goal_fails_with_a_model) {
  Obligation o("", "a <= b: a < b");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b", a < b);
  o.control("a <= b");
  EXPECT_NE(failures(o).find("is refuted by"), std::string::npos);
}

TEST(obligation, an_undecided_goal_fails) {
  // Fermat's theorem for cubes; no solver finds a proof.
  Obligation o("", "x^3 + y^3 != z^3");
  const expr x = o.size("x"), y = o.size("y"), z = o.size("z");
  o.limit(1);
  o.premise("x <= y", x <= y);
  o.goal("x^3 + y^3 != z^3", x * x * x + y * y * y != z * z * z);
  o.control_goal("x < y", x < y);
  EXPECT_NE(failures(o).find("Z3 says unknown"), std::string::npos);
}

TEST(obligation, an_obligation_without_a_control_fails) {
  Obligation o("", "a = a");
  const expr a = o.integer("a");
  o.goal("a = a", a == a);
  EXPECT_NE(failures(o).find("without a control"), std::string::npos);
}

TEST(obligation, a_control_that_is_not_refuted_fails) {
  Obligation o("", "a < b: a < b + 1, and the premise b < 7 is not needed");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a < b", a < b);
  o.premise("b < 7", b < 7);
  o.goal("a < b + 1", a < b + 1);
  o.control("b < 7");
  EXPECT_NE(failures(o).find("finds no counterexample"), std::string::npos);
}

TEST(obligation, a_counterexample_that_is_not_real_fails) {
  Obligation o("", "a <= b: a < b + 1");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b", [](const Model&) { return Counterexample{"none", false}; });
  EXPECT_NE(failures(o).find("none"), std::string::npos);
}

TEST(obligation, contradictory_premises_fail) {
  Obligation o("", "a < b and b < a: anything");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a < b", a < b);
  o.premise("b < a", b < a);
  o.goal("a = b + 5", a == b + 5);
  o.control("b < a");
  EXPECT_NE(failures(o).find("may contradict each other"), std::string::npos);
}

TEST(obligation, a_fact_that_needs_a_premise_fails) {
  Obligation o("", "a <= b: a < b + 1, said as a fact");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.fact(a < b + 1);
  o.goal("a < b + 1", a < b + 1);
  o.control_goal("a < b", a < b);
  EXPECT_NE(failures(o).find("fact is refuted by"), std::string::npos);
}

TEST(obligation, a_goal_that_needs_no_premise_fails) {
  Obligation o("", "a <= b: a < a + 1");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.goal("a < a + 1", a < a + 1);
  o.control("a <= b");
  EXPECT_NE(failures(o).find("a < a + 1: the goal needs no premise"), std::string::npos);
}

TEST(obligation, an_identity_that_needs_a_premise_fails) {
  Obligation o("", "a <= b: a < b + 1, said as an identity");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.identity("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_NE(failures(o).find("a < b + 1 is refuted by"), std::string::npos);
}

TEST(obligation, solvers_that_contradict_each_other_fail) {
  const std::string liar = testing::TempDir() + "says_sat";
  std::ofstream(liar) << "#!/bin/sh\necho sat\n";
  std::filesystem::permissions(liar, std::filesystem::perms::owner_all);
  const char* const before = std::getenv("RETILE_CVC5");
  const std::string kept = before != nullptr ? before : "";
  setenv("RETILE_CVC5", liar.c_str(), 1);
  Obligation o("", "a <= b: a < b + 1");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  const std::string found = failures(o);
  if (before != nullptr) {
    setenv("RETILE_CVC5", kept.c_str(), 1);
  } else {
    unsetenv("RETILE_CVC5");
  }
  EXPECT_NE(found.find("contradict each other"), std::string::npos) << found;
}

TEST(obligation, without_the_second_solver_the_first_decides) {
  setenv("RETILE_CVC5", "", 1);
  Obligation o("", "a <= b: a < b + 1");
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_EQ(failures(o), "");
  unsetenv("RETILE_CVC5");
}

}  // namespace
}  // namespace proofs
