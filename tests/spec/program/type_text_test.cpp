#include "spec/program/type_text.h"

#include <gtest/gtest.h>

#include "tests/spec/values.h"

namespace spec::type_text_test {
namespace {

TEST(TypeText, reads_and_prints_the_notation_of_the_paper) {
  const Mesh H = mesh(" x:4 , \"y\" : 6 ");
  EXPECT_EQ(to_text(H), "x:4,y:6");
  EXPECT_EQ(to_text(type(H, "[3{\"x\"}12,2 { y:6 } 12 , 12{}12,7]")), "[3{x}12, 2{y}12, 12, 7]");
  EXPECT_EQ(to_text(type(H, "[]")), "[]");
  EXPECT_EQ(to_text(type(H, "[2{}5]")), "[2{}5]");  // notation only; WF-DIM rejects it
}

TEST(TypeText, rejects_what_is_no_notation) {
  const Mesh H = mesh("x:4,y:6");
  for (const char* text : {"", "x", "x:", "x:0", "x:-1", "x:4,", "x:4 y:6", ":4", "4:x",
                           "x:99999999999999999999", "x:4\ny:6", "\"x:4"}) {
    EXPECT_FALSE(parse_mesh(text)) << text;
  }
  for (const char* text :
       {"", "[", "]", "[3{x}12", "[3{x}]", "[3{x12]", "[3x}12]", "[{x}12]", "[3{x,}12]",
        "[3{x}12,]", "[3{x}12] 1", "[0{x}0]", "[-3{x}12]", "[3{x:5}12]", "[3{\"x}12]"}) {
    EXPECT_FALSE(parse_type(H, text)) << text;
  }
}

TEST(TypeText, unit_axes_are_dropped_before_any_definition_applies) {
  const Mesh H = mesh("x:4,u:1,y:6");
  EXPECT_FALSE(wf_mesh(H));
  EXPECT_TRUE(wf_mesh(without_unit_axes(H)));
  EXPECT_EQ(to_text(without_unit_axes(H)), "x:4,y:6");
  EXPECT_EQ(to_text(without_unit_axes(H, type(H, "[3{u,x,u}12, 4{u}4]"))), "[3{x}12, 4]");
}

TEST(TypeText, reads_collectives) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[1{x,y}4, 4]"), to = type(H, "[4, 1{x,y}4]");
  const auto all = parse_collective("alltoall(0, 1, {x, y})", tau, to);
  ASSERT_TRUE(all);
  EXPECT_EQ(apply(H, *all, tau), to);
  const auto one = parse_collective("alltoall(0,1)", tau, to);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->x, Names{"x"});
  EXPECT_TRUE(parse_collective("dynslice(1,x)", tau, to));
  EXPECT_TRUE(parse_collective("allpermute", tau, to));
  for (const char* text : {"", "allgather", "allgather()", "alltoall(0)", "gather(0)",
                           "allgather(0", "allgather(0)x"}) {
    EXPECT_FALSE(parse_collective(text, tau, to)) << text;
  }
}

TEST(TypeText, an_allpermute_alone_needs_a_type_to_lead_to) {
  const Mesh H = mesh("x:2");
  const Type rank_0;
  const auto read = [&](const char* text, const Type* to) {
    return read_line<MultiCollective>(text, [&](Tokens& in) { return read_collective(in, H, to); });
  };
  EXPECT_FALSE(read("allpermute", nullptr));
  EXPECT_TRUE(read("allpermute", &rank_0));
  ASSERT_TRUE(read("allpermute []", nullptr));
  EXPECT_EQ(read("allpermute []", nullptr)->to, rank_0);
  EXPECT_EQ(read("allpermute [2{x}4]", &rank_0)->to, type(H, "[2{x}4]"));
}

}  // namespace
}  // namespace spec::type_text_test
