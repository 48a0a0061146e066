// Lowered Programs, line by line where they are printed in the docs, and the promises about their
// size and replicas.
#include "retile/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "retile/check/check.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/apply.h"
#include "retile/program/forms/text.h"
#include "support/random_problems.h"

namespace retile::lower_test {
namespace {

Program lowered(const std::string& mesh, const std::string& from, const std::string& to) {
  const auto problem = parse_problem(mesh, from, to);
  EXPECT_TRUE(problem.has_value());
  const auto made = plan(problem.value());
  EXPECT_TRUE(made.has_value());
  return lower(made.value());
}

TEST(Lower, Example_3_1) {
  EXPECT_EQ(
      to_text(lowered("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]")),
      "retile.program/1\n"
      "mesh x:4,y:6\n"
      "from [3{x}12, 2{y}12]\n"
      "to [2{y}12, 3{x}12]\n"
      "alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]\n"
      "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, "
      "6{12:2}12]\n"
      "alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]\n");
}

TEST(Lower, program_of_takes_steps_and_exchanges) {
  const auto planned = [](const char* to) {
    return plan(parse_problem("x:4", "[2{x}8]", to).value()).value();
  };
  const Plan steps = planned("[8]");
  EXPECT_EQ(program_of(steps).value(), lower(steps));
  const Plan exchange = planned("[(0,1,1,5,8){x}8]");
  ASSERT_TRUE(exchange.exchange);
  const Program program = program_of(exchange).value();
  ASSERT_EQ(program.steps.size(), 1U);
  EXPECT_TRUE(is_exchange(program.steps.front()));
  EXPECT_EQ(program.to, exchange.problem.to);
  EXPECT_EQ(program.mesh, exchange.problem.spelling->mesh);

  // Device 1 lacks what no device holds.
  const Layout gap = Layout::listed(2, {4}, {2}, {0, 0}).value();
  const Layout all = Layout::listed(2, {4}, {2}, {0, 2}).value();
  const Plan none = plan(Problem::make(gap, all).value()).value();
  EXPECT_EQ(program_of(none).error().code, Code::inapplicable);
}

TEST(Lower, replication) {
  EXPECT_EQ(to_text(lowered("a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]")),
            "retile.program/1\n"
            "mesh a:2,b:2,c:2\n"
            "from [4, 1{a,b}4]\n"
            "to [1{a,c}4, 4]\n"
            "dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]\n"
            "alltoall split=0 concat=1 groups=[4,2]<=[2,4]T(1,0) tile=[1,2] map=[1{a,c}4, 2{b}4]\n"
            "allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]\n");
}

TEST(Lower, unequal_sizes_out_of_order_are_chains_of_iotas) {
  EXPECT_EQ(
      to_text(lowered("a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]")),
      "retile.program/1\n"
      "mesh a:2,b:3,c:5\n"
      "from [1{a,b}6, 3{c}15]\n"
      "to [6, 15]\n"
      "alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]\n"
      "allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]\n"
      "allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]\n");
}

TEST(Lower, devices_that_hold_their_new_tile_keep_it) {
  // Replicas are free to choose: x and y swap roles, so the devices with x == y need not move.
  for (const auto& [mesh, from, to] :
       {std::tuple{"x:4,y:4", "[32{x}128]", "[32{y}128]"},
        std::tuple{"x:2,y:2,z:2", "[1{x,y}4]", "[1{y,z}4]"},
        std::tuple{"x:2,y:3,z:2", "[1{x}2, 1{y}3]", "[1{z}2, 1{y}3]"},
        // Two replicas: paired in the order of their strides, hardly anybody would keep its tile.
        std::tuple{"a:2,b:2,c:2,d:2", "[1{a}2, 1{b}2]", "[1{d}2, 1{c}2]"}}) {
    const Program program = lowered(mesh, from, to);
    ASSERT_EQ(program.steps.size(), 1U) << from;
    const auto source =
        sources_of(std::get<Allpermute>(program.steps[0].op).source, program.devices);
    const auto before = program.from.base_offsets();
    const auto after = program.to.base_offsets();
    const std::size_t rank = program.from.rank();
    Size kept = 0;
    for (std::size_t d = 0; d < source.size(); ++d) {
      const bool holds = std::equal(before.begin() + static_cast<std::ptrdiff_t>(d * rank),
                                    before.begin() + static_cast<std::ptrdiff_t>((d + 1) * rank),
                                    after.begin() + static_cast<std::ptrdiff_t>(d * rank));
      EXPECT_EQ(holds, source[d] == static_cast<Size>(d)) << "device " << d;
      kept += holds ? 1 : 0;
    }
    EXPECT_GT(kept, 0);
  }
}

TEST(Lower, many_axes_in_many_dimensions_are_right) {
  support::Random random(1);
  const Mesh mesh = parse_mesh("a:16,b:16,c:16,d:16").value();
  int steps = 0;
  for (int k = 0; k < 50; ++k) {
    const auto from = support::draw_type(random, mesh, Shape(8, 128));
    const auto to = support::draw_type(random, mesh, Shape(8, 128));
    const auto made = plan(make_problem(mesh, from, to).value());
    ASSERT_TRUE(made) << render(made.error());
    const Program program = lower(*made);
    steps += static_cast<int>(program.steps.size());
    EXPECT_EQ(check(program).answer, Answer::right) << to_text(program);
  }
  EXPECT_GT(steps, 50);
}

TEST(Lower, a_plan_for_65536_devices_is_less_than_100_lines) {
  const std::string text = to_text(lowered(
      "a:16,b:16,c:16,d:16", "[256{a,b}65536, 1{c}16, 64{d}1024]", "[1{d,c,b,a}65536, 16, 1024]"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_LT(text.size(), 4000U);
}

}  // namespace
}  // namespace retile::lower_test
