// One exchange in the place of steps that add: every target gets all addends of its box.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

namespace retile::test::adding_exchange_test {
namespace {

Program exchanged(const std::string& mesh, const std::string& from, const std::string& to) {
  const auto problem = parse_problem(mesh, from, to);
  EXPECT_TRUE(problem.has_value()) << from << to;
  const auto made = direct(*problem);
  EXPECT_TRUE(made.has_value()) << (made ? "" : render(made.error()));
  return made.value();
}

std::string step_of(const Program& program) {
  const std::string text = to_text(program);
  return text.substr(text.find("exchange"));
}

TEST(AddingExchange, every_device_gets_every_addend_its_own_first) {
  const Program program = exchanged("x:2", "sum{x}[2]", "[2]");
  EXPECT_EQ(step_of(program),
            "exchange transfers=[[0,0,0,0,2],[0,1,0,0,2],[1,0,0,0,2],[1,1,0,0,2]] add=sum "
            "tile=[2]\n");
  EXPECT_EQ(check(program).answer, Answer::right);
  EXPECT_EQ(check(program).cost, 4);
}

TEST(AddingExchange, each_class_of_the_end_takes_the_addends_that_it_has) {
  const Program program = exchanged("x:2,y:2", "sum{x,y}[2]", "sum{x}[2]");
  // Devices 0 and 1 are addend 0 of the end; they had addends 0 and 2.
  EXPECT_EQ(step_of(program),
            "exchange transfers=[[0,0,0,0,2],[0,1,0,0,2],[1,0,0,0,2],[1,1,0,0,2],[2,2,0,0,2],"
            "[2,3,0,0,2],[3,2,0,0,2],[3,3,0,0,2]] add=sum tile=[2]\n");
  EXPECT_EQ(check(program).answer, Answer::right);
}

TEST(AddingExchange, as_many_addends_are_moved_not_added) {
  const Program program = exchanged("x:2,y:2", "sum{x,y}[2]", "sum{y,x}[2]");
  EXPECT_EQ(step_of(program),
            "exchange transfers=[[0,0,0,0,2],[1,1,0,0,2],[2,2,0,0,2],[3,3,0,0,2]] tile=[2]\n");
  EXPECT_EQ(check(program).answer, Answer::right);
  EXPECT_EQ(check(program).cost, 0);
  // A stack's arrays have numbers.
  const Program stack = exchanged("x:2,y:2", "stack{x,y}[2]", "stack{y,x}[2]");
  EXPECT_EQ(step_of(stack),
            "exchange transfers=[[0,0,0,0,2],[1,2,0,0,2],[2,1,0,0,2],[3,3,0,0,2]] tile=[2]\n");
  EXPECT_EQ(check(stack).answer, Answer::right);
}

TEST(AddingExchange, what_adding_does_not_make_is_refused) {
  const auto whole = parse_problem("x:2", "[2]", "sum{x}[2]");
  ASSERT_TRUE(whole.has_value());
  const auto made = direct(*whole);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::infeasible);
}

TEST(AddingExchange, has_a_limit) {
  const auto problem = parse_problem("x:2,y:2", "sum{x,y}[2]", "[2]");
  ASSERT_TRUE(problem.has_value());
  EXPECT_TRUE(direct(*problem, {.transfer_limit = 16}).has_value());
  const auto made = direct(*problem, {.transfer_limit = 15});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::limit_reached);
}

/// Blocks as equal as the ceil rule makes them, of axes in dimensions or addends.
std::vector<Layout> ceil_layouts(const Shape& mesh, const Shape& global, Addition addition) {
  Size devices = 1;
  for (const Size axis : mesh) devices *= axis;
  std::vector<Layout> out;
  std::vector<std::vector<Digit>> digits(global.size() + 1);
  const std::function<void(std::size_t, Size)> put = [&](std::size_t axis, Size stride) {
    if (axis == mesh.size()) {
      std::vector<Cuts> cuts;
      for (std::size_t i = 0; i < global.size(); ++i) {
        const Size count = product_of(digits[i]);
        cuts.push_back(Cuts::blocks((global[i] + count - 1) / count, count, global[i]));
      }
      const std::vector<std::vector<Digit>> dims(digits.begin(), digits.end() - 1);
      const auto whole = Layout::numbered(devices, cuts, dims);
      ASSERT_TRUE(whole.has_value());
      out.push_back(whole->with_addends(addition, digits.back()).value());
      return;
    }
    stride /= mesh[axis];
    put(axis + 1, stride);
    for (auto& list : digits) {
      list.insert(list.begin(), Digit{stride, mesh[axis]});
      put(axis + 1, stride);
      list.erase(list.begin());
    }
  };
  put(0, devices);
  return out;
}

/// No device receives what it has.
void hold_own_first(const Problem& problem, const Program& program) {
  if (problem.to.addends()) return;
  std::vector<Size> received(static_cast<std::size_t>(program.devices), 0);
  for (const Transfer& transfer : std::get<Exchange>(program.steps.front().op).transfers) {
    if (transfer.source == transfer.target) continue;
    received[static_cast<std::size_t>(transfer.target)] += checked_product(transfer.shape).value();
  }
  for (Size d = 0; d < program.devices; ++d) {
    const Box before = problem.from.box(d);
    const Box after = problem.to.box(d);
    Size own = 1;
    Size all = problem.from.addend_count();
    for (std::size_t i = 0; i < after.at.size(); ++i) {
      const Size end = std::min(before.at[i] + before.extent[i], after.at[i] + after.extent[i]);
      own *= std::max(Size{0}, end - std::max(before.at[i], after.at[i]));
      all *= after.extent[i];
    }
    EXPECT_EQ(received[static_cast<std::size_t>(d)], all - own) << to_text(program);
  }
}

TEST(AddingExchange, all_pairs_of_ceil_tiles_are_right) {
  Size pairs = 0;
  Size uneven = 0;
  for (const auto& [mesh, global] : {std::pair<Shape, Shape>{{2, 2}, {5}},
                                     {{2, 2}, {4}},
                                     {{2, 2}, {3, 2}},
                                     {{2, 3}, {5}},
                                     {{2, 3}, {2, 5}},
                                     {{2, 2, 2}, {5}},
                                     {{2, 3}, {1}}}) {
    for (const Addition addition : {Addition::sum, Addition::min, Addition::stack}) {
      const std::vector<Layout> ends = ceil_layouts(mesh, global, addition);
      for (const Layout& from : ends) {
        for (const Layout& to : ends) {
          if (!from.addends() || !check_addends(from, to)) continue;
          const Problem problem = Problem::make(from, to).value();
          const auto made = direct(problem);
          ASSERT_TRUE(made.has_value()) << render(made.error());
          const Verdict verdict = check(*made);
          ASSERT_EQ(verdict.answer, Answer::right) << to_text(*made);
          hold_own_first(problem, *made);
          const auto planned = plan(problem);
          ASSERT_TRUE(planned.has_value()) << render(planned.error());
          EXPECT_EQ(planned->exchange.has_value(), !(from.is_even() && to.is_even()));
          if (planned->exchange) {
            EXPECT_EQ(planned->cost, verdict.cost) << to_text(*made);
            ++uneven;
          }
          ++pairs;
        }
      }
    }
  }
  std::cout << pairs << " pairs, " << uneven << " with tiles that are not all alike\n";
  EXPECT_GT(uneven, 1000);
}

}  // namespace
}  // namespace retile::test::adding_exchange_test
