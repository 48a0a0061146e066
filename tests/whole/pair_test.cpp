// Wrong pairs of texts that are made smaller.
#include "retile/whole/pair.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/whole/tiling.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

Draft draft_in(const std::string& text) {
  auto out = draft_of({text, "text", true});
  EXPECT_TRUE(out) << text;
  return *std::move(out);
}

ShrunkPair shrunk(const std::string& before, const std::string& after, std::uint64_t seed = 1) {
  auto out = shrunk_pair({draft_in(before), draft_in(after)}, {.seed = seed}, 500);
  EXPECT_TRUE(out) << out.error().message;
  return *std::move(out);
}

/// The opcodes of an entry, without parameters.
std::vector<std::string> opcodes(const Draft& draft) {
  std::vector<std::string> out;
  for (const DraftInstruction& one : draft.entry().body) {
    if (!one.is_parameter()) out.push_back(one.opcode);
  }
  return out;
}

using Opcodes = std::vector<std::string>;

/// What is left is wrong by itself, whatever is drawn.
void expect_wrong(const ShrunkPair& pair) {
  const std::string before = text_of(pair.pair.before);
  const std::string after = text_of(pair.pair.after);
  EXPECT_EQ(pair.left.answer, Answer::wrong);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(answer(before, after, seed), "wrong") << before << after;
  }
}

/// And right where the mistake is undone: what was cut away had nothing to do with it.
void expect_mended(const ShrunkPair& pair, const std::string& wrong, const std::string& right) {
  const std::string after = replaced(text_of(pair.pair.after), wrong, right);
  EXPECT_EQ(answer(text_of(pair.pair.before), after), "right") << after;
}

const std::string adding =
    "%sum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  ROOT %r = f32[] add(%a, %b)\n}\n";

/// Two layers, whose hidden elements are cut in four, and a loss beside them.
const std::string layers_before =
    "HloModule m, num_partitions=4\n" + adding +
    "ENTRY %main {\n"
    "  %x = f32[4,8] parameter(0), sharding={replicated}\n"
    "  %w = f32[8,16] parameter(1), sharding={mesh['x'=4], [{}, {'x'}]}\n"
    "  %v = f32[16,8] parameter(2), sharding={mesh['x'=4], [{'x'}, {}]}\n"
    "  %zero = f32[] constant(0)\n"
    "  %n = f32[4,8] negate(%x)\n"
    "  %h = f32[4,16] dot(%n, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  %t = f32[4,16] tanh(%h)\n"
    "  %y = f32[4,8] dot(%t, %v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  %z = f32[4,8] exponential(%y)\n"
    "  %s = f32[4] reduce(%z, %zero), dimensions={1}, to_apply=%sum\n"
    "  ROOT %r = (f32[4,8], f32[4]) tuple(%n, %s), sharding={{replicated}, {replicated}}\n}\n";

const std::string layers_after =
    "HloModule m, num_partitions=4\n" + adding +
    "ENTRY %main_spmd {\n"
    "  %x = f32[4,8] parameter(0)\n"
    "  %w = f32[8,4] parameter(1)\n"
    "  %v = f32[4,8] parameter(2)\n"
    "  %zero = f32[] constant(0)\n"
    "  %n = f32[4,8] negate(%x)\n"
    "  %h = f32[4,4] dot(%n, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  %t = f32[4,4] tanh(%h)\n"
    "  %p = f32[4,8] dot(%t, %v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  %y = f32[4,8] all-reduce(%p), replica_groups={{0,1,2,3}}, to_apply=%sum, channel_id=1, "
    "use_global_device_ids=true\n"
    "  %z = f32[4,8] exponential(%y)\n"
    "  %s = f32[4] reduce(%z, %zero), dimensions={1}, to_apply=%sum\n"
    "  ROOT %r = (f32[4,8], f32[4]) tuple(%n, %s)\n}\n";

TEST(ShrunkPairs, that_are_right_stay_as_they_are) {
  const ShrunkPair pair = shrunk(layers_before, layers_after);
  EXPECT_EQ(pair.given.answer, Answer::right);
  EXPECT_EQ(text_of(pair.pair.after), text_of(draft_in(layers_after)));
  EXPECT_EQ(pair.end.runs, 0);
}

TEST(ShrunkPairs, keep_a_sum_over_other_devices_and_what_it_sums) {
  const ShrunkPair pair = shrunk(layers_before, replaced(layers_after, "{0,1,2,3}", "{0,1},{2,3}"));
  expect_wrong(pair);
  expect_mended(pair, "{0,1},{2,3}", "{0,1,2,3}");
  EXPECT_EQ(opcodes(pair.pair.before), Opcodes{"dot"});
  EXPECT_EQ(opcodes(pair.pair.after), (Opcodes{"dot", "all-reduce"}));
  EXPECT_EQ(parameter_count(pair.pair.before), 2);
  // The sum lies whole on all devices, and what it is made of is cut as it was.
  EXPECT_EQ(pair.pair.before.entry().root().attribute("sharding"), "{replicated}");
  const std::string text = text_of(pair.pair.before);
  EXPECT_NE(text.find("sharding={mesh['x'=4], [{}, {'x'}]}"), std::string::npos) << text;
  EXPECT_EQ(text.find("tanh"), std::string::npos) << text;
  EXPECT_TRUE(pair.end.complete);
}

TEST(ShrunkPairs, keep_one_operation_where_it_is_another_one) {
  const ShrunkPair pair = shrunk(layers_before, replaced(layers_after, " tanh(", " sine("));
  expect_wrong(pair);
  expect_mended(pair, " sine(", " tanh(");
  EXPECT_EQ(opcodes(pair.pair.before), Opcodes{"tanh"});
  EXPECT_EQ(opcodes(pair.pair.after), Opcodes{"sine"});
  // Four tiles along one dimension, and nothing along the other.
  EXPECT_EQ(pair.pair.before.entry().root().type, "f32[1,4]");
  EXPECT_EQ(pair.pair.after.entry().root().type, "f32[1,1]");
}

TEST(ShrunkPairs, keep_operands_that_only_one_of_both_needs) {
  // The second layer takes the hidden elements before they are bent.
  const ShrunkPair pair =
      shrunk(layers_before, replaced(layers_after, "dot(%t, %v)", "dot(%h, %v)"));
  expect_wrong(pair);
  EXPECT_EQ(opcodes(pair.pair.after).back(), "all-reduce");
  EXPECT_LE(operations_of(pair.pair.before), 3U + 1U);
}

TEST(ShrunkPairs, move_what_a_device_should_have) {
  const std::string before =
      "HloModule m, num_partitions=4\nENTRY %main {\n"
      "  %x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
      "  %t = f32[8,4] tanh(%x), sharding={devices=[4,1]<=[4]}\n"
      "  %u = f32[8,4] negate(%t), sharding={replicated}\n"
      "  ROOT %e = f32[8,4] exponential(%u), sharding={replicated}\n}\n";
  const std::string after =
      "HloModule m, num_partitions=4\nENTRY %main_spmd {\n"
      "  %x = f32[2,4] parameter(0)\n  %t = f32[2,4] tanh(%x)\n"
      "  %g = f32[8,4] all-gather(%t), dimensions={0}, replica_groups={{0,1,2,3}}, channel_id=1, "
      "use_global_device_ids=true\n"
      "  %u = f32[8,4] negate(%g)\n  ROOT %e = f32[8,4] exponential(%u)\n}\n";
  EXPECT_EQ(answer(before, after), "right");
  const ShrunkPair pair = shrunk(before, replaced(after, "{0,1,2,3}", "{0,2,1,3}"));
  expect_wrong(pair);
  expect_mended(pair, "{0,2,1,3}", "{0,1,2,3}");
  // The argument is the result in another layout.
  EXPECT_EQ(opcodes(pair.pair.before), Opcodes{"copy"});
  EXPECT_EQ(opcodes(pair.pair.after), Opcodes{"all-gather"});
  EXPECT_EQ(pair.pair.before.entry().body.front().attribute("sharding"), "{devices=[4,1]0,1,2,3}");
}

TEST(ShrunkPairs, say_which_other_value_a_result_is) {
  // What makes that value is not what makes it before, and is made of the same as the result.
  std::string body =
      "  %a = f32[4] parameter(0)\n  %x0 = f32[4] parameter(1)\n  %c = f32[4] parameter(2)\n";
  for (int k = 1; k <= 9; ++k) {
    body += fmt::format("  %x{} = f32[4] tanh(%x{})\n", k, k - 1);
  }
  const std::string before = module_of(body +
                                       "  %s = f32[4] add(%a, %x0)\n  %y = f32[4] add(%s, %c)\n"
                                       "  ROOT %r = (f32[4], f32[4]) tuple(%x9, %y)\n");
  const std::string after = module_of(body +
                                      "  %s = f32[4] add(%x0, %c)\n  %y = f32[4] add(%a, %s)\n"
                                      "  ROOT %r = (f32[4], f32[4]) tuple(%x9, %y)\n");
  EXPECT_EQ(answer(before, after), "right");
  const ShrunkPair pair = shrunk(before, replaced(after, "(%x9, %y)", "(%y, %y)"));
  expect_wrong(pair);
  EXPECT_EQ(opcodes(pair.pair.before), Opcodes{"copy"});
  EXPECT_EQ(opcodes(pair.pair.after), Opcodes{"copy"});
  EXPECT_EQ(parameter_count(pair.pair.before), 2);
}

TEST(ShrunkPairs, of_one_device_are_cut_without_shardings) {
  const std::string text = module_of(
      "  %x = f32[4] parameter(0)\n  %a = f32[4] tanh(%x)\n  %b = f32[4] negate(%a)\n"
      "  %c = f32[4] exponential(%b)\n  ROOT %d = f32[4] sine(%c)\n");
  const ShrunkPair pair = shrunk(text, replaced(text, "negate", "abs"));
  expect_wrong(pair);
  EXPECT_EQ(opcodes(pair.pair.before), Opcodes{"negate"});
  EXPECT_EQ(opcodes(pair.pair.after), Opcodes{"abs"});
  EXPECT_EQ(text_of(pair.pair.before).find("sharding"), std::string::npos);
}

TEST(ShrunkPairs, are_not_cut_at_values_that_no_argument_reaches) {
  // The same number stands on both sides for other reasons: as an argument it would be any.
  const std::string before = module_of(
      "  %x = f32[8] parameter(0)\n  %y = f32[8] parameter(1)\n  %i = s32[] constant(2)\n"
      "  %j = s32[] add(%i, %i)\n"
      "  %s = f32[2] dynamic-slice(%x, %j), dynamic_slice_sizes={2}\n"
      "  ROOT %t = f32[2] tanh(%s)\n");
  const std::string same = replaced(before, "add(%i, %i)", "multiply(%i, %i)");
  EXPECT_EQ(answer(before, same), "right");
  const ShrunkPair pair = shrunk(before, replaced(same, "-slice(%x, %j)", "-slice(%y, %j)"));
  expect_wrong(pair);
  EXPECT_EQ(opcodes(pair.pair.after).back(), "dynamic-slice");
  for (const DraftInstruction& one : pair.pair.before.entry().body) {
    EXPECT_FALSE(one.is_parameter() && one.type.substr(0, 3) != "f32") << text_of(pair.pair.before);
  }
}

TEST(ShrunkPairs, are_not_cut_where_an_integer_is_another_one_by_chance) {
  // No draw by this seed has an index below 0, for which both texts choose another one.
  auto out =
      shrunk_pair({draft_in(text_of("update.before.hlo")), draft_in(text_of("update.after.hlo"))},
                  {.seed = 2}, 500);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->left.answer, Answer::wrong);
  // The choice is made in both or in none of them.
  EXPECT_EQ(out->pair.before.entry().find("select_n.0") != nullptr,
            out->pair.after.entry().find("select_n.2") != nullptr)
      << text_of(out->pair.before) << text_of(out->pair.after);
}

TEST(ShrunkPairs, keep_the_operation_that_no_integer_stands_for_by_chance) {
  // XLA's algebraic simplifier made this of it: two numbers have room up to 2, not up to 3.
  const std::string head =
      "HloModule m\nENTRY %e {\n  %x = f32[4] parameter(0)\n  %s = s32[] parameter(1)\n  %zero = "
      "s32[] constant(0)\n  %below.s = pred[] compare(%s, %zero), direction=LT\n  %four = s32[] "
      "constant(4)\n  %up.s = s32[] add(%s, %four)\n  %at.s = s32[] select(%below.s, %up.s, %s)\n"
      "  %t = s32[] parameter(2)\n  %below.t = pred[] compare(%t, %zero), direction=LT\n  %two = "
      "s32[] constant(2)\n  %up.t = s32[] add(%t, %two)\n  %at.t = s32[] select(%below.t, %up.t, "
      "%t)\n";
  const std::string before =
      head +
      "  %part = f32[2] dynamic-slice(%x, %at.s), dynamic_slice_sizes={2}\n  ROOT %r = f32[1] "
      "dynamic-slice(%part, %at.t), dynamic_slice_sizes={1}\n}\n";
  const std::string after =
      head +
      "  %three = s32[] constant(3)\n  %clamp = s32[] clamp(%zero, %at.s, %three)\n  %at = s32[] "
      "add(%at.t, %clamp)\n  ROOT %r = f32[1] dynamic-slice(%x, %at), dynamic_slice_sizes={1}\n}\n";
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ShrunkPair out = shrunk(before, after, seed);
    EXPECT_EQ(out.left.answer, Answer::wrong);
    EXPECT_EQ(opcodes(out.pair.before).back(), "dynamic-slice") << text_of(out.pair.before);
    EXPECT_EQ(opcodes(out.pair.after).back(), "dynamic-slice") << text_of(out.pair.after);
  }
}

TEST(ShrunkPairs, are_cut_alike_though_one_of_both_holds_more) {
  // The text after adds in another order; the sum that the one before makes first is held beside.
  const std::string before = module_of(
      "  %p = f32[4] parameter(0)\n  %q = f32[4] parameter(1)\n  %y = f32[4] parameter(2)\n"
      "  %t = f32[4] tanh(%p)\n  %x = f32[4] sine(%q)\n"
      "  %a = f32[4] add(%t, %x)\n  %b = f32[4] add(%a, %y)\n  %r = f32[4] exponential(%b)\n"
      "  ROOT %o = (f32[4], f32[4]) tuple(%r, %a)\n");
  const std::string after = module_of(
      "  %p = f32[4] parameter(0)\n  %q = f32[4] parameter(1)\n  %y = f32[4] parameter(2)\n"
      "  %t = f32[4] tanh(%p)\n  %x = f32[4] sine(%q)\n"
      "  %a = f32[4] add(%t, %x)\n  %b = f32[4] add(%x, %y)\n  %c = f32[4] add(%t, %b)\n"
      "  %r = f32[4] exponential(%c)\n  ROOT %o = (f32[4], f32[4]) tuple(%r, %a)\n");
  EXPECT_EQ(answer(before, after), "right");
  const ShrunkPair pair = shrunk(before, replaced(after, "add(%x, %y)", "subtract(%x, %y)"));
  expect_wrong(pair);
  expect_mended(pair, "subtract(", "add(");
  EXPECT_EQ(text_of(pair.pair.after).find("tanh"), std::string::npos) << text_of(pair.pair.after);
}

TEST(ShrunkPairs, keep_the_extents_that_show_the_mistake) {
  // Of one element nobody sees whether it was transposed.
  const std::string before = module_of(
      "  %x = f32[8,8] parameter(0)\n  ROOT %t = f32[8,8] transpose(%x), dimensions={1,0}\n");
  const std::string after =
      module_of("  %x = f32[8,8] parameter(0)\n  ROOT %t = f32[8,8] negate(%x)\n");
  const ShrunkPair pair = shrunk(before, replaced(after, "negate", "copy"));
  expect_wrong(pair);
  EXPECT_EQ(pair.pair.before.entry().root().type, "f32[2,2]");
}

TEST(ShrunkPairs, lose_parameters_that_neither_needs) {
  const std::string text =
      "HloModule m\nENTRY %main {\n  %x = f32[4] parameter(0)\n  %y = f32[4] parameter(1)\n"
      "  %z = f32[4] parameter(2)\n  ROOT %a = f32[4] abs(%y)\n}\n";
  DraftPair pair{draft_in(text), draft_in(replaced(text, "abs(%y)", "abs(%z)"))};
  drop_unused(pair);
  EXPECT_EQ(parameter_count(pair.before), 2);
  EXPECT_EQ(parameter_count(pair.after), 2);
  EXPECT_EQ(pair.before.entry().find("y")->inside, "0");
  EXPECT_EQ(pair.after.entry().find("z")->inside, "1");
}

TEST(ShrunkPairs, end_with_what_they_have_where_questions_run_out) {
  const std::string wrong = replaced(layers_after, " tanh(", " sine(");
  auto out = shrunk_pair({draft_in(layers_before), draft_in(wrong)}, {.seed = 1}, 1);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->end.runs, 1);
  EXPECT_FALSE(out->end.complete);
  EXPECT_EQ(out->left.answer, Answer::wrong);
  EXPECT_EQ(opcodes(out->pair.after), Opcodes{"sine"});
}

// Shardings for boxes.

TEST(Tilings, say_boxes_by_the_axes_of_a_mesh_or_by_a_list) {
  const auto mesh = mesh_in("{mesh['x'=2,'y'=2], [{'x'}, {}]}");
  ASSERT_TRUE(mesh);
  const Box first{.at = {0, 0}, .extent = {2, 4}};
  const Box second{.at = {2, 0}, .extent = {2, 4}};
  EXPECT_EQ(sharding_of({4, 4}, {first, first, second, second}, mesh),
            "{mesh['x'=2,'y'=2], [{'x'}, {}]}");
  EXPECT_EQ(sharding_of({4, 4}, {first, second, first, second}, mesh),
            "{mesh['x'=2,'y'=2], [{'y'}, {}]}");
  EXPECT_EQ(sharding_of({4, 4}, {first, second, second, first}, mesh),
            "{devices=[2,1,2]0,3,1,2 last_tile_dim_replicate}");
  EXPECT_EQ(sharding_of({4, 4}, {first, second, first, second}, std::nullopt),
            "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}");
  const Box whole{.at = {0, 0}, .extent = {4, 4}};
  EXPECT_EQ(sharding_of({4, 4}, {whole, whole}, std::nullopt), "{replicated}");
}

TEST(Tilings, say_nothing_of_boxes_that_no_sharding_has) {
  const Box first{.at = {0}, .extent = {3}};
  const Box second{.at = {1}, .extent = {3}};
  const Box last{.at = {3}, .extent = {1}};
  const Box none{.at = {0}, .extent = {0}};
  EXPECT_EQ(sharding_of({4}, {first, second}, std::nullopt), std::nullopt);  // they overlap
  EXPECT_EQ(sharding_of({4}, {first, last}, std::nullopt), std::nullopt);    // halves have two
  EXPECT_EQ(sharding_of({4}, {first, first, first, last}, std::nullopt), std::nullopt);
  const Box half{.at = {0}, .extent = {2}};
  EXPECT_EQ(sharding_of({4}, {half, last}, std::nullopt), std::nullopt);  // one is left out
  // Of 4 elements in 3 tiles the last device has none, whichever that is.
  const Box one{.at = {0}, .extent = {2}};
  const Box two{.at = {2}, .extent = {2}};
  EXPECT_EQ(sharding_of({4}, {one, two, none}, std::nullopt), "{devices=[3]0,1,2}");
  EXPECT_EQ(sharding_of({4}, {one, none, two}, std::nullopt), "{devices=[3]0,2,1}");
}

}  // namespace
}  // namespace retile::whole::tests
