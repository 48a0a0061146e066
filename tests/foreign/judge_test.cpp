#include "retile/foreign/judge.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "functions.h"

namespace retile::foreign {
namespace judge_test {

using testing::Chain;
using testing::function_of;
using testing::layout;
using testing::module_of;

const Groups both = {{0, 1}};

TEST(Judge, what_gathers_is_right_and_costs_what_it_makes) {
  const Function function = Chain(2, {2}).then(AllGather{.groups = both}, {4}).done();
  const Verdict out = judge(function, layout("[2{x}4]", "x:2"), layout("[4]", "x:2"));
  EXPECT_EQ(out.right, true);
  EXPECT_EQ(out.cost, 4);
  EXPECT_EQ(out.received, 2);
  EXPECT_EQ(out.received_bytes, 8);
  EXPECT_EQ(out.height, 4);
  EXPECT_EQ(out.bound, 4);
  EXPECT_FALSE(out.whole_array) << "the end is the whole array";
}

TEST(Judge, groups_the_other_way_are_wrong_at_the_result) {
  const Function function = Chain(2, {2}).then(AllGather{.groups = {{1, 0}}}, {4}).done();
  const Verdict out = judge(function, layout("[2{x}4]", "x:2"), layout("[4]", "x:2"));
  EXPECT_EQ(out.right, false);
  ASSERT_TRUE(out.mismatch);
  EXPECT_EQ(out.mismatch->fault, Fault::end);
  EXPECT_EQ(out.mismatch->device, 0);
  EXPECT_EQ(out.mismatch->at, Shape({0}));
  EXPECT_EQ(out.mismatch->element, Shape({0}));
  EXPECT_EQ(out.mismatch->found.element, Shape({2}));
  EXPECT_EQ(out.first_wrong->name, "v1");
}

TEST(Judge, groups_of_one_and_pairs_to_oneself_cost_nothing) {
  const Function function = Chain(2, {2})
                                .then(AllGather{.groups = {{0}, {1}}}, {2})
                                .then(CollectivePermute{.pairs = {{0, 0}, {1, 1}}}, {2})
                                .then(AllReduce{.groups = {{1}, {0}}}, {2})
                                .done();
  const Verdict out = judge(function, layout("[2{x}4]", "x:2"), layout("[2{x}4]", "x:2"));
  EXPECT_EQ(out.right, true);
  EXPECT_EQ(out.cost, 0);
  EXPECT_EQ(out.received, 0);
}

TEST(Judge, only_targets_of_a_permutation_receive) {
  const Function function =
      Chain(3, {2}).then(CollectivePermute{.pairs = {{0, 1}, {1, 0}, {2, 2}}}, {2}).done();
  const Verdict out = judge(function, layout("[2{x}6]", "x:3"), layout("[2{x}6]", "x:3"));
  EXPECT_EQ(out.right, false);
  EXPECT_EQ(out.cost, 2);
  EXPECT_EQ(out.received, 2);
}

TEST(Judge, a_claim_that_fails_is_the_first_wrong_value) {
  const Layout rows = layout("[2{x}4]", "x:2");
  const Layout all = layout("[4]", "x:2");
  Chain chain(2, {2});
  chain.claims(rows).then(AllGather{.groups = {{1, 0}}}, {4}).claims(all);
  const Function function = chain.then(Same{}, {4}).done();
  const Verdict out = judge(function, rows, all);
  EXPECT_EQ(out.right, false);
  EXPECT_TRUE(out.is_claim);
  EXPECT_EQ(out.first_wrong->name, "v1");
  EXPECT_EQ(out.first_wrong->place.line, 2);
}

TEST(Judge, a_claim_of_another_tile_fails) {
  const Layout rows = layout("[2{x}4]", "x:2");
  const Function function = Chain(2, {2}).claims(layout("[4]", "x:2")).done();
  const Verdict out = judge(function, rows, rows);
  EXPECT_EQ(out.right, false);
  EXPECT_EQ(out.mismatch->fault, Fault::tile);
}

TEST(Judge, who_loses_an_element_is_blamed) {
  const Function function = Chain(2, {4})
                                .then(TakeBox{.starts = {{0}, {0}}}, {2})
                                .then(Same{}, {2})
                                .then(AllGather{.groups = both}, {4})
                                .done();
  const Layout all = layout("[4]", "x:2");
  const Verdict out = judge(function, all, all);
  EXPECT_EQ(out.right, false);
  EXPECT_EQ(out.first_wrong->name, "v1");
}

TEST(Judge, the_value_that_holds_all_is_named) {
  const Function function = Chain(2, {2, 4})
                                .then(AllGather{.groups = both}, {4, 4})
                                .then(TakeBox{.starts = {{0, 0}, {0, 2}}}, {4, 2})
                                .done();
  const Verdict out = judge(function, layout("[2{x}4, 4]", "x:2"), layout("[4, 2{x}4]", "x:2"));
  EXPECT_EQ(out.right, true);
  ASSERT_TRUE(out.whole_array);
  EXPECT_EQ(out.whole_array->name, "v1");
  EXPECT_FALSE(out.within_bound());
}

TEST(Judge, place_for_all_is_not_all) {
  const Function function = Chain(2, {2})
                                .then(PutBox{.starts = {Shape{0}, Shape{0}}}, {4})
                                .then(TakeBox{.starts = {{0}, {0}}}, {2})
                                .done();
  const Verdict out = judge(function, layout("[2{x}4]", "x:2"), layout("[2{x}4]", "x:2"));
  EXPECT_EQ(out.right, true);
  EXPECT_FALSE(out.whole_array);
  EXPECT_EQ(out.height, 4);
}

TEST(Judge, behind_the_end_anything_may_be) {
  const Function function = Chain(2, {2}).then(Same{}, {2}).done();
  const Layout uneven = layout("[2{x}3]", "x:2");
  EXPECT_EQ(judge(function, uneven, uneven).right, true);
}

TEST(Judge, addends_are_counted) {
  const Layout from = layout("sum{x}[4]", "x:2,y:2");
  const Layout to = layout("[4]", "x:2,y:2");
  const Groups along_x = {{0, 2}, {1, 3}};
  const Function right = Chain(4, {4}).then(AllReduce{.groups = along_x}, {4}).done();
  EXPECT_EQ(judge(right, from, to).right, true);
  EXPECT_EQ(judge(right, from, to).cost, 8);

  const Verdict none = judge(Chain(4, {4}).then(Same{}, {4}).done(), from, to);
  EXPECT_EQ(none.mismatch->fault, Fault::replicas);
  const Function along_y = Chain(4, {4}).then(AllReduce{.groups = {{0, 1}, {2, 3}}}, {4}).done();
  EXPECT_EQ(judge(along_y, from, to).mismatch->fault, Fault::replicas);
  const Function all = Chain(4, {4}).then(AllReduce{.groups = {{0, 1, 2, 3}}}, {4}).done();
  const Verdict twice = judge(all, from, to);
  EXPECT_EQ(twice.mismatch->fault, Fault::addends);
  EXPECT_EQ(twice.mismatch->addend, 0);
  EXPECT_EQ(twice.mismatch->times, 2U);
}

TEST(Judge, no_addend_stands_for_another) {
  const Layout from = layout("sum{x}[4]", "x:2");
  const Layout to = layout("[4]", "x:2");
  for (const Size addend : {0, 1}) {
    const Function one = Chain(2, {4})
                             .then(AllGather{.groups = {{0, 1}}}, {8})
                             .then(Slice{{4 * addend}, {4 * addend + 4}, {1}}, {4})
                             .done();
    const Verdict out = judge(one, from, to);
    ASSERT_EQ(out.right, false);
    EXPECT_EQ(out.mismatch->fault, Fault::addends);
    EXPECT_EQ(out.mismatch->addend, 1 - addend);
    EXPECT_EQ(out.mismatch->times, 0U);
  }
}

TEST(Judge, addends_of_64_bits_are_counted_without_a_sign) {
  const Layout from = layout("sum{x}[4]", "x:2");
  std::string text = " s0 = u64[4] parameter(0)\n";
  for (int k = 1; k <= 63; ++k) {
    const std::string last = "s" + std::to_string(k - 1);
    text += (k == 63 ? " ROOT s" : " s") + std::to_string(k) + " = u64[4] add(" + last + ", " +
            last + ")\n";
  }
  const Verdict out = judge(function_of(module_of(2, text)), from, from);
  EXPECT_EQ(out.mismatch->fault, Fault::addends);
  EXPECT_EQ(out.mismatch->times, std::uint64_t{1} << 63);
}

TEST(Judge, a_maximum_may_count_twice_but_a_sum_is_none) {
  const Layout from = layout("max{x}[4]", "x:2,y:2");
  const Layout to = layout("[4]", "x:2,y:2");
  const Groups all = {{0, 1, 2, 3}};
  EXPECT_EQ(judge(Chain(4, {4}).then(AllReduce{Addition::max, all}, {4}).done(), from, to).right,
            true);
  EXPECT_EQ(judge(Chain(4, {4}).then(AllReduce{Addition::min, all}, {4}).done(), from, to).right,
            false);
  EXPECT_EQ(judge(Chain(4, {4}).then(AllReduce{Addition::sum, all}, {4}).done(), from, to).right,
            false);
}

TEST(Judge, what_is_whole_becomes_addends) {
  const Layout whole = layout("[4]", "x:2");
  const Layout addends = layout("sum{x}[4]", "x:2");
  const auto put = [](std::optional<Shape> second) {
    return Chain(2, {4}).then(PutBox{.starts = {Shape{0}, std::move(second)}}, {4}).done();
  };
  EXPECT_EQ(judge(put(std::nullopt), whole, addends).right, true);
  const Verdict out = judge(put(Shape{0}), whole, addends);
  EXPECT_EQ(out.mismatch->fault, Fault::addends);
  EXPECT_EQ(out.mismatch->times, 2U);
}

TEST(Judge, a_stack_stays_as_it_is) {
  const Layout stack = layout("stack{x}[4]", "x:2");
  EXPECT_EQ(judge(Chain(2, {4}).then(Same{}, {4}).done(), stack, stack).right, true);
  const Function swapped =
      Chain(2, {4}).then(CollectivePermute{.pairs = {{0, 1}, {1, 0}}}, {4}).done();
  EXPECT_EQ(judge(swapped, stack, stack).mismatch->fault, Fault::addends);
}

TEST(Judge, at_a_limit_nobody_knows) {
  const Function function = Chain(2, {2}).then(AllGather{.groups = both}, {4}).done();
  JudgeOptions options;
  options.most_bytes = 20;
  const Verdict out = judge(function, layout("[2{x}4]", "x:2"), layout("[4]", "x:2"), options);
  EXPECT_FALSE(out.right.has_value());
  EXPECT_NE(out.limit.find("a smaller array on the same mesh"), std::string::npos) << out.limit;
  const Size huge = Size{1} << 40;
  const Function large = Chain(2, {huge}).done();
  const Layout halves = layout("[1099511627776{x}2199023255552]", "x:2");
  EXPECT_EQ(judge(large, halves, halves).right, true);
  options.fewest_in_strips = std::numeric_limits<Size>::max();
  EXPECT_EQ(judge(large, halves, halves, options).limit, "the array has more than 2^30 elements");
}

TEST(Judge, dead_values_are_dropped) {
  Chain chain(2, {4});
  for (int k = 0; k < 100; ++k) chain.then(Transpose{.permutation = {0}}, {4});
  JudgeOptions options;
  options.most_bytes = 3 * 2 * 4 * 4;
  const Layout rows = layout("[4{x}8]", "x:2");
  EXPECT_EQ(judge(chain.done(), rows, rows, options).right, true);
}

}  // namespace judge_test
}  // namespace retile::foreign
