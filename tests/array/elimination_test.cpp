// The least sum against all sums.
#include "retile/array/elimination.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace retile::array::elimination_test {
namespace {

using Random = std::mt19937_64;
using Alone = std::vector<std::vector<Weight>>;

Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}

/// \param is_wide  as large as they get, so that three parts are not one number
Weight drawn(Random& random, bool is_wide) {
  if (below(random, 8) == 0) return Weight::infinite();
  const auto first = static_cast<Wide>(below(random, 6));
  const Size second = below(random, 4), third = below(random, 4);
  if (is_wide) return {first << 90U, (second << 50) + below(random, 2), third};
  return {first * 6, second * 10, third};
}

Weight sum_of(const Alone& alone, const std::vector<Pair>& pairs,
              const std::vector<std::size_t>& values) {
  Weight out;
  for (std::size_t v = 0; v < alone.size(); ++v) out = out + alone[v][values[v]];
  for (const Pair& pair : pairs) {
    out = out + pair.table[values[pair.row] * alone[pair.column].size() + values[pair.column]];
  }
  return out;
}

/// The least of all sums.
Weight least_of(const Alone& alone, const std::vector<Pair>& pairs) {
  std::vector<std::size_t> values(alone.size(), 0);
  Weight out = Weight::infinite();
  for (;;) {
    const Weight sum = sum_of(alone, pairs, values);
    if (sum < out) out = sum;
    std::size_t v = 0;
    while (v < values.size() && ++values[v] == alone[v].size()) values[v++] = 0;
    if (v == values.size()) return out;
  }
}

TEST(Elimination, finds_the_least_of_all_sums) {
  Random random(3);
  int none = 0;
  for (int round = 0; round < 2000; ++round) {
    const bool is_wide = round % 3 == 0;
    Alone alone(static_cast<std::size_t>(1 + below(random, 6)));
    for (auto& weights : alone) {
      for (Size k = 1 + below(random, 4); k > 0; --k) weights.push_back(drawn(random, is_wide));
    }
    std::vector<Pair> pairs;
    const auto count = static_cast<Size>(alone.size());
    for (Size k = below(random, 9); k > 0 && count > 1; --k) {
      const auto row = static_cast<std::size_t>(below(random, count));
      const auto column = static_cast<std::size_t>(below(random, count));
      if (row == column) continue;
      Pair pair{row, column, {}};
      for (std::size_t e = 0; e < alone[row].size() * alone[column].size(); ++e) {
        pair.table.push_back(drawn(random, is_wide));
      }
      pairs.push_back(std::move(pair));  // two of the same, too
    }
    const Elimination made(alone, pairs);
    ASSERT_TRUE(made.work());
    const auto found = made.solve();
    const Weight least = least_of(alone, pairs);
    ASSERT_EQ(found.has_value(), !least.is_infinite());
    if (found) {
      EXPECT_EQ(sum_of(alone, pairs, *found), least);
    } else {
      ++none;
    }
  }
  EXPECT_GT(none, 20);
  EXPECT_LT(none, 1500);
}

TEST(Elimination, knows_what_is_too_much) {
  const Alone alone(8, std::vector<Weight>(100));
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < alone.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) pairs.push_back({a, b, std::vector<Weight>(10000)});
  }
  EXPECT_FALSE(Elimination(alone, pairs).work());
  pairs.resize(3);  // three of them
  const auto work = Elimination(alone, pairs).work();
  EXPECT_EQ(work, 100 * 100 * 100 + 100 * 100 + 100 + 5 * 100);
}

TEST(Elimination, sums_that_do_not_fit_are_infinite) {
  const Size most = std::numeric_limits<Size>::max();
  EXPECT_TRUE((Weight{0, most, 0} + Weight{0, 1, 0}).is_infinite());
  EXPECT_TRUE((Weight{0, 0, most} + Weight{0, 0, 1}).is_infinite());
  EXPECT_TRUE((Weight{~Wide{0} - 1, 0, 0} + Weight{2, 0, 0}).is_infinite());
  EXPECT_EQ((Weight{1, most, 0} + Weight{2, 0, 3}), (Weight{3, most, 3}));
}

}  // namespace
}  // namespace retile::array::elimination_test
