// `check` on hand-written Programs: every reason with its witness, and beside each wrong Program a
// right one.
#include "retile/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "check/judge.h"

namespace check_tests::check_test {
namespace {

using testing::Optional;

constexpr std::string_view header = "retile.program/1\n";

/// A Program from its lines.
Verdict judge_lines(const std::string& lines) { return judge(std::string(header) + lines); }
Program lines(const std::string& text) { return program(std::string(header) + text); }

struct Expected {
  Size step = 0;
  Reason reason{};
  std::optional<Size> device;
  std::optional<Shape> at;
  std::optional<Shape> element;
  std::optional<Shape> found;
};

void expect_wrong(const Verdict& verdict, const Expected& expected) {
  EXPECT_EQ(verdict.answer, Answer::wrong);
  const support::VerdictFields fields = fields_of(verdict);
  EXPECT_EQ(fields.first_wrong_step, expected.step);
  EXPECT_EQ(fields.reason, expected.reason);
  EXPECT_EQ(fields.device, expected.device) << show(verdict);
  EXPECT_EQ(fields.at, expected.at) << show(verdict);
  EXPECT_EQ(fields.element, expected.element) << show(verdict);
  EXPECT_EQ(fields.found, expected.found) << show(verdict);
}

void expect_right(const Verdict& verdict, Size cost, Size height) {
  EXPECT_EQ(verdict.answer, Answer::right) << show(verdict);
  EXPECT_EQ(verdict.cost, cost);
  EXPECT_EQ(verdict.height, height);
  EXPECT_FALSE(verdict.wrong);
}

// ---- Right Programs -----------------------------------------------------------------------------

TEST(Check, Example_3_1_is_right_and_costs_18) {
  const Verdict verdict = judge(example_3_1);
  expect_right(verdict, 18, 6);
  EXPECT_EQ(verdict.bound, 6);
  EXPECT_EQ(verdict.steps, 3);
  EXPECT_TRUE(verdict.within_bound);
}

TEST(Check, replication_example_is_right_and_costs_6) { expect_right(judge(replication), 6, 4); }

TEST(Check, unequal_sizes_S10_are_right_and_cost_99) { expect_right(judge(unequal_sizes), 99, 90); }

TEST(Check, a_program_without_steps_is_right_iff_the_ends_are_equal) {
  expect_right(judge_lines("mesh x:2,y:2\nfrom [2{x}4]\nto [2{x}4]\n"), 0, 2);
  expect_right(
      judge_lines("mesh x:2,y:2\nfrom [2{x}4]\nto tile=[2] global=[4] at=[[0],[0],[2],[2]]\n"), 0,
      2);
  expect_wrong(judge_lines("mesh x:2,y:2\nfrom [2{x}4]\nto [2{y}4]\n"),
               {0, Reason::end, 1, {{0}}, {{2}}, {{0}}});
}

TEST(Check, of_another_shape_an_element_that_only_one_of_them_has) {
  expect_wrong(judge_lines("mesh x:2\nfrom [2{x}4]\nto [4]\n"),
               {0, Reason::end, 0, {{2}}, {{2}}, {}});
  expect_wrong(judge_lines("mesh x:2\nfrom [4]\nto [2{x}4]\n"),
               {0, Reason::end, 0, {{2}}, {}, {{2}}});
  expect_wrong(judge_lines("mesh x:2\nfrom [2{x}4, 4]\nto [4, 2{x}4]\n"),
               {0, Reason::end, 0, {{0, 2}}, {}, {{0, 2}}});
  expect_wrong(
      judge_lines("mesh x:2\nfrom [4, 2{x}4]\nto tile=[2,4] global=[4,4] at=[[2,0],[0,0]]\n"),
      {0, Reason::end, 0, {{2, 0}}, {}, {{2, 0}}});
  expect_wrong(
      judge_lines("mesh x:2\nfrom [4, 2{x}4]\nto tile=[4,4] global=[4,4] at=[[0,0],[0,0]]\n"),
      {0, Reason::end, 0, {{0, 2}}, {{0, 2}}, {}});
}

TEST(Check, rank_0_is_one_element) {
  expect_right(
      judge_lines(
          "mesh x:3\nfrom []\nto []\nallpermute source=[1,2,0] tile=[] map=[] at=[[],[],[]]\n"),
      1, 1);
}

TEST(Check, replicas_may_stand_in_for_each_other) {
  const std::string ends =
      "mesh x:2,y:2\nfrom [2{x}4]\nto [4]\n";  // devices 0,1 and 2,3 hold the same
  expect_right(judge_lines(ends + "allgather dim=0 groups=[[0,2],[1,3]]\n"), 4, 4);
  expect_right(judge_lines(ends + "allgather dim=0 groups=[[1,2],[0,3]]\n"), 4, 4);
  expect_right(
      judge_lines(ends + "allpermute source=[1,0,3,2]\nallgather dim=0 groups=[[1,2],[0,3]]\n"), 6,
      4);
  expect_wrong(judge_lines(ends + "allgather dim=0 groups=[[0,1],[2,3]]\n"),
               {0, Reason::not_a_box, 0, {{2}}, {{2}}, {{0}}});
}

TEST(Check, parts_may_be_given_in_any_way_that_reaches_the_end) {
  const std::string ends =
      "mesh x:2,y:2\nfrom [4{y}8]\nto tile=[2] global=[8] at=[[2],[4],[0],[4]]\n";
  expect_right(
      judge_lines(ends + "dynslice dim=0 parts=2 part=[1,0,0,0] tile=[2] at=[[2],[4],[0],[4]]\n"),
      0, 4);
  expect_wrong(judge_lines(ends + "dynslice dim=0 parts=2 part=[1,0,0,1]\n"),
               {1, Reason::end, 3, {{0}}, {{4}}, {{6}}});
  expect_right(
      judge_lines("devices 6\nfrom [6]\nto [1{1:6}6]\ndynslice dim=0 parts=6 part=[6]<=[6]\n"), 0,
      6);
}

TEST(Check, alltoall_within_one_dimension) {
  // Device 0 holds 0..3, device 1 holds 4..7; pieces go even to 0, odd to 1: two boxes that are not
  // neighbours.
  const std::string start = "mesh x:2\nfrom [4{x}8]\n";
  const std::string step = "alltoall split=0 concat=0 groups=[[0,1]]\n";
  expect_wrong(judge_lines(start + "to [4{x}8]\n" + step),
               {0, Reason::not_a_box, 0, {{2}}, {{2}}, {{4}}});
  expect_right(judge_lines(start + "to [4{x}8]\n" + step + step), 8, 4);  // it is its own inverse
  // From overlapping tiles it gives boxes.
  expect_right(judge_lines("devices 2\nfrom tile=[4] global=[8] at=[[0],[2]]\nto tile=[4] "
                           "global=[8] at=[[0],[2]]\n" +
                           step),
               4, 4);
}

TEST(Check, moving_nothing_costs_nothing) {
  const std::string ends = "mesh x:2\nfrom [2{x}4]\nto [2{x}4]\n";
  expect_right(
      judge_lines(ends +
                  "allpermute source=[0,1]\nallpermute source=[2]<=[2]\nallpermute pairs=[[1,1]]\n"
                  "allpermute pairs=[]\nallgather dim=0 groups=[[1],[0]]\n"
                  "alltoall split=0 concat=0 groups=[2,1]<=[2]\ndynslice dim=0 groups=[[0],[1]]\n"),
      0, 2);
  expect_right(judge_lines(ends + "allpermute source=[1,0]\nallpermute pairs=[[0,1],[1,0]]\n"), 4,
               2);
}

TEST(Check, height_over_the_bound_is_right_but_not_within) {
  const Verdict verdict = judge_lines(
      "mesh x:2,y:2\nfrom [1{x}2, 2]\nto [1{y}2, 2]\nallgather dim=0 groups=[[0,2],[1,3]]\n"
      "dynslice dim=0 groups=[[0,1],[2,3]]\n");
  expect_right(verdict, 4, 4);
  EXPECT_EQ(verdict.bound, 2);
  EXPECT_FALSE(verdict.within_bound);
}

TEST(Check, explicit_tilings_need_not_cover_nor_be_balanced) {
  const std::string from = "devices 3\nfrom tile=[2,2] global=[5,4] at=[[1,0],[1,2],[3,2]]\n";
  expect_right(
      judge_lines(
          from +
          "to tile=[2,2] global=[5,4] at=[[1,2],[1,0],[3,2]]\nallpermute source=[1,0,2]\n"
          "allpermute pairs=[[2,1],[1,2]]\nallpermute source=[0,2,1] at=[[1,2],[1,0],[3,2]]\n"
          "dynslice dim=0 parts=1 part=[0,0,0]\n"),
      12, 4);
}

// ---- Leaving boxes ------------------------------------------------------------------------------

TEST(Check, leaving_boxes_and_coming_back_is_right) {
  const std::string ends = "mesh x:4\nfrom [1{x}4]\nto [1{x}4]\n";
  const Verdict verdict = judge_lines(
      ends + "allgather dim=0 groups=[[1,0,3,2]]\ndynslice dim=0 parts=4 part=[1,0,3,2]\n");
  expect_right(verdict, 4, 4);
  EXPECT_FALSE(verdict.within_bound);
  // Coming back elsewhere: the step that left boxes is blamed, not the end.
  expect_wrong(
      judge_lines(ends +
                  "allgather dim=0 groups=[[1,0,3,2]]\ndynslice dim=0 parts=4 part=[0,1,2,3]\n"),
      {0, Reason::not_a_box, 0, {{1}}, {{2}}, {{0}}});
  // Never leaving them, the end is.
  expect_wrong(
      judge_lines(ends +
                  "allgather dim=0 groups=[[0,1,2,3]]\ndynslice dim=0 parts=4 part=[1,0,3,2]\n"),
      {2, Reason::end, 0, {{0}}, {{0}}, {{1}}});
}

TEST(Check, the_first_step_that_leaves_boxes_is_blamed_even_when_a_later_one_does_too) {
  expect_wrong(
      judge_lines("mesh x:4\nfrom [1{x}4, 2]\nto [4, 2]\nallpermute source=[0,1,3,2]\n"
                  "allgather dim=1 groups=[[1,0],[2,3]]\ndynslice dim=1 parts=2 part=[1,0,0,1]\n"
                  "allgather dim=0 groups=[[0,1,2,3]]\n"),
      {1, Reason::not_a_box, 0, {{0, 2}}, {{1, 2}}, {{0, 0}}});
}

TEST(Check, a_shape_that_is_not_the_targets_after_leaving_boxes) {
  expect_wrong(judge_lines("mesh x:2\nfrom [1{x}2]\nto [1{x}2]\nallgather dim=0 groups=[[1,0]]\n"),
               {0, Reason::not_a_box, 0, {{1}}, {{2}}, {{0}}});
}

TEST(Check, an_allpermute_and_an_alltoall_among_arrays_that_are_no_boxes) {
  const std::string ends = "mesh x:2,y:2\nfrom [2{x}4, 2{y}4]\nto [2{x}4, 2{y}4]\n";
  const std::string away = "allgather dim=1 groups=[[1,0],[3,2]]\n";  // columns 2 3 0 1
  const std::string over =
      "allpermute source=[2,1,0,3]\nalltoall split=1 concat=0 groups=[[0,2],[1,3]]\n";
  // Rows 2 3 on 0, 0 1 on 2 and so on: the alltoall puts them together in the wrong order, too.
  const std::string back =
      "alltoall split=0 concat=1 groups=[[0,2],[1,3]]\nallpermute source=[2,1,0,3]\n";
  expect_right(judge_lines(ends + away + over + back + "dynslice dim=1 parts=2 part=[1,0,1,0]\n"),
               8 + 4 * 8, 8);
  expect_wrong(judge_lines(ends + away + over + back + "dynslice dim=1 parts=2 part=[1,0,1,1]\n"),
               {0, Reason::not_a_box, 0, {{0, 2}}, {{0, 4}}, {{0, 0}}});
}

TEST(Check, pieces_grow_past_the_global_array) {
  expect_wrong(judge_lines("mesh x:3\nfrom [2{x}6]\nto [6]\nallgather dim=0 "
                           "groups=[[0,1,2]]\nallgather dim=0 groups=[[0,1,2]]\n"),
               {1, Reason::not_a_box, 0, {{6}}, {{6}}, {{0}}});
  expect_right(judge_lines("mesh x:3\nfrom [2{x}6]\nto [6]\nallgather dim=0 "
                           "groups=[[0,1,2]]\nallgather dim=0 groups=[[0,1,2]]\n"
                           "dynslice dim=0 parts=3 part=[2,0,1] tile=[6] map=[6]\n"),
               24, 18);
}

// ---- Steps that cannot be applied ---------------------------------------------------------------

TEST(Check, groups_must_hold_every_device_once) {
  const std::string ends = "mesh x:4\nfrom [1{x}4]\nto [4]\n";
  expect_right(judge_lines(ends + "allgather dim=0 groups=[[0,1,2,3]]\n"), 4, 4);
  for (const std::string rows :
       {"[[0,1,2,2]]", "[[0,1],[2,2]]", "[[0,1,2]]", "[[0,1,2,3],[0,1,2,3]]", "[2]<=[2]",
        "[2,1]<=[2]", "[]", "[[]]", "[[0,1,2],[3]]", "[[0],[1,2,3]]"}) {
    if (rows == "[2]<=[2]") continue;
    for (const std::string step :
         {"allgather dim=0", "dynslice dim=0", "alltoall split=0 concat=0"}) {
      const Verdict verdict = judge_lines(ends + step + " groups=" + rows + " tile=[7]\n");
      EXPECT_EQ(outcome(verdict), "groups") << rows;
      EXPECT_EQ(fields_of(verdict).first_wrong_step, 0);
      EXPECT_EQ(verdict.cost, 0);
    }
  }
  // Ragged rows may hold every device once: then none is missing or repeated.
  EXPECT_EQ(fields_of(judge_lines(ends + "allgather dim=0 groups=[[0,1,2],[3]]\n")).device,
            std::nullopt);
  EXPECT_THAT(fields_of(judge_lines(ends + "allgather dim=0 groups=[[0,1,3]]\n")).device,
              Optional(2));
}

TEST(Check, permutations_must_be_bijections) {
  const std::string ends = "mesh x:4\nfrom [1{x}4]\nto tile=[1] global=[4] at=[[1],[0],[2],[3]]\n";
  expect_right(judge_lines(ends + "allpermute source=[1,0,2,3]\n"), 1, 1);
  expect_right(judge_lines(ends + "allpermute pairs=[[0,1],[1,0],[3,3]]\n"), 1, 1);
  for (const std::string permutation :
       {"source=[1,1,2,3]", "source=[1,0,2]", "source=[1,0,2,3,3]", "source=[]", "source=[2]<=[2]",
        "pairs=[[0,1]]", "pairs=[[0,1],[1,0],[1,0]]", "pairs=[[0,1],[1,2],[2,1]]",
        "pairs=[[0,1],[0,0]]"}) {
    const auto verdict = fields_of(
        judge_lines(ends + "allgather dim=0 groups=[4,1]<=[4]\nallpermute " + permutation + '\n'));
    EXPECT_EQ(verdict.reason, Reason::bijection) << permutation;
    EXPECT_EQ(verdict.first_wrong_step, 1);
    // What the device holds there before the step has no place after it, or two.
    ASSERT_TRUE(verdict.device) << permutation;
    EXPECT_EQ(verdict.at, Shape{0});
    EXPECT_EQ(verdict.element, Shape{*verdict.device});
    EXPECT_EQ(verdict.found, std::nullopt);
  }
}

TEST(Check, a_device_without_a_group_is_named_with_what_it_holds) {
  const std::string ends = "mesh x:4\nfrom [1{x}4]\nto [4]\n";
  expect_wrong(judge_lines(ends + "allgather dim=0 groups=[[0,1,3]]\n"),
               {0, Reason::groups, 2, {{0}}, {{2}}, {}});
  // Also when the arrays are no boxes any more: the parts hold 0 2 | 1 3.
  expect_wrong(judge_lines("mesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[1,0]]\n"
                           "allgather dim=0 groups=[[0]]\n"),
               {1, Reason::groups, 1, {{0}}, {{2}}, {}});
}

TEST(Check, a_tile_must_divide) {
  const std::string ends = "mesh x:3\nfrom [4, 3{x}9]\nto [4, 1{1:3,x}9]\n";
  for (const std::string step :
       {"dynslice dim=0 groups=[[0,1,2]]", "dynslice dim=0 parts=3 part=[0,1,2]",
        "alltoall split=0 concat=1 groups=[[0,1,2]]", "dynslice dim=1 parts=6 part=[0,1,2]"}) {
    const auto verdict = fields_of(judge_lines(
        "mesh x:3\nfrom [4, 3{x}9]\nto [4, 9]\nallgather dim=0 groups=[3,1]<=[3]\n" + step + '\n'));
    EXPECT_EQ(verdict.reason, Reason::indivisible) << step;
    EXPECT_THAT(verdict.device, Optional(0)) << "the shape is the same on all";
    EXPECT_EQ(verdict.first_wrong_step, 1);
    EXPECT_EQ(verdict.at, (Shape{0, 0}));
    EXPECT_EQ(verdict.element, (Shape{0, 0}));
    EXPECT_EQ(verdict.found, std::nullopt);
  }
  expect_right(
      judge_lines("mesh x:3\nfrom [4, 3{x}9]\nto tile=[4,1] global=[4,9] at=[[0,0],[0,4],[0,8]]\n"
                  "dynslice dim=1 groups=[[0,1,2]]\n"),
      0, 12);
}

TEST(Check, the_table_comes_before_divisibility_and_that_before_claims) {
  const std::string ends = "mesh x:2\nfrom [3]\nto [3]\n";
  const auto reason = [&ends](const std::string& step) {
    return fields_of(judge_lines(ends + step + '\n')).reason;
  };
  EXPECT_EQ(reason("dynslice dim=0 groups=[[0,0]] tile=[9] map=[3]"), Reason::groups);
  EXPECT_EQ(reason("dynslice dim=0 groups=[[0,1]] tile=[9] map=[3]"), Reason::indivisible);
  EXPECT_EQ(reason("allgather dim=0 groups=[[0,1]] tile=[9] map=[3]"), Reason::tile_claim);
  EXPECT_EQ(reason("allgather dim=0 groups=[[0,1]] tile=[6] map=[3]"), Reason::map_claim);
  EXPECT_EQ(reason("allgather dim=0 groups=[[0,1]] tile=[6]"), Reason::not_a_box);
}

TEST(Check, the_end_of_a_row_is_not_the_start_of_the_next_one) {
  // One past the end of row 0 would be number 4 of the array, which is the start of row 1.
  const std::string row =
      "devices 1\nfrom [2,4]\nto tile=[1,4] global=[2,4] at=[[0,0]]\n"
      "exchange tile=[1,4] transfers=[[0,0,0,0,0,1,1,3],[0,0,0,3,1,0,1,1]]";
  expect_wrong(judge_lines(row + '\n'), {0, Reason::not_a_box, 0, {{0, 3}}, {{0, 4}}, {{1, 0}}});
  expect_wrong(judge_lines(row + " at=[[0,1]]\n"),
               {0, Reason::map_claim, 0, {{0, 3}}, {{0, 4}}, {{1, 0}}});
}

// ---- Claims -------------------------------------------------------------------------------------

TEST(Check, a_false_tile_claim_is_wrong) {
  const std::string ends = "mesh x:2\nfrom [2{x}4]\nto [4]\n";
  expect_right(judge_lines(ends + "allgather dim=0 groups=[[0,1]] tile=[4]\n"), 4, 4);
  for (const std::string claim :
       {"tile=[]", "tile=[4,1]", "tile=[8]", "tile=[8] at=[[9223372036854775807],[0]]"}) {
    const Verdict verdict = judge_lines(ends + "allgather dim=0 groups=[[0,1]] " + claim + '\n');
    expect_wrong(verdict,
                 {0, Reason::tile_claim, 0, {}, {}, {}});  // nobody says which element is meant
    EXPECT_EQ(verdict.cost, 0) << "counts the steps before";
  }
  const std::string step = ends + "allgather dim=0 groups=[[0,1]] ";
  expect_wrong(judge_lines(step + "tile=[2]\n"), {0, Reason::tile_claim, 0, {{2}}, {}, {{2}}});
  expect_wrong(judge_lines(step + "tile=[3]\n"), {0, Reason::tile_claim, 0, {{3}}, {}, {{3}}});
  expect_wrong(judge_lines("mesh x:2\nfrom [2{x}4]\nto [2{x}4]\nallpermute pairs=[] tile=[4] "
                           "map=[4]\n"),
               {0, Reason::tile_claim, 0, {{2}}, {{2}}, {}});
  expect_wrong(judge_lines("mesh x:2\nfrom [2{x}4]\nto [2{x}4]\nallpermute pairs=[] tile=[4] "
                           "at=[[7],[0]]\n"),
               {0, Reason::tile_claim, 0, {{2}}, {{9}}, {}});
}

TEST(Check, a_false_map_claim_is_wrong_though_the_end_is_right) {
  const std::string ends = "mesh x:2,y:2\nfrom [2{x}4]\nto [2{x}4]\n";
  const std::string swap = "allpermute source=[2,3,0,1]";
  expect_right(judge_lines(ends + swap + " at=[[2],[2],[0],[0]]\n" + swap + " map=[2{x}4]\n"), 4,
               2);
  expect_wrong(judge_lines(ends + swap + " map=[2{x}4]\n" + swap + '\n'),
               {0, Reason::map_claim, 0, {{0}}, {{0}}, {{2}}});
  expect_wrong(judge_lines(ends + swap + " at=[[2],[2],[0],[1]]\n" + swap + '\n'),
               {0, Reason::map_claim, 3, {{0}}, {{1}}, {{0}}});
  expect_wrong(judge_lines(ends + swap + " at=[[9223372036854775807],[2],[0],[1]]\n" + swap + '\n'),
               {0, Reason::map_claim, 0, {{0}}, {{9223372036854775807}}, {{2}}});
  // Both must hold; `map` is looked at first.
  expect_wrong(judge_lines(ends + swap + " at=[[2],[2],[0],[1]] map=[2{y}4]\n" + swap + '\n'),
               {0, Reason::map_claim, 0, {{0}}, {{0}}, {{2}}});
  // A map of another tile shape claims an element that this one lacks.
  expect_wrong(judge_lines(ends + swap + " map=[4]\n" + swap + '\n'),
               {0, Reason::map_claim, 0, {{2}}, {{2}}, {}});
}

TEST(Check, a_map_claim_fails_inside_an_array_that_is_no_box) {
  const std::string ends = "mesh x:4\nfrom [1{x}4]\nto [1{x}4]\n";
  const std::string away = "allgather dim=0 groups=[[0,2,1,3]]";
  const std::string back = "\ndynslice dim=0 parts=4 part=[0,2,1,3] map=[1{x}4]\n";
  expect_right(judge_lines(ends + away + back), 4, 4);
  expect_wrong(judge_lines(ends + away + " map=[4]" + back),
               {0, Reason::map_claim, 0, {{1}}, {{1}}, {{2}}});
  expect_wrong(judge_lines(ends + away + " at=[[0],[0],[0],[0]]" + back),
               {0, Reason::map_claim, 0, {{1}}, {{1}}, {{2}}});
}

TEST(Check, a_map_that_digits_cannot_say) {
  // 3 popped off digits 2,3 (S10): built as the planner does, compared in all three forms.
  auto program = lines(
      "mesh a:2,b:3,c:5\nfrom [1{a,b}6, 3{c}15]\nto [6, 15]\n"
      "alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]\n");
  auto ordered = program.from;
  const auto digits = ordered.pop(0, 3);
  ordered.push(1, digits);
  ASSERT_FALSE(ordered.is_compact() || ordered.is_listed());
  program.to = ordered;
  EXPECT_TRUE(naive::ends_right(program));
  expect_right(retile::check(program), 3, 3);
  program.steps[0].claims.map = ordered;
  expect_right(retile::check(program), 3, 3);
  program.to =
      *retile::Layout::listed(30, ordered.global(), ordered.tile(), ordered.base_offsets());
  expect_right(retile::check(program), 3, 3);
  program.steps[0].claims.map.reset();
  expect_right(judge(program), 3, 3);
  auto at = ordered.base_offsets();
  std::swap(at[1], at[2 * 15 + 1]);  // along dimension 1, of devices 0 and 15
  ASSERT_NE(at[1], at[2 * 15 + 1]);
  program.to = *retile::Layout::listed(30, ordered.global(), ordered.tile(), at);
  EXPECT_EQ(outcome(judge(program)), "end");
  // The way back from a map that digits cannot say.
  program.from = ordered;
  program.to = lines("mesh a:2,b:3,c:5\nfrom [6, 15]\nto [6, 15]\n").to;
  program.steps = check_tests::program(unequal_sizes).steps;
  program.steps.erase(program.steps.begin());
  expect_right(retile::check(program), 96, 90);
}

// ---- Sizes --------------------------------------------------------------------------------------

Verdict judge_large(const Program& program) {
  const Verdict verdict = retile::check(program);
  const Verdict oracle = spec_check(program);
  EXPECT_TRUE(naive::same_judgement(verdict, oracle)) << show(verdict) << '\n' << show(oracle);
  return verdict;
}

TEST(Check, tiles_larger_than_any_memory) {
  // 2^61 elements per tile, moved as two blocks.
  const std::string from = "mesh x:2\nfrom [2305843009213693952{x}4611686018427387904]\n";
  const std::string gather = "allgather dim=0 groups=[[0,1]]\n";
  const std::string wrong = "allgather dim=0 groups=[[1,0]]\n";
  const std::string to = "to [4611686018427387904]\n";
  constexpr Size half = Size{1} << 61;
  expect_right(judge_large(lines(from + to + gather)), half * 2, half * 2);
  expect_wrong(judge_large(lines(from + to + wrong)),
               {0, Reason::not_a_box, 0, {{half}}, {{half * 2}}, {{0}}});
}

TEST(Check, a_tile_or_a_cost_that_overflows_is_undecided) {
  constexpr Size half = Size{1} << 62;
  const std::string ends = "mesh x:2\nfrom [4611686018427387904]\nto [4611686018427387904]\n";
  const std::string move =
      "alltoall split=0 concat=0 groups=[[0,1]]\n";  // not a box, and its own inverse... of none
  const std::string nothing = "alltoall split=0 concat=0 groups=[[0],[1]]\n";
  const auto undecided = [](const Verdict& verdict) {
    EXPECT_EQ(verdict.answer, Answer::undecided) << show(verdict);
    EXPECT_FALSE(verdict.wrong);
  };
  undecided(retile::check(lines(ends + "allgather dim=0 groups=[[0,1]]\n")));
  undecided(spec_check(lines(ends + "allgather dim=0 groups=[[0,1]]\n")));
  undecided(retile::check(lines(ends + move + move)));
  undecided(spec_check(lines(ends + move + move)));
  // Twins that fit: one step less, or steps that move nothing.
  EXPECT_EQ(judge_large(lines(ends + move)).cost, half);
  EXPECT_EQ(outcome(judge_large(lines(ends + move))), "not_a_box");
  expect_right(judge_large(lines(ends + nothing + nothing)), 0, half);
  constexpr Size most = std::numeric_limits<Size>::max();
  expect_right(judge_large(lines("mesh x:7\nfrom [1317624576693539401{x}9223372036854775807]\nto "
                                 "[9223372036854775807]\nallgather dim=0 groups=[1,7]<=[7]\n")),
               most, most);
  // What is wrong before the overflow stays wrong.
  EXPECT_EQ(outcome(judge_large(
                lines(ends + "allpermute source=[0,0]\nallgather dim=0 groups=[[0,1]]\n"))),
            "bijection");
}

TEST(Check, two_to_the_31_devices_are_undecided_at_once) {
  const auto program = lines(
      "mesh x:2147483648\nfrom [1{x}2147483648]\nto [2147483648]\n"
      "allgather dim=0 groups=[1,2147483648]<=[2147483648]\n");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(retile::check(program).answer, Answer::undecided);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Check, more_pieces_than_the_limit_are_seen_before_they_are_made) {
  // 65536 * 65536 single elements.
  const auto program = lines(
      "mesh x:65536\nfrom [65536{x}4294967296]\nto [65536{x}4294967296]\n"
      "alltoall split=0 concat=0 groups=[1,65536]<=[256,256]T(1,0)\n");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(retile::check(program).answer, Answer::undecided);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Check, the_limit_makes_it_undecided_and_never_wrong) {
  const auto program = lines(
      "mesh x:64\nfrom [1{x}64]\nto [1{x}64]\n"
      "allgather dim=0 groups=[1,64]<=[8,8]T(1,0)\n"
      "dynslice dim=0 groups=[1,64]<=[8,8]T(1,0)\n");
  expect_right(judge(program), 64, 64);
  bool decided = false;
  Size least = 0;
  for (Size limit = 0; limit <= 200; ++limit) {
    retile::CheckOptions options;
    options.piece_limit = limit;
    const Verdict verdict = retile::check(program, options);
    if (verdict.answer == Answer::undecided) {
      EXPECT_FALSE(decided) << "a larger limit decides no less";
      EXPECT_FALSE(verdict.wrong);
    } else {
      EXPECT_EQ(verdict.answer, Answer::right);
      if (!decided) least = limit;
      decided = true;
    }
  }
  EXPECT_TRUE(decided);
  EXPECT_GT(least, 0);
  retile::CheckOptions negative;
  negative.piece_limit = -1;
  EXPECT_EQ(retile::check(program, negative).answer, Answer::undecided);
  negative.piece_limit = INT64_MAX;
  EXPECT_EQ(retile::check(program, negative).answer, Answer::right);
}

TEST(Check, many_pieces_on_many_devices) {
  // 4096 devices share one array of 4096 pieces; slicing it brings boxes back.
  const std::string table = "groups=[1,4096]<=[16,16,16]T(2,0,1)";
  const std::string ends = "mesh x:4096\nfrom [2{x}8192, 3]\nto [2{x}8192, 3]\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      retile::check(lines(ends + "allgather dim=0 " + table + "\ndynslice dim=0 " + table + '\n'))
          .answer,
      Answer::right);
  expect_wrong(retile::check(lines(ends + "allgather dim=0 " + table +
                                   "\ndynslice dim=0 groups=[1,4096]<=[4096]\n")),
               {0, Reason::not_a_box, 0, {{2, 0}}, {{2, 0}}, {{32, 0}}});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace check_tests::check_test
