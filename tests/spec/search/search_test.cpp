#include "spec/search/search.h"

#include <gtest/gtest.h>

#include "optima.h"
#include "spec/paper/sec3_factor.h"
#include "support/samples.h"
#include "tests/spec/values.h"

namespace spec::search_test {
namespace {

TEST(AllTypes, counts_by_hand) {
  const Mesh H = mesh("x:2,y:2");
  // [4]: nothing, {x}, {y}, {x,y}, {y,x}.
  EXPECT_EQ(all_types(H, {4}).size(), 5U);
  // [2]: nothing, {x}, {y}.
  EXPECT_EQ(all_types(H, {2}).size(), 3U);
  // [2,2]: each dimension nothing or one axis, not both the same: 3 · 3 - 2.
  EXPECT_EQ(all_types(H, {2, 2}).size(), 7U);
  EXPECT_EQ(all_types(H, {1}).size(), 1U);
  EXPECT_EQ(all_types(H, {}).size(), 1U);
}

/// The sum over pairs of types of every shape that divides δ, which the planner's test also counts.
TEST(AllTypes, pairs_of_the_enumerated_meshes) {
  const auto pairs = [](std::string_view text, Index most_rank) {
    const Mesh H = mesh(text);
    std::size_t sum = 0;
    std::vector<Sizes> shapes = {Sizes()};
    const Size delta = device_count(H).value();
    for (Index r = 1; r <= most_rank; ++r) {
      std::vector<Sizes> longer;
      for (const Sizes& g : shapes) {
        for (Size s = 1; s <= delta; ++s) {
          if (delta % s == 0) longer.push_back(g), longer.back().push_back(s);
        }
      }
      shapes = longer;
      for (const Sizes& g : shapes) {
        const std::size_t types = all_types(H, g).size();
        sum += types * types;
      }
    }
    return sum;
  };
  EXPECT_EQ(pairs("x:2,y:2", 3), 3607U);
  EXPECT_EQ(pairs("x:2,y:3", 3), 4540U);
  EXPECT_EQ(pairs("x:2,y:2,z:2", 3), 209847U);
  EXPECT_EQ(pairs("x:2,y:2,z:3", 3), 319889U);
}

TEST(CheapestWeak, known_optima) {
  // Example 3.1 over 24 devices.
  EXPECT_EQ(cheapest_weak(24, {12, 12}, {3, 2}, {2, 3})->cost, 12);
  // Example 4.9, with one axis at a time and with several (Example 7.1).
  EXPECT_EQ(cheapest_weak(8, {8, 8}, {1, 8}, {8, 1})->cost, 8);
  EXPECT_EQ(cheapest_weak(8, {8, 8}, {1, 8}, {8, 1}, {true, true})->cost, 24);
  // Fig. 12, replacement.
  EXPECT_EQ(cheapest_weak(32, {32, 32, 32}, {8, 16, 32}, {32, 32, 4})->cost, 5120);
  EXPECT_EQ(cheapest_weak(8, {8, 8}, {8, 1}, {8, 1})->cost, 0);
  EXPECT_FALSE(cheapest_weak(8, {8, 8}, {8, 3}, {8, 1}));
  EXPECT_FALSE(cheapest_weak(8, {8, 8}, {1, 1}, {8, 1}));  // 64 tiles on 8 devices
}

/// Sec. 7.2 and Lemma 6.5: the cheapest path that is found is a normal form within (4), and
/// dropping the bound does not lower the cost. S5: W = 0 or W ≥ L2. The mutant without dynslice
/// leads nowhere or, on three axes, sometimes costs more.
TEST(CheapestWeak, optimal_paths_are_normal_forms_within_the_bound) {
  Counts problems, over_partitioned, dearer;
  for (const auto& [H, g] : spaces(2, support::instrumented ? 8 : 12)) {
    const std::string text = to_text(H);
    const Size delta = device_count(H).value();
    const auto all = all_localtypes(delta, g);
    const auto mutant = weak_costs(delta, g, all, false);
    for (Index a = 0; a < all.size(); ++a) {
      for (Index b = 0; b < all.size(); ++b) {
        const Sizes &c_1 = all[a], &c_2 = all[b];
        const auto w = cheapest_weak(delta, g, c_1, c_2);
        ASSERT_TRUE(w);
        ++problems[text];
        std::vector<Op> p;
        Sizes sizes;
        for (const auto& step : w->p) p.push_back(step.p);
        for (const auto& c : w->c) sizes.push_back(size_of(c));
        ASSERT_EQ(cost(p, sizes), w->cost);
        for (Index k = 0; k < p.size(); ++k) {
          ASSERT_EQ(weak_step(delta, g, w->p[k], w->c[k]), w->c[k + 1]);
        }
        ASSERT_TRUE(is_normal_form(p));
        ASSERT_TRUE(is_memory_constrained(sizes));
        ASSERT_EQ(cheapest_weak(delta, g, c_1, c_2, {false, false})->cost, w->cost);
        ASSERT_TRUE(w->cost == 0 || w->cost >= size_of(c_2));
        if (valley(sizes) < std::min(sizes.front(), sizes.back())) ++over_partitioned[text];
        ASSERT_GE(mutant[a][b], w->cost);
        if (mutant[a][b] > w->cost && mutant[a][b] != unreachable) ++dearer[text];
      }
    }
  }
  if (support::instrumented) return;  // too few of them
  expect_on_each("problems", problems, 5, 50);
  // With two dimensions it needs two primes or three axes.
  expect_on_each("over-partitioned", over_partitioned, 3, 10);
  expect_on_each("the mutant costs more", dearer, 2, 10);
}

/// W by listing every sequence of up to four steps, normal forms or not, against the shortest path.
/// Without the bound (4), which does not raise W.
TEST(CheapestWeak, agrees_with_listing_all_sequences) {
  Counts problems;
  for (const Space& space : spaces(2, 6)) {
    const Sizes& g = space.g;
    const Size delta = device_count(space.H).value();
    for (const Sizes& c_1 : all_localtypes(delta, g)) {
      std::map<Sizes, Size> best;
      const auto visit = [&](const auto& self, const Sizes& c, Size spent, int left) -> void {
        const auto known = best.find(c);
        if (known == best.end() || known->second > spent) best[c] = spent;
        if (left == 0) return;
        for (const auto& p : weak_steps(delta, g, c)) {
          const Sizes next = weak_step(delta, g, p, c).value();
          self(self, next, spent + cost(p.p, size_of(c), size_of(next)), left - 1);
        }
      };
      visit(visit, c_1, 0, 4);
      for (const Sizes& c_2 : all_localtypes(delta, g)) {
        ++problems[to_text(space.H)];
        ASSERT_EQ(cheapest_weak(delta, g, c_1, c_2)->cost, best.at(c_2));
      }
    }
  }
  expect_on_each("problems", problems, 2, 50);
}

}  // namespace
}  // namespace spec::search_test
