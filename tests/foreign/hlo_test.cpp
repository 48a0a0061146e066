// What HLO text says of groups, devices and ends.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "functions.h"
#include "retile/foreign/ends.h"

namespace retile::foreign {
namespace hlo_test {

using testing::function_of;
using testing::layout;
using testing::refusal_of;

/// The groups of an all-gather with these attributes, in a module with this header.
Groups groups(const std::string& header, Size members, const std::string& attributes) {
  const Function function = function_of(
      "HloModule m, " + header + "\nENTRY e {\np = f32[1] parameter(0)\nROOT r = f32[" +
      std::to_string(members) + "] all-gather(p), dimensions={0}, " + attributes + "\n}\n");
  if (function.operations.size() != 2) return {};
  return std::get<AllGather>(function.operations.back().action).groups;
}

const std::string global = ", channel_id=1, use_global_device_ids=true";

TEST(HloGroups, in_all_versions) {
  const std::string eight = "num_partitions=8";
  const Groups columns = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_EQ(groups(eight, 2, "replica_groups={{0,4},{1,5},{2,6},{3,7}}" + global), columns);
  EXPECT_EQ(groups(eight, 2, "replica_groups=[4,2]<=[2,4]T(1,0)" + global), columns);
  EXPECT_EQ(groups(eight, 2, "replica_groups=mesh['x'=2,'y'=4] {'x'}" + global), columns);
  EXPECT_EQ(groups("replica_count=8", 8, "replica_groups={}"), Groups({{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(groups(eight, 4, "replica_groups=[2,4]<=[8]" + global),
            Groups({{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(HloGroups, of_axes_in_the_order_of_the_list_the_first_slowest) {
  const std::string six = "num_partitions=6";
  EXPECT_EQ(groups(six, 6, "replica_groups=mesh['x'=2,'y'=3] {'x','y'}" + global),
            Groups({{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(groups(six, 6, "replica_groups=mesh['x'=2,'y'=3] {'y','x'}" + global),
            Groups({{0, 3, 1, 4, 2, 5}}));
}

TEST(HloGroups, of_parts_of_axes_from_the_major_end) {
  const std::string eight = "num_partitions=8";
  EXPECT_EQ(groups(eight, 2, "replica_groups=mesh['x'=8] {'x':(1)2}" + global),
            Groups({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups(eight, 2, "replica_groups=mesh['x'=8] {'x':(4)2}" + global),
            Groups({{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(HloGroups, of_a_mesh_with_an_order) {
  EXPECT_EQ(groups("num_partitions=4", 2,
                   "replica_groups=mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}" + global),
            Groups({{0, 2}, {1, 3}}));
}

TEST(HloGroups, of_replicas_and_partitions) {
  const std::string header = "replica_count=2, num_partitions=3";
  EXPECT_EQ(groups(header, 2, "replica_groups={{0,1}}"), Groups({{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(groups(header, 6, "replica_groups={{1,0}}, channel_id=1"),
            Groups({{3, 4, 5, 0, 1, 2}}));
  EXPECT_EQ(groups(header, 2, "replica_groups={{5,0},{4,1},{3,2}}" + global),
            Groups({{5, 0}, {4, 1}, {3, 2}}));
}

TEST(HloGroups, without_a_channel_are_replicas) {
  const auto action_of = [](const std::string& instruction) -> Action {
    const Function function = function_of(
        "HloModule m, replica_count=2, num_partitions=3\nENTRY e {\n"
        "p = f32[2] parameter(0)\nROOT r = f32[2] " +
        instruction + "\n}\n");
    return function.operations.empty() ? Action{} : function.operations.back().action;
  };
  EXPECT_EQ(
      std::get<AllToAll>(action_of("all-to-all(p), dimensions={0}, replica_groups={{1,0}}")).groups,
      Groups({{3, 0}, {4, 1}, {5, 2}}));
  using Pairs = std::vector<std::pair<Size, Size>>;
  const auto pairs = [&](const std::string& attributes) {
    return std::get<CollectivePermute>(action_of("collective-permute(p), " + attributes)).pairs;
  };
  EXPECT_EQ(pairs("source_target_pairs={{0,1}}"), Pairs({{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(pairs("channel_id=1, source_target_pairs={{0,2}}"), Pairs({{0, 2}, {3, 5}}));
}

TEST(HloGroups, of_an_alltoall_are_partitions) {
  const Function function = function_of(
      "HloModule m, replica_count=2, num_partitions=2\nENTRY e {\np = f32[2] parameter(0)\n"
      "ROOT r = f32[2] all-to-all(p), dimensions={0}, channel_id=1, replica_groups={{1,0}}\n}\n");
  EXPECT_EQ(std::get<AllToAll>(function.operations.back().action).groups, Groups({{1, 0}, {3, 2}}));
}

TEST(HloText, may_lack_its_header_and_its_percent_signs) {
  const Function function = function_of(
      "ENTRY e {\n p = f32[2] parameter(0) // the tile\n"
      " ROOT r = f32[8] all-gather(f32[2]{0} p), channel_id=1, /*all of them*/ dimensions={0}, "
      "replica_groups={{3,2,1,0}}, use_global_device_ids=true\n}\n");
  EXPECT_EQ(function.devices, 4);
  EXPECT_EQ(function.name, "e");
  EXPECT_EQ(function.values.back().place.line, 3);
}

TEST(HloText, tables_of_places_are_passed_over) {
  EXPECT_EQ(refusal_of("HloModule m, num_partitions=1\n\nFileNames\n1 \"a.py\"\n\nFunctionNames\n"
                       "1 \"<module>\"\n\nFileLocations\n1 {file_name_id=1 line=1}\n\nStackFrames\n"
                       "1 {file_location_id=1}\n\nENTRY e {\n ROOT p = f32[2] parameter(0)\n}\n"),
            "");
}

/// The global shape of the ends of a function whose parameter and root have these tiles and shardings.
std::string shape(const std::string& from, const std::string& to, const EndOptions& options = {}) {
  const std::string text =
      "HloModule m, num_partitions=4\nENTRY e_spmd {\n p = f32[2,8] parameter(0)" + from +
      "\n ROOT r = f32[8,2] reshape(p)" + to + "\n}\n";
  const Function function = function_of(text);
  const text::Input input{.text = text, .source = "test", .numbered = true};
  const auto ends = find_ends(function, options, input);
  if (!ends) return ends.error().message;
  std::string out;
  for (const Size extent : ends->from.global()) out += std::to_string(extent) + " ";
  return out + std::to_string(ends->notes.size());
}

TEST(HloEnds, the_shape_is_the_largest_that_the_tiles_allow) {
  const std::string rows = ", sharding={devices=[4,1]<=[4]}";
  const std::string columns = ", sharding={devices=[1,4]<=[4]}";
  EXPECT_EQ(shape(rows, columns), "8 8 1");
  EXPECT_EQ(shape(rows, columns, {.shape = Shape{7, 7}}),
            "the parameter is a tile 2,8, but a tile of the start is 2,7");
  EXPECT_EQ(shape(rows, columns, {.shape = Shape{7, 8}}),
            "the result is a tile 8,2, but a tile of the end is 7,2");
  EXPECT_EQ(shape(rows, columns, {.shape = Shape{8, 7}}),
            "the parameter is a tile 2,8, but a tile of the start is 2,7");
}

TEST(HloEnds, the_shape_of_many_dimensions_is_found) {
  const std::string text =
      "HloModule m, num_partitions=8\nENTRY e_spmd {\n ROOT p = f32[2,4,3] parameter(0), "
      "sharding={devices=[4,1,2]<=[2,2,2]T(0,2,1)}\n}\n";
  const Function function = function_of(text);
  const text::Input input{.text = text, .source = "test", .numbered = true};
  const auto ends = find_ends(function, {}, input);
  ASSERT_TRUE(ends.has_value()) << render(ends.error());
  EXPECT_EQ(ends->from.global(), Shape({8, 4, 6}));
}

TEST(HloEnds, devices_hold_one_box_each) {
  const auto at_start = [](const std::string& type, const std::string& end) {
    return shape("", "", {.shape = Shape{8, 8}, .from = type, .to = end});
  };
  const std::string end = "NamedSharding(mesh=Mesh('p': 4), spec=P())";
  EXPECT_EQ(at_start("[2{p}8, 8]", end), "the result is a tile 8,2, but a tile of the end is 8,8");
  // The mesh is that of the other end.
  EXPECT_EQ(at_start("[1@{p}8, 8]", end), "what a module's devices hold is one box each");
  EXPECT_EQ(at_start("[2{p}4+4, 8]", end), "what a module's devices hold is one box each");
  EXPECT_EQ(at_start("[2{q}8, 8]", end), "the mesh is missing");
}

TEST(HloEnds, options_go_before_the_file) {
  const std::string rows = ", sharding={devices=[4,1]<=[4]}";
  EXPECT_EQ(shape("", rows), "the file does not say the start of this function");
  EXPECT_EQ(shape(rows, ""), "the file does not say the end of this function");
  EXPECT_EQ(shape(rows, "", {.to = "{devices=[1,4]<=[4]}"}), "8 8 1");
  EXPECT_EQ(shape(rows, rows, {.to = "{devices=[1,4]<=[4]}"}), "8 8 2");
  EXPECT_EQ(shape(rows, rows, {.shape = Shape{8, 8}, .to = "{devices=[2,1]<=[2]}"}).substr(0, 20),
            "this is of 2 devices");
}

TEST(HloEnds, an_end_brings_the_mesh_of_the_other) {
  const std::string named = "NamedSharding(mesh=Mesh('x': 4), spec=P('x'))";
  EXPECT_EQ(shape("", "", {.from = named, .to = "P(None, 'x')"}), "8 8 1");
  EXPECT_EQ(shape("", "", {.from = "[2{x}8, 8]", .to = named}).substr(0, 22),
            "the result is a tile 8");
  const std::string missing = "the mesh is missing";
  EXPECT_EQ(shape("", "", {.from = "P('x')", .to = "P(None, 'x')"}), missing);
  // Neither does a mesh without that axis help, nor the file's own notation, which names no axes.
  EXPECT_EQ(shape("", "", {.from = named, .to = "P(None, 'y')"}), missing);
  EXPECT_EQ(shape(", sharding={devices=[4,1]<=[4]}", "", {.to = "P(None, 'a0')"}), missing);
}

}  // namespace hlo_test
}  // namespace retile::foreign
