// What devices hold, send and share; what a verdict says of a difference, and what it is blamed on.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::string text_on(int devices, const std::string& name, const std::string& body,
                    const std::string& more = "") {
  return "HloModule m, num_partitions=" + std::to_string(devices) + "\n" + scalar_computations() +
         more + "ENTRY %" + name + " {\n" + body + "}\n";
}
std::string whole_on(int devices, const std::string& body) {
  return text_on(devices, "main", body);
}
/// The devices are replicas, not partitions.
std::string replicated_on(int devices, const std::string& body) {
  return replaced(text_on(devices, "main_spmd", body), "num_partitions", "replica_count");
}
std::string cut_on(int devices, const std::string& body, const std::string& more = "") {
  return text_on(devices, "main_spmd", body, more);
}

TEST(Devices, get_tiles_of_a_region_and_give_them_back) {
  const std::string before = whole_on(
      2,
      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
      "%c = f32[4] custom-call(%x), custom_call_target=\"Sharding\", sharding={devices=[2]<=[2]}\n"
      "%t = f32[2] custom-call(%c), custom_call_target=\"SPMDFullToShardShape\", "
      "sharding={manual}\n%v = f32[2] reverse(%t), dimensions={0}\n"
      "%d = f32[2] custom-call(%v), custom_call_target=\"Sharding\", sharding={manual}\n"
      "ROOT %r = f32[4] custom-call(%d), custom_call_target=\"SPMDShardToFullShape\", "
      "sharding={devices=[2]<=[2]}\n");
  EXPECT_EQ(answer(before, cut_on(2,
                                  "%x = f32[2] parameter(0)\n"
                                  "ROOT %r = f32[2] reverse(%x), dimensions={0}\n")),
            "right");
  EXPECT_EQ(answer(before, cut_on(2, "%x = f32[2] parameter(0)\nROOT %r = f32[2] copy(%x)\n")),
            "wrong");
}

TEST(Devices, hold_zeros_where_nobody_sends) {
  const std::string before =
      whole_on(2,
               "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n%z = f32[] constant(0)\n"
               "ROOT %r = f32[4] pad(%x, %z), padding=2_-2, sharding={devices=[2]<=[2]}\n");
  const auto after = [](const std::string& pairs) {
    return cut_on(2,
                  "%x = f32[2] parameter(0)\nROOT %r = f32[2] collective-permute(%x), "
                  "channel_id=1, source_target_pairs={" +
                      pairs + "}\n");
  };
  EXPECT_EQ(answer(before, after("{0,1}")), "right");
  EXPECT_EQ(answer(before, after("{0,1},{1,0}")), "wrong");
}

TEST(Devices, get_what_the_first_of_their_group_sends) {
  const std::string before =
      whole_on(2,
               "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
               "ROOT %r = f32[2] slice(%x), slice={[0:2]}, sharding={replicated}\n");
  const auto after = [](const std::string& group) {
    return replicated_on(2,
                         "%x = f32[2] parameter(0)\nROOT %r = f32[2] collective-broadcast(%x), "
                         "replica_groups={{" +
                             group + "}}\n");
  };
  EXPECT_EQ(answer(before, after("0,1")), "right");
  EXPECT_EQ(answer(before, after("1,0")), "wrong");
}

TEST(Devices, add_up_in_groups_of_any_size) {
  const std::string before = whole_on(
      3,
      "%x = f32[3] parameter(0), sharding={devices=[3]<=[3]}\n%h = f32[2] slice(%x), "
      "slice={[0:2]}\n"
      "%l = f32[1] slice(%x), slice={[2:3]}\n%z = f32[] constant(0)\n%s = f32[] reduce(%h, %z), "
      "dimensions={0}, to_apply=%add_f32\n%b = f32[2] broadcast(%s), dimensions={}\n"
      "ROOT %r = f32[3] concatenate(%b, %l), dimensions={0}, sharding={devices=[3]<=[3]}\n");
  const auto after = [](const std::string& op, const std::string& groups) {
    return cut_on(3, "%x = f32[1] parameter(0)\nROOT %r = f32[1] " + op +
                         "(%x), channel_id=1, replica_groups={" + groups +
                         "}, use_global_device_ids=true, to_apply=%add_f32\n");
  };
  EXPECT_EQ(answer(before, after("all-reduce", "{0,1},{2}")), "right");
  EXPECT_EQ(answer(before, after("all-reduce", "{0},{1,2}")), "wrong");
  EXPECT_NE(answer(before, after("reduce-scatter", "{0,1},{2}")).find("groups of one size"),
            std::string::npos);
}

TEST(Devices, exchange_parts_of_a_tuple) {
  const std::string before =
      whole_on(2,
               "%x = f32[2,2] parameter(0), sharding={devices=[2,1]<=[2]}\n"
               "ROOT %r = f32[2,2] copy(%x), sharding={devices=[1,2]<=[2]}\n");
  const auto after = [](const std::string& parts) {
    return cut_on(2,
                  "%x = f32[1,2] parameter(0)\n%a = f32[1,1] slice(%x), slice={[0:1], [0:1]}\n"
                  "%b = f32[1,1] slice(%x), slice={[0:1], [1:2]}\n"
                  "%t = (f32[1,1], f32[1,1]) all-to-all(" +
                      parts +
                      "), channel_id=1, replica_groups={{0,1}}\n"
                      "%c = f32[1,1] get-tuple-element(%t), index=0\n"
                      "%d = f32[1,1] get-tuple-element(%t), index=1\n"
                      "ROOT %r = f32[2,1] concatenate(%c, %d), dimensions={0}\n");
  };
  EXPECT_EQ(answer(before, after("%a, %b")), "right");
  EXPECT_EQ(answer(before, after("%b, %a")), "wrong");
}

TEST(Devices, have_arguments_of_their_own_where_both_texts_are_cut) {
  const std::string before =
      cut_on(2,
             "%x = f32[2] parameter(0)\nROOT %r = f32[2] all-reduce(%x), replica_groups={{0,1}}, "
             "channel_id=1, use_global_device_ids=true, to_apply=%add_f32\n");
  EXPECT_EQ(answer(before, before), "right");
  EXPECT_EQ(answer(before, cut_on(2, "%x = f32[2] parameter(0)\nROOT %r = f32[2] add(%x, %x)\n")),
            "wrong");
  // The first device has the same in both.
  const std::string x = "%x = f32[2] parameter(0)\n";
  EXPECT_EQ(answer(cut_on(2, x + "ROOT %r = f32[2] copy(%x)\n"),
                   replicated_on(2, x + "ROOT %r = f32[2] collective-broadcast(%x), "
                                        "replica_groups={{0,1}}\n")),
            "wrong");
}

TEST(Devices, have_padding_that_differs) {
  const std::string before = whole_on(4,
                                      "%x = f32[5] parameter(0), sharding={devices=[4]<=[4]}\n"
                                      "ROOT %r = f32[] constant(0), sharding={replicated}\n");
  // The padding of device 2 less that of device 3, on all devices.
  const std::string after = cut_on(
      4,
      "%x = f32[2] parameter(0)\n%l = f32[1] slice(%x), slice={[1:2]}\n%s = f32[] reshape(%l)\n"
      "%p = u32[] partition-id()\n%two = u32[] constant(2)\n%three = u32[] constant(3)\n"
      "%is2 = pred[] compare(%p, %two), direction=EQ\n%is3 = pred[] compare(%p, %three), "
      "direction=EQ\n%z = f32[] constant(0)\n%n = f32[] negate(%s)\n"
      "%b = f32[] select(%is3, %n, %z)\n%a = f32[] select(%is2, %s, %b)\n"
      "ROOT %r = f32[] all-reduce(%a), replica_groups={{0,1,2,3}}, channel_id=1, "
      "use_global_device_ids=true, to_apply=%add_f32\n");
  EXPECT_EQ(answer(before, after), "wrong");
}

/// A loop of as many rounds as a device's number says, and one more, whose body ends with `r`.
std::string rounds_on_each(const std::string& body) {
  return cut_on(
      2,
      "%x = f32[2] parameter(0)\n%z = s32[] constant(0)\n%d = u32[] partition-id()\n"
      "%n = s32[] convert(%d)\n%t = (s32[], s32[], f32[2]) tuple(%z, %n, %x)\n"
      "%w = (s32[], s32[], f32[2]) while(%t), condition=%goes_on, body=%body\n"
      "ROOT %r = f32[2] get-tuple-element(%w), index=2\n",
      "%goes_on (s: (s32[], s32[], f32[2])) -> pred[] {\n"
      "  %s = (s32[], s32[], f32[2]) parameter(0)\n  %i = s32[] get-tuple-element(%s), index=0\n"
      "  %n = s32[] get-tuple-element(%s), index=1\n  ROOT %p = pred[] compare(%i, %n), "
      "direction=LE\n}\n"
      "%body (s: (s32[], s32[], f32[2])) -> (s32[], s32[], f32[2]) {\n"
      "  %s = (s32[], s32[], f32[2]) parameter(0)\n  %i = s32[] get-tuple-element(%s), index=0\n"
      "  %n = s32[] get-tuple-element(%s), index=1\n  %v = f32[2] get-tuple-element(%s), index=2\n"
      "  %o = s32[] constant(1)\n  %j = s32[] add(%i, %o)\n" +
          body + "  ROOT %u = (s32[], s32[], f32[2]) tuple(%j, %n, %r)\n}\n");
}

TEST(Devices, run_loops_as_often_as_each_says) {
  const std::string before = whole_on(
      2,
      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n%a = f32[2] slice(%x), "
      "slice={[0:2]}\n"
      "%b = f32[2] slice(%x), slice={[2:4]}\n%s = f32[2] sine(%a)\n%t = f32[2] sine(%b)\n"
      "%u = f32[2] sine(%t)\n"
      "ROOT %r = f32[4] concatenate(%s, %u), dimensions={0}, sharding={devices=[2]<=[2]}\n");
  const std::string after = rounds_on_each("  %r = f32[2] sine(%v)\n");
  EXPECT_EQ(answer(before, after), "right");
  EXPECT_EQ(answer(replaced(before, "%u = f32[2] sine", "%u = f32[2] cosine"), after), "wrong");
}

TEST(Devices, that_wait_for_others_that_are_through_are_undecided) {
  const std::string before = whole_on(2,
                                      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
                                      "ROOT %r = f32[4] copy(%x), sharding={devices=[2]<=[2]}\n");
  const std::string sum =
      "  %a = f32[2] all-reduce(%v), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=%add_f32\n  %m = f32[2] subtract(%a, %a)\n"
      "  %r = f32[2] add(%v, %m)\n";
  const std::string after = rounds_on_each(sum);
  const Result<Validation> out = validated(before, after);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->answer, Answer::undecided);
  EXPECT_EQ(out->why, "all-reduce: devices of a group go different ways");
  EXPECT_TRUE(out->in_after);
  const std::string above = after.substr(0, after.find("%a = f32[2] all-reduce"));
  EXPECT_EQ(out->line, 1 + static_cast<std::size_t>(std::count(above.begin(), above.end(), '\n')));
  EXPECT_EQ(answer(before, replaced(after, "{{0,1}}", "{{0},{1}}")), "right");
  const std::string sent =
      "  %a = f32[2] collective-permute(%v), channel_id=1, source_target_pairs="
      "{{0,1}}\n  %m = f32[2] subtract(%a, %a)\n  %r = f32[2] add(%v, %m)\n";
  EXPECT_EQ(answer(before, rounds_on_each(sent)),
            "undecided: collective-permute: devices of a group go different ways");
  EXPECT_EQ(answer(before, replaced(rounds_on_each(sent), "{{0,1}}", "{{0,0},{1,1}}")), "right");
  // What one of two sums of one is a mistake all the same.
  EXPECT_EQ(answer(before, replaced(after, "subtract(%a, %a)", "multiply(%a, %a)")), "wrong");
}

TEST(Devices, of_which_text_cannot_go_on_is_said) {
  const std::string good = module_of(
      "%x = f32[3] parameter(0)\n%n = s32[3] convert(%x)\nROOT %r = s64[3] convert(%n)\n");
  const std::string bad =
      module_of("%x = f32[3] parameter(0)\nROOT %r = s64[3] bitcast-convert(%x)\n");
  const Result<Validation> after = validated(good, bad);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->answer, Answer::undecided);
  EXPECT_TRUE(after->in_after);
  const Result<Validation> before = validated(bad, good);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->in_after);
}

TEST(Devices, take_branches_of_their_own) {
  const std::string branches =
      "%one (x: f32[2]) -> f32[2] {\n  %x = f32[2] parameter(0)\n  ROOT %s = f32[2] sine(%x)\n}\n"
      "%other (x: f32[2]) -> f32[2] {\n  %x = f32[2] parameter(0)\n  ROOT %s = f32[2] "
      "tanh(%x)\n}\n";
  const auto after = [&](const std::string& called) {
    return cut_on(2,
                  "%x = f32[2] parameter(0)\n%p = u32[] partition-id()\n%i = s32[] convert(%p)\n"
                  "ROOT %r = f32[2] conditional(%i, %x, %x), branch_computations={" +
                      called + "}\n",
                  branches);
  };
  const std::string before = whole_on(
      2,
      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n%a = f32[2] slice(%x), "
      "slice={[0:2]}\n"
      "%b = f32[2] slice(%x), slice={[2:4]}\n%s = f32[2] sine(%a)\n%t = f32[2] tanh(%b)\n"
      "ROOT %r = f32[4] concatenate(%s, %t), dimensions={0}, sharding={devices=[2]<=[2]}\n");
  EXPECT_EQ(answer(before, after("%one, %other")), "right");
  EXPECT_EQ(answer(before, after("%other, %one")), "wrong");
}

TEST(Devices, of_a_tuple_hold_each_part_by_its_own_sharding) {
  const std::string before = whole_on(2,
                                      "%x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
                                      "%a = f32[4] add(%x, %x), sharding={devices=[2]<=[2]}\n"
                                      "%b = f32[4] negate(%x), sharding={devices=[2]1,0}\n"
                                      "ROOT %r = (f32[4], f32[4]) tuple(%a, %b)\n");
  const auto after = [](const std::string& pairs) {
    return cut_on(2,
                  "%x = f32[2] parameter(0)\n%a = f32[2] add(%x, %x)\n%n = f32[2] negate(%x)\n"
                  "%b = f32[2] collective-permute(%n), channel_id=1, source_target_pairs={" +
                      pairs + "}\nROOT %r = (f32[2], f32[2]) tuple(%a, %b)\n");
  };
  EXPECT_EQ(answer(before, after("{0,1},{1,0}")), "right");
  EXPECT_EQ(answer(before, after("{0,0},{1,1}")), "wrong");
}

TEST(Devices, give_memory_back) {
  std::string body = "%v0 = f32[1000] parameter(0)\n";
  for (int k = 1; k < 200; ++k) {
    body += "%v" + std::to_string(k) + " = f32[1000] add(%v" + std::to_string(k - 1) + ", %v" +
            std::to_string(k - 1) + ")\n";
  }
  const std::string text = module_of(body + "ROOT %r = f32[1000] copy(%v199)\n");
  const Result<Validation> out =
      validate(text, "before", text, "after", {.seed = 1, .most_bytes = 100000});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->answer, Answer::right) << out->why;
}

TEST(Differences, say_where_and_how_many) {
  for (const std::string type : {"f32", "s32"}) {
    const std::string before = whole_on(
        2, "%x = " + type + "[6] parameter(0), sharding={devices=[2]<=[2]}\nROOT %r = " + type +
               "[6] copy(%x), sharding={devices=[2]<=[2]}\n");
    const std::string tile = type + "[3]";
    const std::string after =
        cut_on(2, "%x = " + tile +
                      " parameter(0)\n%p = u32[] partition-id()\n%z = u32[] constant(0)\n"
                      "%first = pred[] compare(%p, %z), direction=EQ\n%f = pred[3] "
                      "broadcast(%first), dimensions={}\n%m = " +
                      tile + " constant({0, 1, 1})\n%d = " + tile +
                      " add(%x, %m)\nROOT %r = " + tile + " select(%f, %x, %d)\n");
    const Result<Validation> out = validated(before, after);
    ASSERT_TRUE(out && out->difference) << type;
    EXPECT_EQ(out->difference->device, 1) << type;
    EXPECT_EQ(out->difference->at, (Shape{1})) << type;
    EXPECT_EQ(out->difference->element, (Shape{4})) << type;
    EXPECT_EQ(out->difference->differing, 2) << type;
    EXPECT_EQ(out->difference->elements, 3) << type;
  }
}

TEST(Differences, of_a_later_result_count) {
  const std::string x = "%x = f32[2] parameter(0)\n%n = f32[2] negate(%x)\n";
  const Result<Validation> out =
      validated(module_of(x + "ROOT %r = (f32[2], f32[2]) tuple(%x, %n)\n"),
                module_of(x + "ROOT %r = (f32[2], f32[2]) tuple(%x, %x)\n"));
  ASSERT_TRUE(out && out->difference);
  EXPECT_EQ(out->difference->result, 1U);
}

TEST(Differences, are_shown_by_other_numbers_for_each_seed) {
  const std::string x = "%x = f32[2] parameter(0)\n";
  const std::string one = module_of(x + "ROOT %r = f32[2] copy(%x)\n");
  const std::string two = module_of(x + "ROOT %r = f32[2] negate(%x)\n");
  const Result<Validation> a = validated(one, two, 1);
  const Result<Validation> b = validated(one, two, 2);
  const Result<Validation> again = validated(one, two, 1);
  ASSERT_TRUE(a && b && again && a->difference && b->difference && again->difference);
  EXPECT_NE(a->difference->found, b->difference->found);
  EXPECT_EQ(a->difference->found, again->difference->found);
}

TEST(Differences, name_the_draw_and_short_integers) {
  const std::string parameters =
      "%x = f32[4] parameter(0)\n%i = s32[] parameter(1)\n%t = s32[9] parameter(2)\n";
  const auto text = [&](const std::string& root) { return module_of(parameters + root); };
  // Only an index behind the extents that are indexed tells: the first draw has none.
  const Result<Validation> out =
      validated(text("%s = f32[1] dynamic-slice(%x, %i), dynamic_slice_sizes={1}\n"
                     "%b = s32[] constant(3)\n%o = pred[] compare(%i, %b), direction=GT\n"
                     "%p = pred[1] broadcast(%o), dimensions={}\n%n = f32[1] negate(%s)\n"
                     "ROOT %r = f32[1] select(%p, %n, %s)\n"),
                text("ROOT %r = f32[1] dynamic-slice(%x, %i), dynamic_slice_sizes={1}\n"));
  ASSERT_TRUE(out && out->difference);
  EXPECT_EQ(out->answer, Answer::wrong);
  EXPECT_GE(out->difference->draw, 1);
  ASSERT_EQ(out->difference->integers.size(), 1U);
  EXPECT_EQ(out->difference->integers[0].name, "%i");
  EXPECT_GT(out->difference->integers[0].numbers.at(0), 3);
}

TEST(Differences, are_looked_for_in_more_draws_where_few_show_nothing) {
  const auto draws = [](const std::string& before, const std::string& after) {
    const Result<Validation> out = validated(module_of(before), module_of(after));
    EXPECT_TRUE(out);
    return out ? out->draws : 0;
  };
  const std::string x = "%x = f32[2] parameter(0)\n";
  const std::string same = x + "ROOT %r = f32[2] copy(%x)\n";
  const std::string ordered = x + "ROOT %r = f32[2] maximum(%x, %x)\n";
  const std::string large = "%x = f32[60000] parameter(0)\nROOT %r = f32[60000] maximum(%x, %x)\n";
  EXPECT_EQ(draws(large, large), 12);
  EXPECT_EQ(draws(same, same), 3);
  EXPECT_EQ(draws(same, ordered), 36);
  EXPECT_EQ(draws(ordered, same), 36);
  for (const std::string type : {"s32", "pred"}) {
    const std::string whole =
        "%i = " + type + "[] parameter(0)\nROOT %r = " + type + "[] copy(%i)\n";
    EXPECT_EQ(draws(whole, whole), 36);
  }
}

TEST(Differences, that_few_numbers_show_are_tried_with_several) {
  const auto text = [](const std::string& most) {
    return module_of("%x = f32[] parameter(0)\n%m = f32[] constant(" + most +
                     ")\nROOT %r = f32[] minimum(%x, %m)\n");
  };
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    wrong += answer(text("0.75"), text("0.875"), seed) == "wrong" ? 1 : 0;
  }
  EXPECT_GT(wrong, 12);  // one number in eight is large enough, where none is below 0 one in four
}

/// Halves a number until it is small, at most so often.
std::string halved(const std::string& rounds, const std::string& least) {
  return module_of(
      "%x = f32[] parameter(0)\n%a = f32[] abs(%x)\n%o = f32[] constant(1)\n%b = f32[] add(%a, "
      "%o)\n"
      "%z = s32[] constant(0)\n%t = (s32[], f32[]) tuple(%z, %b)\n%w = (s32[], f32[]) while(%t), "
      "condition=%goes_on, body=%body\nROOT %r = f32[] get-tuple-element(%w), index=1\n",
      "%goes_on (s: (s32[], f32[])) -> pred[] {\n  %s = (s32[], f32[]) parameter(0)\n"
      "  %i = s32[] get-tuple-element(%s), index=0\n  %v = f32[] get-tuple-element(%s), index=1\n"
      "  %n = s32[] constant(" +
          rounds + ")\n  %p = pred[] compare(%i, %n), direction=LT\n  %l = f32[] constant(" +
          least +
          ")\n  %q = pred[] compare(%v, %l), direction=GT\n  ROOT %b = pred[] and(%p, %q)\n}\n"
          "%body (s: (s32[], f32[])) -> (s32[], f32[]) {\n  %s = (s32[], f32[]) parameter(0)\n"
          "  %i = s32[] get-tuple-element(%s), index=0\n  %v = f32[] get-tuple-element(%s), "
          "index=1\n"
          "  %o = s32[] constant(1)\n  %j = s32[] add(%i, %o)\n  %h = f32[] constant(0.5)\n"
          "  %u = f32[] multiply(%v, %h)\n  ROOT %t = (s32[], f32[]) tuple(%j, %u)\n}\n");
}

TEST(Differences, of_loops_that_run_long_for_numbers_are_found) {
  EXPECT_EQ(answer(halved("24", "0"), halved("24", "0")), "right");
  EXPECT_EQ(answer(halved("24", "0"), halved("25", "0")), "wrong");
  EXPECT_EQ(answer(halved("9", "100"), halved("8", "100")), "right");
}

TEST(Differences, that_last_bits_make_as_well_are_none) {
  // Each round doubles how far two numbers are from each other; a product is rounded as another order of it.
  const auto text = [](const std::string& product) {
    return module_of(
        "%x = f32[] parameter(0)\n%z = f32[] constant(0)\n%i = s32[] constant(0)\n"
        "%t = (s32[], f32[], f32[]) tuple(%i, %x, %z)\n%w = (s32[], f32[], f32[]) while(%t), "
        "condition=%goes_on, body=%body\nROOT %r = f32[] get-tuple-element(%w), index=1\n",
        "%goes_on (s: (s32[], f32[], f32[])) -> pred[] {\n  %s = (s32[], f32[], f32[]) "
        "parameter(0)\n"
        "  %i = s32[] get-tuple-element(%s), index=0\n  %n = s32[] constant(120)\n"
        "  %p = pred[] compare(%i, %n), direction=LT\n  %v = f32[] get-tuple-element(%s), index=1\n"
        "  %l = f32[] constant(-9)\n  %q = pred[] compare(%v, %l), direction=GT\n"
        "  ROOT %b = pred[] and(%p, %q)\n}\n"
        "%body (s: (s32[], f32[], f32[])) -> (s32[], f32[], f32[]) {\n"
        "  %s = (s32[], f32[], f32[]) parameter(0)\n  %i = s32[] get-tuple-element(%s), index=0\n"
        "  %v = f32[] get-tuple-element(%s), index=1\n  %z = f32[] get-tuple-element(%s), index=2\n"
        "  %o = s32[] constant(1)\n  %j = s32[] add(%i, %o)\n  %a = f32[] constant(1.9)\n"
        "  %e = f32[] constant(1)\n  %m = f32[] multiply(%v, %v)\n" +
            product + "  ROOT %t = (s32[], f32[], f32[]) tuple(%j, %u, %z)\n}\n");
  };
  const std::string one = "  %k = f32[] multiply(%a, %m)\n  %u = f32[] subtract(%e, %k)\n";
  const std::string other =
      "  %h = f32[] multiply(%a, %v)\n  %k = f32[] multiply(%h, %v)\n"
      "  %u = f32[] subtract(%e, %k)\n";
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    EXPECT_EQ(answer(text(one), text(other), seed), "right");
  }
}

TEST(Differences, of_infinite_numbers_from_others_are_some) {
  const auto text = [](const std::string& last) {
    return module_of("%x = f32[1] parameter(0)\n%l = f32[1] constant({" + last +
                     "})\nROOT %r = f32[2] concatenate(%x, %l), dimensions={0}\n");
  };
  EXPECT_EQ(answer(text("-inf"), text("-inf")), "right");
  EXPECT_EQ(answer(text("-inf"), text("-3.4028e+38")), "wrong");
  EXPECT_EQ(answer(text("3.4028e+38"), text("inf")), "wrong");
  EXPECT_EQ(answer(text("inf"), text("-inf")), "wrong");
}

TEST(Differences, of_numbers_beyond_one_are_found) {
  const std::string x =
      "%x = f32[64] parameter(0)\n%c = f32[] constant(-2)\n"
      "%b = f32[64] broadcast(%c), dimensions={}\n";
  EXPECT_EQ(answer(module_of(x + "ROOT %r = pred[64] compare(%x, %b), direction=GT\n"),
                   module_of(x + "ROOT %r = pred[64] compare(%b, %b), direction=EQ\n")),
            "wrong");
}

TEST(Differences, of_what_is_put_together_in_another_order_are_some) {
  const std::string head =
      "%minus (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
      "parameter(1)\n  ROOT %r = f32[] subtract(%a, %b)\n}\n";
  const auto text = [&](const std::string& computation) {
    return module_of(
        "%x = f32[6] parameter(0)\n%z = f32[] constant(0)\n%s = f32[] reduce(%x, %z), "
        "dimensions={0}, to_apply=%" +
            computation + "\nROOT %r = f32[] abs(%s)\n",
        head);
  };
  EXPECT_EQ(answer(text("add_f32"), text("add_f32")), "right");
  EXPECT_EQ(answer(text("add_f32"), text("minus")), "wrong");
  const auto one = [&](const std::string& computation) {
    return replaced(replaced(text(computation), "f32[6] parameter", "f32[1] parameter"), "abs(%s)",
                    "copy(%s)");
  };
  EXPECT_EQ(answer(one("add_f32"), one("minus")), "wrong");
}

// What is blamed.

Blame blamed(const std::string& before, const std::string& after) {
  const std::string x = "%x = f32[4] parameter(0)\n";
  const Result<Validation> out = validated(module_of(x + before), module_of(x + after));
  EXPECT_TRUE(out && out->blame);
  return out && out->blame ? *out->blame : Blame{};
}

TEST(Blamed, are_no_truth_values_on_the_way) {
  const std::string way =
      "%n = f32[4] negate(%x)\n%p = pred[4] compare(%x, %n), direction=LT\n"
      "%s = f32[4] select(%p, %x, %n)\n";
  EXPECT_EQ(blamed(way + "ROOT %r = f32[4] sine(%s)\n", way + "ROOT %r = f32[4] cosine(%s)\n")
                .lost.opcode,
            "sine");
}

TEST(Blamed, is_a_value_of_which_half_is_there_twice) {
  const Blame out =
      blamed("%t = f32[4] tanh(%x)\nROOT %r = f32[4] negate(%t)\n",
             "%h = f32[2] slice(%x), slice={[0:2]}\n%t = f32[2] tanh(%h)\n"
             "%c = f32[4] concatenate(%t, %t), dimensions={0}\nROOT %r = f32[4] negate(%c)\n");
  EXPECT_EQ(out.lost.opcode, "tanh");
}

TEST(Blamed, is_what_only_exact_numbers_tell_apart) {
  const Result<Validation> out =
      validated(module_of("%x = f32[4] parameter(0)\n%s = f32[4] add(%x, %x)\nROOT %r = f32[4] "
                          "exponential(%s)\n"),
                module_of("%x = f32[4] parameter(0)\n%e = f32[4] exponential(%x)\nROOT %r = f32[4] "
                          "multiply(%e, %e)\n"));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->answer, Answer::undecided);
  ASSERT_TRUE(out->blame);
  EXPECT_EQ(out->blame->lost.opcode, "add");
}

TEST(Blamed, has_no_last_place_where_nothing_is_computed) {
  const Blame out =
      blamed("%n = f32[4] negate(%x)\nROOT %r = f32[4] tanh(%n)\n", "ROOT %r = f32[4] copy(%x)\n");
  EXPECT_EQ(out.lost.opcode, "negate");
  EXPECT_FALSE(out.last);
}

TEST(Blamed, is_the_first_of_two) {
  const Blame out =
      blamed("%a = f32[4] tanh(%x)\n%b = f32[4] exponential(%x)\nROOT %r = f32[4] add(%a, %b)\n",
             "%a = f32[4] sine(%x)\n%b = f32[4] cosine(%x)\nROOT %r = f32[4] add(%a, %b)\n");
  EXPECT_EQ(out.lost.opcode, "tanh");
  EXPECT_EQ(out.lost.value, "%a");
  EXPECT_FALSE(out.last);
}

TEST(Blamed, comes_behind_the_last_of_what_it_is_made_of) {
  const Blame out =
      blamed("%a = f32[4] tanh(%x)\n%b = f32[4] exponential(%x)\nROOT %r = f32[4] add(%a, %b)\n",
             "%b = f32[4] exponential(%x)\n%a = f32[4] tanh(%x)\n"
             "ROOT %r = f32[4] multiply(%a, %b)\n");
  EXPECT_EQ(out.lost.opcode, "add");
  ASSERT_TRUE(out.last);
  EXPECT_EQ(out.last->opcode, "tanh");
}

TEST(Devices, hold_addends_of_arguments) {
  const std::string sum = "sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}";
  for (const std::string type : {"f32[4]", "s8[4]", "c64[4]"}) {
    const std::string before =
        whole_on(2, "%x = " + type + " parameter(0), " + sum + "\nROOT %r = " + type +
                        " negate(%x), sharding={replicated}\n");
    const std::string kind = type.substr(0, type.find('['));
    const std::string add = "%sum {\n  %a = " + kind + "[] parameter(0)\n  %b = " + kind +
                            "[] parameter(1)\n  ROOT %r = " + kind + "[] add(%a, %b)\n}\n";
    const auto after = [&](const std::string& operation) {
      return cut_on(2,
                    "%x = " + type + " parameter(0)\n%s = " + type + " " + operation +
                        "\nROOT %r = " + type + " negate(%s)\n",
                    add);
    };
    EXPECT_EQ(answer(before, after("all-reduce(%x), channel_id=1, replica_groups={{0,1}}, "
                                   "use_global_device_ids=true, to_apply=%sum")),
              "right")
        << type;
    EXPECT_EQ(answer(before, after("copy(%x)")), "wrong") << type;
    EXPECT_EQ(answer(before, after("add(%x, %x)")), "wrong") << type;
  }
}

TEST(Devices, hold_addends_of_results) {
  const std::string before =
      whole_on(4,
               "%x = f32[4] parameter(0), sharding={replicated}\nROOT %r = f32[4] negate(%x), "
               "sharding={devices=[1,2,2]<=[4] last_tile_dims={unreduced, replicated}}\n");
  const auto after = [](const std::string& first) {
    return cut_on(4,
                  "%x = f32[4] parameter(0)\n%n = f32[4] negate(%x)\n%z = f32[] constant(0)\n"
                  "%zs = f32[4] broadcast(%z), dimensions={}\n%p = u32[] partition-id()\n"
                  "%t = pred[4] constant({" +
                      first +
                      "})\n%c = pred[1] dynamic-slice(%t, %p), dynamic_slice_sizes={1}\n"
                      "%d = pred[] reshape(%c)\n%e = pred[4] broadcast(%d), dimensions={}\n"
                      "ROOT %r = f32[4] select(%e, %n, %zs)\n");
  };
  EXPECT_EQ(answer(before, after("true, true, false, false")), "right");
  EXPECT_EQ(answer(before, after("true, true, true, true")), "wrong");
  EXPECT_EQ(answer(before, after("true, false, false, false")), "wrong");  // replicas disagree
  EXPECT_EQ(answer(before, after("true, false, false, true")), "wrong");
}

TEST(Devices, hold_no_addends_of_truth_values) {
  const std::string before = whole_on(
      2,
      "%x = pred[4] parameter(0), sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}\n"
      "ROOT %r = pred[4] not(%x), sharding={replicated}\n");
  EXPECT_EQ(answer(before, cut_on(2, "%x = pred[4] parameter(0)\nROOT %r = pred[4] not(%x)\n")),
            "parameter 0 is made of several devices, but is no sum");
}

}  // namespace
}  // namespace retile::whole::tests
