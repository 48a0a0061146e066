#include "retile/exec/sim/sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "exec/programs.h"
#include "retile/exec/npy/tile_runs.h"

namespace retile::sim_test {
namespace {

using test::element_sizes;
using test::NamedProgram;
using test::parsed;
using test::pattern_tile;

sim::Tiles pattern_tiles(const Layout& map, Size element_bytes) {
  sim::Tiles tiles;
  for (Size device = 0; device < map.devices(); ++device)
    tiles.push_back(pattern_tile(map, device, element_bytes));
  return tiles;
}

/// 8-byte elements that say their own global index, by walking the box of each device index by
/// index.
sim::Tiles tags(const Layout& map) {
  sim::Tiles tiles;
  const Shape& global = map.global();
  const Shape& tile = map.tile();
  for (Size device = 0; device < map.devices(); ++device) {
    const Shape base = map.base_offset(device);
    std::vector<std::byte> bytes;
    for (Size local = 0; local < map.tile_size(); ++local) {
      Size rest = local;
      std::uint64_t linear = 0;
      Size stride = 1;
      for (std::size_t i = global.size(); i-- > 0;) {
        linear += static_cast<std::uint64_t>((base[i] + rest % tile[i]) * stride);
        rest /= tile[i];
        stride *= global[i];
      }
      const auto raw = std::as_bytes(std::span(&linear, 1));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    tiles.push_back(std::move(bytes));
  }
  return tiles;
}

class RightPrograms : public testing::TestWithParam<NamedProgram> {};

TEST_P(RightPrograms, bring_every_tag_to_its_place) {
  const Program program = parsed(GetParam().text);
  const auto outcome = sim::run(program, tags(program.from), 8);
  ASSERT_TRUE(outcome) << render(outcome.error());
  EXPECT_EQ(outcome->tiles, tags(program.to));
}

TEST_P(RightPrograms, do_so_for_every_element_size) {
  const Program program = parsed(GetParam().text);
  for (const Size width : element_sizes) {
    const auto outcome = sim::run(program, pattern_tiles(program.from, width), width);
    ASSERT_TRUE(outcome) << render(outcome.error());
    for (Size device = 0; device < program.devices; ++device) {
      EXPECT_EQ(find_pattern_mismatch(program.to, device, width,
                                      outcome->tiles[static_cast<std::size_t>(device)]),
                std::nullopt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, RightPrograms, testing::ValuesIn(test::right_programs()),
                         [](const testing::TestParamInfo<NamedProgram>& tested) {
                           return std::string(tested.param.name);
                         });

class SimElementSizes : public testing::TestWithParam<Size> {};

// The check above must be one that can fail: what it looks at is changed behind its back.
TEST_P(SimElementSizes, two_exchanged_tiles_are_caught) {
  const Program program = parsed(test::right_programs().front().text);
  auto outcome = sim::run(program, pattern_tiles(program.from, GetParam()), GetParam());
  ASSERT_TRUE(outcome);
  std::swap(outcome->tiles[2], outcome->tiles[17]);
  EXPECT_NE(find_pattern_mismatch(program.to, 2, GetParam(), outcome->tiles[2]), std::nullopt);
  EXPECT_NE(find_pattern_mismatch(program.to, 17, GetParam(), outcome->tiles[17]), std::nullopt);
  EXPECT_EQ(find_pattern_mismatch(program.to, 3, GetParam(), outcome->tiles[3]), std::nullopt);
}

TEST_P(SimElementSizes, two_exchanged_elements_are_caught) {
  const Program program = parsed(test::right_programs().front().text);
  const Size width = GetParam();
  auto outcome = sim::run(program, pattern_tiles(program.from, width), width);
  ASSERT_TRUE(outcome);
  auto& tile = outcome->tiles[5];
  std::swap_ranges(tile.begin(), tile.begin() + width, tile.begin() + 5 * width);
  EXPECT_EQ(find_pattern_mismatch(program.to, 5, width, tile), 0);
}

TEST_P(SimElementSizes, a_wrong_program_is_caught) {
  // Example 3.1 with its permutation left out.
  std::string text(test::right_programs().front().text);
  const std::size_t line = text.find("allpermute");
  text.erase(line, text.find('\n', line) + 1 - line);
  const Program program = parsed(text);
  const auto outcome = sim::run(program, pattern_tiles(program.from, GetParam()), GetParam());
  ASSERT_TRUE(outcome);
  bool caught = false;
  for (Size device = 0; device < program.devices; ++device) {
    caught = caught || find_pattern_mismatch(program.to, device, GetParam(),
                                             outcome->tiles[static_cast<std::size_t>(device)]);
  }
  EXPECT_TRUE(caught);
}

INSTANTIATE_TEST_SUITE_P(Sim, SimElementSizes, testing::ValuesIn(element_sizes));

TEST(Sim, counts_what_a_device_receives_and_holds) {
  const Program program =
      parsed(test::right_programs().front().text);  // tiles of 6 elements throughout
  const auto outcome = sim::run(program, pattern_tiles(program.from, 4), 4);
  ASSERT_TRUE(outcome);
  // alltoall of 3: 2/3 of a tile; a permutation: a tile; alltoall of 2: half a tile.
  EXPECT_EQ(outcome->received_bytes, (4 + 6 + 3) * 4);
  EXPECT_EQ(outcome->peak_bytes_per_device, 12 * 4);
}

TEST(Sim, an_allgather_receives_all_but_the_devices_own_tile) {
  const Program program = parsed(R"(retile.program/1
devices 4
from [2{1:4}8]
to [8]
allgather dim=0 groups=[[0,1,2,3]]
)");
  const auto outcome = sim::run(program, pattern_tiles(program.from, 4), 4);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->received_bytes, 6 * 4);
  EXPECT_EQ(outcome->peak_bytes_per_device, (2 + 8) * 4);
}

/// The same steps as sets of (device, tag): gathers and exchanges neither lose nor invent an
/// element.
RC_GTEST_PROP(Sim, a_step_sequence_moves_elements_and_makes_none, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Size devices = *rc::gen::element<Size>(1, 2, 3, 4, 6, 8, 12);
  const Program program = test::random_program(seed, devices);
  sim::Tiles tiles;
  std::uint64_t tag = 0;
  std::set<std::uint64_t> all;
  for (Size device = 0; device < devices; ++device) {
    std::vector<std::byte> tile;
    for (Size i = 0; i < program.from.tile_size(); ++i) {
      all.insert(tag);
      const auto raw = std::as_bytes(std::span(&tag, 1));
      tile.insert(tile.end(), raw.begin(), raw.end());
      ++tag;
    }
    tiles.push_back(std::move(tile));
  }
  const auto outcome = sim::run(program, std::move(tiles), 8);
  RC_ASSERT(outcome.has_value());
  std::set<std::uint64_t> found;
  for (const auto& tile : outcome->tiles) {
    RC_ASSERT(static_cast<Size>(tile.size()) == program.to.tile_size() * 8);
    std::set<std::uint64_t> here;
    for (std::size_t i = 0; i < tile.size(); i += 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, tile.data() + i, 8);
      RC_ASSERT(all.count(value) == 1U);
      here.insert(value);
    }
    found.insert(here.begin(), here.end());
  }
  const bool slices = std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    return std::holds_alternative<Dynslice>(step.op);
  });
  RC_CLASSIFY(slices, "drops elements");
  if (!slices) RC_ASSERT(found == all);
}

Program with_step(Step step) {
  Program program = parsed(R"(retile.program/1
mesh x:2,y:2
from [4{x}8, 6]
to [8, 6]
)");
  program.steps.push_back(std::move(step));
  return program;
}

Code code_of(const Program& program, Size element_bytes = 4) {
  const auto outcome = sim::run(program, pattern_tiles(program.from, 4), element_bytes);
  return outcome ? Code::syntax : outcome.error().code;
}

/// tile_shapes() says what can be applied.
TEST(Sim, refuses_what_has_no_tile_shapes) {
  const auto code = [](std::vector<std::vector<Size>> rows) {
    return code_of(with_step(
        {.op = Allgather{.dim = 0, .groups = DeviceTable::rows(std::move(rows))}, .claims = {}}));
  };
  EXPECT_EQ(code({{0, 2}, {1, 3}}), Code::syntax);  // the twin: accepted
  EXPECT_EQ(code({{0, 1}, {2}}), Code::inapplicable);
  EXPECT_EQ(code({{0, 1}, {1, 3}}), Code::inapplicable);
  EXPECT_EQ(code({{0, 1}, {2, 4}}), Code::bad_program);
}

TEST(Sim, refuses_buffers_and_element_sizes_that_do_not_fit) {
  const Program program = with_step(
      {.op = Allgather{.dim = 0, .groups = DeviceTable::rows({{0, 2}, {1, 3}})}, .claims = {}});
  EXPECT_EQ(code_of(program, 4), Code::syntax);
  EXPECT_EQ(code_of(program, 8), Code::bad_argument);
  for (const Size width : {Size{-1}, Size{0}, Size{3}, Size{32}})
    EXPECT_EQ(code_of(program, width), Code::bad_argument);
  auto tiles = pattern_tiles(program.from, 4);
  tiles.pop_back();
  EXPECT_FALSE(sim::run(program, tiles, 4));
  tiles.emplace_back(3);
  EXPECT_FALSE(sim::run(program, tiles, 4));
}

}  // namespace
}  // namespace retile::sim_test
