// Texts before and after a partitioner: cuts, collectives, padding, and a real release's mistake.
#include <gtest/gtest.h>

#include <string>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::string module_on(int devices, const std::string& name, const std::string& body) {
  return "HloModule m, num_partitions=" + std::to_string(devices) + "\n" + scalar_computations() +
         "ENTRY %" + name + " {\n" + body + "}\n";
}
std::string before_on(int devices, const std::string& body) {
  return module_on(devices, "main", body);
}
std::string after_on(int devices, const std::string& body) {
  return module_on(devices, "main_spmd", body);
}

TEST(Pairs, a_layer_of_two_products_is_right_and_without_its_sum_wrong) {
  const std::string before = text_of("layer.before.hlo");
  const std::string after = text_of("layer.after.hlo");
  EXPECT_EQ(answer(before, after), "right");
  const std::size_t sum = after.find(" all-reduce(");
  ASSERT_NE(sum, std::string::npos);
  EXPECT_EQ(answer(before, replaced(after, " all-reduce(", " copy(")), "wrong");
}

TEST(Pairs, an_update_behind_the_end_is_lost_by_jax_0_12) {
  const std::string before = text_of("update.before.hlo");
  const std::string after = text_of("update.after.hlo");
  const Result<Validation> out = validated(before, after);
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->answer, Answer::wrong);
  ASSERT_TRUE(out->difference);
  ASSERT_EQ(out->difference->integers.size(), 1U);
  EXPECT_EQ(out->difference->integers[0].name, "%s.0");
  EXPECT_GE(out->difference->integers[0].numbers[0], 4);  // the array has 4 columns
  // Who clamps the start first, as the definition does, is right.
  const std::string clamped =
      replaced(replaced(after, "%compare = ",
                        "%high = s32[] constant(3)\n  %low = s32[] constant(0)\n"
                        "  %inside = s32[] clamp(%low, %select_n.2, %high)\n"
                        "  %compare = "),
               "compare(%select_n.2, %multiply)", "compare(%inside, %multiply)");
  EXPECT_EQ(
      answer(before, replaced(replaced(clamped, "compare(%select_n.2, %multiply.1)",
                                       "compare(%inside, %multiply.1)"),
                              "subtract(%select_n.2, %multiply)", "subtract(%inside, %multiply)")),
      "right");
}

TEST(Pairs, the_first_value_that_was_lost_is_named) {
  const std::string before = text_of("layer.before.hlo");
  const Result<Validation> out =
      validated(before, replaced(text_of("layer.after.hlo"), " all-reduce(", " copy("));
  ASSERT_TRUE(out && out->blame && out->blame->last);
  EXPECT_EQ(out->blame->lost.value, "%dot_general.1");
  EXPECT_EQ(out->blame->lost.opcode, "dot");
  EXPECT_EQ(out->blame->last->opcode, "tanh");
  // What is lost earlier is named, and not what is made of it.
  const Result<Validation> earlier =
      validated(before, replaced(text_of("layer.after.hlo"), " tanh(", " sine("));
  ASSERT_TRUE(earlier && earlier->blame);
  EXPECT_EQ(earlier->blame->lost.opcode, "tanh");
  EXPECT_FALSE(earlier->is_right_inside);
}

TEST(Pairs, it_is_said_where_only_indices_outside_tell) {
  const std::string before = text_of("update.before.hlo");
  const std::string after = text_of("update.after.hlo");
  const Result<Validation> outside = validated(before, after);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->is_right_inside, true);
  const Result<Validation> anywhere =
      validated(before, replaced(after, "direction=GE", "direction=GT"));
  ASSERT_TRUE(anywhere);
  EXPECT_EQ(anywhere->answer, Answer::wrong);
  EXPECT_EQ(anywhere->is_right_inside, false);
}

TEST(Pairs, padding_must_not_be_read) {
  const std::string before =
      before_on(2,
                "%x = f32[5] parameter(0), sharding={devices=[2]<=[2]}\n%z = f32[] constant(0)\n"
                "ROOT %r = f32[] reduce(%x, %z), dimensions={0}, to_apply=%add_f32, "
                "sharding={replicated}\n");
  const auto after = [](const std::string& reduced) {
    return after_on(2,
                    "%x = f32[3] parameter(0)\n%z = f32[] constant(0)\n"
                    "%i = s32[3] iota(), iota_dimension=0\n%p = u32[] partition-id()\n"
                    "%d = s32[] convert(%p)\n%n = s32[] constant(3)\n%o = s32[] multiply(%d, "
                    "%n)\n%b = s32[3] broadcast(%o), dimensions={}\n%g = s32[3] add(%i, %b)\n"
                    "%five = s32[] constant(5)\n%l = s32[3] broadcast(%five), dimensions={}\n"
                    "%inside = pred[3] compare(%g, %l), direction=LT\n%zeros = f32[3] "
                    "broadcast(%z), dimensions={}\n%m = f32[3] select(%inside, %x, %zeros)\n"
                    "%s = f32[] reduce(" +
                        reduced +
                        ", %z), dimensions={0}, to_apply=%add_f32\n"
                        "ROOT %r = f32[] all-reduce(%s), replica_groups={{0,1}}, channel_id=1, "
                        "use_global_device_ids=true, to_apply=%add_f32\n");
  };
  EXPECT_EQ(answer(before, after("%m")), "right");
  EXPECT_EQ(answer(before, after("%x")), "wrong");
}

TEST(Pairs, collectives_move_what_they_say) {
  const std::string before =
      before_on(4,
                "%x = f32[8,4] parameter(0), sharding={devices=[4,1]<=[4]}\n"
                "ROOT %r = f32[8,4] copy(%x), sharding={devices=[1,4]<=[4]}\n");
  const auto exchange = [](const std::string& groups) {
    return after_on(4,
                    "%x = f32[2,4] parameter(0)\n%s = f32[2,4,1] reshape(%x)\n"
                    "%a = f32[2,4,1] all-to-all(%s), dimensions={1}, channel_id=1, "
                    "replica_groups={{" +
                        groups +
                        "}}\n%t = f32[4,2,1] transpose(%a), "
                        "dimensions={1,0,2}\nROOT %r = f32[8,1] reshape(%t)\n");
  };
  EXPECT_EQ(answer(before, exchange("0,1,2,3")), "right");
  EXPECT_EQ(answer(before, exchange("0,1,3,2")), "wrong");
  const auto gather = [](const std::string& groups) {
    return after_on(4,
                    "%x = f32[2,4] parameter(0)\n%g = f32[8,4] all-gather(%x), dimensions={0}, "
                    "channel_id=1, use_global_device_ids=true, replica_groups=" +
                        groups +
                        "\n%p = u32[] partition-id()\n%d = s32[] convert(%p)\n%z = s32[] "
                        "constant(0)\nROOT %r = f32[8,1] dynamic-slice(%g, %z, %d), "
                        "dynamic_slice_sizes={8,1}\n");
  };
  EXPECT_EQ(answer(before, gather("[1,4]<=[4]")), "right");
  EXPECT_EQ(answer(before, gather("{{1,0,2,3}}")), "wrong");
}

TEST(Pairs, sums_are_scattered_and_permuted) {
  const std::string before = before_on(
      2,
      "%x = f32[2,4] parameter(0), sharding={devices=[2,1]<=[2]}\n%z = f32[] constant(0)\n"
      "ROOT %r = f32[4] reduce(%x, %z), dimensions={0}, to_apply=%add_f32, "
      "sharding={devices=[2]1,0}\n");
  const auto after = [](const std::string& pairs) {
    return after_on(2,
                    "%x = f32[1,4] parameter(0)\n%v = f32[4] reshape(%x)\n"
                    "%s = f32[2] reduce-scatter(%v), dimensions={0}, replica_groups={{0,1}}, "
                    "channel_id=1, use_global_device_ids=true, to_apply=%add_f32\n"
                    "ROOT %r = f32[2] collective-permute(%s), channel_id=2, "
                    "source_target_pairs={" +
                        pairs + "}\n");
  };
  EXPECT_EQ(answer(before, after("{0,1},{1,0}")), "right");
  EXPECT_EQ(answer(before, after("{0,0},{1,1}")), "wrong");
  EXPECT_EQ(answer(before, after("{0,1}")), "wrong");
}

TEST(Pairs, zeros_that_no_device_sent_are_no_least_numbers) {
  const std::string before = before_on(
      2,
      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n%n = f32[] constant(-inf)\n"
      "ROOT %r = f32[4] reduce-window(%x, %n), window={size=4 pad=3_0}, to_apply=%maximum_f32, "
      "sharding={devices=[2]<=[2]}\n");
  const auto after = [](const std::string& filled) {
    return after_on(2,
                    "%x = f32[2] parameter(0)\n%n = f32[] constant(-inf)\n"
                    "%h = f32[2] collective-permute(%x), channel_id=1, "
                    "source_target_pairs={{0,1}}\n%p = u32[] partition-id()\n%z = u32[] "
                    "constant(0)\n%first = pred[] compare(%p, %z), direction=EQ\n"
                    "%f = pred[2] broadcast(%first), dimensions={}\n%b = f32[2] "
                    "broadcast(%n), dimensions={}\n%m = f32[2] select(%f, %b, %h)\n"
                    "%w = f32[4] concatenate(" +
                        filled +
                        ", %x), dimensions={0}\n"
                        "ROOT %r = f32[2] reduce-window(%w, %n), window={size=4 pad=1_0}, "
                        "to_apply=%maximum_f32\n");
  };
  EXPECT_EQ(answer(before, after("%m")), "right");
  EXPECT_EQ(answer(before, after("%h")), "wrong");
}

TEST(Pairs, halves_of_an_operation_are_one) {
  const std::string before = before_on(2,
                                       "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
                                       "ROOT %r = f32[4] copy(%x), sharding={replicated}\n");
  const auto after = [](const std::string& groups) {
    return after_on(2,
                    "%x = f32[2] parameter(0)\n%s = (f32[2], f32[4]) all-gather-start(%x), "
                    "dimensions={0}, channel_id=1, use_global_device_ids=true, "
                    "replica_groups={{" +
                        groups + "}}\nROOT %r = f32[4] all-gather-done(%s)\n");
  };
  EXPECT_EQ(answer(before, after("0,1")), "right");
  EXPECT_EQ(answer(before, after("1,0")), "wrong");
}

TEST(Pairs, a_mesh_without_axes_is_all_devices) {
  const std::string before =
      before_on(2,
                "%x = f32[4] parameter(0), sharding={mesh[], replicated}\n"
                "ROOT %r = f32[4] add(%x, %x), sharding={mesh['x'=2], [{'x'}]}\n");
  const auto after = [](const std::string& start) {
    return after_on(2,
                    "%x = f32[4] parameter(0)\n%a = f32[4] add(%x, %x)\n%p = u32[] "
                    "partition-id()\n%two = u32[] constant(2)\n%o = u32[] multiply(%p, %two)\n"
                    "%z = u32[] constant(0)\nROOT %r = f32[2] dynamic-slice(%a, " +
                        start + "), dynamic_slice_sizes={2}\n");
  };
  EXPECT_EQ(answer(before, after("%o")), "right");
  EXPECT_EQ(answer(before, after("%z")), "wrong");
}

TEST(Pairs, ends_of_options_are_boxes) {
  const std::string before = before_on(1, "ROOT %x = f32[8] parameter(0)\n");
  const std::string after = after_on(2, "ROOT %x = f32[4] parameter(0)\n");
  const auto over = [&](const std::string& type) {
    ValidateOptions options{.draws = 1, .from = {type}, .to = {type}};
    options.mesh = PlacedMesh{.mesh = *Mesh::make({{"p", 2}})};
    const auto out = validate(before, "before", after, "after", options);
    return out ? std::string(out->answer == Answer::right ? "right" : "other")
               : out.error().message;
  };
  EXPECT_EQ(over("[4{p}8]"), "right");
  EXPECT_EQ(over("[2@{p}8]"), "what a module's devices hold is one box each");
  EXPECT_EQ(over("[4{p}4+4]"), "what a module's devices hold is one box each");
}

TEST(Pairs, texts_of_one_shape_are_compared_as_they_stand) {
  const std::string one = module_of("%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x, %x)\n");
  const std::string two = module_of(
      "%x = f32[4] parameter(0)\n%n = f32[] constant(2)\n"
      "%b = f32[4] broadcast(%n), dimensions={}\n"
      "ROOT %r = f32[4] multiply(%x, %b)\n");
  const Result<Validation> out = validated(one, two);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->answer, Answer::right);
  EXPECT_EQ(out->comparison, "same shapes");
}

TEST(Pairs, each_draw_has_a_prime_of_its_own_and_the_seed_makes_them) {
  const std::string one = module_of("%x = f32[4] parameter(0)\nROOT %r = f32[4] add(%x, %x)\n");
  const Result<Validation> a = validated(one, one, 5, 4);
  const Result<Validation> b = validated(one, one, 5, 4);
  const Result<Validation> c = validated(one, one, 6, 4);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->primes.size(), 4U);
  EXPECT_EQ(a->primes, b->primes);
  EXPECT_NE(a->primes, c->primes);
  EXPECT_NE(a->primes[0], a->primes[1]);
}

/// Operations on so many numbers that both texts are run at once.
std::string large(const std::string& more) {
  return module_of("%x = f32[300,300] parameter(0)\n%y = f32[300,300] negate(%x)\n" + more);
}

TEST(Pairs, what_is_refused_first_is_said_whatever_thread_is_first) {
  const std::string good = large("ROOT %r = f32[300,300] negate(%y)\n");
  const std::string bad = large(
      "%c = c64[300,300] complex(%x, %y)\n%b = u64[300,300] bitcast-convert(%c)\n"
      "ROOT %r = f32[300,300] negate(%y)\n");
  EXPECT_EQ(answer(good, good), "right");
  EXPECT_EQ(answer(good, large("ROOT %r = f32[300,300] copy(%y)\n")), "wrong");
  for (const bool is_first_bad : {false, true}) {
    for (const bool is_second_bad : {false, true}) {
      if (!is_first_bad && !is_second_bad) continue;
      const auto out = validated(is_first_bad ? bad : good, is_second_bad ? bad : good);
      ASSERT_TRUE(out.has_value()) << out.error().message;
      EXPECT_EQ(out->answer, Answer::undecided);
      EXPECT_EQ(out->in_after, !is_first_bad);
      EXPECT_GT(out->line, 1U);
    }
  }
  // The second text stops at once, the first one only after some work.
  const std::string slow = large(
      "%d = f32[300,300] dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "%c = c64[300,300] complex(%d, %y)\n%b = u64[300,300] bitcast-convert(%c)\n"
      "ROOT %r = f32[300,300] negate(%y)\n");
  EXPECT_EQ(validated(slow, bad)->line, validated(slow, good)->line);
}

TEST(Pairs, groups_that_hold_the_same_make_the_same_and_others_do_not) {
  const std::string before =
      "HloModule m, num_partitions=4\nENTRY %main {\n  %x = f32[4,2] parameter(0), "
      "sharding={devices=[4,1]<=[4]}\n  %z = f32[] constant(0)\n"
      "  %a = f32[2,2,2] reshape(%x)\n  %r = f32[2,2] REDUCED\n"
      "  ROOT %s = f32[2,2] copy(%r), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n}\n";
  const auto with = [](std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
  };
  const std::string first =
      scalar_computations() +
      with(before, "REDUCED", "reduce(%a, %z), dimensions={1}, to_apply=%add_f32");
  const std::string text =
      "HloModule m, num_partitions=4\n" + scalar_computations() + first.substr(first.find("ENTRY"));
  const auto after = [](const std::string& groups) {
    return "HloModule m, num_partitions=4\n" + scalar_computations() +
           "ENTRY %main {\n  %x = f32[1,2] parameter(0)\n  ROOT %r = f32[1,2] all-reduce(%x), "
           "replica_groups=" +
           groups + ", channel_id=1, use_global_device_ids=true, to_apply=%add_f32\n}\n";
  };
  EXPECT_EQ(answer(text, after("{{0,1},{2,3}}")), "right");
  EXPECT_EQ(answer(text, after("{{0,2},{1,3}}")), "wrong");

  const std::string copied =
      "HloModule m, num_partitions=4\nENTRY %main {\n  %x = f32[4,2] parameter(0), "
      "sharding={devices=[4,1]<=[4]}\n  ROOT %s = f32[4,2] copy(%x), "
      "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n}\n";
  const auto gathered = [](const std::string& groups) {
    return "HloModule m, num_partitions=4\nENTRY %main {\n  %x = f32[1,2] parameter(0)\n  ROOT %r "
           "= "
           "f32[2,2] all-gather(%x), replica_groups=" +
           groups + ", channel_id=1, dimensions={0}, use_global_device_ids=true\n}\n";
  };
  EXPECT_EQ(answer(copied, gathered("{{0,1},{2,3}}")), "right");
  EXPECT_EQ(answer(copied, gathered("{{0,2},{1,3}}")), "wrong");
}

TEST(Pairs, integers_of_a_difference_are_near_zero) {
  const std::string before = text_of("update.before.hlo");
  const std::string after = text_of("update.after.hlo");
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Result<Validation> out = validated(before, after, seed);
    ASSERT_TRUE(out);
    ASSERT_EQ(out->answer, Answer::wrong);
    ASSERT_EQ(out->difference->integers.size(), 1U);
    EXPECT_EQ(out->difference->integers[0].numbers, (std::vector<std::int64_t>{4})) << seed;
  }
}

/// What was lost is looked for among all values, which takes more than to run the two.
TEST(Pairs, a_wrong_verdict_stays_where_no_memory_is_left_to_blame_something) {
  std::string chain = "%v0 = f32[512] parameter(0)\n";
  constexpr int length = 40;
  for (int k = 1; k < length; ++k) {
    chain += "%v" + std::to_string(k) + " = f32[512] tanh(%v" + std::to_string(k - 1) + ")\n";
  }
  const auto ending = [&](const std::string& operation) {
    return module_of(chain + "ROOT %r = f32[512] " + operation + "(%v" +
                     std::to_string(length - 1) + ")\n");
  };
  const auto judged = [&](Size most_bytes) {
    return validate(ending("negate"), "before", ending("abs"), "after",
                    {.seed = 1, .most_bytes = most_bytes});
  };
  const Result<Validation> much = judged(1 << 22);
  const Result<Validation> little = judged(1 << 16);
  ASSERT_TRUE(much && little);
  EXPECT_EQ(much->answer, Answer::wrong);
  EXPECT_TRUE(much->blame);
  EXPECT_EQ(little->answer, Answer::wrong) << little->why;
  EXPECT_TRUE(little->difference);
  EXPECT_FALSE(little->blame);
}

TEST(Pairs, limits_are_kept) {
  const std::string large = module_of(
      "%x = f32[2000,2000] parameter(0)\nROOT %r = f32[2000,2000] dot(%x, %x), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  const Result<Validation> memory =
      validate(large, "before", large, "after",
               {.seed = 1, .most_bytes = 1 << 20, .extents = Extents::full});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->answer, Answer::undecided);
  const Result<Validation> time =
      validate(large, "before", large, "after",
               {.seed = 1, .timeout_seconds = 0.01, .extents = Extents::full});
  ASSERT_TRUE(time);
  EXPECT_EQ(time->answer, Answer::undecided);
  EXPECT_EQ(time->why, "the time is over");
}

}  // namespace
}  // namespace retile::whole::tests
