#include "spec/paper/fig10_low_level.h"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>

#include "tests/spec/values.h"

namespace spec::fig10_low_level_test {
namespace {

TEST(Def_6_1, a_device_map_is_a_bijection) {
  EXPECT_TRUE(is_device_map({2, 0, 1}));
  EXPECT_FALSE(is_device_map({2, 0, 2}));
  EXPECT_FALSE(is_device_map({3, 0, 1}));
  EXPECT_EQ(tile_map(DeviceAssignment{{1, 0}, {{0}, {4}}}), (std::vector<Offset>{{4}, {0}}));
  EXPECT_EQ(tile_map(DeviceAssignment{{1, 1}, {{0}, {4}}}), std::nullopt);
  EXPECT_EQ(tile_map(DeviceAssignment{{0}, {{0}, {4}}}), std::nullopt);
}

TEST(Def_6_2, assignments_are_equivalent_when_devices_hold_the_same_tiles) {
  EXPECT_TRUE(
      equivalent(DeviceAssignment{{1, 0}, {{0}, {4}}}, DeviceAssignment{{0, 1}, {{4}, {0}}}));
  EXPECT_FALSE(
      equivalent(DeviceAssignment{{1, 0}, {{0}, {4}}}, DeviceAssignment{{0, 1}, {{0}, {4}}}));
}

TileMap f_of(std::string_view mesh_text, std::string_view type_text) {
  const Mesh H = mesh(mesh_text);
  return physical(H, {identity(H), type(H, type_text)}).value();
}

TEST(Fig10_ALLGATHER, physical_premises) {
  const TileMap f = f_of("x:2,y:3", "[1{x,y}6, 2]");
  EXPECT_EQ(allgather(f, 0, 2), f_of("x:2,y:3", "[2{y}6, 2]"));
  EXPECT_EQ(allgather(f, 0, 6), f_of("x:2,y:3", "[6, 2]"));
  EXPECT_EQ(allgather(f, 0, 4), std::nullopt);  // n | N_i
  EXPECT_EQ(allgather(f, 1, 2), std::nullopt);
  EXPECT_EQ(allgather(f, 2, 2), std::nullopt);
}
TEST(Fig10_ALLTOALL, physical_premises) {
  const TileMap f = f_of("x:2,y:3", "[1{x,y}6, 6]");
  EXPECT_EQ(alltoall(f, 0, 1, 2), f_of("x:2,y:3", "[2{y}6, 3{x}6]"));
  EXPECT_EQ(alltoall(f, 0, 1, 6), f_of("x:2,y:3", "[6, 1{x,y}6]"));
  EXPECT_EQ(alltoall(f_of("x:2,y:3", "[3{x}6, 2{y}6]"), 0, 1, 2),
            f_of("x:2,y:3", "[6, 1{x,y}6]"));     // in front of the axes that are there
  EXPECT_EQ(alltoall(f, 0, 0, 2), std::nullopt);  // i ≠ j
  EXPECT_EQ(alltoall(f, 0, 1, 4), std::nullopt);  // n | N_i
  EXPECT_EQ(alltoall(f_of("x:2,y:3", "[1{x,y}6, 3]"), 0, 1, 2), std::nullopt);  // n | c_j
  // S10: the factor 3 can be popped although x:2 is minor-most.
  const auto popped = alltoall(f, 0, 1, 3);
  ASSERT_TRUE(popped);
  EXPECT_TRUE(is_balanced(*popped));
}
TEST(Fig10_DYNSLICE, physical_premises) {
  const TileMap f = f_of("x:2,y:2", "[2{x}4]");
  EXPECT_EQ(dynslice(f, 0, 2, {0, 1, 0, 1}), f_of("x:2,y:2", "[1{y,x}4]"));
  EXPECT_TRUE(dynslice(f, 0, 2, {0, 1, 1, 0}));
  EXPECT_EQ(dynslice(f, 0, 2, {0, 0, 0, 1}), std::nullopt);  // each value equally often
  EXPECT_EQ(dynslice(f, 0, 2, {0, 2, 0, 1}), std::nullopt);
  EXPECT_EQ(dynslice(f, 0, 2, {0, 1}), std::nullopt);
  EXPECT_EQ(dynslice(f, 0, 3, {0, 1, 0, 1}), std::nullopt);  // n | c_i
}
TEST(Fig10_PERMUTE, physical_premises) {
  const TileMap f = f_of("x:2,y:2", "[2{x}4]");
  EXPECT_EQ(allpermute(f, {0, 2, 1, 3}), f_of("x:2,y:2", "[2{y}4]"));
  EXPECT_EQ(allpermute(f, {0, 2, 2, 3}), std::nullopt);
  EXPECT_EQ(allpermute(f, {0, 1}), std::nullopt);
}
TEST(Fig10, balance_is_seen) {
  TileMap f = f_of("x:2,y:2", "[2{x}4]");
  EXPECT_TRUE(is_balanced(f));
  f.t[0] = f.t[3];
  EXPECT_FALSE(is_balanced(f));
  f.t[0] = {2};
  EXPECT_FALSE(is_balanced(f));
  EXPECT_TRUE(is_balanced({{4}, {4}, {{0}}}));
  EXPECT_FALSE(is_balanced({{4}, {0}, {{0}}}));        // c_i ≥ 1
  EXPECT_FALSE(is_balanced({{4}, {3}, {{0}}}));        // c_i | g_i
  EXPECT_FALSE(is_balanced({{4}, {4, 1}, {{0}}}));     // of one rank
  EXPECT_FALSE(is_balanced({{4}, {4}, {{0, 0}}}));     // of one rank
  EXPECT_FALSE(is_balanced({{4}, {4}, {}}));           // δ ≥ 1
  EXPECT_FALSE(is_balanced({{4}, {2}, {{0}, {-1}}}));  // 0 ≤ t_i
  EXPECT_FALSE(is_balanced({{4}, {2}, {{0}, {0}}}));   // every tile is held
  EXPECT_FALSE(is_balanced({{4}, {2}, {{0}, {1}, {0}}}));
}

/// No division by zero, no overflow and no reading past the end, whatever the tile map is.
TEST(Fig10, balance_is_decided_for_any_tile_map) {
  const Size most = std::numeric_limits<Size>::max(), least = std::numeric_limits<Size>::min();
  EXPECT_FALSE(is_balanced({{most / 2, 4}, {1, 1}, {{0, 0}}}));  // ∏ N_i is not below 2^63
  const Sizes nasty = {least, least + 1, -2, -1, 0, 1, 2, Size{1} << 32, most / 2, most - 1, most};
  std::size_t balanced = 0, maps = 0;
  for (const Size g : nasty) {
    for (const Size c : nasty) {
      for (const Size t : nasty) {
        for (const TileMap& f :
             {TileMap{{g}, {c}, {{t}}}, TileMap{{g, g}, {c, c}, {{t, t}, {t, 0}}},
              TileMap{{g, g, g}, {c, 1, g}, {{0, 0, 0}, {t, t, t}}}, TileMap{{g}, {c}, {{0}, {t}}},
              TileMap{{g, g}, {c}, {{t}}}, TileMap{{g}, {c, c}, {{t, t}}}, TileMap{{g}, {c}, {{}}},
              TileMap{{g}, {c}, {}}, TileMap{{}, {}, {{t}}}, TileMap{{}, {c}, {{}}}}) {
          balanced += is_balanced(f) ? 1U : 0U;
          ++maps;
        }
      }
    }
  }
  EXPECT_TRUE(is_balanced({{}, {}, {{}, {}}}));  // rank 0: one tile
  EXPECT_TRUE(is_balanced({{most}, {most}, {{0}}}));
  EXPECT_TRUE(is_balanced({{most - 1}, {most / 2}, {{0}, {1}}}));
  std::cout << balanced << " of " << maps << " are balanced\n";
  EXPECT_GT(balanced, 10U);
  EXPECT_LT(balanced, maps / 10);
}

/// A step that the rule allows; then steps that each lack one premise.
TEST(Fig10, each_premise_of_ALLTOALL_rejects) {
  const Mesh H = mesh("x:2,y:3");
  const DeviceMap id = identity(H);
  const auto moves = [&](Index i, Index j, const Name& x, const char* from, const char* to) {
    return low_level_alltoall(H, i, j, x, {id, type(H, from)}, {id, type(H, to)});
  };
  EXPECT_TRUE(moves(0, 1, "x", "[1{x,y}6, 6]", "[2{y}6, 3{x}6]"));
  EXPECT_FALSE(moves(0, 1, "w", "[1{x,y}6, 6]", "[2{y}6, 3{x}6]"));  // x : n ∈ H
  EXPECT_FALSE(moves(2, 1, "x", "[1{x,y}6, 6]", "[2{y}6, 3{x}6]"));
  EXPECT_FALSE(moves(0, 2, "x", "[1{x,y}6, 6]", "[2{y}6, 3{x}6]"));
  EXPECT_FALSE(moves(1, 0, "x", "[1{x,y}6, 6]", "[2{y}6, 3{x}6]"));    // x stands in e_i
  EXPECT_FALSE(moves(0, 1, "x", "[1{x,y}6, 6]", "[2{y}6, 6]"));        // e''_j
  EXPECT_FALSE(moves(0, 1, "x", "[1{x,y}6, 6]", "[1{x,y}6, 3{x}6]"));  // e''_i
  EXPECT_FALSE(moves(0, 1, "y", "[1{x,y}6, 6]", "[3{x}6, 2{y}6]"));  // β' ∘ φ'⁻¹ = β ∘ φ⁻¹
  EXPECT_TRUE(low_level_alltoall(H, 0, 1, "y", {id, type(H, "[1{x,y}6, 6]")},
                                 {{0, 3, 1, 4, 2, 5}, type(H, "[3{x}6, 2{y}6]")}));
  EXPECT_TRUE(moves(0, 1, "x", "[1{x}2, 2]", "[2, 1{x}2]"));
  EXPECT_FALSE(moves(0, 1, "x", "[1{x}2, 3]", "[2, 1{x}3]"));  // c_j mod n = 0
  EXPECT_FALSE(moves(0, 0, "x", "[2{x}4, 4]", "[1{x}4, 4]"));  // i ≠ j (E4)
  EXPECT_FALSE(moves(0, 0, "x", "[2{x}4, 4]", "[1{x,x}4, 4]"));
  EXPECT_FALSE(moves(0, 0, "x", "[2{x}4, 4]", "[2{x}4, 4]"));
}

TEST(Fig10, each_premise_of_DYNSLICE_rejects) {
  const Mesh H = mesh("x:2,y:2");
  const DeviceMap id = identity(H), other = {1, 0, 2, 3};
  const auto slices = [&](Index i, const Name& x, const char* from, const char* to) {
    return low_level_dynslice(H, i, x, {id, type(H, from)}, {id, type(H, to)});
  };
  EXPECT_TRUE(slices(0, "x", "[4]", "[2{x}4]"));
  EXPECT_FALSE(slices(0, "w", "[4]", "[2{w}4]"));  // x : n ∈ H
  EXPECT_FALSE(slices(1, "x", "[4]", "[2{x}4]"));
  EXPECT_FALSE(slices(0, "x", "[3]", "[1{x}3]"));  // c_i · n
  EXPECT_FALSE(slices(0, "x", "[4]", "[2{y}4]"));  // e'_i
  EXPECT_TRUE(slices(0, "y", "[2{x}4]", "[1{y,x}4]"));
  EXPECT_FALSE(slices(0, "y", "[2{x}4]", "[1{x,y}4]"));
  EXPECT_FALSE(slices(0, "x", "[2{x}4]", "[1{x,x}4]"));  // x ∉ axes(ē)
  EXPECT_TRUE(slices(0, "y", "[4, 2{x}4]", "[2{y}4, 2{x}4]"));
  EXPECT_FALSE(slices(0, "x", "[4, 2{x}4]", "[2{x}4, 2{x}4]"));
  const TypedAssignment whole = {id, type(H, "[4]")};
  EXPECT_FALSE(low_level_dynslice(H, 0, "x", whole, {other, type(H, "[2{x}4]")}));  // φ' = φ
}

TEST(Fig10, each_premise_of_ALLGATHER_and_PERMUTE_rejects) {
  const Mesh H = mesh("x:2,y:2");
  const DeviceMap id = identity(H), other = {1, 0, 2, 3};
  const Type whole = type(H, "[4]"), x = type(H, "[2{x}4]"), y = type(H, "[2{y}4]");
  EXPECT_TRUE(low_level_allgather(H, 0, "x", {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allgather(H, 0, "w", {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allgather(H, 1, "x", {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allgather(H, 0, "y", {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allgather(H, 0, "x", {id, x}, {id, y}));
  EXPECT_FALSE(low_level_allgather(H, 0, "x", {id, x}, {{2, 1, 0, 3}, whole}));
  EXPECT_TRUE(low_level_allpermute(H, {id, x}, {other, y}));
  EXPECT_FALSE(low_level_allpermute(H, {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allpermute(H, {id, whole}, {id, type(H, "[2]")}));  // E12, as E5
}

}  // namespace
}  // namespace spec::fig10_low_level_test
