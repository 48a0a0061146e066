// Random problems drawn as in the paper's evaluation (Sec. 8): three mesh axes, up to six
// dimensions, 64-800 MB of 4-byte elements, every axis independently replicated or put on a
// dimension, for source and for target.
#include "support/section8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

namespace retile::section8_test {
namespace {

TEST(Section8, a_thousand_samples_plan_lower_and_check) {
  std::mt19937_64 random(20211221);
  const std::vector<Mesh> meshes{
      parse_mesh("a:2,b:2,c:2").value(), parse_mesh("a:4,b:2,c:4").value(),
      parse_mesh("a:2,b:3,c:2").value(), parse_mesh("a:6,b:4,c:5").value()};
  Size permuted = 0;
  Size optimal = 0;
  for (int k = 0; k < 1000; ++k) {
    const support::Sample sample =
        support::draw_sample(random, meshes[static_cast<std::size_t>(k) % meshes.size()]);
    SCOPED_TRACE(sample.mesh + " " + sample.problem.spelling->from + " " +
                 sample.problem.spelling->to);
    const auto made = plan(sample.problem);
    ASSERT_TRUE(made.has_value()) << render(made.error());
    ASSERT_LE(made->height, made->bound);
    ASSERT_LE(made->permutes(), 1U);
    const Program program = lower(*made);
    const auto allpermutes =
        std::count_if(program.steps.begin(), program.steps.end(),
                      [](const Step& step) { return std::holds_alternative<Allpermute>(step.op); });
    ASSERT_LE(allpermutes, 1);
    const Verdict verdict = check(program);
    ASSERT_EQ(verdict.answer, Answer::right) << to_text(program);
    ASSERT_TRUE(verdict.within_bound);
    ASSERT_EQ(verdict.cost, made->cost);
    permuted += static_cast<Size>(made->permutes());
    optimal += made->optimal ? 1 : 0;
  }
  std::cout << "1000 problems: " << permuted << " with a permutation, " << optimal
            << " proved optimal\n";
}

}  // namespace
}  // namespace retile::section8_test
