// One exchange between tiles of several boxes: blocks that are dealt out in turn, and sections that are cut each by
// itself. What the devices hold is compared with a filter over all indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "exec/exchange/solved.h"
#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "retile/program/tile_shapes.h"
#include "support/values.h"

namespace retile::dealt_test {
namespace {

using exchange_tests::received;
using exchange_tests::solve;
using exchange_tests::Solved;

/// The elements that a device holds, by their numbers in the array.
std::vector<Size> held(const Layout& layout, Size device) {
  std::vector<Size> out;
  for (const TilePart& part : layout.parts(device)) {
    Shape at(part.box.at.size(), 0);
    for (bool more = true; more;) {
      Size number = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        number = number * layout.global()[i] + part.box.at[i] + at[i];
      }
      out.push_back(number);
      more = false;
      for (std::size_t i = at.size(); i-- > 0 && !more;) {
        more = ++at[i] < part.box.extent[i];
        if (!more) at[i] = 0;
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Nobody receives what he has, and everybody what he lacks.
void moves_what_is_lacking(const Program& program) {
  const std::vector<Size> from_others = received(program);
  std::vector<Size> all(from_others.size(), 0);
  for (const Transfer& transfer : exchange_tests::transfers_of(program)) {
    all[static_cast<std::size_t>(transfer.target)] += checked_product(transfer.shape).value();
  }
  for (Size d = 0; d < program.devices; ++d) {
    const std::vector<Size> before = held(program.from, d), after = held(program.to, d);
    std::vector<Size> lacking;
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(lacking));
    const auto device = static_cast<std::size_t>(d);
    ASSERT_EQ(from_others[device], static_cast<Size>(lacking.size())) << to_text(program);
    ASSERT_EQ(all[device], static_cast<Size>(after.size())) << to_text(program);
  }
}

/// Everything that one dimension can say of these axes.
std::vector<std::string> forms(const std::string& axes, Size count, Size global) {
  const auto text = [&](Size tile, const char* mark, const std::string& size) {
    return std::to_string(tile) + mark + "{" + axes + "}" + size;
  };
  const auto ceil = [&](Size n) { return (n + count - 1) / count; };
  const std::string whole = std::to_string(global);
  std::vector<std::string> out = {text(ceil(global), "", whole)};
  for (Size block = 1; block <= 3; ++block) out.push_back(text(block, "@", whole));
  for (Size first = 1; first < global; first += 3) {
    const std::string sections = std::to_string(first) + "+" + std::to_string(global - first);
    out.push_back(text(ceil(first) + ceil(global - first), "", sections));
    out.push_back(text(2, "@", sections));
  }
  return out;
}

TEST(Dealt, all_small_problems_move_what_is_lacking) {
  std::size_t solved = 0;
  std::size_t several = 0;
  for (const Size global : {1, 2, 5, 7, 12}) {
    const std::string whole = std::to_string(global);
    std::vector<std::string> ends = {"[" + whole + ", 2]"};
    for (const auto& [axes, count] : {std::pair<std::string, Size>{"a", 2}, {"b", 3}, {"b,a", 6}}) {
      for (const std::string& form : forms(axes, count, global))
        ends.push_back("[" + form + ", 2]");
    }
    ends.push_back("[1@{b}" + whole + ", 1@{a}2]");
    ends.push_back("[2@{a}" + whole + ", 2{b}1+1]");
    for (const std::string& from : ends) {
      for (const std::string& to : ends) {
        const Solved it = solve("a:2,b:3", from, to);
        if (testing::Test::HasFailure()) return;
        ++solved;
        if (it.program.from.in_boxes() && it.program.to.in_boxes()) continue;
        ++several;
        const bool alike = it.program.from.equivalent(it.program.to);
        ASSERT_NE(it.plan.exchange.has_value(), alike) << from << " to " << to;
        if (alike) continue;
        moves_what_is_lacking(it.program);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  std::cout << solved << " problems, " << several << " with tiles of several boxes\n";
  EXPECT_GT(several, 2'000U);
}

TEST(Dealt, blocks_of_ScaLAPACK_between_two_grids) {
  const Problem problem =
      parse_problem("r:2,c:2", "[64@{r}500, 64@{c}500]", "[48@{r,c}500, 500]").value();
  const Plan planned = plan(problem).value();
  EXPECT_EQ(planned.bound, 144 * 500);
  const Program program = program_of(planned).value();
  EXPECT_EQ(check(program).answer, Answer::right);
  moves_what_is_lacking(program);
}

TEST(Dealt, a_fused_projection_of_unequal_groups) {
  // 32 heads of queries and 8 of keys and of values, of 128 rows each: from 4 ranks to 8.
  const Solved it = solve("t:4,u:2", "[1536{t}4096+1024+1024, 8]", "[768{u,t}4096+1024+1024, 8]");
  // Every rank keeps half of what it has.
  EXPECT_EQ(it.plan.cost, 0);
  const Solved other =
      solve("t:4,u:2", "[1536{t}4096+1024+1024, 8]", "[768{t,u}4096+1024+1024, 8]");
  EXPECT_GT(other.plan.cost, 0);
  moves_what_is_lacking(other.program);
}

TEST(Dealt, equal_ends_need_no_exchange) {
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"[2@{a}10]", "[2@{a}10]"},
                                 {"[2@{a}8]", "[2@{a}4+4]"},
                                 {"[2@{a}9]", "[2@{a}8+1]"},  // no view of the array says these
                                 {"[3{b}5+2, 2]", "[3{b}5+2, 2]"},
                                 {"[3{b}7<1,0>]", "[3{b}7<1,0>]"}}) {
    const Solved it = solve("a:2,b:3", from, to);
    EXPECT_FALSE(it.plan.exchange.has_value()) << from;
    EXPECT_TRUE(it.program.steps.empty()) << from;
    EXPECT_EQ(it.plan.cost, 0);
    EXPECT_TRUE(it.plan.optimal);
    EXPECT_EQ(it.plan.resident, it.plan.bound) << "there is no second tile";
    EXPECT_EQ(smallest_feasible_bytes(it.plan.problem, 4).value(), 4 * it.plan.bound);
  }
  EXPECT_TRUE(solve("a:2,b:3", "[2@{a}9]", "[1@{a}9]").plan.exchange.has_value());
}

TEST(Dealt, addends_of_several_boxes_stay_where_they_are_held) {
  const auto costs = [](const char* from, const char* to) {
    return solve("a:2,b:3", from, to).plan.cost;
  };
  EXPECT_EQ(costs("sum{b}[2@{a}8, 3]", "sum{b}[2@{a}4+4, 3]"), 0);
  EXPECT_EQ(costs("sum{b}[8, 3]", "sum{b}[1@{a}8, 3]"), 0);
  EXPECT_GT(costs("sum{b}[2@{a}8, 3]", "sum{b}[1@{a}8, 3]"), 0);
  EXPECT_GT(costs("sum{b}[2@{a}8, 3]", "sum{b}[8, 3]"), 0);
  EXPECT_GT(costs("sum{b}[4{a}4+4]", "sum{b}[4{a}8]"), 0);
  EXPECT_GT(costs("sum{b}[2@{a}9, 3]", "sum{b}[1@{a}9, 3]"), 0);
}

TEST(Dealt, what_cannot_be_said_is_refused) {
  const auto refusal = [](const std::string& type) {
    const auto problem = parse_problem("x:4", type, "[12]");
    return problem ? std::string("read") : problem.error().message;
  };
  EXPECT_EQ(refusal("[3{x}8+4]"), "read");
  EXPECT_EQ(refusal("[2@{x}12]"), "read");
  EXPECT_EQ(refusal("[4{x}8+4]"), "the largest of 4 tiles of 2 sections has 3 elements, not 4");
  EXPECT_EQ(refusal("[9{}8+4]"),
            "without axes the tile size must equal the global size: 9 is not 12");
  EXPECT_EQ(refusal("[3~{x}8+4]"),
            "sections are dealt out in blocks, or cut as equally as a tile size says");
  EXPECT_EQ(refusal("[2@{x}12<1,1>]"), "what is dealt out, or cut in sections, has no halo");
  EXPECT_EQ(refusal("[3{x}8+4<1,1>]"), "what is dealt out, or cut in sections, has no halo");
  EXPECT_EQ(refusal("[2@{x}12<0,0>]"), "what is dealt out, or cut in sections, has no halo");
  // Who builds the dimension himself is refused as well.
  CutDim built;
  built.cutting = paper::Cutting::dealt;
  built.tile = 2;
  built.parts = {{"x"}};
  built.global = 12;
  built.halo = {1, 1};
  const auto violation = find_violation(parse_mesh("x:4").value(), std::vector{built});
  ASSERT_TRUE(violation.has_value());
  EXPECT_EQ(violation->diagnostic.message, "what is dealt out, or cut in sections, has no halo");
  std::string many = "3";
  for (int k = 1; k < 20; ++k) many += "+3";
  const auto wrong = parse_problem("x:4", "[3{x}" + many + "]", "[60]");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().notes.back(), "axis x has size 4; a tile of 20 would do");
  EXPECT_EQ(refusal("[0@{x}12]"), "the size of a dimension must be at least 1, not 0");
  EXPECT_EQ(refusal("[3{x}9223372036854775807+4]"), "the sections together do not fit in 63 bits");
  EXPECT_EQ(refusal("[1@{x}9223372036854775807]"), "at most 67108864 blocks are dealt out");
  const auto together = parse_problem("x:4,y:4", "[1@{x}9000, 1@{y}9000]", "[9000, 9000]");
  ASSERT_FALSE(together.has_value());
  EXPECT_EQ(together.error().message, "more than 67108864 boxes are dealt out");
}

}  // namespace
}  // namespace retile::dealt_test
