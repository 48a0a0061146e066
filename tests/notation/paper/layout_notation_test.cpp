// Types that are more than the paper's: which boxes they are, how they are spelled, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "support/values.h"

namespace retile::layout_notation_test {
namespace {

Layout layout(std::string_view text, std::string_view mesh = "x:4,y:6") {
  auto out = parse_layout(text, support::mesh(mesh));
  EXPECT_TRUE(out.has_value()) << (out ? "" : render(out.error()));
  return out.value();
}

std::string refusal(std::string_view text, std::string_view mesh = "x:4,y:6") {
  const auto out = parse_layout(text, support::mesh(mesh));
  return out ? "accepted" : render(out.error());
}

/// The extents that the devices hold of an array of one dimension.
std::vector<Size> extents(std::string_view text, std::string_view mesh) {
  return layout(text, mesh).extents().value();
}

TEST(LayoutNotation, even_types_are_what_they_were) {
  const Mesh mesh = support::mesh("x:4,y:6");
  for (const char* text : {"[3{x}12, 2{y}12]", "[]", "[12]", "[1{x,y}24, 7]"}) {
    EXPECT_EQ(layout(text), layout_of(mesh, parse_type(text, mesh).value())) << text;
  }
}

TEST(LayoutNotation, a_tile_size_is_the_one_that_makes_so_many) {
  EXPECT_EQ(extents("[2{p}9]", "p:8"), (std::vector<Size>{2, 2, 2, 2, 1, 0, 0, 0}));
  EXPECT_EQ(extents("[1{p}4]", "p:6"), (std::vector<Size>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(extents("[3{p}10]", "p:4"), (std::vector<Size>{3, 3, 3, 1}));
  EXPECT_EQ(extents("[6~{p}10]", "p:2"), (std::vector<Size>{6, 4}));
  EXPECT_EQ(extents("[(0,1,1,10){p}10]", "p:3"), (std::vector<Size>{1, 0, 9}));
  EXPECT_EQ(extents("[9]@1", "p:3"), (std::vector<Size>{0, 9, 0}));
}

TEST(LayoutNotation, several_axes_are_cut_flat) {
  // x fastest; nested it would be 1 1 0 1 1 0.
  EXPECT_EQ(extents("[1{x,y}4]", "y:2,x:3"), (std::vector<Size>{1, 1, 1, 1, 0, 0}));
}

TEST(LayoutNotation, halos_reach_beyond_tiles_within_the_array) {
  const Layout halo = layout("[3{p}10<1,2>]", "p:4");
  EXPECT_EQ(halo.base_offsets(), (std::vector<Size>{0, 2, 5, 8}));
  EXPECT_EQ(halo.extents(), (std::vector<Size>{5, 6, 5, 2}));
}

TEST(LayoutNotation, parts_of_an_axis_are_digits) {
  EXPECT_EQ(layout("[3{x:(1)2}6]", "x:6"), layout("[3{x}6]", "x:2,z:3"));
  EXPECT_EQ(layout("[2{x:(2)3}6]", "x:6"), layout("[2{z}6]", "x:2,z:3"));
  EXPECT_EQ(layout("[2{x:(1)3}6]", "x:6").digits()[0], (std::vector<Digit>{{2, 3}}));
  EXPECT_EQ(layout("[2{x:(2)2}4, 2{x:(1)2}4]", "x:8").digits()[0], (std::vector<Digit>{{2, 2}}));
}

TEST(LayoutNotation, spellings_are_canonical) {
  const auto spelled = [](std::string_view text) {
    return support::problem("x:4,y:6", text, text).spelling->from;
  };
  EXPECT_EQ(spelled("[ 3{ x :4}10,12{}12 ]"), "[3{x}10, 12]");
  EXPECT_EQ(spelled("[7~{x}10 < 1 , 0 >]"), "[7~{x}10<1,0>]");
  EXPECT_EQ(spelled("[( 0,1 ,2,3, 10 ){x}10]"), "[(0,1,2,3,10){x}10]");
  EXPECT_EQ(spelled("[2{y : ( 2 ) 3}6]"), "[2{y:(2)3}6]");
  EXPECT_EQ(spelled("[4, 9]@ 23"), "[4, 9]@23");
  EXPECT_EQ(spelled("[12{}12<1,1>, 3{x}10]"), "[12, 3{x}10]");
  EXPECT_EQ(spelled("[ 2 @ { x } 10, 2@{}12, 12{}8+4]"), "[2@{x}10, 12, 12]");
  EXPECT_EQ(spelled("[ 3 { x:4 } 8 + 4 ]"), "[3{x}8+4]");
  EXPECT_EQ(spelled("[2@{x:(2)2}8+4]"), "[2@{x:(2)2}8+4]");
  EXPECT_EQ(spelled("[( 0,1, 2 ) * (0,5) @ {x:4}10, (0,3)@{}3]"), "[(0,1,2)*(0,5)@{x}10, 3]");
  EXPECT_EQ(spelled("[(0,1,2)@ ( 3,0 ){x}2]"), "[(0,1,2)@(3,0){x}2]");
  EXPECT_EQ(spelled("[(0,1,2)@(0,1){x}2]"), "[(0,1,2)@{x}2]");
}

TEST(LayoutNotation, layouts_print_as_the_first_spelling_that_says_them) {
  const Mesh mesh = support::mesh("p:4");
  const auto printed = [&](std::string_view text) { return to_text(layout(text, "p:4"), &mesh); };
  EXPECT_EQ(printed("[3{p}10]"), "[3{p}10]");
  EXPECT_EQ(printed("[3~{p}10]"), "[3{p}10]");
  EXPECT_EQ(printed("[4~{p}10]"), "[4~{p}10]");
  EXPECT_EQ(printed("[99~{p}10]"), "[10~{p}10]");
  EXPECT_EQ(printed("[(0,3,6,9,10){p}10]"), "[3{p}10]");
  EXPECT_EQ(printed("[(0,5,10,10,10){p}10]"), "[5~{p}10]");
  EXPECT_EQ(printed("[(0,5,5,10,10){p}10]"), "[(0,5,5,10,10){p}10]");
  EXPECT_EQ(printed("[3{p}10<1,0>]"), "[3{p}10<1,0>]");
  EXPECT_EQ(printed("[2@{p}10]"), "[2@{p}10]");
  EXPECT_EQ(printed("[3@{p}10]"), "[3{p}10]");  // one round
  EXPECT_EQ(printed("[9@{p}20+8]"), "[9@{p}20+8]");
  EXPECT_EQ(printed("[9@{p}8+10]"), "[9@{p}8+10]");
  EXPECT_EQ(printed("[2@{p}8+8]"), "[4{p}8+8]");  // one round of each
  EXPECT_EQ(printed("[3{p}8+4]"), "[3{p}8+4]");
  EXPECT_EQ(printed("[1@{p}3+3+3]"), "[3{p}3+3+3]");
  EXPECT_EQ(printed("[1@{p}9+3+3]"), "[1@{p}9+3+3]");
  EXPECT_EQ(printed("[(0,3,10)@(3,0){p}10]"), "[(0,3,10)@(3,0){p}10]");
  EXPECT_EQ(printed("[(0,1,2)*(0,1,2,5)@{p}10]"), "[(0,1,2)*(0,1,2,5)@{p}10]");
  EXPECT_EQ(printed("[(0,1,2)*(0,1,2,5)@(0,1,2,3,0,2){p}10]"),
            "[(0,1,2)*(0,1,2,5)@(0,1,2,3,0,2){p}10]");
  EXPECT_EQ(printed("[(0,1,2)*(0,1,5)@(0,1,2,3){p}10]"), "[(0,1,5,6,10){p}10]");
  EXPECT_EQ(printed("[(0,2)*(0,1,5)@(0,1){p}10]"), "[(0,2)*(0,1,5)@{p}10]");
  // The last two chunks alone are in turn.
  EXPECT_EQ(printed("[(0,1,2)*(0,1,5)@(1,0,2,3){p}10]"), "[(0,1,2)*(0,1,5)@(1,0,2,3){p}10]");
  EXPECT_EQ(printed("[(0,1,2)*(0,5)@(0,2){p}10]"), "[(0,5,5,10,10){p}10]");
}

/// What each device holds is told in the first test of core.uneven_layout; here, that texts say it.
TEST(LayoutNotation, blocks_are_dealt_out_and_sections_are_cut_each_by_itself) {
  const auto held = [](std::string_view text, Size device) {
    std::vector<Size> out;
    for (const TilePart& part : layout(text, "p:4").parts(device)) {
      for (Size i = 0; i < part.box.extent[0]; ++i) out.push_back(part.box.at[0] + i);
    }
    return out;
  };
  EXPECT_EQ(held("[2@{p}10]", 0), (std::vector<Size>{0, 1, 8, 9}));
  EXPECT_EQ(held("[2@{p}10]", 3), (std::vector<Size>{6, 7}));
  EXPECT_EQ(held("[3{p}8+4]", 1), (std::vector<Size>{2, 3, 9}));
  EXPECT_EQ(held("[1@{p}6+2]", 0), (std::vector<Size>{0, 4, 6}));
  EXPECT_EQ(held("[1@{p}6+2]", 2), (std::vector<Size>{2}));
}

TEST(LayoutNotation, chunks_are_held_as_the_array_has_their_elements) {
  EXPECT_EQ(extents("[(0,3,10)@(3,0){p}10]", "p:4"), (std::vector<Size>{7, 0, 0, 3}));
  // Chunks of 3 x 5 and 4 x 5, the first three rows' right one on device 1.
  const Layout grid = layout("[(0,3,6,10)*(0,5,10)@{p}100]", "p:3");
  EXPECT_EQ(grid.extents(), (std::vector<Size>{30, 35, 35}));
  EXPECT_EQ(grid.stretches(1)[0].front(), (Stretch{5, 10}));
  EXPECT_EQ(grid.stretches(2)[0],
            (std::vector<Stretch>{
                {30, 35}, {40, 45}, {50, 55}, {65, 70}, {75, 80}, {85, 90}, {95, 100}}));
  EXPECT_EQ(
      refusal("[(0,3,6,10)*(0,5,10)@{x}90]"),
      "error: the chunks are of an array of 100 elements, not 90 [WF-CHUNKS]\n"
      "  [(0,3,6,10)*(0,5,10)@{x}90]\n   ^~~~~~~~~~~~~~~~~~~~~~~~~\n"
      "note: (0,3,6,10)*(0,5,10)@{x}100 deals 3 x 2 chunks of an array of 10 x 10 out in turn, "
      "and a list behind @ says the tile of every chunk\n");
  // Half a gigabyte is the most that lists of stretches take.
  EXPECT_EQ(refusal("[(0,8589934592)*(0,1,2)@{x}17179869184]").substr(0, 40),
            "error: the chunks have more than 6710886");
}

TEST(LayoutNotation, a_wrong_tile_size_is_refused_with_both_readings) {
  EXPECT_EQ(refusal("[100{x}256]"),
            "error: tile size times axis sizes must equal the global size: 100 * 4 = 400, not 256 "
            "[WF-DIM]\n"
            "  [100{x}256]\n   ^~~~~~~~~\n"
            "note: axis x has size 4; 64{x}256 is well formed, or 100~{x}256 for blocks of 100\n");
  EXPECT_EQ(refusal("[2{x}10]"),
            "error: 4 tiles of a dimension of 10 elements have 3, not 2 [WF-DIM-CEIL]\n"
            "  [2{x}10]\n   ^~~~~~\n"
            "note: axis x has size 4; 3{x}10 is well formed\n");
  EXPECT_EQ(refusal("[2~{x}10]"),
            "error: 4 blocks of 2 hold 8 elements, the dimension has 10 [WF-DIM-CEIL]\n"
            "  [2~{x}10]\n   ^~~~~~~\n"
            "note: blocks of 3 would do\n");
  EXPECT_EQ(refusal("[2~{x}12]"),
            "error: 4 blocks of 2 hold 8 elements, the dimension has 12 [WF-DIM-CEIL]\n"
            "  [2~{x}12]\n   ^~~~~~~\n"
            "note: blocks of 3 would do\n");
}

TEST(LayoutNotation, wrong_cuts_are_refused) {
  const auto first_line = [](std::string_view text) {
    const std::string all = refusal(text);
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(first_line("[(0,3,10){x}10]"), "error: 4 tiles have 5 cuts, not 3 [WF-DIM-CEIL]");
  EXPECT_EQ(first_line("[(0,3,2,5,10){x}10]"), "error: the cuts fall from 3 to 2 [WF-DIM-CEIL]");
  EXPECT_EQ(first_line("[(0,3,5,8,11){x}10]"),
            "error: the cuts lead from 0 to 11, the dimension from 0 to 10 [WF-DIM-CEIL]");
  const auto note =
      "note: cuts (o_0,..,o_N) begin with 0, never fall, and end with the global size\n";
  EXPECT_EQ(refusal("[(0,3,2,5,10){x}10]"),
            std::string("error: the cuts fall from 3 to 2 [WF-DIM-CEIL]\n"
                        "  [(0,3,2,5,10){x}10]\n        ^\n") +
                note);
  EXPECT_EQ(refusal("[(0,3,5,8,11){x}10]"),
            std::string("error: the cuts lead from 0 to 11, the dimension from 0 to 10 "
                        "[WF-DIM-CEIL]\n"
                        "  [(0,3,5,8,11){x}10]\n            ^~\n") +
                note);
  EXPECT_EQ(refusal("[(0,3,10){x}10]"),
            std::string("error: 4 tiles have 5 cuts, not 3 [WF-DIM-CEIL]\n"
                        "  [(0,3,10){x}10]\n   ^~~~~~~~~~~~~\n") +
                note);
  EXPECT_EQ(first_line("[(1,3,5,8,10){x}10]"),
            "error: the cuts lead from 1 to 10, the dimension from 0 to 10 [WF-DIM-CEIL]");
  EXPECT_EQ(first_line("[3{x}10<11,0>]"),
            "error: the halo <11,0> is longer than its dimension of 10");
  EXPECT_EQ(first_line("[3{x}10<0,11>]"),
            "error: the halo <0,11> is longer than its dimension of 10");
  for (const char* several : {"[2@{x}16<1,0>]", "[(0,2,4)*(0,1,2)@{x}8<1,0>]"}) {
    EXPECT_EQ(first_line(several), "error: what is dealt out, or cut in sections, has no halo");
  }
  EXPECT_EQ(refusal("[1{y:(1)2}2, 1{y:(3)2}2]", "y:12").substr(0, 6), "error:");
  EXPECT_EQ(first_line("[2{y:(4)3}6]"),
            "error: y:(4)3 is no part of axis y: 4 * 3 does not divide 6 [WF-DIM]");
  EXPECT_EQ(first_line("[2{y:(1)3}6, 1{y:(2)3}3]"),
            "error: parts of axis y in dimension 0 and dimension 1 overlap [WF-TYPE]");
  EXPECT_EQ(refusal("[1{x:(1)2,x:(1)3}6]", "x:6"),
            "error: parts of axis x in dimension 0 overlap [WF-DIM]\n"
            "  [1{x:(1)2,x:(1)3}6]\n            ^\n"
            "note: behind x:(1)2 the next part is x:(2)..\n");
  EXPECT_EQ(refusal("[1{x:(1)2,x}12]", "x:6"),
            "error: parts of axis x in dimension 0 overlap [WF-DIM]\n"
            "  [1{x:(1)2,x}12]\n            ^\n"
            "note: behind x:(1)2 the next part is x:(2)..\n");
  EXPECT_THAT(refusal("[1{x,x:(2)3}18]", "x:6"),
              testing::HasSubstr("note: behind x:(1)6 nothing of the axis is left\n"));
  EXPECT_EQ(first_line("[1{y,y}36]"), "error: axis y splits dimension 0 twice [WF-DIM]");
  EXPECT_EQ(first_line("[9]@24"), "error: there is no device 24");
  EXPECT_EQ(first_line("[3{x}12]@0"), "error: what one device holds alone is not cut by axes");
  EXPECT_EQ(first_line("[(0,9999999999999999999){x}10]").substr(0, 6), "error:");
  EXPECT_EQ(first_line("[9223372036854775807~{x}9223372036854775807]"), "accepted");
  EXPECT_EQ(first_line("[9223372036854775807{x}9223372036854775807]").substr(0, 6), "error:");
}

TEST(LayoutNotation, the_papers_types_stay_even) {
  const auto refused = parse_type("[3{x}10]", support::mesh("x:4"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::ill_formed_type);
  EXPECT_EQ(parse_type("[3~{x}12]", support::mesh("x:4")).error().code, Code::unsupported);
}

}  // namespace
}  // namespace retile::layout_notation_test
