// Tile maps in their three forms against spec's: base offsets, walks of physical steps, and when
// two maps are one function.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>

#include "spec/paper/fig10_low_level.h"
#include "spec/program/program.h"
#include "support/layout_generators.h"
#include "support/layout_walk.h"

namespace layout_vs_spec_property_test {
namespace {

using retile::Layout;
using retile::Size;
using support::DrawnMap;
using support::MapForm;

const char* name(MapForm form) {
  constexpr const char* names[] = {"compact", "ordered", "explicit"};
  return names[static_cast<std::size_t>(form)];
}

/// The walk from a map that is not explicit.
support::Walk walk_from(const Layout& map) { return {map, support::to_physical(map), {}}; }

RC_GTEST_PROP(TileMapVsSpec, base_offsets_of_digits_are_fig_7a, (const DrawnMap& drawn)) {
  RC_TAG(std::string(name(drawn.form)));
  const Layout& map = drawn.map;
  const std::vector<Size> at = map.base_offsets();
  const std::vector<Size> device_at = map.order().list();  // position -> device
  for (Size v = 0; v < map.devices(); ++v) {
    const Size d = map.is_listed() ? v : device_at[static_cast<std::size_t>(v)];
    spec::Tiling tiling{map.tile(), map.global(), {}, {}};
    for (const auto& list : map.digits()) {
      auto& digits = tiling.digits.emplace_back();
      for (const retile::Digit& digit : list) digits.push_back({digit.stride, digit.size});
    }
    const auto offset = map.base_offset(d);
    const auto begin =
        at.begin() + static_cast<std::ptrdiff_t>(d) * static_cast<std::ptrdiff_t>(map.rank());
    RC_ASSERT(std::equal(offset.begin(), offset.end(), begin));
    if (!map.is_listed()) RC_ASSERT(offset == spec::base_offset(tiling, v));
  }
}

RC_GTEST_PROP(TileMapVsSpec, walks_of_pops_and_pushes_are_physical_steps, ()) {
  DrawnMap drawn = *support::tile_maps();
  if (drawn.form == MapForm::explicit_) drawn = {MapForm::compact, Layout()};
  RC_TAG(std::string(name(drawn.form)));
  support::Walk walk = walk_from(drawn.map);
  RC_ASSERT(spec::is_balanced(walk.theirs));
  const support::Choose choose = [](Size bound) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Size>(0, bound));
  };
  int steps = 0;
  for (int k = 0; k < 6; ++k) {
    const auto made = support::choose_walk_step(choose, walk);
    if (!made) continue;
    ++steps;
    if (!*made) RC_FAIL("spec does not make" + walk.steps);
    if (!support::same_offsets(walk.ours, walk.theirs)) RC_FAIL(walk.steps);
    RC_ASSERT(support::same_offsets(walk.ours.compacted(), walk.theirs));
  }
  RC_CLASSIFY(steps > 2, "three steps and more");
  RC_CLASSIFY(!walk.ours.is_compact(), "ends in rearranged positions");
}

TEST(TileMapVsSpec, thousands_of_walks_agree_in_every_form) {
  const auto choose = support::seeded_choices(5);
  std::size_t walks = 0;
  std::size_t steps = 0;
  std::size_t ordered = 0;
  for (int n = 0; n < 4000; ++n) {
    const DrawnMap drawn = support::choose_tile_map(choose);
    if (drawn.form == MapForm::explicit_) continue;
    ++walks;
    support::Walk walk = walk_from(drawn.map);
    ASSERT_TRUE(spec::is_balanced(walk.theirs));
    for (int k = 0; k < 6; ++k) {
      const auto made = support::choose_walk_step(choose, walk);
      if (!made) continue;
      ASSERT_TRUE(*made) << walk.steps;
      ASSERT_TRUE(support::same_offsets(walk.ours, walk.theirs)) << walk.steps;
      ASSERT_TRUE(support::same_offsets(walk.ours.compacted(), walk.theirs)) << walk.steps;
      ++steps;
      if (!walk.ours.is_compact()) ++ordered;
    }
  }
  std::cout << walks << " walks of " << steps << " steps, " << ordered
            << " of them over rearranged positions\n";
  EXPECT_GT(steps, 4000U);
  EXPECT_GT(ordered, 400U);
}

RC_GTEST_PROP(TileMapVsSpec, equivalent_is_equality_of_functions, ()) {
  const DrawnMap one = *support::tile_maps(12, 2);
  const DrawnMap two = *support::tile_maps(12, 2);
  const Layout copy = support::listed(one.map);
  RC_ASSERT(one.map.equivalent(copy));
  RC_ASSERT(copy.equivalent(one.map));
  const bool same = one.map.devices() == two.map.devices() && one.map.tile() == two.map.tile() &&
                    one.map.global() == two.map.global() &&
                    one.map.base_offsets() == two.map.base_offsets();
  RC_CLASSIFY(same, "the same function");
  RC_ASSERT(one.map.equivalent(two.map) == same);
  RC_ASSERT(two.map.equivalent(one.map) == same);
  if (one.map.is_listed()) return;
  // What is popped and pushed back is the same function, maybe over rearranged positions.
  const support::Walk walk = walk_from(one.map);
  for (std::size_t i = 0; i < one.map.rank(); ++i) {
    for (const Size n : support::movable(walk, i, std::nullopt)) {
      Layout there_and_back = one.map;
      there_and_back.push(i, there_and_back.pop(i, n));
      RC_ASSERT(one.map.equivalent(there_and_back));
      RC_ASSERT(there_and_back.equivalent(one.map));
      RC_ASSERT(there_and_back.compacted().equivalent(copy));
    }
  }
}

/// Control: walks in which one side does a little less or another thing are told apart.
TEST(TileMapVsSpecControl, a_wrong_step_on_one_side_is_seen) {
  const auto choose = support::seeded_choices(6);
  std::size_t other_place = 0;
  std::size_t turned = 0;
  std::size_t tried = 0;
  for (int n = 0; n < 500; ++n) {
    const DrawnMap drawn = support::choose_tile_map(choose);
    if (drawn.form == MapForm::explicit_ || drawn.map.rank() == 0) continue;
    support::Walk walk = walk_from(drawn.map);
    for (std::size_t i = 0; i < drawn.map.rank(); ++i) {
      const auto factors = support::movable(walk, i, std::nullopt);
      if (factors.empty()) continue;
      ++tried;
      // A pop that is pushed back is the identity; spec gathers and does not slice again.
      support::Walk half = walk;
      half.theirs = *spec::allgather(half.theirs, i, factors.back());
      if (!support::same_offsets(half.ours, half.theirs)) ++other_place;
      // The devices in reverse order: another map unless nothing depends on the device.
      support::Walk reversed = walk;
      std::reverse(reversed.theirs.t.begin(), reversed.theirs.t.end());
      if (!support::same_offsets(reversed.ours, reversed.theirs)) ++turned;
      break;
    }
  }
  std::cout << tried << " maps: " << other_place << " and " << turned << " faults seen\n";
  EXPECT_GT(tried, 100U);
  EXPECT_EQ(other_place, tried);
  EXPECT_EQ(turned, tried);
}

}  // namespace
}  // namespace layout_vs_spec_property_test
