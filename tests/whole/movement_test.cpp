// What a program behind its partitioner moves: reshards beside plans, large values, collectives.
#include "retile/whole/movement.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "retile/check/check.h"
#include "retile/prices/layouts.h"
#include "retile/prices/prices.h"
#include "retile/report/movement.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

Movement movement(const std::string& before, const std::string& after) {
  const auto out = validate(before, "before", after, "after",
                            {.draws = 1, .seed = 1, .judges = false, .explains = true});
  if (!out) {
    ADD_FAILURE() << out.error().message;
    return {};
  }
  EXPECT_TRUE(out->movement) << out->unexplained;
  EXPECT_FALSE(out->is_judged);
  return out->movement.value_or(Movement{});
}

/// With what says that groups are of partitions.
std::string with_channels(const std::string& body) {
  std::string out;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    const bool is_global = line.find(" all-gather(") != std::string::npos ||
                           line.find(" all-reduce(") != std::string::npos ||
                           line.find(" reduce-scatter(") != std::string::npos;
    for (const char* groups : {", replica_groups=", ", source_target_pairs="}) {
      const std::size_t at = line.find(groups);
      if (at == std::string::npos) continue;
      line.insert(at, is_global ? ", channel_id=1, use_global_device_ids=true" : ", channel_id=1");
    }
    out += line + "\n";
  }
  return out;
}

/// Texts on four devices over the mesh x:2,y:2; between two @ stands how dimensions are cut.
std::string text_on_4(const std::string& name, std::string body, const std::string& more = "") {
  const std::string mesh = "sharding={mesh['x'=2,'y'=2], ";
  for (std::size_t at = body.find("@["); at != std::string::npos; at = body.find("@[")) {
    const std::size_t end = body.find('@', at + 1);
    body =
        body.substr(0, at) + mesh + body.substr(at + 1, end - at - 1) + "}" + body.substr(end + 1);
  }
  return "HloModule m, num_partitions=4\n" + scalar_computations() + with_channels(more) +
         "ENTRY %" + name + " {\n" + with_channels(body) + "}\n";
}
std::string before_on_4(const std::string& body, const std::string& more = "") {
  return text_on_4("main", body, more);
}
std::string after_on_4(const std::string& body, const std::string& more = "") {
  return text_on_4("main_spmd", body, more);
}

/// All collectives' bytes are those of reshards and of the others.
void expect_parts(const Movement& movement) {
  Size all = 0;
  Size parts = 0;
  for (std::size_t k = 0; k < movement.transfers.size(); ++k) {
    const Transfer& transfer = movement.transfers[k];
    all += transfer.bytes() * transfer.times;
    if (!transfer.reshard) parts += transfer.bytes() * transfer.times;
  }
  for (std::size_t r = 0; r < movement.reshards.size(); ++r) {
    for (const std::size_t k : movement.reshards[r].transfers) {
      EXPECT_EQ(movement.transfers[k].reshard, r);
      parts += movement.transfers[k].bytes() * movement.transfers[k].times;
    }
  }
  EXPECT_EQ(all, parts);
}

const char* const rows_to_columns =
    "  %x = f32[8,16] parameter(0), @[{'x','y'}, {}]@\n"
    "  ROOT %r = f32[8,16] tanh(%x), @[{}, {'x','y'}]@\n";

TEST(Movement, an_exchange_of_tiles_is_a_reshard) {
  const std::string after = after_on_4(
      "  %x = f32[2,16] parameter(0)\n"
      "  %parts = f32[2,4,4] reshape(%x)\n"
      "  %moved = f32[2,4,4] all-to-all(%parts), replica_groups={{0,1,2,3}}, dimensions={1}\n"
      "  %turned = f32[4,2,4] transpose(%moved), dimensions={1,0,2}\n"
      "  %whole = f32[8,4] reshape(%turned)\n"
      "  ROOT %r = f32[8,4] tanh(%whole)\n");
  const Movement out = movement(before_on_4(rows_to_columns), after);
  ASSERT_EQ(out.reshards.size(), 1U);
  const Reshard& reshard = out.reshards.front();
  EXPECT_EQ(reshard.value.spot.value, "%x");
  EXPECT_TRUE(reshard.value.is_before);
  EXPECT_EQ(reshard.extents, (Shape{8, 16}));
  EXPECT_EQ(reshard.from[1], (Box{{2, 0}, {2, 16}}));
  EXPECT_EQ(reshard.to[1], (Box{{0, 4}, {8, 4}}));
  EXPECT_EQ(reshard.first.value, "%x");
  EXPECT_EQ(reshard.last.value, "%whole");
  EXPECT_EQ(reshard.height, 32);
  EXPECT_FALSE(reshard.is_whole());
  ASSERT_EQ(out.transfers.size(), 1U);
  EXPECT_EQ(out.transfers[0].received, std::vector<Size>(4, (32 - 8) * 4));
  EXPECT_EQ(out.transfers[0].cost, 32);
  EXPECT_EQ(out.transfers[0].reshard, 0U);
  expect_parts(out);
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  EXPECT_EQ(prices[0].from, "[{'x', 'y'}, {}]");
  EXPECT_EQ(prices[0].to, "[{}, {'x', 'y'}]");
  EXPECT_EQ(prices[0].bytes, 4 * 96);
  EXPECT_EQ(prices[0].most_bytes, 96);
  ASSERT_TRUE(prices[0].enough) << prices[0].unplanned;
  EXPECT_EQ(prices[0].enough->cost, 32);
  EXPECT_EQ(prices[0].saved(), 0);
}

const char* const gathered_and_sliced =
    "  %x = f32[2,16] parameter(0)\n"
    "  %all = f32[8,16] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}\n"
    "  %zero = s32[] constant(0)\n"
    "  %starts = s32[4] constant({0, 4, 8, 12})\n"
    "  %id = u32[] partition-id()\n"
    "  %one = s32[1] dynamic-slice(%starts, %id), dynamic_slice_sizes={1}\n"
    "  %start = s32[] reshape(%one)\n"
    "  %part = f32[8,4] dynamic-slice(%all, %zero, %start), dynamic_slice_sizes={8,4}\n"
    "  ROOT %r = f32[8,4] tanh(%part)\n";

TEST(Movement, what_is_gathered_whole_and_sliced_could_be_saved) {
  const Movement out = movement(before_on_4(rows_to_columns), after_on_4(gathered_and_sliced));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_TRUE(out.reshards[0].is_whole());
  EXPECT_EQ(out.reshards[0].height, 128);
  EXPECT_EQ(out.reshards[0].last.value, "%part");
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  ASSERT_TRUE(prices[0].enough);
  EXPECT_EQ(prices[0].cost, 128);
  EXPECT_EQ(prices[0].enough->cost, 32);
  EXPECT_EQ(prices[0].saved(), 96);
  EXPECT_EQ(prices[0].enough->height, 32);
  EXPECT_NE(prices[0].enough->text.find("all-to-all"), std::string::npos);
  EXPECT_EQ(prices[0].enough->steps, std::vector<std::string>{"alltoall of dimension 0 to 1 by 4"});
  // The text before declares tiles of 128 bytes.
  EXPECT_EQ(out.declared_bytes, 128);
  ASSERT_EQ(out.large.size(), 1U);
  EXPECT_EQ(out.large[0].spot.value, "%all");
  EXPECT_EQ(out.large[0].bytes, 512);
  ASSERT_TRUE(out.large[0].value);
  EXPECT_EQ(out.large[0].value->spot.value, "%x");
}

TEST(Movement, a_plan_says_among_which_steps_it_is_the_least) {
  const std::string before = before_on_4(
      "  %x = f32[8,4,8] parameter(0), @[{'y'}, {}, {'x'}]@\n"
      "  ROOT %r = f32[8,4,8] tanh(%x), @[{}, {'x','y'}, {}]@\n");
  const std::string after = after_on_4(
      "  %x = f32[4,4,4] parameter(0)\n"
      "  %a = f32[8,4,4] all-gather(%x), replica_groups={{0,1},{2,3}}, dimensions={0}\n"
      "  %b = f32[8,4,8] all-gather(%a), replica_groups={{0,2},{1,3}}, dimensions={2}\n"
      "  %zero = s32[] constant(0)\n"
      "  %starts = s32[4] constant({0, 1, 2, 3})\n"
      "  %id = u32[] partition-id()\n"
      "  %one = s32[1] dynamic-slice(%starts, %id), dynamic_slice_sizes={1}\n"
      "  %start = s32[] reshape(%one)\n"
      "  %p = f32[8,1,8] dynamic-slice(%b, %zero, %start, %zero), dynamic_slice_sizes={8,1,8}\n"
      "  ROOT %r = f32[8,1,8] tanh(%p)\n");
  const Movement out = movement(before, after);
  ASSERT_EQ(out.reshards.size(), 1U);
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  ASSERT_TRUE(prices[0].enough);
  // HLO has no alltoall along several dimensions, which would cost half as much.
  EXPECT_EQ(prices[0].enough->cost, 128);
  EXPECT_TRUE(prices[0].enough->is_optimal);
  EXPECT_EQ(prices[0].enough->scope, "one_dim");
  EXPECT_EQ(prices[0].enough->cost_over_dims, 64);
  Validation said;
  said.movement = out;
  EXPECT_NE(report::movement_text(said).find("plan: cost 128, the least of collectives along one "
                                             "dimension each (64 along several at once), holds"),
            std::string::npos);
}

TEST(Movement, plans_are_said_by_the_axes_of_the_program) {
  const std::string before = before_on_4(
      "  %x = f32[8,16] parameter(0), @[{'x'}, {}]@\n"
      "  ROOT %r = f32[8,16] tanh(%x), @[{}, {'x'}]@\n");
  const std::string after = after_on_4(
      "  %x = f32[4,16] parameter(0)\n"
      "  %a = f32[8,16] all-gather(%x), replica_groups={{0,2},{1,3}}, dimensions={0}\n"
      "  %zero = s32[] constant(0)\n"
      "  %starts = s32[4] constant({0, 0, 8, 8})\n"
      "  %id = u32[] partition-id()\n"
      "  %one = s32[1] dynamic-slice(%starts, %id), dynamic_slice_sizes={1}\n"
      "  %start = s32[] reshape(%one)\n"
      "  %p = f32[8,8] dynamic-slice(%a, %zero, %start), dynamic_slice_sizes={8,8}\n"
      "  ROOT %r = f32[8,8] tanh(%p)\n");
  Validation said;
  said.movement = movement(before, after);
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string shardy = report::movement_text(said, emit::Form::sdy);
  EXPECT_TRUE(has(shardy, "sdy.all_to_all [{\"x\"}: 0->1]")) << shardy;
  EXPECT_TRUE(has(report::movement_text(said), "all-to-all(")) << report::movement_text(said);
  EXPECT_TRUE(has(report::movement_json(said, emit::Form::sdy).dump(), "sdy.all_to_all"));
  EXPECT_FALSE(has(report::movement_json(said).dump(), "sdy.all_to_all"));
}

TEST(Movement, a_value_that_is_used_on_the_way_ends_a_reshard) {
  const std::string before = before_on_4(
      "  %x = f32[8,16] parameter(0), @[{'x','y'}, {}]@\n"
      "  %r = f32[8,16] tanh(%x), @[{}, {'x','y'}]@\n"
      "  %s = f32[8,16] sine(%x), @[{}, {}]@\n"
      "  ROOT %t = (f32[8,16], f32[8,16]) tuple(%r, %s)\n");
  std::string after =
      replaced(gathered_and_sliced, "ROOT %r = f32[8,4] tanh(%part)", "%r = f32[8,4] tanh(%part)");
  after += "  %s = f32[8,16] sine(%all)\n  ROOT %t = (f32[8,4], f32[8,16]) tuple(%r, %s)\n";
  const std::string declared =
      replaced(before, "tuple(%r, %s)",
               "tuple(%r, %s), sharding={{mesh['x'=2,'y'=2], [{}, {'x','y'}]}, "
               "{mesh['x'=2,'y'=2], [{}, {}]}}");
  const Movement out = movement(declared, after_on_4(after));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].last.value, "%all");
  EXPECT_FALSE(out.reshards[0].is_whole());  // one of its ends is
  EXPECT_TRUE(out.large.empty());
}

const char* const sum_of_columns =
    "  %x = f32[8,16] parameter(0), @[{}, {'x','y'}]@\n"
    "  %zero = f32[] constant(0)\n"
    "  ROOT %r = f32[8] reduce(%x, %zero), dimensions={1}, to_apply=%add_f32, @[{}]@\n";

TEST(Movement, an_exchange_in_a_manual_region_is_a_reshard) {
  // Tiles in the region are no arrays, whatever the first device holds.
  const auto body = [](const std::string& name, const std::string& more) {
    return "%" + name + " {\n%p = f32[2,8] parameter(0)" + more + "\n%s = f32[2,2,4] reshape(%p)" +
           more +
           "\n%a = f32[2,2,4] all-to-all(%s), channel_id=1, replica_groups={{0,2},{1,3}}, "
           "dimensions={1}" +
           more + "\n%t = f32[2,2,4] transpose(%a), dimensions={1,0,2}" + more +
           "\nROOT %o = f32[4,4] reshape(%t)" + more + "\n}\n";
  };
  const std::string mesh = "sharding={mesh['x'=2,'y'=2], ";
  const std::string manual = ", " + mesh + "manual}";
  const std::string before =
      "HloModule m, num_partitions=4\n" + body("body", manual) +
      "ENTRY %main {\n%v = f32[4,8] parameter(0), " + mesh +
      "[{'x'}, {}]}\n%i = f32[2,8] custom-call(%v), custom_call_target=\"SPMDFullToShardShape\"" +
      manual + "\n%c = f32[4,4] call(%i), to_apply=%body" + manual +
      "\nROOT %r = f32[4,8] custom-call(%c), custom_call_target=\"SPMDShardToFullShape\", " + mesh +
      "[{}, {'x'}]}\n}\n";
  const std::string after = "HloModule m, num_partitions=4\n" + body("body", "") +
                            "ENTRY %main {\n%v = f32[2,8] parameter(0)\n"
                            "ROOT %c = f32[4,4] call(%v), to_apply=%body\n}\n";
  const Movement out = movement(before, after);
  ASSERT_EQ(out.transfers.size(), 1);
  ASSERT_EQ(out.reshards.size(), 1);
  EXPECT_EQ(out.transfers[0].reshard, 0);
  EXPECT_EQ(out.reshards[0].value.spot.value, "%v");
}

TEST(Movement, a_sum_is_no_reshard) {
  const Movement out =
      movement(before_on_4(sum_of_columns),
               after_on_4("  %x = f32[8,4] parameter(0)\n  %zero = f32[] constant(0)\n"
                          "  %p = f32[8] reduce(%x, %zero), dimensions={1}, to_apply=%add_f32\n"
                          "  ROOT %r = f32[8] all-reduce(%p), replica_groups={{0,1,2,3}}, "
                          "to_apply=%add_f32\n"));
  EXPECT_TRUE(out.reshards.empty());
  ASSERT_EQ(out.transfers.size(), 1U);
  EXPECT_EQ(out.transfers[0].cost, 16);
  EXPECT_EQ(out.transfers[0].received, std::vector<Size>(4, 2 * (8 - 2) * 4));
  ASSERT_TRUE(out.transfers[0].value);
  EXPECT_EQ(out.transfers[0].value->spot.value, "%r");
  EXPECT_FALSE(out.transfers[0].reshard);
  expect_parts(out);
}

TEST(Movement, a_sum_of_what_is_zero_elsewhere_is_a_reshard) {
  const Movement out = movement(
      before_on_4("  %x = f32[8] parameter(0), @[{'x','y'}]@\n"
                  "  ROOT %r = f32[8] tanh(%x), @[{}]@\n"),
      after_on_4("  %x = f32[2] parameter(0)\n  %zero = f32[] constant(0)\n"
                 "  %zeros = f32[8] broadcast(%zero), dimensions={}\n"
                 "  %starts = s32[4] constant({0, 2, 4, 6})\n  %id = u32[] partition-id()\n"
                 "  %one = s32[1] dynamic-slice(%starts, %id), dynamic_slice_sizes={1}\n"
                 "  %start = s32[] reshape(%one)\n"
                 "  %wide = f32[8] dynamic-update-slice(%zeros, %x, %start)\n"
                 "  %all = f32[8] all-reduce(%wide), replica_groups={{0,1,2,3}}, "
                 "to_apply=%add_f32\n  ROOT %r = f32[8] tanh(%all)\n"));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].last.value, "%all");
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  EXPECT_EQ(prices[0].cost, 16);
  ASSERT_TRUE(prices[0].enough);
  EXPECT_EQ(prices[0].enough->cost, 8);
}

TEST(Movement, loops_count) {
  const std::string state = "(s32[], f32[8,16])";
  const std::string before_loop =
      "%again (p: " + state + ") -> pred[] {\n  %p = " + state +
      " parameter(0)\n  %k = s32[] get-tuple-element(%p), index=0\n  %n = s32[] constant(3)\n"
      "  ROOT %c = pred[] compare(%k, %n), direction=LT\n}\n"
      "%body (p: " +
      state + ") -> " + state + " {\n  %p = " + state +
      " parameter(0)\n  %k = s32[] get-tuple-element(%p), index=0\n"
      "  %v = f32[8,16] get-tuple-element(%p), index=1\n  %one = s32[] constant(1)\n"
      "  %next = s32[] add(%k, %one)\n  %sum = f32[8,16] add(%v, %v)\n"
      "  %made = f32[8,16] tanh(%sum)\n  ROOT %t = " +
      state + " tuple(%next, %made)\n}\n";
  std::string after_loop = before_loop;
  for (std::size_t at; (at = after_loop.find("f32[8,16]")) != std::string::npos;) {
    after_loop.replace(at, 9, "f32[2,16]");
  }
  after_loop = replaced(after_loop, "  %made = f32[2,16] tanh(%sum)\n",
                        "  %all = f32[8,16] all-gather(%sum), replica_groups={{0,1,2,3}}, "
                        "dimensions={0}\n  %wide = f32[8,16] tanh(%all)\n"
                        "  %starts = s32[4] constant({0, 2, 4, 6})\n  %id = u32[] partition-id()\n"
                        "  %place = s32[1] dynamic-slice(%starts, %id), dynamic_slice_sizes={1}\n"
                        "  %start = s32[] reshape(%place)\n  %zero = s32[] constant(0)\n"
                        "  %made = f32[2,16] dynamic-slice(%wide, %start, %zero), "
                        "dynamic_slice_sizes={2,16}\n");
  const std::string run =
      "  %zero = s32[] constant(0)\n  %t = (s32[], f32[N,16]) tuple(%zero, %x)\n"
      "  %w = (s32[], f32[N,16]) while(%t), condition=%again, body=%body\n"
      "  ROOT %r = f32[N,16] get-tuple-element(%w), index=1";
  const auto of = [&](const std::string& rows) {
    std::string out = run;
    for (std::size_t at; (at = out.find("N")) != std::string::npos;) out.replace(at, 1, rows);
    return out;
  };
  const Movement out =
      movement(before_on_4("  %x = f32[8,16] parameter(0), @[{'x','y'}, {}]@\n" + of("8") +
                               ", @[{'x','y'}, {}]@\n",
                           before_loop),
               after_on_4("  %x = f32[2,16] parameter(0)\n" + of("2") + "\n", after_loop));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].times, 3);
  EXPECT_EQ(out.reshards[0].value.spot.value, "%sum");
  EXPECT_EQ(out.transfers[0].times, 3);
}

TEST(Movement, a_reshape_on_the_way_is_looked_through) {
  const Movement out = movement(
      before_on_4("  %x = f32[8,4,4] parameter(0), @[{'x','y'}, {}, {}]@\n"
                  "  %s = f32[8,16] reshape(%x), @[{}, {}]@\n"
                  "  ROOT %r = f32[8,16] tanh(%s), @[{}, {}]@\n"),
      after_on_4("  %x = f32[2,4,4] parameter(0)\n  %s = f32[2,16] reshape(%x)\n"
                 "  %all = f32[8,16] all-gather(%s), replica_groups={{0,1,2,3}}, dimensions={0}\n"
                 "  ROOT %r = f32[8,16] tanh(%all)\n"));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].first.value, "%x");
  EXPECT_EQ(out.reshards[0].extents, (Shape{8, 16}));
  EXPECT_EQ(out.reshards[0].from[3], (Box{{6, 0}, {2, 16}}));
}

TEST(Movement, elements_that_stand_there_several_times_are_placed) {
  const Movement out = movement(
      before_on_4("  %x = f32[8] parameter(0), @[{}]@\n"
                  "  %b = f32[8,16] broadcast(%x), dimensions={0}, @[{}, {'x','y'}]@\n"
                  "  ROOT %r = f32[8,16] tanh(%b), @[{'x','y'}, {}]@\n"),
      after_on_4("  %x = f32[8] parameter(0)\n  %b = f32[8,4] broadcast(%x), dimensions={0}\n"
                 "  %parts = f32[4,2,4] reshape(%b)\n"
                 "  %moved = f32[4,2,4] all-to-all(%parts), replica_groups={{0,1,2,3}}, "
                 "dimensions={0}\n  %turned = f32[2,4,4] transpose(%moved), dimensions={1,0,2}\n"
                 "  %tile = f32[2,16] reshape(%turned)\n  ROOT %r = f32[2,16] tanh(%tile)\n"));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].from[1], (Box{{0, 4}, {8, 4}}));
  EXPECT_EQ(out.reshards[0].to[1], (Box{{2, 0}, {2, 16}}));
}

TEST(Movement, uneven_tiles_and_integers_are_found) {
  const Movement out = movement(
      before_on_4("  %x = s32[6] parameter(0), @[{'x','y'}]@\n"
                  "  ROOT %r = s32[6] negate(%x), @[{}]@\n"),
      after_on_4("  %x = s32[2] parameter(0)\n"
                 "  %all = s32[8] all-gather(%x), replica_groups={{0,1,2,3}}, dimensions={0}\n"
                 "  %cut = s32[6] slice(%all), slice={[0:6]}\n  ROOT %r = s32[6] negate(%cut)\n"));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_EQ(out.reshards[0].from[2], (Box{{4}, {2}}));
  EXPECT_EQ(out.reshards[0].from[3], (Box{{0}, {0}}));
  EXPECT_EQ(out.reshards[0].last.value, "%cut");
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  EXPECT_EQ(prices[0].from, "[{'x', 'y'}]");
}

TEST(Movement, what_all_hold_alike_and_nobody_before_is_looked_in_as_well) {
  const Movement out = movement(
      before_on_4("  %x = f32[8] parameter(0), @[{'x','y'}]@\n  %one = f32[] constant(1)\n"
                  "  %ones = f32[8] broadcast(%one), dimensions={}\n"
                  "  %y = f32[8] add(%x, %ones), @[{}]@\n"
                  "  ROOT %r = f32[8] subtract(%y, %x), @[{}]@\n"),
      after_on_4("  %x = f32[2] parameter(0)\n  %two = f32[] constant(2)\n"
                 "  %twos = f32[2] broadcast(%two), dimensions={}\n"
                 "  %odd = f32[2] multiply(%x, %twos)\n"
                 "  %all = f32[8] all-gather(%odd), replica_groups={{0,1,2,3}}, dimensions={0}\n"
                 "  ROOT %r = f32[8] tanh(%all)\n"));
  ASSERT_EQ(out.reshards.size(), 1U);
  EXPECT_FALSE(out.reshards[0].value.is_before);
  EXPECT_EQ(out.reshards[0].value.spot.value, "%all");
}

TEST(Movement, every_collective_has_its_bytes) {
  const auto received = [](const std::string& line, const std::string& to) {
    const Movement out =
        movement(before_on_4("  ROOT %x = f32[4,8] parameter(0), @[{'x','y'}, {}]@\n"),
                 after_on_4("  %x = f32[1,8] parameter(0)\n  %m = " + line +
                            "\n  ROOT %r = f32[1,8] slice(%x), slice={[0:1], [0:8]}\n"));
    EXPECT_FALSE(out.transfers.empty()) << to;
    return out.transfers.empty() ? std::vector<Size>{} : out.transfers[0].received;
  };
  using Sizes = std::vector<Size>;
  EXPECT_EQ(received("f32[2,8] all-gather(%x), replica_groups={{0,1},{2,3}}, dimensions={0}", "g"),
            (Sizes{32, 32, 32, 32}));
  EXPECT_EQ(received("f32[1,8] all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add_f32", "r"),
            (Sizes{48, 48, 48, 48}));
  EXPECT_EQ(received("f32[1,2] reduce-scatter(%x), replica_groups={{0,1,2,3}}, dimensions={1}, "
                     "to_apply=%add_f32",
                     "s"),
            (Sizes{24, 24, 24, 24}));
  EXPECT_EQ(received("f32[1,8] collective-permute(%x), source_target_pairs={{0,1},{2,2}}", "p"),
            (Sizes{0, 32, 0, 0}));
  EXPECT_EQ(received("f32[1,8] collective-broadcast(%x), replica_groups={{1,2,3}}", "b"),
            (Sizes{0, 0, 32, 32}));
  EXPECT_EQ(received("f32[1,8] all-to-all(%x), replica_groups={{0,1},{2,3}}, dimensions={1}", "a"),
            (Sizes{16, 16, 16, 16}));
  EXPECT_EQ(received("(f32[1,8], f32[1,8]) all-to-all(%x, %x), replica_groups={{0,1},{2,3}}", "t"),
            (Sizes{32, 32, 32, 32}));
}

TEST(Movement, where_xla_warns_the_same_place_is_found) {
  const Movement out = movement(text_of("gathered.before.hlo"), text_of("gathered.after.hlo"));
  const auto prices = prices::prices_of(out, emit::Form::hlo);
  ASSERT_EQ(prices.size(), 2U);
  const std::size_t first = prices::by_saving(out, prices).front();
  // What the warning said: from [{'z'}, {}, {}] to [{}, {'x'}, {'y'}], for the copy of %dot.
  EXPECT_EQ(prices[first].from, "[{'z'}, {}, {}]");
  EXPECT_EQ(prices[first].to, "[{}, {'x'}, {'y'}]");
  EXPECT_EQ(out.reshards[first].first.value, "%dot");
  EXPECT_TRUE(out.reshards[first].is_whole());
  EXPECT_FALSE(out.reshards[1 - first].is_whole());
  EXPECT_GT(prices[first].saved(), 0);
  EXPECT_EQ(prices[1 - first].saved(), 0);
  ASSERT_EQ(out.large.size(), 1U);
  expect_parts(out);
}

TEST(Movement, texts_of_one_device_each_have_collectives_alone) {
  const std::string after = text_of("gathered.after.hlo");
  const Movement out = movement(after, after);
  EXPECT_TRUE(out.reshards.empty());
  EXPECT_EQ(out.transfers.size(), 2U);
  EXPECT_GT(out.transfers[0].bytes(), 0);
}

// ---- Layouts --------------------------------------------------------------------------------------

std::vector<Box> rows_of(const std::vector<Size>& at, Size height, Size width) {
  std::vector<Box> out;
  for (const Size row : at) out.push_back({{row, 0}, {height, width}});
  return out;
}

TEST(Layouts, boxes_are_digits_of_the_device_number_where_these_say_it) {
  const auto even = prices::layout_of(rows_of({0, 2, 4, 6, 8, 10}, 2, 3), {12, 3});
  ASSERT_TRUE(even && even->is_compact());
  EXPECT_EQ(prices::layout_text(*even, std::nullopt), "{devices=[6,1]<=[6]}");
  const auto turned = prices::layout_of(rows_of({0, 6, 3, 9}, 3, 3), {12, 3});
  ASSERT_TRUE(turned && turned->is_compact());
  EXPECT_EQ(prices::layout_text(*turned, std::nullopt), "{devices=[4,1]<=[2,2]T(1,0)}");
  const auto same = prices::layout_of(rows_of({0, 0, 0, 0}, 12, 3), {12, 3});
  ASSERT_TRUE(same);
  EXPECT_EQ(prices::layout_text(*same, std::nullopt), "{replicated}");
  const auto listed = prices::layout_of(rows_of({0, 3, 9, 6}, 3, 3), {12, 3});
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->is_listed());
  EXPECT_EQ(prices::layout_text(*listed, std::nullopt), "boxes that no sharding says");
}

TEST(Layouts, axes_are_those_along_which_members_differ) {
  const PlacedMesh mesh{.mesh = *Mesh::make({{"x", 2}, {"y", 2}})};
  EXPECT_EQ(prices::axes_of({{0, 1}, {2, 3}}, mesh), "y");
  EXPECT_EQ(prices::axes_of({{0, 2}, {1, 3}}, mesh), "x");
  EXPECT_EQ(prices::axes_of({{0, 3}}, mesh), "x,y");
  EXPECT_EQ(prices::axes_of({{0, 4}}, mesh), std::nullopt);
  PlacedMesh turned = mesh;
  turned.order = DeviceTable::list({0, 2, 1, 3});
  EXPECT_EQ(prices::axes_of({{0, 1}, {2, 3}}, turned), "x");
}

}  // namespace
}  // namespace retile::whole::tests
