// Which texts are Programs of version 2, and what they say.
#include "spec/program/layout_text.h"

#include <gtest/gtest.h>

#include <string>

#include "spec/program/certify_text.h"
#include "spec/program/text.h"

namespace spec::layout_text_test {
namespace {

std::string with_header(const std::string& header) { return "retile.program/2\n" + header + "\n"; }
/// A Program of one step over x:2,y:3 that only has to be one, not to be right.
std::string with_step(const std::string& step) {
  return with_header("mesh x:2,y:3\nfrom [4{x}7, 12]\nto [7, 12]\n" + step);
}
/// A Program from a layout over x:4 to the whole.
std::string with_layout(const std::string& layout, const std::string& to = "[256]") {
  return with_header("mesh x:4\nfrom " + layout + "\nto " + to);
}
std::string first_error(const std::string& text) {
  const auto error = parse_programs(text).error;
  return error ? std::to_string(error->line) + ":" + std::to_string(error->column) + ": " +
                     error->message
               : "";
}
bool is_program(const std::string& text) { return first_error(text).empty(); }
bool says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

TEST(LayoutText, layouts_that_are_read) {
  for (const char* layout :
       {"[64{x}256]",
        "[64{x:4}256]",
        "[ 100 ~ { x } 256 ]",
        "[256~{x}256]",
        "[9999~{x}256]",
        "[(0,0,0,256,256){x}256]",
        "[ ( 0 , 1 , 2 , 3 , 256 ) {x} 256 < 0 , 256 > ]",
        "[64{x}256<0,0>]",
        "[256{}256<1,1>]",
        "[256~{}256]",
        "[(0,256){}256]",
        "[256]",
        "[256]@3",
        "[256] @ 0",
        "[256{}256<1,1>]@0",
        "[128{x:(1)2}256]",
        "[128{x:(2)2}256]",
        "[128{ x : ( 1 ) 2 }256]",
        "[64{x:(1)4}256]",
        "[64{x:(1)2,x:(2)2}256]",
        "[128{2:2}256]",
        "[256{x:(4)1}256]",
        "[256{3:1}256]",
        "tile=[256] global=[256] at=[[0],[0],[0],[0]]",
        "tile=[200] global=[256] at=[[0],[0],[200],[255]] shapes=[[200],[0],[55],[1]]"}) {
    EXPECT_EQ(first_error(with_layout(layout)), "") << layout;
    EXPECT_TRUE(is_program("retile.program/2\nmesh x:4\nto " + std::string(layout) +
                           "\nfrom [256]\nallpermute source=[0,1,2,3]" +
                           (layout[0] == '[' ? " map=" + std::string(layout) : "")))
        << layout;
  }
  EXPECT_TRUE(is_program(with_header("devices 2\nfrom []\nto []")));
  EXPECT_TRUE(
      is_program(with_header("from tile=[] global=[] at=[[],[]] shapes=[[],[]]\nto []\nexchange "
                             "transfers=[[0,0],[1,1]] shapes=[[],[]]")));
}

TEST(LayoutText, layouts_that_are_refused) {
  const std::vector<std::pair<const char*, const char*>> all = {
      {"[100{x}256]", "64{x}256, or 100~{x}256 for blocks of 100 [WF-DIM-CEIL]"},
      {"[65{ x }256]", "64{ x }256, or 65~{ x }256 for blocks of 65 [WF-DIM-CEIL]"},
      {"[63{x}256]", "rounded up: 64{x}256 [WF-DIM-CEIL]"},
      {"[63~{x}256]", "4 blocks of 63 do not cover 256"},
      {"[1{}256]", "256{}256 [WF-DIM-CEIL]"},
      {"[0{x}256]", "at least 1"},
      {"[64{x}0]", "at least 1"},
      {"[0~{x}256]", "at least 1"},
      {"[64~256]", "expected '{'"},
      {"[64~@{x}256]", "expected '{'"},
      {"[64~={x}256]", "expected '{'"},
      {"[(0,256)256]", "expected '{'"},
      {"[(0,256){x}256]", "never down"},
      {"[(0,64,128,192,256,256){x}256]", "never down"},
      {"[(1,64,128,192,256){x}256]", "never down"},
      {"[(0,64,128,192,255){x}256]", "never down"},
      {"[(0,64,128,192,257){x}256]", "never down"},
      {"[(0,64,300,192,256){x}256]", "never down"},
      {"[(0,128,64,192,256){x}256]", "never down"},
      {"[(0,64,128,192,9223372036854775808){x}256]", "not below 2^63"},
      {"[(){x}256]", "expected a number"},
      {"[(0,64,128,192,256{x}256]", "expected ')'"},
      {"[(0,-1,128,192,256){x}256]", "expected a number"},
      {"[(0,16)*(0,15)@{x}256]", "WF-CHUNKS"},
      {"[(0,256)@(4){x}256]", "WF-CHUNKS"},
      {"[(0,9,256)@(0){x}256]", "WF-CHUNKS"},
      {"[(0,256)@(0,1){x}256]", "WF-CHUNKS"},
      {"[(0,256)@{x}128+128]", "WF-CHUNKS"},
      {"[(0,9,8,256)@{x}256]", "WF-CHUNKS"},
      {"[(1,256)@{x}256]", "WF-CHUNKS"},
      {"[(0)@{x}256]", "WF-CHUNKS"},
      {"[(0,4294967296)*(0,4294967296)@{x}256]", "WF-CHUNKS"},
      {"[(0,256)@(){x}256]", "expected a number"},
      {"[(0,16)*(0,16){x}256]", "expected '@'"},
      {"[(0,256)@{x}256<0,0>]", "has no halo"},
      {"[64{x}256<-1,0>]", "expected a number"},
      {"[64{x}256<0,257>]", "at most 256"},
      {"[64{x}256<257,0>]", "at most 256"},
      {"[64{x}256<1>]", "expected ','"},
      {"[64{x}256<1,1]", "expected '>'"},
      {"[64{x}256<=1,1>]", "expected a number"},
      {"[256<1,1>]", "expected ']'"},
      {"[256]@4", "does not exist"},
      {"[256]@9223372036854775808", "not below 2^63"},
      {"[256]@", "expected a number"},
      {"[256]@-1", "expected a number"},
      {"[64{x}256]@0", "nothing stands in {}"},
      {"[64{x:(3)1}256]", "no multiple of 3 times 1"},
      {"[64{x:(2)4}256]", "no multiple of 2 times 4"},
      {"[64{x:(0)2}256]", "at least 1"},
      {"[64{x:(1)0}256]", "at least 1"},
      {"[64{x:(1)}256]", "expected a number"},
      {"[64{x:(9223372036854775807)9223372036854775807}256]", "no multiple"},
      {"[64{1:(1)2}256]", "expected a number"},
      {"[64{x:3}256]", "has size 4"},
      {"[64{y}256]", "not in the mesh"},
      {"[16{x,x}256]", "overlap"},
      {"[32{x,x:(1)2}256]", "overlap"},
      {"[64{x:(1)2,x:(1)2}256]", "overlap"},
      {"[43{1:6}256]", "overlap"},
      {"[52{2:5}256]", "overlap"},
      {"[1{9223372036854775807:2,1:9223372036854775807}256]", "number of tiles"},
      {"tile=[256] global=[256] at=[[0],[0],[0]]", "devices"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[0]] shapes=[[2],[2],[2]]", "a row for each device"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[0]] shapes=[[2],[2],[2],[]]", "a row for each"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[0]] shapes=[[2],[2],[2],[3]]", "largest of shapes"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[0]] shapes=[[1],[1],[1],[1]]", "largest of shapes"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[1]] shapes=[[2],[2],[2],[0]]", "begins at zeros"},
      {"tile=[2] global=[256] at=[[0],[0],[0],[255]] shapes=[[2],[2],[2],[2]]", "lie inside"},
      {"tile=[0] global=[256] at=[[0],[0],[0],[0]] shapes=[[0],[0],[0],[0]]", "at least 1"},
      {"tile=[2,2] global=[256] at=[[0],[0],[0],[0]]", "one rank"},
      {"tile=[2] global=[256] shapes=[[2],[2],[2],[2]]", "expected 'at'"},
  };
  for (const auto& [layout, words] : all) {
    const std::string message = first_error(with_layout(layout));
    EXPECT_TRUE(says(message, words)) << layout << ": " << message;
    EXPECT_EQ(message.substr(0, 2), "3:") << layout << ": " << message;
  }
  EXPECT_TRUE(says(first_error(with_layout("[4294967296, 4294967296]")), "not below 2^63"));
  EXPECT_TRUE(says(first_error(with_layout("[64{x}256]", "[255]")), "different global shapes"));
  EXPECT_TRUE(says(first_error(with_header("from tile=[2,2] global=[2,4] at=[[0,0],[0,2]] "
                                           "shapes=[[2,2],[0,2]]\nto [2, 4]")),
                   "all zeros for an empty tile"));
}

TEST(LayoutText, no_layout_of_version_2_is_one_of_version_1) {
  for (const char* layout : {"[65{x}257]", "[65~{x}256]", "[(0,64,128,192,256){x}256]",
                             "[64{x}256<0,0>]", "[256]@3", "[128{x:(1)2}256]"}) {
    std::string text = with_layout(layout, layout[3] == '{' ? "[257]" : "[256]");
    if (std::string(layout) == "[65{x}257]") text = with_layout(layout, "[257]");
    if (std::string(layout) == "[64{x}256<0,0>]") text = with_layout(layout);
    EXPECT_TRUE(is_program(text)) << layout;
    EXPECT_FALSE(is_program(text.replace(text.find("/2"), 2, "/1"))) << layout;
  }
}

TEST(LayoutText, order_and_devices) {
  const std::string ends = "\nfrom [3{x}9]\nto [9]";
  for (const char* header :
       {"mesh x:4 order=[3,2,1,0]", "mesh x:4 order = [4] <= [2,2] T (1,0)", "mesh x:4\ndevices 4",
        "devices 7\nmesh x:4", "mesh x:4 order=[6,0,2,1]\ndevices 7", "mesh order:2,x:4",
        "mesh x:4,order:2 order=[8]<=[8]", "mesh \"order\":1,x:4 order=[3,2,1,0]"}) {
    EXPECT_EQ(first_error(with_header(header + ends)), "") << header;
  }
  for (const auto& [header, words] : std::vector<std::pair<const char*, const char*>>{
           {"mesh x:4 order=[0,1,2]", "each of the 4 positions"},
           {"mesh x:4 order=[0,1,2,2]", "none twice"},
           {"mesh x:4 order=[0,1,2,3,4]", "each of the 4 positions"},
           {"mesh x:4 order=[0,1,2,4]", "does not exist"},
           {"mesh x:4 order=[0,1,2,7]\ndevices 7", "does not exist"},
           {"mesh x:4 order=[0,1,2,2147483648]", "there is no device"},
           {"mesh x:4 order=[2]<=[2]", "each of the 4 positions"},
           {"mesh x:4 order=[8]<=[8]", "one size"},
           {"mesh x:4 order=[2,2]<=[4]", "an iota starts with"},
           {"mesh x:4 order", "expected '='"},
           {"mesh x:4 order=", "expected '['"},
           {"mesh x:4 order=[3,2,1,0] order=[3,2,1,0]", "unexpected text"},
           {"mesh x:4, order=[3,2,1,0]", "expected ':'"},
           {"devices 3\nmesh x:4", "more positions than there are devices"},
           {"mesh x:4\ndevices 3", "more positions than there are devices"}}) {
    const std::string message = first_error(with_header(header + ends));
    EXPECT_TRUE(says(message, words)) << header << ": " << message;
  }
  EXPECT_FALSE(is_program("retile.program/1\nmesh x:4 order=[3,2,1,0]\nfrom [8]\nto [8]\n"));
  EXPECT_FALSE(is_program("retile.program/1\nmesh x:4\ndevices 7\nfrom [8]\nto [8]\n"));
  // Without `devices` all agree; with it each may have fewer.
  EXPECT_FALSE(is_program(with_header("mesh x:4\nfrom [3{x}9]\nmesh x:2\nto [9]")));
  EXPECT_TRUE(is_program(with_header("devices 4\nmesh x:4\nfrom [3{x}9]\nmesh x:2\nto [9]")));
  EXPECT_FALSE(
      is_program(with_header("mesh x:4\nfrom [5{x}17]\nto tile=[17] global=[17] at=[[0],[0]]")));
  EXPECT_FALSE(is_program(
      with_header("devices 3\nmesh x:2\nfrom [9{x}17]\nto tile=[17] global=[17] at=[[0],[0]]")));
  // Also a row with more entries than there are devices has their names.
  const std::string listed =
      "retile.program/2\ndevices [7,4]\nfrom [2]\nto [2]\nallgather dim=0 groups=";
  const Programs long_row = parse_programs(listed + "[[4,7,4]]");
  ASSERT_FALSE(long_row.error);
  EXPECT_EQ(long_row.programs.front().steps.front().table.listed, Rows{(Sizes{1, 0, 1})});
  EXPECT_FALSE(is_program(listed + "[[4,7,1]]"));
  // An array of rank 0 has no empty tiles.
  EXPECT_TRUE(is_program(with_header("mesh x:4\nfrom []\nto []")));
  EXPECT_TRUE(says(first_error(with_header("mesh x:4\nfrom []@1\nto []")), "rank 0"));
  EXPECT_TRUE(says(first_error(with_header("mesh x:4\ndevices 5\nfrom []\nto []")), "rank 0"));
}

TEST(LayoutText, steps) {
  for (const char* step :
       {"dynslice dim=1 groups=[2,3]<=[6] piece=5", "dynslice piece=5 groups=[2,3]<=[6] dim=1",
        "dynslice dim=1 parts=2 part=[0,1,0,1,0,1] piece=9223372036854775807",
        "alltoall split=1 concat=0 groups=[1,6]<=[6] piece=1",
        "exchange transfers=[] shapes=[[0,0],[1,2],[0,0],[0,0],[0,0],[0,0]]",
        "exchange transfers=[] shapes=[[0,0],[1,2],[0,0],[0,0],[0,0],[0,0]] "
        "at=[[0,0],[3,3],[0,0],[0,0],[0,0],[0,0]] map=[7, 12]",
        "allpermute source=[6]<=[6] at=[[0,0],[9,0],[0,0],[0,0],[0,0],[0,0]]",
        "allpermute source=[6]<=[6] at=[[0,0],[9,0],[0,0],[0,0],[0,0],[0,0]] "
        "shapes=[[7,12],[1,1],[7,12],[7,12],[7,12],[0,0]]",
        "allgather dim=0 groups=[1,6]<=[6] map=[7, 12]@5",
        "allgather dim=0 groups=[1,6]<=[6] tile=[0,0]"}) {
    EXPECT_EQ(first_error(with_step(step)), "") << step;
    std::string as_1 = with_step(step);
    as_1.replace(as_1.find("/2"), 2, "/1");
    EXPECT_FALSE(is_program(as_1));
  }
  for (const char* step :
       {"dynslice dim=1 groups=[2,3]<=[6] piece=0",
        "dynslice dim=1 piece=2",
        "dynslice dim=1 groups=[2,3]<=[6] piece=-1",
        "dynslice dim=1 groups=[2,3]<=[6] piece=[2]",
        "allgather dim=1 groups=[2,3]<=[6] piece=2",
        "allpermute source=[6]<=[6] piece=2",
        "exchange transfers=[] tile=[7,12] piece=2",
        "exchange transfers=[]",
        "exchange shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]",
        "exchange transfers=[] tile=[7,12] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]",
        "exchange transfers=[] tile=[7,12] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]] "
        "at=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]",
        "exchange transfers=[] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0]]",
        "exchange transfers=[] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,1]]",
        "exchange transfers=[] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0]]",
        "exchange transfers=[] shapes=[0,0]",
        "exchange transfers=[] tile=[0,0]",
        "exchange transfers=[] tile=[7]",
        "allpermute source=[6]<=[6] shapes=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]",
        "allpermute source=[6]<=[6] at=[[0,0],[9,0],[0,0],[0,0],[0,0],[1,0]] "
        "shapes=[[7,12],[1,1],[7,12],[7,12],[7,12],[0,0]]",
        "allgather dim=0 groups=[1,6]<=[6] map=[7, 12]@6",
        "allgather dim=0 groups=[1,6]<=[6] map=[7, 13]",
        "allgather dim=0 groups=[1,6]<=[6] map=[3{x}7, 12]",
        "reduce dim=0 groups=[1,6]<=[6]"}) {
    EXPECT_FALSE(is_program(with_step(step))) << step;
  }
  EXPECT_EQ(first_error(with_step("reduce groups=[1,6]<=[6]")), "5:1: no line starts with reduce");
  EXPECT_EQ(first_error(with_step("exchange transfers=[] tile=[7,12] adds=max")),
            "5:35: adds is not a key");
}

TEST(LayoutText, both_versions_stand_in_one_file) {
  const std::string one = "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\n";
  const std::string two = "retile.program/2\nmesh x:2\nfrom [2{x}3]\nto [3]\n";
  const Programs read = parse_programs(one + two + one + two);
  ASSERT_FALSE(read.error);
  ASSERT_EQ(read.programs.size(), 4U);
  for (Index k = 0; k < 4; ++k) EXPECT_EQ(read.programs[k].version, k % 2 == 0 ? 1 : 2);
  EXPECT_FALSE(is_program(two + "retile.program/1\nmesh x:2\nfrom [2{x}3]\nto [3]\n"));
  EXPECT_FALSE(is_program("retile.program/20\ndevices 1\nfrom [1]\nto [1]\n"));
  EXPECT_FALSE(is_program("retile.program /2\ndevices 1\nfrom [1]\nto [1]\n"));
  EXPECT_FALSE(is_program("retile.program/3\ndevices 1\nfrom [1]\nto [1]\n"));
}

TEST(LayoutText, certificates_are_about_version_1) {
  const std::string lines = "lower_bound 0\nend\n";
  const auto message = [&](const std::string& text) {
    try {
      CertificateReader(text).program();
      return std::string();
    } catch (const ParseError& error) {
      return error.message;
    }
  };
  EXPECT_EQ(message("retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\n" + lines), "");
  EXPECT_TRUE(says(message("retile.program/2\nmesh x:2\nfrom [2{x}4]\nto [4]\n" + lines),
                   "certify reads retile.program/1 alone"));
}

/// Nothing crashes where a text is cut off or damaged, and an error lies inside it.
TEST(LayoutText, truncated_and_damaged_programs_are_errors_or_programs) {
  const std::string text =
      "retile.program/2\nmesh x:4,\"y\":6 order=[24]<=[6,4]T(1,0)\ndevices 30\n"
      "from [(0,1,4,4,7){x}7<1,0>, 4{y:(2)3,y:(1)2}19]\nto [7, 19]@3\n"
      "dynslice dim=0 groups=[15,2]<=[30] piece=2 tile=[1,6] map=[3~{x}7, 19{}19]\n"
      "exchange transfers=[[0,1,0,0,0,0,1,1]] tile=[1,1] at=[[0,0]]\n";
  std::size_t programs = 0, errors = 0;
  const auto look = [&](const std::string& damaged) {
    const Programs read = parse_programs(damaged);
    ++(read.error ? errors : programs);
    if (!read.error) return;
    ASSERT_GE(read.error->line, 1U);
    ASSERT_LE(read.error->line, 10U);
    ASSERT_GE(read.error->column, 1U);
    ASSERT_LE(read.error->column, damaged.size() + 1);
    ASSERT_FALSE(read.error->message.empty());
  };
  for (std::size_t n = 0; n <= text.size(); ++n) look(text.substr(0, n));
  for (std::size_t n = 0; n < text.size(); ++n) {
    look(text.substr(0, n) + text.substr(n + 1));
    for (const char c : std::string("\n\r \"#09[](),{}=<>~@:T-\xff", 22)) {
      std::string damaged = text;
      damaged[n] = c;
      look(damaged);
    }
  }
  EXPECT_GT(programs + errors, 5000U);
  EXPECT_GT(errors, 1000U);
}

}  // namespace
}  // namespace spec::layout_text_test
