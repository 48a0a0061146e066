// The planner on problems whose answer is known: from the paper, from its errata, and by hand.
#include "retile/plan/plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/realise.h"

namespace retile::plan_test {
namespace {

Problem problem(const std::string& mesh, const std::string& from, const std::string& to) {
  auto made = parse_problem(mesh, from, to);
  EXPECT_TRUE(made.has_value()) << (made ? "" : render(made.error()));
  return made.value();
}

Plan planned(const std::string& mesh, const std::string& from, const std::string& to,
             const PlanOptions& options = {}) {
  auto made = plan(problem(mesh, from, to), options);
  EXPECT_TRUE(made.has_value()) << (made ? "" : render(made.error()));
  return made.value();
}

/// The label string of Def. 4.5: D dynslice, A alltoall, P allpermute, G allgather.
std::string labels(const Plan& plan) {
  std::string out;
  for (const PlanStep& step : plan.steps) {
    switch (step.op) {
      case Collective::dynslice:
        out += 'D';
        break;
      case Collective::alltoall:
        out += 'A';
        break;
      case Collective::allpermute:
        out += 'P';
        break;
      case Collective::allgather:
        out += 'G';
        break;
      case Collective::reducescatter:
        out += 'R';
        break;
      case Collective::allreduce:
        out += 'S';
        break;
    }
  }
  return out;
}

TEST(Plan, Example_3_1_costs_18_with_one_permutation_between_the_alltoalls) {
  const Plan got = planned("x:4,y:6", "[3{x}12,2{y}12]", "[2{y}12,3{x}12]");
  EXPECT_EQ(labels(got), "APA");
  EXPECT_EQ(got.cost, 18);
  EXPECT_EQ(got.weak_cost, 12);
  EXPECT_EQ(got.height, 6);
  EXPECT_EQ(got.bound, 6);
  EXPECT_EQ(got.valley, 6);
  EXPECT_EQ(got.resident, 12);
  ASSERT_TRUE(got.permutation);
  EXPECT_TRUE(got.permutation->before.is_compact());
  EXPECT_TRUE(got.permutation->after.is_compact());
  EXPECT_TRUE(got.optimal);  // W is only 12
}

TEST(Plan, Listing_3_is_one_alltoall) {
  const Plan got = planned("devs:32", "[32,64{devs}2048]", "[1{devs}32,2048]");
  EXPECT_EQ(labels(got), "A");
  EXPECT_EQ(got.cost, 2048);
  EXPECT_TRUE(got.optimal);
}

TEST(Plan, Example_4_9_and_7_1_need_one_alltoall_and_no_permutation) {
  const Plan got = planned("a:8", "[1{a}8,8]", "[8,1{a}8]");
  EXPECT_EQ(labels(got), "A");
  EXPECT_EQ(got.cost, 8);  // E20
}

TEST(Plan, Fig_13_P1_to_P3_need_no_permutation_and_cost_one_target_tile) {
  const std::string mesh = "a:2,b:2,c:2";
  for (const auto& [from, to] :
       {std::pair{"[360, 184{c:2}368, 320]", "[90{c:2,a:2}360, 368, 160{b:2}320]"},
        std::pair{"[80, 40{c:2}80, 72, 64]", "[40{b:2}80, 80, 36{c:2}72, 64]"},
        std::pair{"[296, 360, 156{c:2}312]", "[74{b:2,c:2}296, 180{a:2}360, 312]"}}) {
    const Plan got = planned(mesh, from, to);
    EXPECT_EQ(got.permutes(), 0U) << from;
    EXPECT_EQ(got.cost, got.problem.to.tile_size()) << from;
    EXPECT_TRUE(got.optimal) << from;
  }
}

TEST(Plan, S10_moves_the_factor_3_although_2_is_minor_most) {
  const Plan got = planned("a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]");
  EXPECT_EQ(got.cost, 99);
  EXPECT_EQ(got.permutes(), 0U);
}

TEST(Plan, replication_example_reaches_6_without_permutation) {
  const Plan got = planned("a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]");
  EXPECT_EQ(labels(got), "DAG");
  EXPECT_EQ(got.cost, 6);
}

TEST(Plan, over_partitioning_beats_two_alltoalls) {
  // The replacement for Fig. 12: 6144 against 8192 without over-partitioning.
  const Plan got = planned("x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]");
  EXPECT_EQ(got.weak_cost, 5120);
  EXPECT_EQ(got.cost, 6144);
  EXPECT_EQ(labels(got), "DAPG");
}

TEST(Plan, of_equal_costs_digits_move_and_tiles_stay) {
  // A permutation over all devices costs as much as one more alltoall between two of them.
  const Plan moves =
      planned("n:4,a:2,b:2", "[64{b}128, 128, 32{a}64]", "[128, 16{a,n}128, 32{b}64]");
  EXPECT_EQ(labels(moves), "DAA");
  EXPECT_EQ(moves.cost, 2 * 64 * 128 / 4 * 64 / 2);
  // Where the slice takes the axis of the target, the permutation changes tiles between neighbours alone.
  const Plan stays = planned("n:4,a:2,b:2", "[128, 64{a}128]", "[64{a}128, 64{b}128]");
  EXPECT_EQ(labels(stays), "DP");
  const Layout& before = stays.permutation->before;
  const Layout& after = stays.permutation->after;
  for (const Layout* map : {&before, &after}) {
    for (const auto& list : map->digits()) {
      for (const Digit& digit : list) EXPECT_LE(digit.stride * digit.size, 4);
    }
  }
}

TEST(Plan, dynslice_takes_the_axis_of_the_target) {
  const Plan got = planned("x:4,y:4", "[16]", "[4{x}16]");  // Sec. 7.3
  EXPECT_EQ(labels(got), "D");
  EXPECT_EQ(got.cost, 0);
  EXPECT_TRUE(got.optimal);
}

TEST(Plan, the_identity_has_no_steps) {
  for (const char* type : {"[]", "[1]", "[16]", "[4{x}16]", "[2{x,y}32, 3]"}) {
    const Plan got = planned("x:4,y:4", type, type);
    EXPECT_EQ(labels(got), "") << type;
    EXPECT_EQ(got.cost, 0);
    EXPECT_EQ(got.resident, got.height);
    EXPECT_TRUE(got.optimal);
  }
}

TEST(Plan, a_swap_of_axes_is_one_permutation) {
  for (const auto& [from, to] : {std::pair{"[64{y,x}1024, 128]", "[64{x,y}1024, 128]"},
                                 std::pair{"[32{x}128, 16{y}64]", "[32{y}128, 16{x}64]"},
                                 std::pair{"[32{x}128]", "[32{y}128]"}}) {  // Fig. 3
    const Plan got = planned("x:4,y:4", from, to);
    EXPECT_EQ(labels(got), "P") << from;
    EXPECT_EQ(got.cost, got.problem.to.tile_size());
    EXPECT_TRUE(got.optimal) << from;  // S5: not by slices alone, so at least one target tile
  }
}

TEST(Plan, whole_device_numbers_matter_not_names) {
  // x:2,y:3 in one dimension is the digit of size 6, which b:6 is, too.
  EXPECT_EQ(planned("y:3,x:2", "[1{x,y}6]", "[1{x,y}6]").cost, 0);
}

TEST(Plan, bytes_count_what_others_send) {
  PlanOptions options;
  options.cost_model = CostModel::bytes;
  options.element_bytes = 4;
  const Plan alltoall = planned("devs:32", "[32,64{devs}2048]", "[1{devs}32,2048]", options);
  EXPECT_EQ(alltoall.cost, (2048 - 64) * 4);
  EXPECT_EQ(alltoall.weak_cost, (2048 - 64) * 4);  // the search counts as the steps do
  EXPECT_EQ(alltoall.lower_bound, (2048 - 64) * 4);
  EXPECT_TRUE(alltoall.optimal);
  const Plan gather = planned("x:4", "[4{x}16]", "[16]", options);
  EXPECT_EQ(gather.cost, (16 - 4) * 4);
  EXPECT_EQ(gather.weak_cost, (16 - 4) * 4);
  const Plan permute = planned("x:2,y:2", "[2{x}4]", "[2{y}4]", options);
  EXPECT_EQ(permute.cost, 2 * 4);
}

TEST(Plan, in_bytes_no_more_is_proved_than_a_device_lacks_or_every_path_pays) {
  PlanOptions options;
  options.cost_model = CostModel::bytes;
  options.element_bytes = 1;
  // A device keeps at least a third of its new tile of 22, and W is 11.
  const Plan kept = planned("a:2,b:3", "[1{a}2, 66]", "[2, 11{b,a}66]", options);
  EXPECT_EQ(kept.lower_bound, 11);
  EXPECT_EQ(kept.cost, 33);
  EXPECT_FALSE(kept.optimal);
}

TEST(Plan, in_bytes_the_dearer_of_two_known_paths_is_not_taken) {
  PlanOptions options;
  options.cost_model = CostModel::bytes;
  options.element_bytes = 1;
  const Plan moves =
      planned("a:7,b:2,c:2", "[1{c}2, 49, 28, 16{a}112]", "[2, 7{a}49, 14{c}28, 112]", options);
  EXPECT_LE(moves.cost, 29792);
  const Plan gathers =
      planned("a:2,b:3,c:2", "[132, 33{a,c}132, 2{b}6, 3]", "[132, 44{b}132, 6, 3]", options);
  EXPECT_LE(gathers.cost, 115434);
}

TEST(Plan, a_memory_limit_is_obeyed_or_refused_with_the_smallest_feasible_one) {
  // One alltoall holds 6 + 6 elements of 4 bytes.
  const Problem example = problem("x:4,y:6", "[3{x}12,2{y}12]", "[2{y}12,3{x}12]");
  const auto least = smallest_feasible_bytes(example, 4);
  ASSERT_TRUE(least);
  PlanOptions options;
  options.memory_limit_bytes = *least;
  const auto fits = plan(example, options);
  ASSERT_TRUE(fits);
  EXPECT_LE(fits->resident * 4, *least);
  options.memory_limit_bytes = *least - 1;
  const auto refused = plan(example, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::infeasible);
}

TEST(Plan, a_tight_limit_prefers_a_deeper_valley) {
  // Unlimited, one alltoall of 16 elements holds 32; sliced by z first it holds less at every step.
  const Problem example = problem("x:2,z:4", "[8{x}16, 2]", "[16, 1{x}2]");
  const auto free = plan(example);
  ASSERT_TRUE(free);
  EXPECT_EQ(free->resident, 32);
  const auto least = smallest_feasible_bytes(example, 1);
  ASSERT_TRUE(least);
  EXPECT_LT(*least, 32);
  PlanOptions options;
  options.element_bytes = 1;
  options.memory_limit_bytes = *least;
  const auto tight = plan(example, options);
  ASSERT_TRUE(tight);
  EXPECT_LE(tight->resident, *least);
  EXPECT_GE(tight->cost, free->cost);
}

TEST(Plan, two_gathers_of_equal_cost_are_told_apart_by_what_they_hold) {
  // At V = 6 the counts (2,3,1) cost 48 by gathers that hold 36 + 12, and 48 by an alltoall and one
  // gather that holds 36 + 6.
  const Problem example = problem("a:2,b:3", "[1{a}2, 1{b}3, 6]", "[2, 3, 6]");
  PlanOptions options;
  options.memory_limit_bytes = 168;
  const auto tight = plan(example, options);
  ASSERT_TRUE(tight);
  EXPECT_LE(tight->resident * 4, 168);
  EXPECT_EQ(smallest_feasible_bytes(example, 4).value(), 168);
}

TEST(Plan, a_search_that_stops_never_makes_a_memory_limit_infeasible) {
  // The way without a search that comes to mind first, a large valley, holds too much; the
  // smallest valley does not.
  const Problem example = problem("a:2,b:3,c:5", "[2{b}6,30,30{a}60,6,6]", "[6,30,60,2{b}6,3{a}6]");
  const Size least = smallest_feasible_bytes(example, 4).value();
  const PlanOptions full{.memory_limit_bytes = least};
  EXPECT_TRUE(plan(example, full)->complete);
  for (const Size limit : {Size{0}, Size{1}, Size{20}, Size{400}, Size{8000}}) {
    PlanOptions options = full;
    options.search_limit = limit;
    const auto got = plan(example, options);
    ASSERT_TRUE(got.has_value()) << limit << ": " << render(got.error());
    EXPECT_LE(4 * got->resident, least);
    options.memory_limit_bytes = least - 1;
    EXPECT_EQ(plan(example, options).error().code, Code::infeasible) << limit;
  }
}

TEST(Plan, more_dimensions_than_a_search_can_hold_do_not_make_a_memory_limit_infeasible) {
  std::string more;
  for (int i = 0; i < 19; ++i) more += ", 2";
  const Problem example =
      problem("a:2,b:15015", "[1{a}2, 2, 15015" + more + "]", "[2, 1{a}2, 15015" + more + "]");
  const Size least = smallest_feasible_bytes(example, 4).value();
  // The target's tile, gathered from a 15015th of it.
  EXPECT_EQ(least, Size{4} * (15015 + 1) * (Size{1} << 20));
  for (const Size limit : {least, Size{94466211840}}) {
    const auto got = plan(example, {.memory_limit_bytes = limit});
    ASSERT_TRUE(got.has_value()) << limit << ": " << render(got.error());
    EXPECT_FALSE(got->complete);
    EXPECT_LE(4 * got->resident, limit);
  }
  EXPECT_EQ(plan(example, {.memory_limit_bytes = least - 1}).error().code, Code::infeasible);
}

TEST(Plan, without_a_search_only_what_every_sequence_pays_is_proved) {
  // Too many dimensions of extent 2 for a search: two exchanges of axes, each an alltoall.
  std::string more;
  for (int i = 0; i < 19; ++i) more += ", 2";
  const Problem example = problem("a:2,b:15015", "[1{a}2, 2, 1{b}15015, 15015" + more + "]",
                                  "[2, 1{a}2, 15015, 1{b}15015" + more + "]");
  const Plan got = plan(example).value();
  EXPECT_FALSE(got.complete);
  EXPECT_EQ(got.lower_bound, example.to.tile_size());
  EXPECT_GT(got.cost, got.lower_bound);
  EXPECT_FALSE(got.optimal);
}

TEST(Plan, a_search_that_stops_costs_no_more_without_a_memory_limit_than_with_one) {
  const Problem example = problem("a:2,b:3,c:5", "[2{b}6,30,30{a}60,6,6]", "[6,30,60,2{b}6,3{a}6]");
  for (const Size limit : {Size{0}, Size{100}, Size{1000}}) {
    PlanOptions options{.search_limit = limit};
    const Size free = plan(example, options)->cost;
    options.memory_limit_bytes = smallest_feasible_bytes(example, 4).value();
    EXPECT_LE(free, plan(example, options)->cost) << limit;
  }
}

TEST(Plan, the_smallest_feasible_limit_is_feasible_and_no_smaller_one_is) {
  const Mesh mesh = parse_mesh("a:2,b:2,c:3").value();
  std::vector<DistType> types;
  for (const char* text :
       {"[12, 6]", "[6{a}12, 6]", "[6{b}12, 3{a}6]", "[3{a,b}12, 6]", "[3{b,a}12, 2{c}6]",
        "[1{c,a,b}12, 6]", "[4{c}12, 3{b}6]", "[2{a,c}12, 6]", "[12, 1{a,c}6]", "[12, 2{c}6]"}) {
    types.push_back(parse_type(text, mesh).value());
  }
  for (const DistType& from : types) {
    for (const DistType& to : types) {
      const Problem example = make_problem(mesh, from, to).value();
      const Size least = smallest_feasible_bytes(example, 1).value();
      PlanOptions options;
      options.element_bytes = 1;
      options.memory_limit_bytes = least;
      const auto fits = plan(example, options);
      ASSERT_TRUE(fits) << to_text(from) << " " << to_text(to);
      EXPECT_LE(fits->resident, least);
      options.memory_limit_bytes = least - 1;
      EXPECT_FALSE(plan(example, options)) << to_text(from) << " " << to_text(to);
    }
  }
}

TEST(Plan, a_search_that_stops_at_its_limit_still_gives_a_right_shape_within_the_bound) {
  for (const auto& [mesh, from, to] :
       {std::tuple{"x:4,y:6", "[3{x}12,2{y}12]", "[2{y}12,3{x}12]"},
        std::tuple{"a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"},
        std::tuple{"a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]"},
        std::tuple{"x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]"}}) {
    PlanOptions options;
    options.search_limit = 1;
    const Plan got = planned(mesh, from, to, options);
    const Plan best = planned(mesh, from, to);
    EXPECT_FALSE(got.complete);
    EXPECT_TRUE(best.complete);
    EXPECT_EQ(got.steps.back().tile, got.problem.to.tile());
    EXPECT_LE(got.height, got.bound);
    EXPECT_GE(got.cost, best.cost);
    EXPECT_GE(got.weak_cost, best.weak_cost);
    EXPECT_LE(got.lower_bound, best.cost);  // an unfinished search proves less, never too much
  }
}

TEST(Plan, many_axes_and_many_dimensions_end_soon) {
  // 2^31 devices; one axis for each of 31 dimensions, all replicated in the end.
  std::string mesh;
  std::string from = "[";
  std::string to = "[";
  for (int k = 0; k < 31; ++k) {
    const std::string axis = "a" + std::to_string(k);
    mesh += (k == 0 ? "" : ",") + axis + ":2";
    from += (k == 0 ? "1{" : ", 1{") + axis + "}2";
    to += k == 0 ? "2" : ", 2";
  }
  const Plan got = planned(mesh, from + "]", to + "]");
  EXPECT_LE(got.height, got.bound);
  const Plan back = planned(mesh, to + "]", from + "]");
  EXPECT_EQ(back.cost, 0);
  // 20,000 dimensions of extent 1 and two of 4.
  std::string ones;
  for (int k = 0; k < 20000; ++k) ones += "1,";
  EXPECT_EQ(planned("x:4", "[" + ones + "1{x}4,4]", "[" + ones + "4,1{x}4]").cost, 4);
}

TEST(Plan, costs_that_do_not_fit_are_refused) {
  // Gathering n elements from halves holds n/2 + n at its last step: 2^62 + 2^61 fits, 1.5 * (2^63
  // - 2) does not.
  const auto fits =
      plan(problem("x:2", "[2305843009213693952{x}4611686018427387904]", "[4611686018427387904]"));
  EXPECT_TRUE(fits);
  const auto refused =
      plan(problem("x:2", "[4611686018427387903{x}9223372036854775806]", "[9223372036854775806]"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::size_overflow);
}

TEST(Plan, large_meshes_plan) {
  const Plan got =
      planned("a:256,b:256", "[16{a}4096, 16{b}4096, 64, 8]", "[4096, 16{a}4096, 64, 8]");
  EXPECT_LE(got.height, got.bound);
}

TEST(Plan, a_generous_limit_does_not_raise_the_bound) {
  const Problem example = problem("x:4,y:6", "[3{x}12,2{y}12]", "[2{y}12,3{x}12]");
  const Plan bounded = plan(example, {.memory_limit_bytes = Size{1} << 20}).value();
  EXPECT_LE(bounded.height, bounded.bound);
  EXPECT_EQ(bounded.cost, plan(example).value().cost);
  EXPECT_TRUE(bounded.optimal);
}

TEST(Plan, between_explicit_tilings_is_one_exchange) {
  Problem example = problem("x:2", "[2{x}4]", "[4]");
  example.from = Layout::listed(2, {4}, {2}, {2, 0}).value();
  const Plan made = plan(example).value();
  ASSERT_TRUE(made.exchange);
  EXPECT_EQ(made.exchange->reason, "from lists its tiles one by one");
  EXPECT_EQ(made.cost, 4);
  EXPECT_EQ(made.height, 4);
  EXPECT_EQ(made.resident, 6);
  EXPECT_FALSE(made.optimal);
  EXPECT_EQ(smallest_feasible_bytes(example, 2).value(), 12);
  EXPECT_TRUE(plan(example, {.element_bytes = 2, .memory_limit_bytes = 12}));
  EXPECT_EQ(plan(example, {.element_bytes = 2, .memory_limit_bytes = 11}).error().code,
            Code::infeasible);
}

TEST(Plan, blocks_that_are_dealt_out_are_cut_in_a_view_where_all_cuts_nest) {
  const Problem example = problem("d:4", "[8{d}32, 3]", "[2@{d}32, 3]");
  const Plan made = plan(example).value();
  ASSERT_TRUE(made.array);
  EXPECT_EQ(made.array->to, example.to);
  EXPECT_EQ(made.problem.from.global(), (Shape{4, 4, 2, 3}));
  ASSERT_EQ(made.steps.size(), 1U);
  EXPECT_EQ(made.cost, 24);
  EXPECT_EQ(made.lower_bound, 24);
  EXPECT_TRUE(made.optimal);
  const Program program = lower(made);
  ASSERT_TRUE(program.array);
  EXPECT_EQ(program.array->from, example.from);
  EXPECT_EQ(program.to, example.to.viewed({4, 4, 2, 3}).value());
  // A step of collectives holds both tiles, and so does an exchange.
  EXPECT_EQ(smallest_feasible_bytes(example, 2).value(), 96);
  EXPECT_TRUE(plan(example, {.element_bytes = 2, .memory_limit_bytes = 96})->array);
  EXPECT_EQ(plan(example, {.element_bytes = 2, .memory_limit_bytes = 95}).error().code,
            Code::infeasible);
  EXPECT_EQ(plan(example, {.cost_model = CostModel::bytes, .element_bytes = 2})->cost, 36);
  // 12 does not divide 32, and 3 no block of 2.
  for (const auto& [from, to] :
       {std::pair{"[8{d}32, 3]", "[3@{d}32, 3]"}, std::pair{"[2@{d}48, 3]", "[3@{d}48, 3]"}}) {
    const Plan other = plan(problem("d:4", from, to)).value();
    EXPECT_TRUE(other.exchange && !other.array) << to;
  }
}

TEST(Plan, an_exchange_is_of_the_array_and_not_of_a_view) {
  // The rows nest, and the columns do not.
  const Problem example = problem("d:2,e:2", "[4{d}8, 3{e}5]", "[1@{d}8, (0,1,5){e}5]");
  const Plan made = plan(example).value();
  EXPECT_TRUE(made.exchange && !made.array);
  EXPECT_EQ(made.problem.from, example.from);
  EXPECT_EQ(made.exchange->tile, (Shape{4, 4}));
}

TEST(Plan, the_devices_of_a_view_keep_their_numbers) {
  // Tiles are counted by 2 and then by 3, but the view has 3 of them in each of 2: no digits of the numbers
  // say that.
  const Problem example = problem("a:2,b:3", "[2{a,b}12, 4]", "[1@{a,b}12, 4]");
  const Plan made = plan(example).value();
  ASSERT_TRUE(made.array && made.device_at);
  const Program program = lower(made);
  for (Size d = 0; d < 6; ++d) {
    EXPECT_EQ(program.array->to.stretches(d), example.to.stretches(d));
    EXPECT_TRUE(program.to.equivalent(example.to.viewed({2, 3, 2, 4}).value()));
  }
}

TEST(Plan, an_element_has_a_byte) {
  const Problem example = problem("x:2", "[2{x}4]", "[4]");
  EXPECT_EQ(plan(example, {.element_bytes = 0}).error().code, Code::bad_argument);
  EXPECT_EQ(smallest_feasible_bytes(example, 0).error().code, Code::bad_argument);
}

TEST(Plan, an_alltoall_of_several_moves_pushes_each_ones_own_digits_the_slowest_first) {
  const Problem moved = problem("a:2,b:3", "[6{a}12,4{b}12,12]", "[12,12,2{b,a}12]");
  Layout map = moved.from;
  const std::vector<WeakPath::Move> moves = {{0, 2, 2}, {1, 2, 3}};
  const std::vector<std::vector<Digit>> popped = run_alltoall(map, moves);
  EXPECT_EQ(map.digits(), moved.to.digits());
  ASSERT_EQ(popped.size(), 2U);
  EXPECT_EQ(popped[0], moved.from.digits()[0]);
  EXPECT_EQ(popped[1], moved.from.digits()[1]);
}

}  // namespace
}  // namespace retile::plan_test
