#include "spec/paper/sec4_easy.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "spec/paper/def5_weak.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::sec4_easy_test {
namespace {

/// (2) on all pairs of types, and (3). The printed (2), one allgather a dimension, must fail (E10).
TEST(Eq_2, solves_every_problem_and_needs_all_the_memory) {
  Counts pairs, caught, above;
  for (const auto& [H, g] : prime_spaces(3)) {
    const std::string text = to_text(H);
    const auto types = all_types(H, g);
    for (const Type& tau_1 : types) {
      for (const Type& tau_2 : types) {
        const auto p = easy_redistribution(H, tau_1, tau_2).value();
        const auto s = sequence(H, tau_1, p);
        ASSERT_TRUE(s) << to_text(tau_1);
        ASSERT_EQ(s->sigma.back(), tau_2);
        const Type& middle = s->sigma[axes(tau_1).size()];
        ASSERT_EQ(middle, replicated(tau_1));
        const Size bound = std::max(localsize(tau_1), localsize(tau_2));
        ASSERT_GE(localsize(middle), bound);  // (3)
        ASSERT_EQ(height(*s), localsize(middle));
        ASSERT_EQ(is_memory_constrained(*s), localsize(middle) == bound);
        ++pairs[text];
        above[text] += localsize(middle) > bound ? 1U : 0U;
        std::vector<Collective> printed;
        for (Index k = 0; k < p.size(); ++k) {
          const bool again = k > 0 && p[k].p == Op::allgather && p[k].i == p[k - 1].i;
          if (!again || p[k - 1].p != Op::allgather) printed.push_back(p[k]);
        }
        const auto s_printed = sequence(H, tau_1, printed);
        caught[text] += s_printed && s_printed->sigma.back() == tau_2 ? 0U : 1U;
      }
    }
  }
  expect_on_each("pairs", pairs, 6, 1000);
  expect_on_each("above the bound (4)", above, 6, 500);
  expect_on_each("the printed (2) fails", caught, 6, 100);
}

TEST(Eq_2, needs_one_globaltype) {
  const Mesh H = mesh("x:2");
  EXPECT_TRUE(easy_redistribution(H, type(H, "[2{x}4]"), type(H, "[4]")));
  EXPECT_FALSE(easy_redistribution(H, type(H, "[2{x}4]"), type(H, "[2]")));
  EXPECT_FALSE(easy_redistribution(H, type(H, "[2{x}5]"), type(H, "[5]")));
}

/// Lemma 4.1 in every dimension of every type, and Lemma 4.2 for the type. The mutant of 4.1 is
/// Fig. 7a without the product of the axes in front: every axis steps by one tile, so two axes
/// do not reach every tile.
TEST(Lemmas_4_1_and_4_2, images_are_all_multiples_of_the_tiles) {
  Counts types, caught;
  for (const auto& [H, g] : prime_spaces(3)) {
    for (const Type& tau : all_types(H, g)) {
      ++types[to_text(H)];
      const BaseOffsetMap beta = base_offset_map(H, tau).value();
      const std::set<Offset> image(beta.begin(), beta.end());
      Size tiles = 1;
      for (Index i = 0; i < rank(tau); ++i) {
        std::set<Size> offsets, multiples, mutant;
        for (const Offset& b : image) offsets.insert(b[i]);
        for (Size b = 0; b < tau[i].s; b += tau[i].c) multiples.insert(b);
        for (const Point& point : points(H)) {
          Size b = 0;
          for (const Name& x : tau[i].xs) b += tau[i].c * coordinate(H, point, x).value();
          mutant.insert(b);
        }
        ASSERT_EQ(offsets, multiples) << to_text(tau);  // 4.1
        caught[to_text(H)] += offsets != mutant ? 1U : 0U;
        tiles *= tau[i].s / tau[i].c;
      }
      ASSERT_EQ(static_cast<Size>(image.size()), tiles) << to_text(tau);  // 4.2: all combinations
    }
  }
  expect_on_each("types", types, 6, 100);
  expect_on_each("dimensions where the mutant fails", caught, 6, 20);
}

/// E7: (0, 6) is lexicographically below the globaltype (4, 4), and a multiple of the tile, but
/// no base offset.
TEST(Lemma_4_2, E7_lexicographically_is_not_enough) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[2{x}4, 2{y}4]");
  const Offset b = {0, 6};
  EXPECT_LT(b, globaltype(tau));  // vectors compare lexicographically
  const auto beta = base_offset_map(H, tau).value();
  EXPECT_EQ(std::count(beta.begin(), beta.end(), b), 0);
  EXPECT_EQ(std::count(beta.begin(), beta.end(), Offset{0, 2}), 1);
}

/// Lemma 5.1 on all pairs. The mutant compares localsizes only.
TEST(Lemma_5_1, equal_localtypes_are_related_by_a_permutation) {
  Counts pairs, equal, caught;
  for (const auto& [H, g] : prime_spaces(3)) {
    const std::string text = to_text(H);
    const auto types = all_types(H, g);
    std::vector<BaseOffsetMap> beta;
    for (const Type& tau : types) {
      beta.push_back(base_offset_map(H, tau).value());
      std::sort(beta.back().begin(), beta.back().end());
    }
    for (Index a = 0; a < types.size(); ++a) {
      for (Index b = 0; b < types.size(); ++b) {
        const bool same = localtype(types[a]) == localtype(types[b]);
        ASSERT_EQ(beta[a] == beta[b], same) << to_text(types[a]) << to_text(types[b]);
        ++pairs[text];
        equal[text] += same ? 1U : 0U;
        caught[text] +=
            (beta[a] == beta[b]) != (localsize(types[a]) == localsize(types[b])) ? 1U : 0U;
      }
    }
  }
  expect_on_each("pairs", pairs, 6, 1000);
  expect_on_each("of equal localtype", equal, 6, 300);
  expect_on_each("the mutant is wrong", caught, 6, 100);
}

}  // namespace
}  // namespace spec::sec4_easy_test
