// Cuts that nest: what the planner says of two, held against counting, and plans between layouts with
// such cuts, which both replays must call right at the plan's cost.
#include "retile/plan/nesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/problem.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"

namespace retile::nesting_test {
namespace {

std::vector<Size> list_of(const Cuts& cuts) {
  std::vector<Size> out;
  for (Size t = 0; t <= cuts.count(); ++t) out.push_back(cuts.at(t));
  return out;
}

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  Size below(Size n) { return static_cast<Size>(random_() % static_cast<std::uint64_t>(n)); }

  /// Listed, balanced or blocks.
  Cuts cuts(Size count, Size global) {
    const Size least = (global + count - 1) / count;
    switch (below(4)) {
      case 0:
        return Cuts::blocks(least + below(2), count, global);
      case 1:
        return Cuts::balanced(count, global);
      default:
        break;
    }
    std::vector<Size> at = {0, global};
    for (Size k = 1; k < count; ++k) at.push_back(below(global + 1));
    std::sort(at.begin(), at.end());
    return Cuts::listed(std::move(at));
  }

  /// Every so many tiles as one.
  static Cuts joined(const Cuts& cuts, Size n) {
    std::vector<Size> at;
    for (Size t = 0; t <= cuts.count(); t += n) at.push_back(cuts.at(t));
    return Cuts::listed(std::move(at));
  }

 private:
  std::mt19937_64 random_;
};

/// Whether every so many tiles of the one are a tile of the other.
bool joins(const Cuts& fine, const Cuts& coarse) {
  if (fine.count() % coarse.count() != 0) return false;
  return list_of(Draws::joined(fine, fine.count() / coarse.count())) == list_of(coarse);
}

/// Whether blocks of both fill one size up; one tile fills up what the other does.
bool fill_up(const Cuts& from, const Cuts& to) {
  if (!from.is_blocks() || !to.is_blocks()) return false;
  return from.count() == 1 || to.count() == 1 ||
         from.block() * from.count() == to.block() * to.count();
}

TEST(Nesting, is_decided_on_the_cut_points) {
  Draws draws(3);
  std::size_t nest = 0;
  std::size_t other = 0;
  for (int round = 0; round < 20000; ++round) {
    const Size global = 1 + draws.below(9);
    const Size count = std::vector<Size>{1, 2, 3, 4, 6}[static_cast<std::size_t>(draws.below(5))];
    const Cuts from = draws.cuts(count, global);
    Cuts to = draws.cuts(1 + draws.below(4), global);
    if (draws.below(2) == 0) to = Draws::joined(from, count % 2 == 0 ? 2 : 1);
    const bool expected =
        from.is_blocks() && to.is_blocks() ? fill_up(from, to) : joins(from, to) || joins(to, from);
    ++(expected ? nest : other);
    ASSERT_EQ(Nesting::make(from, to).has_value(), expected)
        << cuts_text(from) << " and " << cuts_text(to);
    ASSERT_EQ(Nesting::make(to, from).has_value(), expected);
  }
  EXPECT_GT(nest, 5000U);
  EXPECT_GT(other, 3000U);
}

TEST(Nesting, tiles_are_made_of_the_finer_ones_or_are_balanced_pieces_of_them) {
  Draws draws(4);
  for (int round = 0; round < 3000; ++round) {
    const Size global = 1 + draws.below(20);
    std::vector<Size> at = {0, global};
    for (int k = 0; k < 3; ++k) at.push_back(draws.below(global + 1));
    std::sort(at.begin(), at.end());
    const Cuts fine = Cuts::listed(at);
    if (fine.is_blocks()) continue;
    const Nesting nesting = Nesting::make(fine, Draws::joined(fine, 2)).value();
    EXPECT_EQ(nesting.size(false).value(), 4);
    EXPECT_EQ(nesting.size(true).value(), 4 * fine.largest());
    for (const Size n : {1, 2, 4}) {
      EXPECT_EQ(nesting.cuts(4 / n), Draws::joined(fine, n)) << cuts_text(fine);
    }
    const auto finer = nesting.cuts(12);
    ASSERT_TRUE(finer.has_value());
    for (Size t = 0; t < 4; ++t) {
      EXPECT_EQ(finer->at(3 * t), fine.at(t));
      for (Size q = 0; q < 3; ++q) {
        const Size extra = q < fine.width(t) % 3 ? 1 : 0;
        EXPECT_EQ(finer->width(3 * t + q), fine.width(t) / 3 + extra);
      }
    }
    EXPECT_EQ(nesting.cuts(3), std::nullopt);
  }
}

TEST(Nesting, pieces_are_those_that_a_step_cuts_or_none) {
  Draws draws(5);
  std::size_t equal = 0;
  std::size_t blocks = 0;
  std::size_t balanced = 0;
  std::size_t none = 0;
  for (int round = 0; round < 20000; ++round) {
    const Size global = 1 + draws.below(12);
    const Cuts fine = draws.cuts(4, global);
    if (fine.is_blocks()) continue;
    const Cuts coarse = Draws::joined(fine, 2);
    const auto found = Nesting::make(coarse, fine).value().pieces(2, 4);
    const auto holds = [&](const auto& width) {
      for (Size t = 0; t < 2; ++t) {
        for (Size q = 0; q < 2; ++q) {
          if (fine.width(2 * t + q) != width(coarse.width(t), q)) return false;
        }
      }
      return true;
    };
    const bool is_equal = holds([](Size m, Size /*q*/) { return m % 2 == 0 ? m / 2 : Size{-1}; });
    bool is_blocks = false;
    for (Size s = 1; s <= global; ++s) {
      is_blocks = is_blocks || holds([s](Size m, Size q) {
                    return std::min((q + 1) * s, m) - std::min(q * s, m);
                  });
    }
    const bool is_balanced = holds([](Size m, Size q) { return m / 2 + (q < m % 2 ? 1 : 0); });
    ASSERT_EQ(found.has_value(), is_equal || is_blocks || is_balanced) << cuts_text(fine);
    if (!found) {
      ++none;
    } else if (!found->size) {
      EXPECT_TRUE(is_equal) << cuts_text(fine);
      ++equal;
    } else if (found->size->is_balanced()) {
      EXPECT_TRUE(is_balanced) << cuts_text(fine);
      ++balanced;
    } else {
      const Size s = found->size->extent();
      EXPECT_TRUE(holds([s](Size m, Size q) {
        return std::min((q + 1) * s, m) - std::min(q * s, m);
      })) << cuts_text(fine);
      ++blocks;
    }
  }
  std::cout << equal << " equal, " << blocks << " blocks, " << balanced << " balanced, " << none
            << " none\n";
  EXPECT_GT(std::min({equal, blocks, balanced, none}), 100U);
}

/// Two dimensions over a:2,b:2; the first is cut by b and a or by a or not at all, the second by what is
/// left or not at all.
std::vector<Layout> ends_of(const Cuts& fine, Size other) {
  const Digit a{2, 2};
  const Digit b{1, 2};
  std::vector<Layout> out;
  const auto add = [&](Cuts first, std::vector<Digit> by, Cuts second,
                       std::vector<Digit> by_second) {
    out.push_back(Layout::numbered(4, {std::move(first), std::move(second)},
                                   {std::move(by), std::move(by_second)})
                      .value());
  };
  const Cuts whole = Cuts::even(other, 1);
  add(fine, {b, a}, whole, {});
  add(Draws::joined(fine, 2), {a}, whole, {});
  add(Draws::joined(fine, 2), {a}, Cuts::balanced(2, other), {b});
  add(Draws::joined(fine, 4), {}, Cuts::balanced(4, other), {a, b});
  add(Draws::joined(fine, 4), {}, whole, {});
  return out;
}

TEST(Nesting, plans_between_cuts_that_nest_are_right_at_their_cost) {
  Draws draws(6);
  std::size_t planned = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 150; ++round) {
    const Size global = 4 + draws.below(9);
    const std::vector<Layout> ends = ends_of(draws.cuts(4, global), 4 + draws.below(6));
    for (const Layout& from : ends) {
      for (const Layout& to : ends) {
        const auto plan = retile::plan(Problem::make(from, to).value(), {.collectives = true});
        if (!plan) {  // only where something would have to be cut as no step cuts
          ASSERT_NE(plan.error().message.find("no step cuts"), std::string::npos)
              << plan.error().message;
          ++refused;
          continue;
        }
        ++planned;
        ASSERT_FALSE(plan->exchange.has_value());
        const Program program = lower(*plan);
        const std::string text = to_text(program);
        const Verdict verdict = check(program);
        ASSERT_EQ(verdict.answer, Answer::right) << text;
        ASSERT_EQ(verdict.cost, plan->cost) << text;
        ASSERT_EQ(verdict.height, plan->height) << text;
        const auto read = spec::parse_programs(text);
        ASSERT_FALSE(read.error.has_value()) << text;
        ASSERT_TRUE(spec::check(read.programs.front()).right) << text;
      }
    }
  }
  std::cout << planned << " planned, " << refused << " that no step cuts\n";
  EXPECT_GT(planned, 2000U);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace retile::nesting_test
