#include "retile/exec/npy/tile_runs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace retile::tile_runs_test {
namespace {

using Runs = std::vector<Run>;  // inside a test, Run is a function of GoogleTest

Runs all_runs(TileRuns runs, Size most) {
  Runs out;
  while (!runs.done()) {
    const Run seen = runs.peek(most);
    const Run run = runs.next(most);
    EXPECT_EQ(seen, run);
    out.push_back(run);
  }
  return out;
}

/// The linear global index of every element of the box, in the tile's C order: by counting, not by
/// runs.
std::vector<Size> indices_by_brute_force(const Shape& global, const Shape& tile,
                                         const Shape& base) {
  std::vector<Size> out;
  Shape at(global.size(), 0);
  while (true) {
    Size linear = 0;
    for (std::size_t i = 0; i < global.size(); ++i) linear = linear * global[i] + base[i] + at[i];
    out.push_back(linear);
    std::size_t i = global.size();
    while (i > 0) {
      --i;
      if (++at[i] < tile[i]) break;
      at[i] = 0;
      if (i == 0) return out;
    }
    if (global.empty()) return out;
  }
}

/// The same of a device's tile, by what it has of each dimension.
std::vector<Size> indices_by_brute_force(const Layout& layout, Size device) {
  std::vector<Size> out = {0};
  const Shape numbers = layout.numbers().numbers(device);
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    std::vector<Size> longer;
    for (const Size before : out) {
      for (const Stretch& one : layout.stretches(i, numbers[i])) {
        for (Size at = one.begin; at < one.end; ++at) {
          longer.push_back(before * layout.global()[i] + at);
        }
      }
    }
    out = std::move(longer);
  }
  return out;
}

TEST(TileRuns, of_tiles_of_several_boxes_follow_their_elements) {
  const Cuts rows[] = {Cuts::dealt(2, {{7, 2}}), Cuts::dealt(2, {{3, 1}, {7, 1}}), Cuts::even(4, 2),
                       Cuts::blocks(5, 2, 7)};
  for (const Cuts& first : rows) {
    for (const Cuts& second : rows) {
      for (const bool whole : {false, true}) {
        std::vector<Cuts> cuts = {first, second};
        std::vector<std::vector<Digit>> digits = {{{1, 2}}, {{2, 2}}};
        if (whole) {
          cuts.push_back(Cuts::even(3, 1));
          digits.emplace_back();
        }
        const Layout layout = Layout::numbered(4, cuts, digits).value();
        for (Size device = 0; device < 4; ++device) {
          const std::vector<Size> wanted = indices_by_brute_force(layout, device);
          for (const Size most : {1, 2, 5, 1000}) {
            std::vector<Size> found;
            Size last = -1;
            for (const auto& run : all_runs(TileRuns(layout, device), most)) {
              EXPECT_EQ(run.local, static_cast<Size>(found.size()));
              if (most == 1000) {
                EXPECT_NE(run.global, last) << "runs are as long as possible";
              }
              for (Size i = 0; i < run.elements; ++i) found.push_back(run.global + i);
              last = run.global + run.elements;
            }
            ASSERT_EQ(found, wanted) << device << " of " << first.count() << ", at most " << most;
          }
        }
      }
    }
  }
}

TEST(TileRuns, the_example_of_the_header) {
  const Runs want{{76, 0, 2}, {88, 2, 2}, {100, 4, 2}};
  EXPECT_EQ(all_runs(TileRuns({12, 12}, {3, 2}, {6, 4}), 1000), want);
}

TEST(TileRuns, whole_rows_join_to_one_run) {
  const TileRuns runs({4, 6, 5}, {2, 6, 5}, {2, 0, 0});
  EXPECT_EQ(all_runs(runs, 1000), (Runs{{60, 0, 60}}));
}

TEST(TileRuns, extents_of_one_do_not_break_runs) {
  EXPECT_EQ(all_runs(TileRuns({3, 1, 4}, {1, 1, 4}, {2, 0, 0}), 1000), (Runs{{8, 0, 4}}));
}

TEST(TileRuns, rank_0_is_one_element) {
  EXPECT_EQ(all_runs(TileRuns({}, {}, {}), 7), (Runs{{0, 0, 1}}));
}

TEST(TileRuns, beyond_2_to_the_31) {
  const Size big = Size{1} << 40;
  const Runs want{{big - 3, 0, 3}, {2 * big - 3, 3, 3}};
  EXPECT_EQ(all_runs(TileRuns({2, big}, {2, 3}, {0, big - 3}), big), want);
}

RC_GTEST_PROP(TileRuns, cover_the_tile_like_counting_does, ()) {
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  Shape global;
  Shape tile;
  Shape base;
  for (std::size_t i = 0; i < rank; ++i) {
    global.push_back(*rc::gen::inRange<Size>(1, 6));
    // Whole dimensions are where runs join, so they must be common.
    tile.push_back(*rc::gen::inRange<int>(0, 2) == 0 ? global[i]
                                                     : *rc::gen::inRange<Size>(1, global[i] + 1));
    base.push_back(*rc::gen::inRange<Size>(0, global[i] - tile[i] + 1));
  }
  const Size most = *rc::gen::inRange<Size>(1, 20);
  const TileRuns runs(global, tile, base);
  const std::vector<Size> want = indices_by_brute_force(global, tile, base);

  std::vector<Size> got;
  for (const Run& run : all_runs(runs, most)) {
    RC_ASSERT(run.local == static_cast<Size>(got.size()));
    RC_ASSERT(run.elements >= 1 && run.elements <= most);
    for (Size i = 0; i < run.elements; ++i) got.push_back(run.global + i);
  }
  RC_ASSERT(got == want);

  // As long as possible: where one ends and another begins there is a gap.
  const std::vector<Run> whole = all_runs(runs, static_cast<Size>(want.size()));
  RC_CLASSIFY(whole.size() > 1, "several runs");
  RC_ASSERT(whole.size() * static_cast<std::size_t>(runs.run_elements()) == want.size());
  for (std::size_t i = 1; i < whole.size(); ++i) {
    RC_ASSERT(whole[i].global > whole[i - 1].global + whole[i - 1].elements);
  }
}

TEST(TileRunsDeathTest, a_tile_outside_its_array_is_a_mistake_of_ours) {
  EXPECT_DEATH(TileRuns({4}, {3}, {2}), "does not lie in its array");
  EXPECT_EQ(TileRuns({4}, {3}, {1}).run_elements(), 3);
}

}  // namespace
}  // namespace retile::tile_runs_test
