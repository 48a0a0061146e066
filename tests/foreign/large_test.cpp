// Texts on arrays of 2^40 elements and more: what is right and what is wrong in each language, and where.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "retile/emit/emit.h"
#include "retile/foreign/judge_text.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "support/values.h"

namespace retile::foreign {
namespace large_test {

struct Problem {
  std::string mesh, from, to;
};
const Problem columns = {"x:8,y:8", "[131072{x}1048576, 131072{y}1048576]",
                         "[1048576, 16384{x,y}1048576]"};

std::string text_of(const Problem& problem, emit::Form form) {
  const auto made = support::value(plan(support::problem(problem.mesh, problem.from, problem.to)));
  return support::value(emit::emit(support::value(program_of(made)), form));
}

Verdict verdict(const std::string& text, const Problem& problem) {
  const auto judged =
      judge_text(text, "large", {.mesh = problem.mesh, .from = problem.from, .to = problem.to});
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error())) << text;
  return judged ? judged->front().verdict : Verdict();
}

/// A text with something else in place of what is there once or more.
std::string with(std::string text, std::string_view old, std::string_view other) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old << "\n" << text;
  return at == std::string::npos ? text : text.replace(at, old.size(), other);
}

constexpr emit::Form forms[] = {emit::Form::hlo, emit::Form::stablehlo, emit::Form::sdy,
                                emit::Form::mlir19, emit::Form::mlir22};

TEST(Large, plans_are_right_in_every_language) {
  for (const emit::Form form : forms) {
    const Verdict out = verdict(text_of(columns, form), columns);
    EXPECT_EQ(out.right, true) << out.limit;
    EXPECT_EQ(out.height, Size{1} << 34);
  }
}

TEST(Large, sums_are_right_in_every_language) {
  const Problem sums = {"x:8", "sum{x}[1099511627776]", "[137438953472{x}1099511627776]"};
  for (const emit::Form form : forms) EXPECT_EQ(verdict(text_of(sums, form), sums).right, true);
}

TEST(Large, wrong_ends_are_wrong_in_every_language) {
  // The axes of a dimension the other way: every device but two holds other columns.
  const Problem turned = {columns.mesh, columns.from, "[1048576, 16384{y,x}1048576]"};
  for (const emit::Form form : forms) {
    if (form == emit::Form::sdy) continue;  // which says its end itself
    const Verdict out = verdict(text_of(columns, form), turned);
    ASSERT_EQ(out.right, false) << out.limit;
    ASSERT_TRUE(out.mismatch);
    EXPECT_EQ(out.mismatch->fault, Fault::end);
    EXPECT_EQ(out.mismatch->device, 1);
    EXPECT_EQ(out.mismatch->at, Shape({0, 0}));
    EXPECT_EQ(out.mismatch->element, Shape({0, 16384}));
    EXPECT_EQ(out.mismatch->found.element, Shape({0, 131072}));
    EXPECT_TRUE(out.is_rearranged);
  }
}

TEST(Large, a_claim_of_shardy_is_wrong_where_another_axis_is_taken) {
  const std::string text = text_of(columns, emit::Form::sdy);
  const Verdict out = verdict(with(text, R"(out_sharding=<@mesh, [{}, {"y", "x"}]>)",
                                   R"(out_sharding=<@mesh, [{"y"}, {"x"}]>)"),
                              columns);
  EXPECT_EQ(out.right, false) << text;
}

/// Two ranks gather 2^20 x 2^20 elements; each takes rows from `second` on.
std::string trace(Size second) {
  const std::string common =
      R"J({"op": "all_gather", "group": [0, 1], "in": [0], "out": [1], "sizes": [[2097152, 524288]]}, )J"
      R"J({"op": "split", "dim": 0, "in": [1], "out": [2, 3], "sizes": [[1048576, 524288], [1048576, 524288]]}, )J"
      R"J({"op": "cat", "dim": 1, "in": [2, 3], "out": [4], "sizes": [[1048576, 1048576]]}, )J"
      R"J({"op": "slice", "dim": 0, "start": )J";
  const auto rank = [&](int number, Size start) {
    return fmt::format(
        R"J({{"rank": {}, "start": [1048576, 524288], "operations": [{}{}, "in": [4], )J"
        R"J("out": [5], "sizes": [[524288, 1048576]]}}], "result": 5}})J",
        number, common, start);
  };
  return fmt::format(
      R"J({{"schema": "retile.dtensor-trace/1", "mesh": {{"names": ["x"], "sizes": [2], "ranks": [0, 1]}}, )J"
      R"J("shape": [1048576, 1048576], "from": ["Shard(1)"], "to": ["Shard(0)"], "ranks": [{}, {}]}})J",
      rank(0, 0), rank(1, second));
}

Verdict verdict(const std::string& text) {
  const auto judged = judge_text(text, "trace.json");
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error()));
  return judged ? judged->front().verdict : Verdict();
}

TEST(Large, traces_are_right_and_a_row_too_early_is_wrong) {
  EXPECT_EQ(verdict(trace(524288)).right, true);
  const Verdict out = verdict(trace(524287));
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->device, 1);
  EXPECT_EQ(out.mismatch->at, Shape({0, 0}));
  EXPECT_EQ(out.mismatch->element, Shape({524288, 0}));
  EXPECT_EQ(out.mismatch->found.element, Shape({524287, 0}));
}

Verdict of_hlo(const std::string& instructions, const std::string& from, const std::string& to) {
  const auto judged =
      judge_text("HloModule test, num_partitions=2\nENTRY e_spmd {\n" + instructions + "\n}\n",
                 "test.hlo", {.mesh = "x:2", .from = from, .to = to});
  EXPECT_TRUE(judged.has_value()) << (judged ? "" : render(judged.error()));
  return judged ? judged->front().verdict : Verdict();
}

TEST(Large, rows_in_place_of_columns_are_wrong_behind_the_first_element) {
  const std::string square = "[1073741824, 1073741824]";
  const Verdict out = of_hlo(
      " p = f32[1073741824,1073741824] parameter(0)\n"
      " ROOT t = f32[1073741824,1073741824] transpose(p), dimensions={1,0}",
      square, square);
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->at, Shape({0, 1}));
  EXPECT_EQ(out.mismatch->element, Shape({0, 1}));
  EXPECT_EQ(out.mismatch->found.element, Shape({1, 0}));
  EXPECT_TRUE(out.is_rearranged);
}

TEST(Large, digits_in_another_order_are_wrong_behind_the_first_element) {
  const auto moved = [](const char* order) {
    return of_hlo(fmt::format(" p = f32[1099511627776] parameter(0)\n"
                              " r = f32[1048576,1048576] reshape(p)\n"
                              " t = f32[1048576,1048576] transpose(r), dimensions={{{}}}\n"
                              " ROOT e = f32[1099511627776] reshape(t)",
                              order),
                  "[1099511627776]", "[1099511627776]");
  };
  EXPECT_EQ(moved("0,1").right, true);
  const Verdict out = moved("1,0");
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->at, Shape({1}));
  EXPECT_EQ(out.mismatch->found.element, Shape({1048576}));
}

TEST(Large, one_element_that_is_repeated_is_wrong_behind_the_first_place) {
  const Verdict out = of_hlo(
      " p = f32[1099511627776] parameter(0)\n"
      " s = f32[1] slice(p), slice={[0:1]}\n r = f32[] reshape(s)\n"
      " ROOT b = f32[1099511627776] broadcast(r), dimensions={}",
      "[1099511627776]", "[1099511627776]");
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->at, Shape({1}));
  EXPECT_EQ(out.mismatch->found.element, Shape({0}));
}

TEST(Large, one_element_in_place_of_its_neighbours_is_wrong_behind_it) {
  const Verdict out = of_hlo(
      " p = f32[1099511627776] parameter(0)\n"
      " s = f32[1] slice(p), slice={[0:1]}\n r = f32[] reshape(s)\n"
      " b = f32[4] broadcast(r), dimensions={}\n"
      " e = f32[1099511627772] slice(p), slice={[4:1099511627776]}\n"
      " ROOT c = f32[1099511627776] concatenate(b, e), dimensions={0}",
      "[1099511627776]", "[1099511627776]");
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->at, Shape({1}));
  EXPECT_EQ(out.mismatch->found.element, Shape({0}));
  EXPECT_FALSE(out.is_rearranged);
}

TEST(Large, rows_beside_columns_are_not_followed_together) {
  const auto chosen = [](const char* choice) {
    return of_hlo(fmt::format(" p = f32[65536,65536] parameter(0)\n m = pred[] constant({})\n"
                              " t = f32[65536,65536] transpose(p), dimensions={{1,0}}\n"
                              " ROOT s = f32[65536,65536] select(m, p, t)",
                              choice),
                  "[65536, 65536]", "[65536, 65536]")
        .right;
  };
  EXPECT_EQ(chosen("true"), std::nullopt);
  EXPECT_EQ(chosen("false"), std::nullopt);
}

TEST(Large, a_rolled_array_is_wrong_and_holds_all_elements) {
  const Verdict out = of_hlo(
      " p = f32[1099511627776] parameter(0)\n"
      " a = f32[1] slice(p), slice={[0:1]}\n b = f32[1099511627775] slice(p), "
      "slice={[1:1099511627776]}\n"
      " ROOT c = f32[1099511627776] concatenate(b, a), dimensions={0}",
      "[1099511627776]", "[1099511627776]");
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.mismatch->at, Shape({0}));
  EXPECT_EQ(out.mismatch->found.element, Shape({1}));
  EXPECT_TRUE(out.is_rearranged);
}

TEST(Large, what_is_gone_is_gone_where_it_was_left) {
  const Verdict out = of_hlo(
      " p = f32[1099511627776] parameter(0)\n z = f32[] constant(0)\n"
      " a = f32[1099511627775] slice(p), slice={[1:1099511627776]}\n"
      " ROOT c = f32[1099511627776] pad(a, z), padding=1_0",
      "[1099511627776]", "[1099511627776]");
  ASSERT_EQ(out.right, false) << out.limit;
  EXPECT_EQ(out.first_wrong->name, "a");
  EXPECT_EQ(out.mismatch->found.kind, Found::Kind::zero);
}

TEST(Large, strides_of_long_dimensions_are_undecided_and_say_so) {
  const Verdict out = of_hlo(
      " p = f32[1099511627776] parameter(0)\n r = f32[1099511627776] reverse(p), dimensions={0}\n"
      " ROOT s = f32[1099511627776] reverse(r), dimensions={0}",
      "[1099511627776]", "[1099511627776]");
  EXPECT_FALSE(out.right.has_value());
  EXPECT_EQ(out.limit, "the array has more than 2^30 elements");
}

TEST(Large, sizes_up_to_2_to_the_63_are_counted) {
  const std::string n = "9223372036854775807";
  const std::string type = "[" + n + "]";
  const Verdict out =
      of_hlo(" p = f32" + type + " parameter(0)\n ROOT c = f32" + type + " copy(p)", type, type);
  EXPECT_EQ(out.right, true) << out.limit;
  EXPECT_EQ(out.height, Size{9223372036854775807});
}

}  // namespace large_test
}  // namespace retile::foreign
