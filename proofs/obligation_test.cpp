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
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_EQ(failures(o), "");
}

TEST(obligation, a_false_goal_fails_with_a_model) {
  Obligation o("", "a <= b: a < b");
  o.bookkeeping();
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
  o.goal("x^3 + y^3 != z^3", x * x * x + y * y * y != z * z * z);
  o.control_goal("x < y", x < y);
  EXPECT_NE(failures(o).find("Z3 says unknown"), std::string::npos);
}

TEST(obligation, every_premise_is_dropped) {
  Obligation o("", "a <= b and c <= b: a < b + 1, and nobody asks for the second premise");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b"), c = o.integer("c");
  o.premise("a <= b", a <= b);
  o.premise("c <= b", c <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_NE(failures(o).find("control without c <= b: Z3 finds no counterexample"),
            std::string::npos);
}

TEST(obligation, a_goal_that_is_a_premise_fails) {
  const auto said = [](bool as_unchanged) {
    Obligation o("", "a <= b and b <= c: a <= b, a <= c");
    o.bookkeeping();
    const expr a = o.integer("a"), b = o.integer("b"), c = o.integer("c");
    o.premise("a <= b", a <= b);
    o.premise("b <= c", b <= c);
    o.goal("a <= c", a <= c);
    as_unchanged ? o.unchanged("a <= b", a <= b) : o.goal("a <= b", a <= b);
    return failures(o);
  };
  EXPECT_NE(said(false).find("a <= b: is the goal a premise?"), std::string::npos);
  EXPECT_EQ(said(true), "");
}

TEST(obligation, what_is_no_premise_is_not_unchanged) {
  Obligation o("", "a <= b: a < b + 1, said to be a premise");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a <= b + 1", a <= b + 1);
  o.unchanged("a < b + 1", a < b + 1);
  EXPECT_NE(failures(o).find("a < b + 1: is the goal a premise?"), std::string::npos);
}

TEST(obligation, bookkeeping_says_so) {
  const auto said = [](bool is_bookkeeping, bool has_product) {
    Obligation o("", "a <= b, c >= 0: a <= b, or a c <= b c");
    const expr a = o.integer("a"), b = o.integer("b"), c = o.integer("c");
    if (is_bookkeeping) o.bookkeeping();
    o.premise("a <= b", a <= b);
    o.premise("c >= 0", c >= 0);
    if (has_product) {
      o.goal("a c <= b c", a * c <= b * c);
    } else {
      o.goal("a <= b + c", a <= b + c);
    }
    return failures(o);
  };
  EXPECT_EQ(said(true, false), "");
  EXPECT_EQ(said(false, true), "");
  for (const bool is : {false, true}) {
    EXPECT_NE(said(is, is).find("is it bookkeeping?"), std::string::npos) << is;
  }
}

TEST(obligation, a_name_that_stands_for_two_values_fails) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter catcher(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    Obligation o("", "a = b");
    const expr a = o.integer("a"), b = o.integer("b");
    o.let("w", a + b);
    o.let("w", a - b);
  }
  ASSERT_EQ(results.size(), 1);
  EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find("declared twice"),
            std::string::npos);
}

TEST(obligation, names_for_values_assume_nothing) {
  // For n < 1 there may be no quotient, and nothing is said of it.
  for (const std::int64_t n : {-1, 0, 1, 3}) {
    Obligation o("", "a quotient and a ceiling exist: nothing follows from their names");
    const expr t = o.integer("t"), size = o.integer("n");
    const auto [q, r] = o.divide("q", "r", t, size);
    const expr h = o.ceil("h", t, size);
    o.premise("n and t", size == o.value(n) && t == 7);
    o.goal("false", o.z().bool_val(false));
    EXPECT_NE(failures(o).find("is refuted by"), std::string::npos) << n;
  }
}

TEST(obligation, an_obligation_without_a_control_fails) {
  Obligation o("", "a = a");
  o.bookkeeping();
  const expr a = o.integer("a");
  o.goal("a = a", a == a);
  EXPECT_NE(failures(o).find("without a control"), std::string::npos);
}

TEST(obligation, a_control_that_is_not_refuted_fails) {
  Obligation o("", "a < b: a < b + 1, and the premise b < 7 is not needed");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a < b", a < b);
  o.premise("b < 7", b < 7);
  o.goal("a < b + 1", a < b + 1);
  o.control("b < 7");
  EXPECT_NE(failures(o).find("finds no counterexample"), std::string::npos);
}

TEST(obligation, a_counterexample_that_is_not_real_fails) {
  Obligation o("", "a <= b: a < b + 1");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b", [](const Model&) { return Counterexample{"none", false}; });
  EXPECT_NE(failures(o).find("none"), std::string::npos);
}

TEST(obligation, contradictory_premises_fail) {
  Obligation o("", "a < b and b < a: anything");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a < b", a < b);
  o.premise("b < a", b < a);
  o.goal("a = b + 5", a == b + 5);
  o.control("b < a");
  EXPECT_NE(failures(o).find("may contradict each other"), std::string::npos);
}

TEST(obligation, a_fact_that_needs_a_premise_fails) {
  Obligation o("", "a <= b: a < b + 1, said as a fact");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.fact(a < b + 1);
  o.goal("a < b + 1", a < b + 1);
  o.control_goal("a < b", a < b);
  EXPECT_NE(failures(o).find("fact is refuted by"), std::string::npos);
}

TEST(obligation, a_goal_that_needs_no_premise_fails) {
  Obligation o("", "a <= b: a < a + 1");
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.goal("a < a + 1", a < a + 1);
  o.control("a <= b");
  EXPECT_NE(failures(o).find("a < a + 1: the goal needs no premise"), std::string::npos);
}

TEST(obligation, an_identity_that_needs_a_premise_fails) {
  Obligation o("", "a <= b: a < b + 1, said as an identity");
  o.bookkeeping();
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
  o.bookkeeping();
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
  o.bookkeeping();
  const expr a = o.integer("a"), b = o.integer("b");
  o.premise("a <= b", a <= b);
  o.goal("a < b + 1", a < b + 1);
  o.control("a <= b");
  EXPECT_EQ(failures(o), "");
  unsetenv("RETILE_CVC5");
}

}  // namespace
}  // namespace proofs
