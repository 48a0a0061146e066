#include "retile/notation/paper/notation.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/generators.h"
#include "support/values.h"

namespace notation_test {
namespace {

using retile::Code;
using retile::Digit;
using retile::Layout;
using retile::Mesh;
using retile::parse_mesh;
using retile::parse_type;
using retile::Shape;
using retile::Size;

const Mesh& mesh() {
  static const Mesh mesh = support::mesh("x:4,y:6");
  return mesh;
}

/// The canonical form of a mesh or type text.
std::string canonical_mesh(std::string_view text) { return to_text(support::mesh(text)); }
std::string canonical(std::string_view text, const Mesh& over = mesh()) {
  return to_text(support::type(text, over));
}

/// `code` and what people see of a refusal; "accepted" otherwise.
template <typename T>
std::string seen(const retile::Result<T>& result) {
  if (result) return "accepted";
  return std::string(code_name(result.error().code)) + "\n" + render(result.error());
}
std::string mesh_refusal(std::string_view text) { return seen(parse_mesh(text)); }
std::string type_refusal(std::string_view text, const Mesh& over = mesh()) {
  return seen(parse_type(text, over));
}

constexpr std::string_view mesh_note = "note: a mesh is written x:4,y:6\n";
constexpr std::string_view dim_note =
    "note: a dimension is written tile{axes}global, such as 3{x}12, or 12 when no axis splits it\n";

std::string with(std::string_view text, std::string_view note) {
  return std::string(text) + std::string(note);
}

// ---- meshes

TEST(ParseMesh, reads_the_papers_notation) {
  EXPECT_EQ(support::mesh("x:4,y:6"), *Mesh::make({{"x", 4}, {"y", 6}}));
  EXPECT_EQ(support::mesh("x:1"), *Mesh::make({{"x", 1}}));
  EXPECT_EQ(support::mesh("_a.b-c9:007"), *Mesh::make({{"_a.b-c9", 7}}));
}

TEST(ParseMesh, blanks_are_free) {
  EXPECT_EQ(canonical_mesh(" x : 4 ,\ty : 6 "), "x:4,y:6");
  EXPECT_EQ(seen(parse_mesh("x:4\n")).substr(0, 6), "syntax");  // a line end is no blank
}

TEST(ParseMesh, a_quoted_name_is_the_same_axis) {
  EXPECT_EQ(canonical_mesh("\"x\":4"), "x:4");
  EXPECT_EQ(canonical_mesh("\"a b\":4,\"\":2,\"7\":3,\"x:4,y\":2"),
            "\"a b\":4,\"\":2,\"7\":3,\"x:4,y\":2");
}

TEST(ParseMesh, rejects_an_empty_text) {
  EXPECT_EQ(mesh_refusal(""),
            "empty_mesh\nerror: a mesh needs at least one axis\n  \"\"\n  ^~\n"
            "note: a mesh is written x:4,y:6; a single device is x:1\n");
  EXPECT_EQ(mesh_refusal(" \t"),
            "empty_mesh\nerror: a mesh needs at least one axis\n    \n  ^~\n"
            "note: a mesh is written x:4,y:6; a single device is x:1\n");
}

TEST(ParseMesh, rejects_an_axis_that_stands_twice) {
  EXPECT_EQ(
      mesh_refusal("x:4,y:2,\"x\":3"),
      "duplicate_axis\nerror: axis x stands twice in the mesh\n  x:4,y:2,\"x\":3\n          ^~~\n"
      "note: every axis of a mesh needs a name of its own\n");
}

TEST(ParseMesh, rejects_numbers_that_are_no_sizes) {
  EXPECT_EQ(mesh_refusal("x:0"),
            "bad_number\nerror: the size of axis x must be at least 1, not 0\n  x:0\n    ^\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(mesh_refusal("x:-12"),
            "bad_number\nerror: the size of axis x cannot be negative\n  x:-12\n    ^~~\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(
      mesh_refusal("x:12345678901234567890"),
      "bad_number\nerror: the size of axis x does not fit in 63 bits\n  x:12345678901234567890\n"
      "    ^~~~~~~~~~~~~~~~~~~~\nnote: the largest number is 9223372036854775807\n");
  EXPECT_EQ(canonical_mesh("x:00000000000000000000000000012"), "x:12");  // long, but 12
}

TEST(ParseMesh, rejects_too_many_devices) {
  EXPECT_EQ(canonical_mesh("x:65536,y:32768"), "x:65536,y:32768");
  EXPECT_EQ(
      mesh_refusal(" x:65536,y:65536"),
      "too_many_devices\nerror: a mesh has at most 2147483648 devices, this one has 4294967296\n"
      "   x:65536,y:65536\n   ^~~~~~~~~~~~~~~\nnote: the number of devices is the product of the "
      "axis sizes\n");
  EXPECT_NE(mesh_refusal("x:9223372036854775807,y:3").find("2^63 or more"), std::string::npos);
}

TEST(ParseMesh, points_at_what_does_not_follow_the_grammar) {
  EXPECT_EQ(mesh_refusal("x"),
            with("syntax\nerror: expected ':' and the size of axis x, found the end\n  x\n   ^\n",
                 mesh_note));
  EXPECT_EQ(
      mesh_refusal("x:"),
      with("syntax\nerror: expected the size of axis x, found the end\n  x:\n    ^\n", mesh_note));
  EXPECT_EQ(mesh_refusal(":4"),
            with("syntax\nerror: expected the name of an axis, found ':'\n  :4\n  ^\n", mesh_note));
  EXPECT_EQ(mesh_refusal("x:4,"),
            with("syntax\nerror: expected the name of an axis, found the end\n  x:4,\n      ^\n",
                 mesh_note));
  EXPECT_EQ(
      mesh_refusal("x:4 y:6"),
      with("syntax\nerror: expected ',' or the end after an axis, found 'y'\n  x:4 y:6\n      ^\n",
           mesh_note));
  EXPECT_EQ(
      mesh_refusal("x:y"),
      with("syntax\nerror: expected the size of axis x, found 'y'\n  x:y\n    ^\n", mesh_note));
  EXPECT_EQ(
      mesh_refusal("x:4.5"),
      with("syntax\nerror: expected ',' or the end after an axis, found '.5'\n  x:4.5\n     ^~\n",
           mesh_note));
  EXPECT_EQ(
      mesh_refusal("x:-"),
      with("syntax\nerror: expected the size of axis x, found '-'\n  x:-\n    ^\n", mesh_note));
  EXPECT_EQ(mesh_refusal("\"x:4"),
            "syntax\nerror: a quoted name has no closing quote\n  \"x:4\n  ^~~~\n"
            "note: a name stands between two double quotes on one line\n");
}

TEST(ParseMesh, names_garbage_bytes_and_points_at_them) {
  EXPECT_EQ(
      mesh_refusal("x\xff:4"),
      with(
          "syntax\nerror: expected ':' and the size of axis x, found the byte 0xFF\n  x?:4\n   ^\n",
          mesh_note));
  EXPECT_EQ(
      mesh_refusal("\xc3\xa9:4"),
      with("syntax\nerror: expected the name of an axis, found '\xc3\xa9'\n  \xc3\xa9:4\n  ^\n",
           mesh_note));
  EXPECT_EQ(seen(parse_mesh(std::string_view("x:4\0", 4))),
            with("syntax\nerror: expected ',' or the end after an axis, found the byte 0x00\n  x:4 "
                 "\n     ^\n",
                 mesh_note));
}

// ---- types

TEST(ParseType, reads_the_papers_notation) {
  EXPECT_EQ(canonical("[3{x}12,2{y}12]"), "[3{x}12, 2{y}12]");
  EXPECT_EQ(canonical("[ 1 { y , x } 24 ]"), "[1{y,x}24]");
  EXPECT_EQ(canonical("[]"), "[]");
  EXPECT_EQ(canonical("[7{}7, 5]"), "[7, 5]");
  EXPECT_EQ(canonical("[03{x}0012]"), "[3{x}12]");
}

TEST(ParseType, an_axis_may_repeat_its_size) {
  EXPECT_EQ(canonical("[184{c:2}368]", support::mesh("a:3,c:2")), "[184{c}368]");
}

TEST(ParseType, names_may_be_quoted) {
  EXPECT_EQ(canonical("[8{\"devices\"}256]", support::mesh("devices:32")), "[8{devices}256]");
  EXPECT_EQ(canonical("[8{\"a b\" : 32}256]", support::mesh("\"a b\":32")), "[8{\"a b\"}256]");
}

TEST(ParseType, axes_of_size_1_are_dropped) {
  EXPECT_EQ(canonical("[3{u,x,u:1}12, 5{u}5]", support::mesh("x:4,u:1")), "[3{x}12, 5]");
}

TEST(ParseType, rejects_an_unknown_axis_and_lists_the_known_ones) {
  EXPECT_EQ(type_refusal("[3{z}12]"),
            "unknown_axis\nerror: the mesh has no axis z [WF-DIM]\n  [3{z}12]\n     ^\n"
            "note: the mesh has the axes x and y\n");
  EXPECT_EQ(
      type_refusal("[5, 3{xdevs}12]", support::mesh("xdev:4,ydev:6")),
      "unknown_axis\nerror: the mesh has no axis xdevs [WF-DIM]\n  [5, 3{xdevs}12]\n        ^~~~~\n"
      "note: the mesh has the axes xdev and ydev; did you mean xdev?\n");
  EXPECT_NE(type_refusal("[3{X}12]").find("did you mean x?"), std::string::npos);
}

TEST(ParseType, a_long_list_of_axes_is_cut) {
  std::string text = "a0:1";
  for (int i = 1; i < 20; ++i) text += ",a" + std::to_string(i) + ":1";
  EXPECT_NE(type_refusal("[3{b}12]", support::mesh(text))
                .find("a0, a1, a2, a3, a4, a5, a6 and 13 more\n"),
            std::string::npos);
}

TEST(ParseType, rejects_an_axis_used_twice_and_points_at_the_second_use) {
  EXPECT_EQ(
      type_refusal("[3{x,x}12]"),
      "axis_used_twice\nerror: axis x splits dimension 0 twice [WF-DIM]\n  [3{x,x}12]\n       ^\n"
      "note: an axis stands at most once in a type; still free: y\n");
  EXPECT_EQ(type_refusal("[1{x,y}24, 3{\"x\"}12]"),
            "axis_used_twice\nerror: axis x splits dimension 0 and dimension 1 [WF-TYPE]\n"
            "  [1{x,y}24, 3{\"x\"}12]\n               ^~~\n"
            "note: an axis stands at most once in a type, and no other axis is free; remove one\n");
}

TEST(ParseType, rejects_a_size_that_is_not_the_axis) {
  EXPECT_EQ(type_refusal("[5, 3{x:3}9]"),
            "axis_size_mismatch\nerror: axis x has size 4 in the mesh, not 3 [WF-DIM]\n  [5, "
            "3{x:3}9]\n          ^\n"
            "note: the size may be left out: x stands for x:4\n");
  EXPECT_EQ(canonical("[5, 3{x:4}12]"), "[5, 3{x}12]");
}

TEST(ParseType, what_is_wrong_first_is_reported_first) {
  EXPECT_EQ(type_refusal("[3{z}12, 3{x:3}9]").substr(0, 12), "unknown_axis");
  EXPECT_EQ(type_refusal("[3{x:3}9, 3{z}12]").substr(0, 18), "axis_size_mismatch");
  EXPECT_EQ(type_refusal("[3{y}12, 3{x:3}9]").substr(0, 15), "ill_formed_type");
}

TEST(ParseType, rejects_tiles_that_do_not_add_up_and_offers_the_repair) {
  EXPECT_EQ(type_refusal("[32{xdev}256, 1024]", support::mesh("xdev:4")),
            "ill_formed_type\n"
            "error: tile size times axis sizes must equal the global size: 32 * 4 = 128, not 256 "
            "[WF-DIM]\n"
            "  [32{xdev}256, 1024]\n"
            "   ^~~~~~~~~~~\n"
            "note: axis xdev has size 4; 64{xdev}256 is well formed\n");
  EXPECT_EQ(canonical("[64{xdev}256, 1024]", support::mesh("xdev:4")), "[64{xdev}256, 1024]");
}

TEST(ParseType, without_a_tile_that_fits_the_global_size_is_repaired) {
  EXPECT_EQ(type_refusal("[2{x,y}13]"),
            "ill_formed_type\n"
            "error: tile size times axis sizes must equal the global size: 2 * 4 * 6 = 48, not 13 "
            "[WF-DIM]\n"
            "  [2{x,y}13]\n"
            "   ^~~~~~~~\n"
            "note: axes x and y have sizes 4 and 6, and 24 does not divide 13; 2{x,y}48 is well "
            "formed\n");
  EXPECT_EQ(type_refusal("[12{}24]"),
            "ill_formed_type\n"
            "error: without axes the tile size must equal the global size: 12 is not 24 [WF-DIM]\n"
            "  [12{}24]\n   ^~~~~~\nnote: 24 is well formed\n");
  EXPECT_EQ(type_refusal("[9223372036854775807{x}13]"),
            "ill_formed_type\n"
            "error: tile size times axis sizes must equal the global size: 9223372036854775807 * 4 "
            "is 2^63 or more, not 13 [WF-DIM]\n"
            "  [9223372036854775807{x}13]\n   ^~~~~~~~~~~~~~~~~~~~~~~~\n"
            "note: axis x has size 4, and 4 does not divide 13\n");
}

TEST(ParseType, rejects_numbers_that_are_no_sizes) {
  EXPECT_EQ(type_refusal("[0]"),
            "bad_number\nerror: the size of a dimension must be at least 1, not 0\n  [0]\n   ^\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(type_refusal("[3{x}-12]"),
            "bad_number\nerror: the global size of a dimension cannot be negative\n  [3{x}-12]\n   "
            "    ^~~\n"
            "note: sizes are whole numbers from 1\n");
  EXPECT_EQ(type_refusal("[-0]").substr(0, 10), "bad_number");
  EXPECT_EQ(type_refusal("[9223372036854775808]").substr(0, 10), "bad_number");
  EXPECT_EQ(canonical("[9223372036854775807]"), "[9223372036854775807]");
}

TEST(ParseType, rejects_arrays_of_2_63_elements) {
  EXPECT_EQ(
      type_refusal(" [4294967296, 2147483648]"),
      "size_overflow\nerror: the array has 2^63 elements or more\n   [4294967296, 2147483648]\n"
      "   ^~~~~~~~~~~~~~~~~~~~~~~~\nnote: the product of the global sizes must be below 2^63\n");
  EXPECT_EQ(canonical("[4294967296,2147483647]"), "[4294967296, 2147483647]");
}

TEST(ParseType, rejects_unbalanced_braces) {
  EXPECT_EQ(type_refusal("[3{x}12,2{y}12"),
            "syntax\nerror: expected ',' or ']' after a dimension, found the end\n  "
            "[3{x}12,2{y}12\n                ^\n"
            "note: the '[' at column 1 is not closed\n");
  EXPECT_EQ(type_refusal("[3{x 12]"),
            "syntax\nerror: expected ',' or '}' after an axis, found '12'\n  [3{x 12]\n       ^~\n"
            "note: the '{' at column 3 is not closed\n");
  EXPECT_EQ(type_refusal("3{x}12]"),
            "syntax\nerror: expected '[', found '3'\n  3{x}12]\n  ^\nnote: a type is written "
            "[3{x}12, 2{y}12]\n");
  EXPECT_EQ(type_refusal("[3{x}12]]"),
            "syntax\nerror: expected the end after ']', found ']'\n  [3{x}12]]\n          ^\nnote: "
            "nothing may follow a type\n");
  EXPECT_EQ(
      type_refusal("[3x}12]"),
      with("syntax\nerror: expected ',' or ']' after a dimension, found 'x'\n  [3x}12]\n    ^\n",
           dim_note));
}

TEST(ParseType, points_at_what_is_missing) {
  EXPECT_EQ(type_refusal(""),
            "syntax\nerror: expected '[', found the end\n  \"\"\n  ^~\nnote: a type is written "
            "[3{x}12, 2{y}12]\n");
  EXPECT_EQ(type_refusal("[3{x}]"),
            "syntax\nerror: expected the global size of a dimension, found ']'\n  [3{x}]\n       "
            "^\nnote: 3{x}12 is well formed\n");
  EXPECT_EQ(type_refusal("[3{x}, 4]"),
            "syntax\nerror: expected the global size of a dimension, found ','\n  [3{x}, 4]\n      "
            " ^\nnote: 3{x}12 is well formed\n");
  EXPECT_EQ(
      type_refusal("[3{z}]"),
      with(
          "syntax\nerror: expected the global size of a dimension, found ']'\n  [3{z}]\n       ^\n",
          dim_note));
  EXPECT_EQ(type_refusal("[{x}12]"),
            with("syntax\nerror: expected the size of a dimension, found '{'\n  [{x}12]\n   ^\n",
                 dim_note));
  EXPECT_EQ(type_refusal("[12,]"),
            with("syntax\nerror: expected the size of a dimension, found ']'\n  [12,]\n      ^\n",
                 dim_note));
  EXPECT_EQ(type_refusal("[3{x,}12]"),
            with("syntax\nerror: expected the name of an axis, found '}'\n  [3{x,}12]\n       ^\n",
                 dim_note));
}

TEST(ParseType, digits_of_the_device_number_are_no_axes) {
  EXPECT_EQ(type_refusal("[3{6:4}12]"),
            "syntax\nerror: expected the name of an axis, found '6'\n  [3{6:4}12]\n     ^\n"
            "note: digits stride:size belong to a Program, a type names axes of the mesh\n");
  EXPECT_EQ(canonical("[3{\"6\":4}12]", support::mesh("\"6\":4")), "[3{\"6\"}12]");
}

TEST(ParseType, the_source_is_named) {
  EXPECT_EQ(render(parse_type("", mesh(), "FROM").error()).substr(0, 13), "error: FROM: ");
}

TEST(ParseType, garbage_of_any_length_is_refused_with_one_short_diagnostic) {
  std::string garbage = "[";
  for (int i = 0; i < 100000; ++i) garbage += static_cast<char>(i * 7919 % 251);
  const auto result = parse_type(garbage, mesh());
  ASSERT_FALSE(result.has_value());
  EXPECT_LT(render(result.error()).size(), 600U);
}

// ---- tile maps

TEST(TileMapText, whole_axes_go_by_name_and_other_digits_by_stride) {
  const auto map =
      support::value(Layout::compact(24, {12, 12}, {1, 6}, {{{1, 3}, {6, 4}}, {{3, 2}}}));
  EXPECT_EQ(to_text(map, &mesh()), "[1{1:3,x}12, 6{3:2}12]");
  EXPECT_EQ(to_text(map, nullptr), "[1{1:3,6:4}12, 6{3:2}12]");
}

TEST(TileMapText, digits_are_cut_where_axes_meet) {
  const auto map = support::value(Layout::compact(24, {24}, {1}, {{{1, 24}}}));
  EXPECT_EQ(to_text(map, &mesh()), "[1{y,x}24]");
  EXPECT_EQ(to_text(map, nullptr), "[1{1:24}24]");
  EXPECT_EQ(to_text(support::value(Layout::compact(24, {4}, {1}, {{{3, 4}}})), &mesh()),
            "[1{3:2,6:2}4]");
}

TEST(TileMapText, neighbours_inside_an_axis_are_joined) {
  const auto map = support::value(Layout::compact(24, {6}, {1}, {{{1, 3}, {3, 2}}}));
  EXPECT_EQ(to_text(map, &mesh()), "[1{y}6]");
  EXPECT_EQ(to_text(map, nullptr), "[1{1:6}6]");
}

TEST(TileMapText, a_digit_across_axes_that_no_cut_fits_stays_whole) {
  const Mesh over = support::mesh("a:2,b:3");  // b is 1:3, a is 3:2
  const auto map = support::value(Layout::compact(6, {2}, {1}, {{{1, 2}}}));
  EXPECT_EQ(to_text(map, &over), "[1{1:2}2]");
  const auto major = support::value(Layout::compact(6, {3}, {1}, {{{2, 3}}}));
  EXPECT_EQ(to_text(major, &over), "[1{2:3}3]");
}

TEST(TileMapText, dimensions_without_digits_print_their_size) {
  EXPECT_EQ(to_text(support::value(Layout::compact(24, {12, 1}, {12, 1}, {{}, {}})), &mesh()),
            "[12, 1]");
  EXPECT_EQ(to_text(support::value(Layout::compact(24, {}, {}, {})), &mesh()), "[]");
}

TEST(TileMapText, axes_of_size_1_are_never_printed) {
  const Mesh over = support::mesh("u:1,x:4,v:1,y:6,w:1");
  const auto map = support::value(Layout::compact(24, {24}, {1}, {{{6, 4}, {1, 6}}}));
  EXPECT_EQ(to_text(map, &over), "[1{x,y}24]");
}

TEST(TileMapOfType, device_d_holds_the_box_of_its_mesh_point) {
  const Layout map = layout_of(mesh(), support::type("[3{x}12, 2{y}12]", mesh()));
  EXPECT_EQ(map.tile(), (Shape{3, 2}));
  EXPECT_EQ(map.digits(), (std::vector<std::vector<Digit>>{{{6, 4}}, {{1, 6}}}));
  EXPECT_EQ(map.base_offset(6 * 2 + 5), (Shape{6, 10}));
}

TEST(TileMapOfType, the_left_most_axis_changes_fastest) {
  const Layout map = layout_of(mesh(), support::type("[1{x,y}24]", mesh()));
  EXPECT_EQ(map.base_offset(6 * 1 + 0), (Shape{1}));
  EXPECT_EQ(map.base_offset(6 * 0 + 1), (Shape{4}));
}

}  // namespace
}  // namespace notation_test
