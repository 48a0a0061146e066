#include "spec/paper/def4_sequences.h"

#include <gtest/gtest.h>

#include "tests/spec/values.h"

namespace spec::def4_sequences_test {
namespace {

using enum Op;

TEST(Def_4_4, height_counts_both_ends) {
  EXPECT_EQ(height(Sizes{4, 2, 8, 1}), 8);
  EXPECT_EQ(height(Sizes{9, 2, 8, 1}), 9);
  EXPECT_EQ(height(Sizes{4, 2, 8, 16}), 16);
  EXPECT_EQ(height(Sizes{5}), 5);
  EXPECT_EQ(valley(Sizes{4, 2, 8, 1}), 1);
}

TEST(Def_4_5, normal_forms_fall_stay_and_rise) {
  EXPECT_TRUE(is_normal_form({}));
  EXPECT_TRUE(is_normal_form({dynslice, dynslice, alltoall, allpermute, alltoall, allgather}));
  EXPECT_TRUE(is_normal_form({allgather, allgather}));
  EXPECT_TRUE(is_normal_form({allpermute}));
  EXPECT_FALSE(is_normal_form({allgather, dynslice}));
  EXPECT_FALSE(is_normal_form({alltoall, dynslice}));
  EXPECT_FALSE(is_normal_form({allgather, allpermute}));
  EXPECT_FALSE(is_normal_form({dynslice, allgather, alltoall, allgather}));
}

/// Every string of up to 6 labels, against the expression as a finite automaton with states 0,
/// 1, 2.
TEST(Def_4_5, agrees_with_the_regular_expression_on_all_short_strings) {
  std::size_t strings = 0, normal = 0;
  for (int length = 0; length <= 6; ++length) {
    for (int code = 0; code < 1 << (2 * length); ++code) {
      std::vector<Op> p;
      int state = 0;
      for (int k = 0; k < length; ++k) {
        p.push_back(static_cast<Op>((code >> (2 * k)) & 3));
        const int level = p.back() == dynslice ? 0 : p.back() == allgather ? 2 : 1;
        state = level >= state ? level : 3;
      }
      ++strings;
      normal += state < 3 ? 1U : 0U;
      ASSERT_EQ(is_normal_form(p), state < 3);
    }
  }
  EXPECT_EQ(strings, 5461U);
  EXPECT_GT(normal, 100U);
  EXPECT_LT(normal, strings);
}

TEST(Eq_4, the_bound_is_the_larger_end) {
  EXPECT_TRUE(is_memory_constrained(Sizes{4, 2, 8}));
  EXPECT_TRUE(is_memory_constrained(Sizes{8, 8, 4}));
  EXPECT_FALSE(is_memory_constrained(Sizes{4, 9, 8}));
}

TEST(Sequence, the_easy_solution_solves_and_breaks_the_bound) {
  const Mesh H = mesh("x:2,y:3");
  const auto s = sequence(H, type(H, "[2{x}4, 2{y}6]"),
                          {{allgather, 0, 0, "", {}},
                           {allgather, 1, 0, "", {}},
                           {dynslice, 0, 0, "x", {}},
                           {dynslice, 1, 0, "y", {}}});
  ASSERT_TRUE(s);
  EXPECT_EQ(localsizes(*s), (Sizes{4, 8, 24, 12, 4}));
  EXPECT_EQ(height(*s), 24);
  EXPECT_FALSE(is_memory_constrained(*s));
  EXPECT_FALSE(is_normal_form(s->p));
  EXPECT_EQ(cost(*s), 8 + 24);
  EXPECT_FALSE(sequence(H, type(H, "[4]"), {{allgather, 0, 0, "", {}}}));
}

}  // namespace
}  // namespace spec::def4_sequences_test
