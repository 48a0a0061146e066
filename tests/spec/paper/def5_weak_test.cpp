#include "spec/paper/def5_weak.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "spec/paper/sec7_multi_axis.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::def5_weak_test {
namespace {

const Sizes globals = {6, 4};  // over 12 devices

std::optional<Sizes> step(Op p, Index i, Index j, Size n, const Sizes& c) {
  return weak_step(12, globals, {p, i, j, n}, c);
}

TEST(Weak_ALLGATHER, multiplies_a_split_dimension) {
  EXPECT_EQ(step(Op::allgather, 0, 0, 3, {2, 4}), (Sizes{6, 4}));
  EXPECT_EQ(step(Op::allgather, 0, 0, 2, {2, 4}), std::nullopt);  // n | N_i
  EXPECT_EQ(step(Op::allgather, 0, 0, 1, {2, 4}), std::nullopt);  // n ≥ 2
  EXPECT_EQ(step(Op::allgather, 2, 0, 3, {2, 4}), std::nullopt);
}
TEST(Weak_DYNSLICE, divides_while_devices_last) {
  EXPECT_EQ(step(Op::dynslice, 1, 0, 2, {2, 4}), (Sizes{2, 2}));
  EXPECT_EQ(step(Op::dynslice, 1, 0, 3, {2, 4}), std::nullopt);  // n | c_i
  EXPECT_EQ(step(Op::dynslice, 1, 0, 4, {2, 4}), (Sizes{2, 1}));
  EXPECT_EQ(step(Op::dynslice, 0, 0, 2, {2, 1}), std::nullopt);  // n · ∏ N | δ
}
TEST(Weak_ALLTOALL, moves_a_factor) {
  EXPECT_EQ(step(Op::alltoall, 0, 1, 2, {1, 4}), (Sizes{2, 2}));
  EXPECT_EQ(step(Op::alltoall, 0, 0, 2, {1, 4}), std::nullopt);  // i ≠ j
  EXPECT_EQ(step(Op::alltoall, 0, 1, 2, {2, 4}), std::nullopt);  // n | N_i
  EXPECT_EQ(step(Op::alltoall, 0, 1, 3, {1, 4}), std::nullopt);  // n | c_j
  EXPECT_EQ(step(Op::alltoall, 0, 2, 2, {1, 4}), std::nullopt);
}
TEST(Weak_ALLPERMUTE, does_not_exist) {
  EXPECT_EQ(step(Op::allpermute, 0, 0, 2, {1, 4}), std::nullopt);
}

/// Lemma 5.1: equal localtypes iff equivalent base offset maps; and the localtypes that occur are
/// those that `is_localtype` describes. Mutants: the maps themselves are equal; ∏ N_i need not
/// divide δ. Large spaces of rank 3 are asked for their localtypes only.
TEST(Lemma_5_1, localtypes_are_the_weak_types) {
  std::size_t pairs = 0, equal = 0, unequal_maps = 0, too_many = 0;
  for (const auto& [H, g] : prime_spaces(3)) {
    const Size delta = device_count(H).value();
    const auto types = all_types(H, g);
    std::set<Sizes> occurring;
    for (const Type& tau_1 : types) {
      occurring.insert(localtype(tau_1));
      if (g.size() == 3 && types.size() > 40) continue;
      const auto beta_1 = base_offset_map(H, tau_1).value();
      for (const Type& tau_2 : types) {
        ++pairs;
        const bool same = localtype(tau_1) == localtype(tau_2);
        equal += same ? 1U : 0U;
        const auto beta_2 = base_offset_map(H, tau_2).value();
        unequal_maps += same && beta_1 != beta_2 ? 1U : 0U;
        ASSERT_EQ(equivalent(beta_1, beta_2), same);
      }
    }
    const auto all = all_localtypes(delta, g);
    ASSERT_EQ(occurring, std::set<Sizes>(all.begin(), all.end()));
    std::size_t divisors = 1;
    for (const Size s : g) divisors *= all_localtypes(s, {s}).size();  // any c_i | g_i
    too_many += divisors - all.size();
  }
  std::cout << pairs << " pairs, " << equal << " of equal localtype, " << unequal_maps
            << " of them with unequal maps; " << too_many << " localtypes too many by a mutant\n";
  EXPECT_GT(pairs, 50000U);
  EXPECT_LT(equal, pairs / 2);
  EXPECT_GT(unequal_maps, 1000U);
  EXPECT_GT(too_many, 100U);
}

TEST(Def_5_2, equivalence_counts_the_points_of_each_offset) {
  EXPECT_TRUE(equivalent({{0}, {0}, {4}}, {{4}, {0}, {0}}));
  EXPECT_FALSE(equivalent({{0}, {0}, {4}}, {{4}, {4}, {0}}));
  EXPECT_FALSE(equivalent(BaseOffsetMap{{0}}, {{0}, {0}}));
}

/// Def. 5.3, read existentially (E11), with one axis and with several: the weak steps are what the
/// strong steps become when only localtypes are looked at. One mutant drops n · ∏ N | δ; the other
/// slices only where c_i | δ, which is no restriction as long as all sizes divide δ.
TEST(Def_5_3, weak_steps_are_the_strong_steps_between_classes) {
  using Arrow = std::tuple<Sizes, Op, Index, Index, Size, Sizes>;
  std::size_t arrows = 0, caught = 0, full_only = 0;
  for (const auto& [H, g] : prime_spaces(3)) {
    const Size delta = device_count(H).value();
    std::set<Arrow> strong_one, strong_all, weak_one, weak_all;
    // all lists of distinct axes
    std::vector<Names> lists;
    for (const Axis& a : H) {
      lists.push_back({a.x});
      for (const Axis& b : H) {
        if (b.x != a.x) lists.push_back({a.x, b.x});
        for (const Axis& c : H) {
          if (b.x != a.x && c.x != a.x && c.x != b.x) lists.push_back({a.x, b.x, c.x});
        }
      }
    }
    for (const Type& tau : all_types(H, g)) {
      for (const Names& x : lists) {
        const Size n = lookup(H, x).value();
        for (Index i = 0; i < g.size(); ++i) {
          for (Index j = 0; j < g.size(); ++j) {
            for (const Op p : {Op::allgather, Op::dynslice, Op::alltoall}) {
              const Index j_p = p == Op::alltoall ? j : 0;
              const auto next = apply(H, MultiCollective{p, i, j, x, {}}, tau);
              if (!next) continue;
              const Arrow arrow = {localtype(tau), p, i, j_p, n, localtype(*next)};
              strong_all.insert(arrow);
              if (x.size() == 1) strong_one.insert(arrow);
            }
          }
        }
      }
    }
    for (const Sizes& c : all_localtypes(delta, g)) {
      for (const bool one_axis : {true, false}) {
        for (const WeakCollective& p : weak_steps(delta, g, c, one_axis)) {
          (one_axis ? weak_one : weak_all)
              .insert({c, p.p, p.i, p.j, p.n, weak_step(delta, g, p, c).value()});
        }
      }
      for (Index i = 0; i < g.size(); ++i) {
        for (Size n = 2; n <= c[i]; ++n) {
          Sizes mutant = c;
          mutant[i] /= n;
          if (c[i] % n == 0)
            caught += strong_all.count({c, Op::dynslice, i, 0, n, mutant}) ? 0U : 1U;
        }
      }
    }
    arrows += weak_all.size();
    for (const auto& [c, p, i, j, n, next] : strong_all) {
      full_only += p == Op::dynslice && delta % c[i] != 0 ? 1U : 0U;
    }
    ASSERT_EQ(weak_one, strong_one) << to_text(H);
    ASSERT_EQ(weak_all, strong_all) << to_text(H);
  }
  std::cout << arrows << " weak steps, one mutant has " << caught << " more, the other "
            << full_only << " fewer\n";
  EXPECT_GT(arrows, 20000U);
  EXPECT_GT(caught, 1000U);
  EXPECT_GT(full_only, 300U);
}

}  // namespace
}  // namespace spec::def5_weak_test
