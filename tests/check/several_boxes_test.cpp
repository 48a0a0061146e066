// What `check` names of wrong Programs whose tiles are made of several boxes, beside the oracle.
#include <gtest/gtest.h>

#include <string>

#include "check/judge.h"
#include "retile/program/forms/text.h"

namespace check_tests {
namespace {

/// What both name.
std::string named(const std::string& text) {
  const Verdict got = retile::check(retile::parse_programs(text).value().front());
  const Verdict oracle = in_our_words(spec::check(spec::parse_programs(text).programs.front()));
  EXPECT_EQ(show(got), show(oracle)) << text;
  return show(got);
}

TEST(SeveralBoxes, the_first_wrong_element_is_named) {
  EXPECT_EQ(named("retile.program/2\nmesh x:2\nfrom [1@{x}8]\nto [4{x}8]\n"),
            "wrong, height 4, bound 4, cost 0, steps 0, first wrong step 0, end, device 0, at [1], "
            "element [1], found [2]");
  // Of two parts of the end the second alone is wrong.
  EXPECT_EQ(named("retile.program/2\nmesh x:2\nfrom [4{x}8]\nto [4{x}4+4]\n"),
            "wrong, height 4, bound 4, cost 0, steps 0, first wrong step 0, end, device 0, at [2], "
            "element [4], found [2]");
}

TEST(SeveralBoxes, both_refuse_a_halo_of_nothing) {
  for (const std::string text : {"retile.program/2\nmesh x:2\nfrom [2@{x}8<0,0>]\nto [4{x}8]\n",
                                 "retile.program/2\nmesh x:2\nfrom [4{x}4+4<0,0>]\nto [4{x}8]\n",
                                 "retile.program/1\nmesh x:2\nfrom [4{x}8<0,0>]\nto [4{x}8]\n"}) {
    EXPECT_FALSE(retile::parse_programs(text).has_value()) << text;
    EXPECT_TRUE(spec::parse_programs(text).error.has_value()) << text;
  }
  const std::string right = "retile.program/2\nmesh x:2\nfrom [4{x}8<0,0>]\nto [4{x}8]\n";
  EXPECT_EQ(named(right), "right, height 4, bound 4, cost 0, steps 0");
}

TEST(SeveralBoxes, both_refuse_chunks_of_another_array_or_in_tiles_that_there_are_not) {
  const auto refusal = [](const std::string& type, const std::string& mesh = "x:2") {
    const std::string text = "retile.program/2\nmesh " + mesh + "\nfrom [8]\nto [" + type + "]\n";
    const auto ours = retile::parse_programs(text);
    EXPECT_TRUE(spec::parse_programs(text).error.has_value()) << text;
    return ours ? "read" : ours.error().message;
  };
  EXPECT_EQ(refusal("(0,2)*(0,3)@{x}8"), "the chunks are of an array of 6 elements, not 8");
  EXPECT_EQ(refusal("(0,4294967296)*(0,4294967296)@{x}8"),
            "the chunks are of an array of 2^63 or more elements, not 8");
  EXPECT_EQ(refusal("(0,4,8)@(0,2){x}8"), "there is no tile 2: its axes count 2");
  EXPECT_EQ(refusal("(0,4,8)@(0){x}8"), "there are 2 chunks, and a list of 1 tiles");
  EXPECT_EQ(refusal("(0,4,8)@(0,1,0){x}8"), "there are 2 chunks, and a list of 3 tiles");
  for (const char* ends : {"(1,4,8)", "(0,5,4,8)", "(0)", "(0,0)", "(0,8)*(0)"}) {
    EXPECT_EQ(refusal(std::string(ends) + "@{x}8"),
              "the ends of chunks begin with 0, never fall, and end above 0");
  }
  EXPECT_EQ(refusal("(0,4,8)@{x}4+4"), "chunks are not cut in sections: their lists say as much");
  EXPECT_EQ(refusal("(0,4,8)@{x}8<0,0>"), "what is dealt out, or cut in sections, has no halo");
}

TEST(SeveralBoxes, chunks_are_held_in_the_order_of_the_array) {
  const std::string begin = "retile.program/2\nmesh x:2\nfrom ";
  // Rows of two elements each: device 0 has the left one of each row.
  EXPECT_EQ(named(begin + "[(0,2)*(0,2,4)@{x}8]\nto [4{x}8]\n"),
            "wrong, height 4, bound 4, cost 0, steps 0, first wrong step 0, end, device 0, at [2], "
            "element [2], found [4]");
  EXPECT_EQ(named(begin + "[(0,2)*(0,2,4)@{x}8]\nto [2@{x}8]\n"),
            "right, height 4, bound 4, cost 0, steps 0");
  EXPECT_EQ(named(begin + "[(0,2)*(0,2,4)@(1,0){x}8]\nto [2@{x}8]\n"),
            "wrong, height 4, bound 4, cost 0, steps 0, first wrong step 0, end, device 0, at [0], "
            "element [0], found [2]");
}

TEST(SeveralBoxes, a_view_of_chunks_needs_whole_rounds) {
  const auto is_read = [](const std::string& type) {
    const std::string text =
        "retile.program/2\nmesh x:2\nfrom [16]\nto [" + type + "]\nview [4,2,2]\n";
    const bool ours = retile::parse_programs(text).has_value();
    EXPECT_EQ(ours, !spec::parse_programs(text).error) << text;
    return ours;
  };
  EXPECT_TRUE(is_read("(0,4)*(0,2,4)@{x}16"));
  EXPECT_TRUE(is_read("(0,2,4,6,8,10,12,14,16)@(0,1,0,1,0,1,0,1){x}16"));
  EXPECT_TRUE(is_read("(0,8)*(0,1,2)@{x}16"));
  EXPECT_FALSE(is_read("(0,8,16)@{x}16"));
  EXPECT_FALSE(is_read("(0,4)*(0,2,4)@(1,0){x}16"));
  EXPECT_FALSE(is_read("(0,4)*(0,1,4)@{x}16"));
}

TEST(SeveralBoxes, a_step_that_cannot_be_applied_names_what_it_cannot_move) {
  EXPECT_EQ(
      named("retile.program/2\nmesh x:2\nfrom [1@{x}5]\nto [5]\n"
            "dynslice dim=0 groups=[[0,1]]\n"),
      "wrong, height 5, bound 5, cost 0, steps 1, first wrong step 0, indivisible, device 0, at "
      "[0], element [0], found null");
}

TEST(SeveralBoxes, a_view_is_of_whole_rounds_in_every_section) {
  const auto is_read = [](const std::string& sections) {
    const std::string text =
        "retile.program/2\nmesh x:2\nfrom [16]\nto [2@{x}" + sections + "]\nview [4,2,2]\n";
    const bool ours = retile::parse_programs(text).has_value();
    EXPECT_EQ(ours, !spec::parse_programs(text).error) << text;
    return ours;
  };
  EXPECT_TRUE(is_read("16"));
  EXPECT_TRUE(is_read("4+12"));
  EXPECT_FALSE(is_read("6+10"));
}

TEST(SeveralBoxes, claims_of_where_tiles_lie_hold) {
  const std::string begin =
      "retile.program/2\nmesh x:2\nfrom [2@{x}8]\nto [8]\nallgather dim=0 groups=[[0,1]]";
  EXPECT_EQ(
      named(begin + " map=[8]\n"),
      "wrong, height 8, bound 8, cost 0, steps 1, first wrong step 0, map_claim, device 0, at "
      "[2], element [2], found [4]");
  EXPECT_EQ(named("retile.program/2\nmesh x:2,y:2\nfrom [2@{x}8, 2{y}4]\nto [2@{x}8, 4]\n"
                  "allgather dim=1 groups=[[0,1],[2,3]] tile=[4,4] map=[2@{x}8, 4]\n"),
            "right, height 16, bound 16, cost 16, steps 1");
}

}  // namespace
}  // namespace check_tests
