// Uneven tiles by collectives alone: from plan to verdict, with both checkers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/ceil_types.h"
#include "support/values.h"

namespace retile::collectives_test {
namespace {

const PlanOptions collectives{.collectives = true};

Plan planned(const char* mesh, const char* from, const char* to) {
  return plan(support::problem(mesh, from, to), collectives).value();
}

std::vector<Collective> ops(const Plan& plan) {
  std::vector<Collective> out;
  for (const PlanStep& step : plan.steps) out.push_back(step.op);
  for (const Plan& leg : plan.legs) {
    for (const PlanStep& step : leg.steps) out.push_back(step.op);
  }
  return out;
}

void expect_right(const Plan& plan) {
  const Program program = lower(plan);
  const std::string text = to_text(program);
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("exchange")));
  Size permutes = 0;
  for (const Step& step : program.steps)
    permutes += std::holds_alternative<Allpermute>(step.op) ? 1 : 0;
  EXPECT_EQ(static_cast<Size>(plan.permutes()), permutes);
  const Verdict verdict = check(program);
  ASSERT_EQ(verdict.answer, Answer::right) << text;
  EXPECT_EQ(verdict.cost, plan.cost) << text;
  EXPECT_EQ(verdict.height, plan.height) << text;
  EXPECT_EQ(verdict.bound, plan.bound) << text;
  const auto read = spec::parse_programs(text);
  ASSERT_FALSE(read.error) << text;
  const spec::Verdict oracle = spec::check(read.programs.front());
  EXPECT_TRUE(oracle.right) << text;
  EXPECT_EQ(oracle.height, plan.height) << text;
}

Size least_bytes(const char* mesh, const char* from, const char* to, bool by_collectives) {
  return smallest_feasible_bytes(support::problem(mesh, from, to), 4, by_collectives).value_or(-1);
}

TEST(Collectives, equal_ends_need_their_tile) {
  EXPECT_EQ(least_bytes("x:4", "[3{x}10<1,1>]", "[3{x}10<1,1>]", true), 4 * 5);
  EXPECT_EQ(least_bytes("x:4", "[(0,1,1,9,10){x}10]", "[(0,1,1,9,10){x}10]", true), 4 * 8);
  EXPECT_EQ(least_bytes("x:4", "[10]@2", "[10]@2", true), 4 * 10);
}

TEST(Collectives, an_exchange_is_not_all_that_may_hold_little) {
  // Slices hold the larger end alone, an exchange both.
  EXPECT_EQ(least_bytes("x:4", "[10]", "[3{x}10]", false), 4 * 10);
  EXPECT_EQ(least_bytes("x:4", "[3{x}10]", "[4~{x}10]", false), 4 * (3 + 4));
}

TEST(Collectives, what_is_proved_of_tiles_filled_up_is_not_said_of_others) {
  const Plan it = plan(support::problem("x:2,y:2", "[3{x,y}11]", "[6{x}11]")).value();
  EXPECT_GT(it.cost, 0);
  EXPECT_EQ(it.lower_bound, 0);
  EXPECT_FALSE(it.optimal);
}

TEST(Collectives, the_valley_is_the_smallest_tile_on_the_way) {
  const Problem problem = support::problem("x:2,y:2,z:2", "[13, 2{z,x}8]", "[4{z,x}13, 4{y}8]");
  EXPECT_EQ(problem.from.tile_size(), 26);
  EXPECT_EQ(problem.to.tile_size(), 16);
  EXPECT_EQ(plan(problem).value().valley, 13);
}

TEST(Collectives, many_devices_receive_a_tile_at_most) {
  const Plan it = plan(support::problem("x:134217728", "[2~{x}100]", "[1{x}100]")).value();
  ASSERT_TRUE(it.exchange);
  EXPECT_EQ(it.cost, 1);
}

TEST(Collectives, more_than_three_dimensions_that_do_not_nest_are_chosen_apart) {
  // Each is lower whole before or after, whatever the others are.
  const Plan it = planned("a:2,b:2,c:2,d:2", "[8~{a}10, 5{b}10, 8~{c}10, 5{d}10]",
                          "[5{a}10, 8~{b}10, 5{c}10, 8~{d}10]");
  expect_right(it);
  const Plan other = planned("a:2,b:2,c:2,d:2", "[5{a}10, 5{b}10, 5{c}10, 8~{d}10]",
                             "[8~{a}10, 8~{b}10, 8~{c}10, 5{d}10]");
  expect_right(other);
  EXPECT_EQ(it.height, 2500);
  EXPECT_EQ(other.height, 4000);
}

TEST(Collectives, an_exchange_costs_the_bytes_that_one_device_receives) {
  const Plan it = plan(support::problem("p:4", "[3{p}12]", "[3{p}12<1,1>]"),
                       {.cost_model = CostModel::bytes, .element_bytes = 4})
                      .value();
  ASSERT_TRUE(it.exchange);
  EXPECT_EQ(it.cost, 2 * 4);
}

TEST(Collectives, of_several_reasons_the_memory_limit_says_most) {
  const auto none = plan(support::problem("a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]"),
                         {.memory_limit_bytes = 4, .collectives = true});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::infeasible);
  EXPECT_THAT(none.error().message, testing::HasSubstr("4 bytes"));
}

TEST(Collectives, a_search_that_stopped_is_told_of_all_legs) {
  const Problem problem =
      support::problem("a:2,b:2,c:2,d:2", "[5{a}10, 2{b,c,d}16, 16]", "[8~{a}10, 16, 2{d,b,c}16]");
  EXPECT_TRUE(plan(problem, collectives).value().complete);
  PlanOptions hasty = collectives;
  hasty.search_limit = 1;
  const Plan it = plan(problem, hasty).value();
  EXPECT_FALSE(it.legs.empty());
  EXPECT_FALSE(it.complete);
}

TEST(Collectives, what_does_not_nest_is_whole_on_the_way) {
  const Plan it = planned("a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]");
  EXPECT_EQ(it.reason,
            "dim 0: cuts 0 6 12 16 and 0 4 8 12 16 do not nest, so they are whole on the way");
  EXPECT_EQ(it.bound, 36);
  EXPECT_EQ(it.height, 96);
  EXPECT_EQ(it.permutes(), 1U);
  expect_right(it);
}

/// To gather dimension 0 first needs all 7 x 12 elements; where dimension 1 is sliced before, half
/// of them. And the other way round.
TEST(Collectives, take_the_lowest_way) {
  const Plan late = planned("p:2,q:3,r:2", "[3{q}7, 12]", "[4{p}7, 6{r}12]");
  EXPECT_EQ(late.height, 42);
  expect_right(late);
  const Plan early = planned("p:2,q:3,r:2", "[4{p}7, 6{r}12]", "[3{q}7, 12]");
  EXPECT_EQ(early.height, 42);
  expect_right(early);
}

TEST(Collectives, take_the_lowest_way_where_another_is_cheaper) {
  const Plan it = planned("a:2,b:3", "[2{b,a}7, 13]", "[3{b}7, 7{a}13]");
  EXPECT_EQ(it.height, 49);
  EXPECT_EQ(it.cost, 103);  // 91 with everything whole
  expect_right(it);
}

/// One dimension is better whole before all else, another after.
TEST(Collectives, choose_for_every_dimension) {
  const Plan it = planned("p:2,q:3", "[3{q}7, 7{p}13]", "[4{p}7, 5{q}13]");
  EXPECT_EQ(it.reason,
            "dim 0: cuts 0 3 6 7 and 0 4 7 do not nest; dim 1: cuts 0 7 13 and 0 5 10 13 do not "
            "nest, so they are whole on the way");
  EXPECT_EQ(it.height, 39);  // [3, 13] and then [7, 5]; else [7, 7] and [4, 13], or [7, 13]
  expect_right(it);
}

TEST(Collectives, an_aligned_plan_needs_no_detour) {
  const Plan it = planned("p:2,q:2", "[2{p}3, 5]", "[3, 3{p}5]");
  EXPECT_TRUE(it.legs.empty());
  EXPECT_EQ(ops(it), std::vector{Collective::alltoall});
  expect_right(it);
}

TEST(Collectives, all_small_problems_are_right) {
  std::size_t detours = 0;
  std::size_t above_the_bound = 0;
  std::size_t solved = 0;
  for (const char* mesh : {"a:2,b:3", "a:2,b:2"}) {
    for (const Shape& global : {Shape{7, 5}, {5, 4}, {3, 10}, {1, 1}, {6, 6}}) {
      const auto all = support::ceil_types(parse_mesh(mesh).value(), global);
      for (const std::string& from : all) {
        for (const std::string& to : all) {
          SCOPED_TRACE(std::string(mesh) + " '" + from + "' '" + to + "'");
          const Plan it = planned(mesh, from.c_str(), to.c_str());
          expect_right(it);
          if (testing::Test::HasFailure()) return;
          ++solved;
          detours += it.legs.empty() ? 0U : 1U;
          above_the_bound += it.height > it.bound ? 1U : 0U;
        }
      }
    }
  }
  EXPECT_GT(solved, 1'000U);
  EXPECT_GT(detours, 100U);
  EXPECT_GT(above_the_bound, 100U);
  EXPECT_LT(above_the_bound, detours + 100);
}

TEST(Collectives, what_they_do_not_reach_is_infeasible) {
  for (const auto& [from, to, reason] :
       {std::tuple("[3{p}12]", "[3{p}12<1,1>]", "tiles of to have halos"),
        std::tuple("[3{p}12]", "[12]@2", "to lists its tiles one by one"),
        std::tuple("[12]", "[(0,1,5,9,12){p}12]", "dim 0: no step cuts at 0 1 5 9 12")}) {
    const Problem problem = support::problem("p:4", from, to);
    const auto made = plan(problem, collectives);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::infeasible);
    EXPECT_THAT(made.error().message, testing::HasSubstr(reason));
    const auto least = smallest_feasible_bytes(problem, 4, true);
    ASSERT_FALSE(least);
    EXPECT_EQ(least.error().code, Code::infeasible);
    EXPECT_TRUE(plan(problem)) << "an exchange";
    // That there is no way holds whatever it would cost.
    const PlanOptions in_bytes{.cost_model = CostModel::bytes, .collectives = true};
    EXPECT_EQ(plan(problem, in_bytes).error().code, Code::infeasible);
  }
}

TEST(Collectives, keep_to_the_least_limit_and_to_no_less) {
  std::size_t tried = 0;
  for (const char* mesh : {"a:2,b:3"}) {
    for (const Shape& global : {Shape{7, 5}, {3, 10}}) {
      const auto all = support::ceil_types(parse_mesh(mesh).value(), global);
      for (const std::string& from : all) {
        for (const std::string& to : all) {
          SCOPED_TRACE("'" + from + "' '" + to + "'");
          const Problem problem = support::problem(mesh, from.c_str(), to.c_str());
          const Size least = smallest_feasible_bytes(problem, 4, true).value();
          PlanOptions options = collectives;
          options.memory_limit_bytes = least;
          const auto within = plan(problem, options);
          ASSERT_TRUE(within);
          EXPECT_LE(within->resident * 4, least);
          // What a plan holds is within a limit of as much.
          const Plan best = plan(problem, collectives).value();
          EXPECT_LE(least, best.resident * 4);
          options.memory_limit_bytes = best.resident * 4;
          EXPECT_TRUE(plan(problem, options));
          options.memory_limit_bytes = least;
          options.memory_limit_bytes = least - 1;
          const auto beyond = plan(problem, options);
          ASSERT_FALSE(beyond);
          EXPECT_EQ(beyond.error().code, Code::infeasible);
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 200U);
}

TEST(Collectives, of_equal_ends_there_is_nothing_to_do) {
  for (const char* type : {"[3{p}10<1,1>]", "[10]@2", "[(0,1,2,3,10){p}10]", "[3{p}10]"}) {
    const Plan it = planned("p:4", type, type);
    EXPECT_TRUE(it.legs.empty() && it.steps.empty()) << type;
    EXPECT_TRUE(it.optimal);
    expect_right(it);
  }
}

TEST(Collectives, sizes_that_overflow_are_called_so) {
  const Problem problem = support::problem("x:4,y:3", "[2305843009213693952{x}9223372036854775807]",
                                           "[9223372036854775807]");
  EXPECT_THAT(plan(problem, collectives).error().message, testing::HasSubstr("2^63"));
}

TEST(Collectives, a_way_that_overflows_does_not_spoil_another) {
  const Problem problem = support::problem("x:4,y:2,z:2,w:2", "[6~{x}7, 260000000000000000]",
                                           "[4{y}7, 260000000000000000~{z,w}260000000000000000]");
  const Plan it = plan(problem, {.element_bytes = 1, .collectives = true}).value();
  const Size least = smallest_feasible_bytes(problem, 1, true).value();
  EXPECT_LE(least, it.resident);
  EXPECT_EQ(plan(problem, {.element_bytes = 1, .memory_limit_bytes = 1, .collectives = true})
                .error()
                .code,
            Code::infeasible);
}

TEST(Collectives, of_even_tiles_nothing_changes) {
  const Problem problem = support::problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]");
  EXPECT_EQ(to_text(lower(plan(problem, collectives).value())),
            to_text(lower(plan(problem).value())));
}

TEST(Collectives, bytes_and_certificates_are_refused) {
  const Problem problem = support::problem("p:2,q:3", "[3{q}7]", "[4{p}7]");
  const auto bytes = plan(problem, {.cost_model = CostModel::bytes, .collectives = true});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::unsupported);
  const auto certificate = certify(plan(problem, collectives).value());
  ASSERT_FALSE(certificate);
  EXPECT_EQ(certificate.error().code, Code::unsupported);
}

}  // namespace
}  // namespace retile::collectives_test
