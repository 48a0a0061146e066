#include "retile/core/mesh.h"

#include <gtest/gtest.h>

#include "support/generators.h"
#include "support/values.h"

namespace mesh_test {
namespace {

using retile::Code;
using retile::Digit;
using retile::Mesh;
using retile::Size;

TEST(Mesh, devices_are_numbered_row_major_with_the_last_axis_fastest) {
  const Mesh mesh = support::mesh("x:4,y:6");
  EXPECT_EQ(mesh.device_count(), 24);
  EXPECT_EQ(mesh.digit("x"), (Digit{6, 4}));
  EXPECT_EQ(mesh.digit("y"), (Digit{1, 6}));
  EXPECT_EQ(mesh.digit("z"), std::nullopt);
}

TEST(Mesh, an_axis_of_size_1_is_kept_and_means_nothing) {
  const Mesh mesh = support::mesh("x:4,u:1,y:6");
  EXPECT_EQ(mesh.device_count(), 24);
  EXPECT_EQ(mesh.axes().size(), 3U);
  EXPECT_EQ(mesh.digit("u"), (Digit{6, 1}));
}

TEST(Mesh, without_axes_there_is_one_device) {
  const auto mesh = Mesh::make({});
  ASSERT_TRUE(mesh.has_value());
  EXPECT_EQ(mesh->device_count(), 1);
  EXPECT_EQ(*mesh, Mesh());
}

TEST(Mesh, accepts_2_31_devices) {
  const auto mesh = Mesh::make({{"x", Size{1} << 16}, {"y", Size{1} << 15}});
  ASSERT_TRUE(mesh.has_value());
  EXPECT_EQ(mesh->device_count(), Size{1} << 31);
}

TEST(Mesh, rejects_more_than_2_31_devices) {
  EXPECT_EQ(Mesh::make({{"x", Size{1} << 16}, {"y", (Size{1} << 15) + 1}}).error().code,
            Code::too_many_devices);
  EXPECT_EQ(Mesh::make({{"x", INT64_MAX}, {"y", INT64_MAX}}).error().code, Code::too_many_devices);
}

TEST(Mesh, accepts_distinct_names_and_rejects_equal_ones) {
  EXPECT_TRUE(Mesh::make({{"x", 2}, {"X", 2}}).has_value());
  EXPECT_EQ(Mesh::make({{"x", 2}, {"x", 3}}).error().code, Code::duplicate_axis);
  EXPECT_EQ(Mesh::make({{"x", 2}, {"x", 1}}).error().code, Code::duplicate_axis);
}

TEST(Mesh, accepts_sizes_from_1_and_rejects_smaller_ones) {
  EXPECT_TRUE(Mesh::make({{"x", 1}}).has_value());
  EXPECT_EQ(Mesh::make({{"x", 0}}).error().code, Code::bad_number);
  EXPECT_EQ(Mesh::make({{"x", -1}}).error().code, Code::bad_number);
}

TEST(Mesh, names_may_hold_anything_but_a_quote_and_control_characters) {
  EXPECT_TRUE(Mesh::make({{"a b,:{}#", 2}}).has_value());
  EXPECT_TRUE(Mesh::make({{"", 2}}).has_value());
  EXPECT_EQ(Mesh::make({{"a\"b", 2}}).error().code, Code::syntax);
  EXPECT_EQ(Mesh::make({{"a\nb", 2}}).error().code, Code::syntax);
  EXPECT_EQ(Mesh::make({{"a\x1b[31mb", 2}}).error().code, Code::syntax);
}

}  // namespace
}  // namespace mesh_test
