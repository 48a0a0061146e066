// The premises of Fig. 8 one by one: every test that a rule rejects stands beside one that it
// accepts.
#include "retile/notation/paper/typing.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/generators.h"
#include "support/values.h"

namespace typing_test {
namespace {

using retile::AllgatherRule;
using retile::AllpermuteRule;
using retile::AlltoallRule;
using retile::Code;
using retile::DynsliceRule;
using retile::Mesh;
using retile::TypedCollective;

const Mesh& mesh() {
  static const Mesh mesh = support::mesh("x:4,y:6,z:2,u:1");
  return mesh;
}

/// The type after the step, or the code, rule and message of its refusal.
std::string after(std::string_view type, const TypedCollective& collective) {
  const auto result = apply(mesh(), collective, support::type(type, mesh()));
  if (result) return to_text(*result);
  return std::string(code_name(result.error().code)) + " " + result.error().rule + ": " +
         result.error().message;
}
AllpermuteRule to(std::string_view type) { return {support::type(type, mesh())}; }

TEST(T_ALLGATHER, removes_the_minor_most_axis) {
  EXPECT_EQ(after("[1{x,y}24, 5]", AllgatherRule{0}), "[4{y}24, 5]");
}
TEST(T_ALLGATHER, several_axes_go_in_one_step) {
  EXPECT_EQ(after("[1{x,y,z}48]", AllgatherRule{0, 2}), "[24{z}48]");
  EXPECT_EQ(after("[1{x,y}24]", AllgatherRule{0, 2}), "[24]");
}
TEST(T_ALLGATHER, rejects_a_dimension_that_is_not_there) {
  EXPECT_EQ(after("[3{x}12]", AllgatherRule{0}), "[12]");
  EXPECT_EQ(after("[3{x}12]", AllgatherRule{1}),
            "bad_dimension T-ALLGATHER: the type has no dimension 1");
}
TEST(T_ALLGATHER, rejects_a_dimension_without_axes) {
  EXPECT_EQ(after("[12, 3{x}12]", AllgatherRule{1}), "[12, 12]");
  EXPECT_EQ(after("[12, 3{x}12]", AllgatherRule{0}),
            "inapplicable T-ALLGATHER: dimension 0 is not split by any axis");
}
TEST(T_ALLGATHER, rejects_more_axes_than_there_are_and_none_at_all) {
  EXPECT_EQ(after("[1{x,y}24]", AllgatherRule{0, 3}),
            "inapplicable T-ALLGATHER: dimension 0 is split by 2 axes, not by 3");
  EXPECT_EQ(after("[1{x,y}24]", AllgatherRule{0, 0}),
            "inapplicable T-ALLGATHER: at least one axis must be taken off");
}

TEST(T_DYNSLICE, prepends_an_unused_axis) {
  EXPECT_EQ(after("[4{y}24]", DynsliceRule{0, {"x"}}), "[1{x,y}24]");
}
TEST(T_DYNSLICE, several_axes_keep_their_order) {
  EXPECT_EQ(after("[24]", DynsliceRule{0, {"x", "y"}}), "[1{x,y}24]");
  EXPECT_EQ(after("[24]", DynsliceRule{0, {"y", "x"}}), "[1{y,x}24]");
}
TEST(T_DYNSLICE, rejects_a_dimension_that_is_not_there) {
  EXPECT_EQ(after("[12]", DynsliceRule{0, {"x"}}), "[3{x}12]");
  EXPECT_EQ(after("[12]", DynsliceRule{1, {"x"}}),
            "bad_dimension T-DYNSLICE: the type has no dimension 1");
  EXPECT_EQ(after("[]", DynsliceRule{0, {"x"}}),
            "bad_dimension T-DYNSLICE: the type has no dimension 0");
}
TEST(T_DYNSLICE, rejects_an_axis_that_the_mesh_does_not_have) {
  EXPECT_EQ(after("[12]", DynsliceRule{0, {"w"}}),
            "unknown_axis T-DYNSLICE: the mesh has no axis w");
}
TEST(T_DYNSLICE, rejects_an_axis_in_use_anywhere_in_the_type) {
  EXPECT_EQ(after("[12, 3{x}12]", DynsliceRule{0, {"z"}}), "[6{z}12, 3{x}12]");
  EXPECT_EQ(after("[12, 3{x}12]", DynsliceRule{0, {"x"}}),
            "axis_used_twice T-DYNSLICE: axis x already splits dimension 1");
  EXPECT_EQ(after("[4{z}8]", DynsliceRule{0, {"z"}}),
            "axis_used_twice T-DYNSLICE: axis z already splits dimension 0");
}
TEST(T_DYNSLICE, rejects_an_axis_that_stands_twice_in_the_step) {
  EXPECT_EQ(after("[16]", DynsliceRule{0, {"x", "z"}}), "[2{x,z}16]");
  EXPECT_EQ(after("[16]", DynsliceRule{0, {"x", "x"}}),
            "axis_used_twice T-DYNSLICE: axis x stands twice in the step");
}
TEST(T_DYNSLICE, rejects_an_indivisible_tile) {
  EXPECT_EQ(after("[12, 6]", DynsliceRule{0, {"x"}}), "[3{x}12, 6]");
  EXPECT_EQ(after("[12, 6]", DynsliceRule{1, {"x"}}),
            "inapplicable T-DYNSLICE: the tile size 6 of dimension 1 is not divisible by 4, the "
            "size of x");
  EXPECT_EQ(after("[12]", DynsliceRule{0, {"x", "y"}}),
            "inapplicable T-DYNSLICE: the tile size 12 of dimension 0 is not divisible by 24, the "
            "size of x and y");
}
TEST(T_DYNSLICE, axes_of_size_1_mean_nothing) {
  EXPECT_EQ(after("[12]", DynsliceRule{0, {"u", "x", "u"}}), "[3{x}12]");
  EXPECT_EQ(after("[12]", DynsliceRule{0, {"u"}}),
            "inapplicable T-DYNSLICE: a dynslice needs at least one axis of size 2 or more");
  EXPECT_EQ(after("[12]", DynsliceRule{0, {}}),
            "inapplicable T-DYNSLICE: a dynslice needs at least one axis of size 2 or more");
}

TEST(T_ALLTOALL, moves_the_minor_most_axis_to_the_minor_most_place) {
  EXPECT_EQ(after("[1{x,y}24, 4{z}8]", AlltoallRule{0, 1}), "[4{y}24, 1{x,z}8]");
}
TEST(T_ALLTOALL, several_axes_keep_their_order) {
  EXPECT_EQ(after("[1{x,y}24, 24]", AlltoallRule{0, 1, 2}), "[24, 1{x,y}24]");
}
TEST(T_ALLTOALL, p1_rejects_dimensions_that_are_not_there) {
  EXPECT_EQ(after("[3{x}12, 12]", AlltoallRule{0, 1}), "[12, 3{x}12]");
  EXPECT_EQ(after("[3{x}12, 12]", AlltoallRule{0, 2}),
            "bad_dimension T-ALLTOALL: the type has no dimension 2");
  EXPECT_EQ(after("[3{x}12, 12]", AlltoallRule{3, 0}),
            "bad_dimension T-ALLTOALL: the type has no dimension 3");
}
TEST(T_ALLTOALL, p2_rejects_one_dimension_twice) {  // E4
  EXPECT_EQ(after("[4{x}16]", AlltoallRule{0, 0}),
            "inapplicable T-ALLTOALL: an alltoall moves axes between two different dimensions, not "
            "from 0 to 0");
}
TEST(T_ALLTOALL, p3_rejects_a_dimension_without_axes) {
  EXPECT_EQ(after("[3{x}12, 12]", AlltoallRule{1, 0}),
            "inapplicable T-ALLTOALL: dimension 1 is not split by any axis");
  EXPECT_EQ(after("[3{x}12, 12]", AlltoallRule{0, 1, 2}),
            "inapplicable T-ALLTOALL: dimension 0 is split by 1 axis, not by 2");
}
TEST(T_ALLTOALL, p4_rejects_an_indivisible_tile) {
  EXPECT_EQ(after("[3{x}12, 4]", AlltoallRule{0, 1}), "[12, 1{x}4]");
  EXPECT_EQ(after("[3{x}12, 6]", AlltoallRule{0, 1}),
            "inapplicable T-ALLTOALL: the tile size 6 of dimension 1 is not divisible by 4, the "
            "size of x");
}

TEST(T_PERMUTE, goes_to_any_type_of_the_same_tile_and_global_sizes) {
  EXPECT_EQ(after("[1{x,z}8]", to("[1{z,x}8]")), "[1{z,x}8]");
  EXPECT_EQ(after("[12]", to("[12]")), "[12]");
}
TEST(T_PERMUTE, rejects_other_tile_sizes) {
  EXPECT_EQ(after("[3{x}12, 6{z}12]", to("[6{z}12, 3{x}12]")),
            "inapplicable T-PERMUTE: an allpermute keeps the tile sizes: [6, 3] is not [3, 6]");
}
TEST(T_PERMUTE, rejects_other_global_sizes) {  // E5
  EXPECT_EQ(after("[2{x}8]", to("[2{x}8]")), "[2{x}8]");
  EXPECT_EQ(after("[2{x}8]", to("[2]")),
            "inapplicable T-PERMUTE: an allpermute keeps the global sizes: [2] is not [8]");
  EXPECT_EQ(after("[2]", to("[2, 1]")),
            "inapplicable T-PERMUTE: an allpermute keeps the global sizes: [2, 1] is not [2]");
}

TEST(Apply, a_type_of_another_mesh_is_refused) {
  const auto foreign = support::type("[3{w}12]", "w:4");
  EXPECT_EQ(apply(mesh(), AllgatherRule{0}, foreign).error().code, Code::unknown_axis);
  EXPECT_EQ(apply(mesh(), AllpermuteRule{foreign}, support::type("[3{x}12]", mesh())).error().code,
            Code::unknown_axis);
  EXPECT_TRUE(apply(mesh(), AllgatherRule{0}, support::type("[3{x}12]", "x:4")).has_value());
}

TEST(Apply, the_diagnostic_points_at_the_dimension) {
  const auto result = apply(mesh(), AlltoallRule{0, 1}, support::type("[3{x}12, 6]", mesh()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(
      render(result.error()),
      "error: the tile size 6 of dimension 1 is not divisible by 4, the size of x [T-ALLTOALL]\n"
      "  [3{x}12, 6]\n"
      "           ^\n"
      "note: it could be cut into 4 pieces if it were a multiple of 4\n");
}

}  // namespace
}  // namespace typing_test
