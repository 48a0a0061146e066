#include "retile/exec/add/order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec/programs.h"

namespace retile {
namespace {

using Ranks = std::vector<std::vector<Size>>;

Ranks ranks_of(const std::string& text) {
  const Program program = test::parsed("retile.program/2\n" + text);
  const auto shapes = tile_shapes(program, 4);
  EXPECT_TRUE(shapes) << render(shapes.error());
  return add::ranks_before_steps(program, *shapes);
}

TEST(Order, ranks_are_the_least_addends_of_what_a_tile_got) {
  EXPECT_EQ(ranks_of("mesh x:2,y:3\nfrom sum{x,y}[6]\nto [6]\n"
                     "allreduce groups=[[3,0],[1,4],[2,5]]\nallreduce groups=[[2,1,0],[4,5,3]]\n"),
            (Ranks{{0, 2, 4, 1, 3, 5}, {0, 2, 4, 0, 2, 4}}));
}

TEST(Order, tiles_without_any_addend_come_last) {
  EXPECT_EQ(ranks_of("mesh x:4\nfrom [2]\nto [2]\nunreduce groups=[[2,0,1,3]]\n"
                     "allreduce groups=[1,4]<=[4]\n"),
            (Ranks{{0, 0, 0, 0}, {1, 1, 0, 1}}));
}

TEST(Order, nothing_is_before_no_step) {
  EXPECT_EQ(ranks_of("mesh x:2\nfrom sum{x}[2]\nto sum{x}[2]\n"), Ranks{});
}

TEST(Order, transfers_go_by_target_then_rank_and_else_as_they_stood) {
  const auto transfer = [](Size target, Size source, Size start) {
    return Transfer{target, source, {start}, {0}, {1}};
  };
  std::vector<Transfer> transfers{transfer(1, 0, 0), transfer(0, 2, 1), transfer(0, 1, 2),
                                  transfer(0, 2, 3), transfer(0, 0, 4), transfer(0, 1, 5)};
  add::put_in_order(transfers, {7, 3, 3});
  std::vector<Size> starts;
  for (const Transfer& it : transfers) starts.push_back(it.target_start[0]);
  EXPECT_EQ(starts, (std::vector<Size>{1, 2, 3, 5, 4, 0}));
}

TEST(Order, only_what_is_added_needs_an_adder) {
  const auto of = [](const std::string& ends, const ElementType& type) {
    return add::adder_of(test::parsed("retile.program/2\nmesh x:2\n" + ends), type);
  };
  const ElementType f32{};
  EXPECT_FALSE(*of("from [2]\nto [2]\n", f32));
  EXPECT_FALSE(*of("from stack{x}[2]\nto stack{x}[2]\n", f32));
  EXPECT_TRUE(*of("from max{x}[2]\nto max{x}[2]\n", f32));
  EXPECT_FALSE(of("from max{x}[2]\nto max{x}[2]\n", {ElementKind::complex, 8}));
}

}  // namespace
}  // namespace retile
