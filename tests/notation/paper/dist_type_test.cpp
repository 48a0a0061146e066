#include "retile/notation/paper/dist_type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/generators.h"
#include "support/values.h"

namespace dist_type_test {
namespace {

using retile::Code;
using retile::DistDim;
using retile::DistType;
using retile::Mesh;
using retile::Shape;
using retile::Size;

const Mesh& mesh() {
  static const Mesh mesh = support::mesh("x:4,y:6,u:1");
  return mesh;
}
Code refused(std::vector<DistDim> dims) {
  const auto type = DistType::make(mesh(), std::move(dims));
  EXPECT_FALSE(type.has_value());
  return type ? Code{} : type.error().code;
}
bool accepted(std::vector<DistDim> dims) {
  return DistType::make(mesh(), std::move(dims)).has_value();
}

TEST(DistType, local_and_global_sizes) {
  const DistType type = support::type("[3{x}12, 2{y}12]", mesh());
  EXPECT_EQ(type.rank(), 2U);
  EXPECT_EQ(type.localtype(), (Shape{3, 2}));
  EXPECT_EQ(type.globaltype(), (Shape{12, 12}));
  EXPECT_EQ(type.localsize(), 6);
  EXPECT_EQ(type.globalsize(), 144);
}

TEST(DistType, rank_0_is_one_element) {
  const auto type = DistType::make(mesh(), {});
  ASSERT_TRUE(type.has_value());
  EXPECT_EQ(type->localsize(), 1);
  EXPECT_EQ(type->globalsize(), 1);
}

TEST(DistType, axes_of_size_1_are_dropped_and_may_stand_anywhere) {
  const auto type = DistType::make(mesh(), {{3, {"u", "x", "u"}, 12}, {5, {"u"}, 5}});
  ASSERT_TRUE(type.has_value());
  EXPECT_EQ(*type, support::type("[3{x}12, 5]", mesh()));
}

TEST(WF_DIM, every_axis_is_an_axis_of_the_mesh) {
  EXPECT_TRUE(accepted({{3, {"x"}, 12}}));
  EXPECT_EQ(refused({{3, {"z"}, 12}}), Code::unknown_axis);
}

TEST(WF_DIM, no_axis_stands_twice_in_a_dimension) {
  EXPECT_TRUE(accepted({{1, {"x", "y"}, 24}}));
  const auto type = DistType::make(mesh(), {{1, {"x", "x"}, 16}});
  ASSERT_FALSE(type.has_value());
  EXPECT_EQ(type.error().code, Code::axis_used_twice);
  EXPECT_EQ(type.error().rule, "WF-DIM");
}

TEST(WF_DIM, tile_times_axes_is_the_global_size) {
  EXPECT_TRUE(accepted({{3, {"x"}, 12}}));
  EXPECT_EQ(refused({{3, {"x"}, 13}}), Code::ill_formed_type);
  EXPECT_TRUE(accepted({{12, {}, 12}}));
  EXPECT_EQ(refused({{3, {}, 12}}), Code::ill_formed_type);
  EXPECT_EQ(refused({{Size{1} << 62, {"x"}, 12}}), Code::ill_formed_type);
  EXPECT_EQ(refused({{Size{1} << 62, {"x"}, 0}}), Code::bad_number);  // 2^64 would wrap to 0
}

TEST(WF_TYPE, no_axis_splits_two_dimensions) {
  EXPECT_TRUE(accepted({{3, {"x"}, 12}, {3, {}, 3}}));
  const auto type = DistType::make(mesh(), {{3, {"x"}, 12}, {3, {"x"}, 12}});
  ASSERT_FALSE(type.has_value());
  EXPECT_EQ(type.error().code, Code::axis_used_twice);
  EXPECT_EQ(type.error().rule, "WF-TYPE");
}

TEST(DistType, sizes_are_at_least_1) {
  EXPECT_TRUE(accepted({{1, {}, 1}}));
  EXPECT_EQ(refused({{0, {}, 0}}), Code::bad_number);
  EXPECT_EQ(refused({{1, {}, 0}}), Code::bad_number);
  EXPECT_EQ(refused({{-3, {"x"}, -12}}), Code::bad_number);
}

TEST(DistType, the_global_size_is_below_2_63) {
  const Size half = Size{1} << 31;
  EXPECT_TRUE(accepted({{half, {}, half}, {half, {}, half}}));
  EXPECT_EQ(refused({{half, {}, half}, {half, {}, half}, {2, {}, 2}}), Code::size_overflow);
  // It is the array that must fit; a tile of it may be small enough.
  EXPECT_EQ(refused({{half, {}, half}, {half, {"x"}, 4 * half}}), Code::size_overflow);
}

}  // namespace
}  // namespace dist_type_test
