#include "retile/core/problem.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace problem_test {
namespace {

using retile::Code;
using retile::Digit;
using retile::find_violation;
using retile::Layout;
using retile::Problem;
using retile::Shape;
using retile::Size;

/// Every dimension whole.
Layout whole(Size devices, const Shape& global) {
  return Layout::compact(devices, global, global, std::vector<std::vector<Digit>>(global.size()))
      .value();
}

TEST(ProblemOfLayouts, two_layouts_of_one_array_over_the_same_devices) {
  const Layout from = Layout::compact(4, {12}, {3}, {{{1, 4}}}).value();
  const auto problem = Problem::make(from, whole(4, {12}));
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->from, from);
  EXPECT_EQ(problem->to, whole(4, {12}));
  EXPECT_FALSE(problem->spelling.has_value());
}

TEST(ProblemOfLayouts, listed_layouts_are_ends_like_any_other) {
  const Layout from = Layout::listed(2, {4}, {2}, {0, 2}).value();
  EXPECT_TRUE(Problem::make(from, whole(2, {4})).has_value());
}

TEST(ProblemOfLayouts, other_numbers_of_devices_are_refused) {
  const auto problem = Problem::make(whole(4, {12}), whole(8, {12}));
  ASSERT_FALSE(problem.has_value());
  EXPECT_EQ(problem.error().code, Code::bad_argument);
  EXPECT_EQ(problem.error().message, "both ends have the same devices: from has 4, to has 8");
}

TEST(ProblemOfLayouts, other_arrays_are_refused) {
  EXPECT_EQ(Problem::make(whole(4, {12}), whole(4, {12, 1})).error().code, Code::rank_mismatch);
  EXPECT_EQ(Problem::make(whole(4, {12, 2}), whole(4, {12, 3})).error().code,
            Code::globaltype_mismatch);
}

TEST(GlobalShapes, the_first_difference_is_named) {
  EXPECT_FALSE(find_violation("A", {12, 6}, "B", {12, 6}).has_value());
  const auto rank = find_violation("A", {12}, "B", {12, 1});
  ASSERT_TRUE(rank.has_value());
  EXPECT_EQ(rank->diagnostic.message, "A has 1 dimension, B has 2 dimensions");
  EXPECT_FALSE(rank->dim.has_value());
  const auto size = find_violation("A", {12, 6, 1}, "B", {12, 7, 2});
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->diagnostic.message,
            "global sizes must agree: dimension 1 has size 6 in A and 7 in B");
  EXPECT_EQ(size->dim, 1U);
}

}  // namespace
}  // namespace problem_test
