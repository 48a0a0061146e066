#include "spec/paper/fig07_base_offsets.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::fig07_base_offsets_test {
namespace {

/// The offsets of one dimension over the points of a mesh, in order.
Sizes offsets(const Mesh& H, std::string_view text) {
  Sizes out;
  const auto beta = base_offset_map(H, type(H, text));
  for (const Offset& b : beta.value_or(BaseOffsetMap())) out.push_back(b[0]);
  return out;
}

TEST(Fig07a, the_left_most_axis_is_the_fastest) {
  const Mesh H = mesh("x:2,y:2");
  EXPECT_EQ(offsets(H, "[8{x,y}32]"), (Sizes{0, 16, 8, 24}));  // points (x,y): 00 01 10 11
  EXPECT_EQ(offsets(H, "[8{y,x}32]"), (Sizes{0, 8, 16, 24}));
  EXPECT_EQ(offsets(H, "[16{x}32]"), (Sizes{0, 0, 16, 16}));
  EXPECT_EQ(offsets(H, "[32]"), (Sizes{0, 0, 0, 0}));
}

/// E2: with the printed base case D⟦c⟧, T⟦[5]⟧ = T⟦[7]⟧ as well; globaltypes must be kept apart.
TEST(Fig07a, E2_unsplit_dimensions_of_any_size_have_offset_0) {
  const Mesh H = mesh("x:2");
  EXPECT_EQ(base_offset_map(H, type(H, "[5]")), base_offset_map(H, type(H, "[7]")));
}

TEST(Fig07a, an_axis_outside_the_mesh_or_an_overflow_has_no_offset) {
  const Mesh H = mesh("x:2,y:3");
  const Size big = Size{1} << 62;
  EXPECT_EQ(base_offset(H, {4, {"x"}, 8}, {1, 0}), 4);
  EXPECT_EQ(base_offset(H, {4, {"w"}, 8}, {1, 0}), std::nullopt);
  EXPECT_EQ(base_offset(H, {big, {"y"}, 1}, {0, 1}), std::nullopt);
}

TEST(Fig07a, points_are_row_major) {
  EXPECT_EQ(points(mesh("x:2,y:3")),
            (std::vector<Point>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(points(Mesh()), (std::vector<Point>{Point()}));
}

TEST(WF_MESH, p1_rejects_axes_of_size_1) {
  EXPECT_TRUE(wf_mesh({{"x", 2}, {"y", 2}}));
  EXPECT_FALSE(wf_mesh({{"x", 1}, {"y", 2}}));
}
TEST(WF_MESH, p2_rejects_equal_names) {
  EXPECT_TRUE(wf_mesh({{"x", 2}, {"y", 2}}));
  EXPECT_FALSE(wf_mesh({{"x", 2}, {"x", 2}}));
}

bool well_formed(std::string_view text) {
  const Mesh H = mesh("x:2,y:2,z:3");
  return wf_type(H, type(H, text));
}

TEST(WF_DIM, p1_rejects_an_unknown_axis) {
  EXPECT_TRUE(well_formed("[2{x}4]"));
  EXPECT_FALSE(well_formed("[2{w}4]"));
  EXPECT_FALSE(well_formed("[4{w}4]"));  // whatever size it might have
}
TEST(WF_DIM, p2_rejects_another_product) {
  EXPECT_TRUE(well_formed("[2{x,z}12]"));
  EXPECT_FALSE(well_formed("[2{x,z}13]"));
  EXPECT_FALSE(well_formed("[2{x,z}6]"));
  EXPECT_FALSE(well_formed("[4{}8]"));
  EXPECT_TRUE(well_formed("[8{}8]"));
}
TEST(WF_DIM, E3_p3_rejects_an_axis_twice) {
  EXPECT_TRUE(well_formed("[1{x,y}4]"));
  EXPECT_FALSE(well_formed("[1{x,x}4]"));
  EXPECT_FALSE(wf_dim(mesh("x:2"), {1, {"x", "x"}, 4}));
}
TEST(WF_DIM, p4_rejects_a_tile_below_1) {
  const Mesh H = mesh("x:2");
  EXPECT_TRUE(wf_dim(H, {1, {"x"}, 2}));
  EXPECT_FALSE(wf_dim(H, {0, {"x"}, 0}));
  EXPECT_FALSE(wf_dim(H, {-1, {"x"}, -2}));
}
TEST(WF_TYPE, p1_rejects_an_ill_formed_dimension) {
  EXPECT_TRUE(well_formed("[2{x}4, 2{y}4]"));
  EXPECT_FALSE(well_formed("[2{x}4, 2{y}5]"));
}
TEST(WF_TYPE, E3_p2_rejects_an_axis_in_two_dimensions) {
  EXPECT_TRUE(well_formed("[2{x}4, 2{y}4]"));
  EXPECT_FALSE(well_formed("[2{x}4, 2{x}4]"));
}
TEST(WF_TYPE, p3_rejects_a_globalsize_of_2_63) {
  const Size half = Size{1} << 62;
  EXPECT_TRUE(wf_type(mesh("x:2"), {{half, {}, half}, {1, {}, 1}}));
  EXPECT_FALSE(wf_type(mesh("x:2"), {{half, {}, half}, {2, {}, 2}}));
}

/// Lemmas 4.1 and 4.2 (E7: componentwise, and multiples of the tile), and balance: every offset has
/// δ / ∏ N_i points. Enumerated; the mutant T drops the factor c of Fig. 7a and must fail.
TEST(Lemma_4_2, the_image_is_every_multiple_of_the_tile_below_the_globaltype) {
  Counts types, caught;
  for (const auto& [H, g] : spaces(2)) {
    for (const Type& tau : all_types(H, g)) {
      ++types[to_text(H)];
      std::set<Offset> want = {Offset()};
      for (const Dim& d : tau) {
        std::set<Offset> longer;
        for (Offset b : want) {
          b.push_back(0);
          for (; b.back() < d.s; b.back() += d.c) longer.insert(b);
        }
        want = longer;
      }
      const BaseOffsetMap beta = base_offset_map(H, tau).value();
      std::map<Offset, std::size_t> points_of;
      for (const Offset& b : beta) ++points_of[b];
      std::set<Offset> image, mutant;
      for (const auto& [b, count] : points_of) {
        image.insert(b);
        ASSERT_EQ(count * want.size(), beta.size()) << to_text(tau);
        Offset without_c = b;
        for (Index i = 0; i < b.size(); ++i) without_c[i] /= tau[i].c;
        mutant.insert(without_c);
      }
      ASSERT_EQ(image, want) << to_text(tau);
      caught[to_text(H)] += mutant != want ? 1U : 0U;
    }
  }
  expect_on_each("types", types, 5, 40);
  expect_on_each("the mutant differs", caught, 5, 10);
}

/// T is injective on the well-formed types of one globaltype (needed by Def. 4.3); E6: across
/// globaltypes it is not. The mutant forgets which point has which offset.
TEST(Def_4_3, base_offset_maps_tell_types_of_one_globaltype_apart) {
  Counts types, caught;
  for (const auto& [H, g] : spaces(2)) {
    std::set<BaseOffsetMap> seen, mutant;
    for (const Type& tau : all_types(H, g)) {
      ++types[to_text(H)];
      BaseOffsetMap beta = base_offset_map(H, tau).value();
      ASSERT_TRUE(seen.insert(beta).second) << to_text(tau);
      std::sort(beta.begin(), beta.end());
      caught[to_text(H)] += mutant.insert(beta).second ? 0U : 1U;
    }
  }
  expect_on_each("types", types, 5, 40);
  expect_on_each("the mutant takes for another", caught, 5, 5);
  const Mesh H = mesh("x:2");
  EXPECT_EQ(base_offset_map(H, type(H, "[4]")), base_offset_map(H, type(H, "[8]")));
}

}  // namespace
}  // namespace spec::fig07_base_offsets_test
