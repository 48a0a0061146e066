#include "spec/fig10_low_level.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "spec/search.h"
#include "values.h"

namespace spec {
namespace {

DeviceMap identity(const Mesh& H) {
  DeviceMap phi(static_cast<Index>(device_count(H).value()));
  std::iota(phi.begin(), phi.end(), Size{0});
  return phi;
}

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
  EXPECT_EQ(alltoall(f, 0, 0, 2), std::nullopt);                                // i ≠ j
  EXPECT_EQ(alltoall(f, 0, 1, 4), std::nullopt);                                // n | N_i
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
}

/// The premises of Fig. 10 literally: whatever φ' satisfies them, the device assignment that
/// results is the physical one (S1), and there always is such a φ'. By symmetry φ = id is enough.
/// E14: under replication there are several φ'. The mutant reads the printed β' ∘ φ⁻¹ (E12).
TEST(Fig10, literal_rules_are_functions_of_the_tile_map) {
  std::size_t applications = 0, several = 0, e12_fails = 0;
  for (const auto& [H, g] : spaces(2, 6)) {
    const DeviceMap id = identity(H);
    for (const Type& tau : all_types(H, g)) {
      const TypedAssignment from = {id, tau};
      const TileMap f = physical(H, from).value();
      for (Index i = 0; i < g.size(); ++i) {
        for (const Name& x : tau[i].xs) {
          const Size n = lookup(H, x).value();
          Type gathered = tau;
          gathered[i].c *= n;
          gathered[i].xs.erase(std::find(gathered[i].xs.begin(), gathered[i].xs.end(), x));
          // With a position in front of x that has another size, the digit that moves is x's only
          // with respect to the new device map; the physical digit is the minor-most one of size n.
          std::size_t solutions = 0;
          DeviceMap phi = id;
          do {
            const TypedAssignment to = {phi, gathered};
            if (low_level_allgather(H, i, x, from, to)) {
              ++solutions;
              ASSERT_EQ(physical(H, to), allgather(f, i, n)) << to_text(tau) << " " << x;
            }
            for (Index j = 0; j < g.size(); ++j) {
              Type moved = gathered;
              if (moved[j].c % n != 0) continue;
              moved[j].c /= n;
              moved[j].xs.insert(moved[j].xs.begin(), x);
              const TypedAssignment to_j = {phi, moved};
              if (!low_level_alltoall(H, i, j, x, from, to_j)) continue;
              ASSERT_NE(i, j);
              ASSERT_EQ(physical(H, to_j), alltoall(f, i, j, n)) << to_text(tau) << " " << x;
            }
          } while (std::next_permutation(phi.begin(), phi.end()));
          ASSERT_GT(solutions, 0U) << to_text(tau) << " " << x;
          ++applications;
          several += solutions > 1 ? 1U : 0U;
          Type front = tau;
          front[i] = to_front(x, tau[i]).value();
          e12_fails += same_tile_map(H, {id, front}, from) ? 0U : 1U;
        }
      }
    }
  }
  std::cout << applications << " applications, " << several << " with several device maps, "
            << e12_fails << " impossible as printed\n";
  EXPECT_GT(applications, 100U);
  EXPECT_GT(several, 0U);
  EXPECT_GT(e12_fails, 0U);
}

/// DYNSLICE modulo Def. 6.2: the tile maps reached from f over all representations ⟨φ, T⟦τ⟧⟩ = f
/// are those that some balanced digit e reaches.
TEST(Fig10, dynslice_reaches_every_balanced_refinement) {
  std::size_t maps = 0;
  for (const char* text : {"x:2,y:2"}) {
    const Mesh H = mesh(text);
    for (const Sizes& g : {Sizes{4}, Sizes{2, 4}, Sizes{4, 4}}) {
      for (const Type& tau : all_types(H, g)) {
        const TypedAssignment start = {identity(H), tau};
        const TileMap f = physical(H, start).value();
        for (Index i = 0; i < g.size(); ++i) {
          std::set<std::vector<Sizes>> literal, by_digit;
          DeviceMap phi = identity(H);
          do {
            for (const Type& other : all_types(H, g)) {
              if (!same_tile_map(H, {phi, other}, start) || localtype(other) != localtype(tau))
                continue;
              for (const Axis& alpha : H) {
                const auto next = t_dynslice(H, i, alpha.x, other);
                if (!next) continue;
                ASSERT_TRUE(low_level_dynslice(H, i, alpha.x, {phi, other}, {phi, *next}));
                literal.insert(physical(H, {phi, *next})->t);
              }
            }
          } while (std::next_permutation(phi.begin(), phi.end()));
          for (Size code = 0; code < 16; ++code) {
            const auto next =
                dynslice(f, i, 2, {code & 1, code >> 1 & 1, code >> 2 & 1, code >> 3 & 1});
            if (next) by_digit.insert(next->t);
          }
          ASSERT_EQ(literal, by_digit) << to_text(tau);
          maps += by_digit.size();
        }
      }
    }
  }
  std::cout << maps << " refinements\n";
  EXPECT_GT(maps, 20U);
}

TEST(Fig10, literal_dynslice_and_permute_reject) {
  const Mesh H = mesh("x:2,y:2");
  const DeviceMap id = identity(H), other = {1, 0, 2, 3};
  const Type whole = type(H, "[4]"), x = type(H, "[2{x}4]"), y = type(H, "[2{y}4]");
  EXPECT_TRUE(low_level_dynslice(H, 0, "x", {id, whole}, {id, x}));
  EXPECT_FALSE(low_level_dynslice(H, 0, "x", {id, whole}, {other, x}));  // φ' = φ
  EXPECT_FALSE(low_level_dynslice(H, 0, "x", {id, whole}, {id, y}));
  EXPECT_FALSE(low_level_dynslice(H, 0, "x", {id, x}, {id, type(H, "[1{x,x}4]")}));
  EXPECT_TRUE(low_level_allpermute(H, {id, x}, {other, y}));
  EXPECT_FALSE(low_level_allpermute(H, {id, x}, {id, whole}));
  EXPECT_FALSE(low_level_allpermute(H, {id, x}, {id, type(H, "[2]")}));  // E5
}

}  // namespace
}  // namespace spec
