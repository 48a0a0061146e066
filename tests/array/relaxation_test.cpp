// Sums that message passing finds, and its bounds, against the least sum.
#include "retile/array/relaxation.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace retile::array::relaxation_test {
namespace {

using Random = std::mt19937_64;
using Alone = std::vector<std::vector<Weight>>;

Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}
Weight drawn(Random& random) {
  if (below(random, 12) == 0) return Weight::infinite();
  return {static_cast<Wide>(below(random, 3) == 0 ? 0 : below(random, 1000)), 0, 0};
}

struct Terms {
  Alone alone;
  std::vector<Pair> pairs;
};
/// Such as statements make: each variable with the one before it, and some with earlier ones.
Terms drawn_terms(Random& random) {
  Terms out;
  out.alone.resize(static_cast<std::size_t>(2 + below(random, 9)));
  for (auto& weights : out.alone) {
    for (Size k = 1 + below(random, 5); k > 0; --k) weights.push_back(drawn(random));
  }
  std::set<std::pair<std::size_t, std::size_t>> ends;
  for (std::size_t v = 1; v < out.alone.size(); ++v) {
    ends.insert({v - 1, v});
    ends.insert({static_cast<std::size_t>(below(random, static_cast<Size>(v))), v});
  }
  for (const auto& [low, high] : ends) {
    const bool turns = below(random, 2) == 0;
    Pair pair{turns ? high : low, turns ? low : high, {}};
    pair.table.resize(out.alone[low].size() * out.alone[high].size());
    for (Weight& weight : pair.table) weight = drawn(random);
    out.pairs.push_back(std::move(pair));
  }
  return out;
}
Wide sum_of(const Terms& terms, const std::vector<std::size_t>& values) {
  Weight out;
  for (std::size_t v = 0; v < terms.alone.size(); ++v) out = out + terms.alone[v][values[v]];
  for (const Pair& pair : terms.pairs) {
    out =
        out + pair.table[values[pair.row] * terms.alone[pair.column].size() + values[pair.column]];
  }
  return out.is_infinite() ? ~Wide{0} : out.first;
}

TEST(Relaxation, bounds_the_least_sum_from_both_sides) {
  Random random(11);
  int proved = 0, found_all = 0, finite = 0;
  for (int round = 0; round < 3000; ++round) {
    const Terms terms = drawn_terms(random);
    const auto least = Elimination(terms.alone, terms.pairs).solve();
    Relaxation relaxation(terms.alone, terms.pairs);
    const auto found = relaxation.solve(terms.alone, 60);
    if (!least) {
      ASSERT_FALSE(found) << round;
      continue;
    }
    ++finite;
    if (!found) continue;
    const Wide best = sum_of(terms, *least), here = sum_of(terms, found->values);
    ASSERT_TRUE(best <= here) << round;
    ASSERT_TRUE(found->bound <= best) << round;
    proved += found->bound == here ? 1 : 0;
    found_all += best == here ? 1 : 0;
  }
  std::cout << finite << " finite, of these " << found_all << " found, " << proved << " proved\n";
  EXPECT_GT(proved, finite / 2);
  EXPECT_GT(found_all, finite * 3 / 4);
}

TEST(Relaxation, keeps_its_bound_when_weights_change) {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    Terms terms = drawn_terms(random);
    Relaxation relaxation(terms.alone, terms.pairs);
    for (int change = 0; change < 4; ++change) {
      const auto found = relaxation.solve(terms.alone, 20);
      const auto least = Elimination(terms.alone, terms.pairs).solve();
      if (found && least) {
        ASSERT_TRUE(found->bound <= sum_of(terms, *least)) << round;
      }
      for (auto& weights : terms.alone) {
        for (Weight& weight : weights) {
          if (!weight.is_infinite()) weight.first += static_cast<Wide>(below(random, 300));
        }
      }
    }
  }
}

}  // namespace
}  // namespace retile::array::relaxation_test
