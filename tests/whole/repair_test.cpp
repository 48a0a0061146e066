// Which operation of a wrong text after is called the nearest to the mistake; and texts that can be changed.
#include <gtest/gtest.h>

#include <string>

#include "retile/whole/draft.h"
#include "retile/whole/moves.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

const std::string sum_of_two =
    "%sum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  ROOT %r = f32[] add(%a, %b)\n}\n";

/// Named as its value, or what is said instead.
std::string nearest(const std::string& before, const std::string& after) {
  const auto out = validated(before, after);
  if (!out) return out.error().message;
  if (out->answer != Answer::wrong || !out->blame || !out->blame->nearest) return "nothing";
  return out->blame->nearest->value + " for " + out->blame->meant->value;
}

/// A product_of_parts whose sum goes over devices, in rows of four.
const std::string product_of_parts =
    "HloModule m, num_partitions=4\nENTRY %main (x: f32[4,8], w: f32[8,6]) -> f32[4,6] {\n"
    "  %x = f32[4,8] parameter(0), sharding={devices=[1,4]<=[4]}\n"
    "  %w = f32[8,6] parameter(1), sharding={devices=[4,1]<=[4]}\n"
    "  %t = f32[4,8] tanh(%x), sharding={devices=[1,4]<=[4]}\n"
    "  %p = f32[4,6] dot(%t, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT %e = f32[4,6] exponential(%p), sharding={replicated}\n}\n";

std::string with_sum(const std::string& all_reduce) {
  return "HloModule m, num_partitions=4\n" + sum_of_two +
         "ENTRY %main_spmd (x: f32[4,2], w: f32[2,6]) -> f32[4,6] {\n"
         "  %x = f32[4,2] parameter(0)\n  %w = f32[2,6] parameter(1)\n"
         "  %t = f32[4,2] tanh(%x)\n"
         "  %p = f32[4,6] dot(%t, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  %s "
         "= " +
         all_reduce + "\n  ROOT %e = f32[4,6] exponential(%s)\n}\n";
}

TEST(Nearest, sums_over_other_devices_are_named_and_not_what_they_sum) {
  const std::string all =
      "f32[4,6] all-reduce(%p), replica_groups={{0,1,2,3}}, to_apply=%sum, channel_id=1, "
      "use_global_device_ids=true";
  EXPECT_EQ(answer(product_of_parts, with_sum(all)), "right");
  EXPECT_EQ(nearest(product_of_parts, with_sum(replaced(all, "{0,1,2,3}", "{0,1},{2,3}"))),
            "%s for %p");
  // Devices alone sum nothing: the product_of_parts itself would do, but it is the sum that is missing.
  EXPECT_EQ(nearest(product_of_parts, with_sum(replaced(all, "{0,1,2,3}", "{0},{1},{2},{3}"))),
            "%s for %p");
  EXPECT_EQ(nearest(product_of_parts, with_sum("f32[4,6] copy(%p)")), "%s for %p");
  // What is done on each device is named, too.
  EXPECT_EQ(nearest(product_of_parts, replaced(with_sum(all), " tanh(", " sine(")), "%t for %t");
}

TEST(Nearest, gathers_are_named_where_their_array_should_be) {
  const std::string before =
      "HloModule m, num_partitions=4\nENTRY %main (x: f32[8]) -> f32[8] {\n"
      "  %x = f32[8] parameter(0), sharding={devices=[4]<=[4]}\n"
      "  ROOT %t = f32[8] tanh(%x), sharding={replicated}\n}\n";
  const std::string after =
      "HloModule m, num_partitions=4\nENTRY %main_spmd (x: f32[2]) -> f32[8] {\n"
      "  %x = f32[2] parameter(0)\n"
      "  %g = f32[8] all-gather(%x), dimensions={0}, replica_groups={{0,1,2,3}}, channel_id=1, "
      "use_global_device_ids=true\n  ROOT %t = f32[8] tanh(%g)\n}\n";
  EXPECT_EQ(answer(before, after), "right");
  // All elements are there, only in another order.
  EXPECT_EQ(nearest(before, replaced(after, "{0,1,2,3}", "{0,2,1,3}")), "%g for %x");
}

TEST(Nearest, of_two_exchanges_that_are_put_together_it_is_the_one_that_is_wrong) {
  const std::string before =
      "HloModule m, num_partitions=4\n" + sum_of_two +
      "ENTRY %main (x: f32[8]) -> f32[8] {\n"
      "  %x = f32[8] parameter(0), sharding={devices=[4]<=[4]}\n  %z = f32[] constant(0)\n"
      "  ROOT %w = f32[8] reduce-window(%x, %z), window={size=3 pad=1_1}, to_apply=%sum, "
      "sharding={devices=[4]<=[4]}\n}\n";
  const std::string after =
      "HloModule m, num_partitions=4\n" + sum_of_two +
      "ENTRY %main_spmd (x: f32[2]) -> f32[2] {\n"
      "  %x = f32[2] parameter(0)\n  %z = f32[] constant(0)\n"
      "  %first = f32[1] slice(%x), slice={[0:1]}\n  %last = f32[1] slice(%x), slice={[1:2]}\n"
      "  %left = f32[1] collective-permute(%last), source_target_pairs={{0,1},{1,2},{2,3}}, "
      "channel_id=1\n"
      "  %right = f32[1] collective-permute(%first), source_target_pairs={{1,0},{2,1},{3,2}}, "
      "channel_id=2\n"
      "  %all = f32[4] concatenate(%left, %x, %right), dimensions={0}\n"
      "  ROOT %w = f32[2] reduce-window(%all, %z), window={size=3}, to_apply=%sum\n}\n";
  EXPECT_EQ(answer(before, after), "right");
  EXPECT_EQ(nearest(before, replaced(after, "{1,2},{2,3}", "{2,3}")), "%left for %w");
  EXPECT_EQ(nearest(before, replaced(after, "{2,1},{3,2}", "{3,2}")), "%right for %w");
}

Draft draft(const std::string& text) {
  auto out = draft_of({text, "text", true});
  EXPECT_TRUE(out) << text;
  return *std::move(out);
}

TEST(Drafts, print_what_they_read) {
  for (const char* name : {"layer.before.hlo", "update.before.hlo", "layer.after.hlo"}) {
    const std::string text = text_of(name);
    const std::string printed = text_of(draft(text));
    EXPECT_EQ(answer(text, printed), "right") << printed;
    EXPECT_EQ(text_of(draft(printed)), printed);
    EXPECT_EQ(printed.find("metadata"), std::string::npos);
  }
}

TEST(Drafts, keep_some_results_with_their_shardings) {
  Draft one = draft(
      "HloModule m, num_partitions=2\nENTRY %main (x: f32[4], y: f32[6]) -> (f32[4], f32[6]) {\n"
      "  %x = f32[4] parameter(0)\n  %y = f32[6] parameter(1)\n  %a = f32[4] abs(%x)\n"
      "  %b = f32[6] abs(%y)\n  ROOT %t = (f32[4], f32[6]) tuple(%a, %b), "
      "sharding={{replicated}, {devices=[2]<=[2]}}\n}\n");
  keep_results(one, {1});
  EXPECT_EQ(drop_unused(one), std::vector<Size>{1});
  EXPECT_EQ(text_of(one),
            "HloModule m, num_partitions=2\n\nENTRY %main {\n  %y = f32[6] parameter(0)\n"
            "  %b = f32[6] abs(%y)\n  ROOT %t = (f32[6]) tuple(%b), "
            "sharding={{devices=[2]<=[2]}}\n}\n");
}

TEST(Drafts, get_other_extents_wherever_these_stand) {
  const std::string text =
      "HloModule m\nENTRY %main (x: f32[4,8]) -> f32[4,8] {\n  %x = f32[4,8] parameter(0)\n"
      "  %c = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})\n"
      "  %b = f32[4,8] broadcast(%c), dimensions={1}\n"
      "  %s = f32[4,8] slice(%b), slice={[0:4], [0:8]}\n  ROOT %a = f32[4,8] add(%x, %s)\n}\n";
  const auto half = with_extents(draft(text), {{8, 4}});
  ASSERT_TRUE(half);
  const std::string printed = text_of(*half);
  EXPECT_NE(printed.find("f32[4] constant({1, 2, 3, 4})"), std::string::npos) << printed;
  EXPECT_NE(printed.find("slice={[0:4], [0:4]}"), std::string::npos) << printed;
  EXPECT_EQ(answer(printed, printed), "right");
}

TEST(Shardings, lose_an_axis_of_their_mesh) {
  EXPECT_EQ(with_axis("{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", "x", 1), "{mesh['y'=4], [{}, {'y'}]}");
  EXPECT_EQ(with_axis("{mesh['x'=2,'y'=4], [{'x','y'}, {}]}", "y", 1),
            "{mesh['x'=2], [{'x'}, {}]}");
  EXPECT_EQ(with_axis("{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", "y", 2),
            "{mesh['x'=2,'y'=2], [{'x'}, {'y'}]}");
  EXPECT_EQ(with_axis("{mesh['x'=2], [{'x'}]}", "x", 1), "{replicated}");
}

TEST(Shardings, are_cut_down_to_devices_with_a_digit_of_zero) {
  const auto left = [](const std::string& sharding, Size stride) {
    return with_digit_zero(sharding, 4, stride, 2).value_or("none");
  };
  EXPECT_EQ(left("{devices=[2,2]<=[4]}", 1), "{devices=[2,1]0,1}");
  EXPECT_EQ(left("{devices=[2,2]<=[4]}", 2), "{devices=[1,2]0,1}");
  EXPECT_EQ(left("{devices=[2,2]<=[2,2]T(1,0)}", 1), "{devices=[1,2]0,1}");
  EXPECT_EQ(left("{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}", 1),
            "{devices=[2,1,1]0,1 last_tile_dim_replicate}");
  EXPECT_EQ(left("{devices=[1,2,2]<=[4] last_tile_dim_replicate}", 2), "{replicated}");
  EXPECT_EQ(left("{devices=[4]0,1,3,2}", 2), "{devices=[2]0,1}");
  EXPECT_EQ(left("{replicated}", 1), "{replicated}");
  EXPECT_EQ(left("{devices=[3]0,1,2}", 1), "none");
}

}  // namespace
}  // namespace retile::whole::tests
