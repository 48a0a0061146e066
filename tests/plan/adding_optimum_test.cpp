// Plans with addends against brute force, on all pairs of types of small meshes: what PS2, PS3 and
// PS5 of docs/ledger/statements.md rest on.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adding_brute_force.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "sums_certificates.h"

namespace retile::plan_test {
namespace {

/// Every way to put axes into dimensions, in every order, or to addends, or nowhere.
std::vector<Layout> layouts_with_addends(const Shape& mesh, const Shape& global) {
  Size devices = 1;
  for (const Size axis : mesh) devices *= axis;
  std::vector<Layout> out;
  std::vector<std::vector<Digit>> digits(global.size() + 1);
  const std::function<void(std::size_t, Size)> put = [&](std::size_t axis, Size stride) {
    if (axis == mesh.size()) {
      Shape tile = global;
      for (std::size_t i = 0; i < global.size(); ++i) {
        const Size count = product_of(digits[i]);
        if (tile[i] % count != 0) return;
        tile[i] /= count;
      }
      std::vector<std::vector<Digit>> dims(digits.begin(), digits.end() - 1);
      const auto whole = Layout::compact(devices, global, tile, dims);
      ASSERT_TRUE(whole.has_value());
      out.push_back(whole->with_addends(Addition::sum, digits.back()).value());
      return;
    }
    stride /= mesh[axis];
    const Digit digit{stride, mesh[axis]};
    put(axis + 1, stride);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      // The order of addends means nothing.
      const std::size_t places = i < global.size() ? digits[i].size() + 1 : 1;
      for (std::size_t k = 0; k < places; ++k) {
        digits[i].insert(digits[i].begin() + static_cast<std::ptrdiff_t>(k), digit);
        put(axis + 1, stride);
        digits[i].erase(digits[i].begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
  };
  put(0, devices);
  return out;
}

struct AddingCase {
  const char* name;
  Shape mesh;
  Shape global;
};

struct AddingTotals {
  Size pairs = 0;
  Size whole = 0;    // of which to the array itself
  Size partial = 0;  // of which to addends
  Size permuted = 0;
  Size twisted = 0;
  Size optimal = 0;  // of those between addends
  sums_certificates::Attack certificates;
};

std::string adding_text(const Plan& plan) { return to_text(lower(plan)); }

/// Slices, then steps that add, alltoalls and at most one permutation, then gathers.
void hold_normal_form(const Plan& plan) {
  int phase = 0;
  Size permutes = 0;
  for (const PlanStep& step : plan.steps) {
    const int now = step.op == Collective::dynslice ? 0 : step.op == Collective::allgather ? 2 : 1;
    EXPECT_GE(now, phase) << adding_text(plan);
    phase = now;
    if (step.op == Collective::allpermute) {
      ++permutes;
      EXPECT_EQ(checked_product(step.tile), plan.valley) << adding_text(plan);
    }
  }
  EXPECT_LE(permutes, 1) << adding_text(plan);
}

/// \param least  what brute force found within the bound, and without one
void hold_adding(const Problem& problem, Size within, Size without, AddingTotals& totals) {
  const auto made = plan(problem);
  ASSERT_TRUE(made.has_value()) << render(made.error());
  EXPECT_EQ(made->cost, within) << adding_text(*made);
  EXPECT_EQ(within, without) << adding_text(*made);
  EXPECT_TRUE(within == 0 || within >= problem.to.tile_size()) << adding_text(*made);
  EXPECT_LE(made->weak_cost, within);
  EXPECT_LE(within, made->weak_cost + std::min(problem.from.tile_size(), problem.to.tile_size()));
  EXPECT_LE(made->height, made->bound);
  EXPECT_TRUE(made->complete);
  if (problem.from.addends()) {
    EXPECT_EQ(made->searched, !made->optimal);
    EXPECT_EQ(made->optimal, made->lower_bound == made->cost);
    EXPECT_LE(made->lower_bound, within) << adding_text(*made);
    hold_normal_form(*made);
    totals.certificates.on(*made, within);
  }
  const Program program = lower(*made);
  const Verdict verdict = check(program);
  EXPECT_EQ(verdict.answer, Answer::right) << to_text(program);
  EXPECT_EQ(verdict.cost, made->cost) << to_text(program);
  EXPECT_EQ(verdict.height, made->height) << to_text(program);
  for (const Step& step : program.steps) {
    EXPECT_TRUE(step.claims.map || !made->twists.empty()) << to_text(program);
  }
  ++totals.pairs;
  totals.whole += problem.from.addends() && !problem.to.addends() ? 1 : 0;
  totals.partial += problem.to.addends() ? 1 : 0;
  totals.permuted += static_cast<Size>(made->permutes());
  totals.twisted += made->twists.empty() ? 0 : 1;
  totals.optimal += problem.from.addends() && made->optimal ? 1 : 0;
}

class EveryPairOfAddends : public ::testing::TestWithParam<AddingCase> {};

TEST_P(EveryPairOfAddends, costs_what_brute_force_finds) {
  const auto& [name, mesh, global] = GetParam();
  support::AddingBruteForce brute(global);
  const std::vector<Layout> ends = layouts_with_addends(mesh, global);
  AddingTotals totals;
  for (const Layout& from : ends) {
    const auto source = brute.state_of(from);
    const auto without = brute.costs_from(source, std::numeric_limits<Size>::max());
    std::map<Size, support::AddingBruteForce::Costs> within;
    for (const Layout& to : ends) {
      const std::size_t target = brute.number_of(brute.state_of(to));
      const auto least = without.find(target);
      if (from == to) continue;
      const auto problem = Problem::make(from, to);
      ASSERT_TRUE(problem.has_value());
      if (least == without.end()) {
        EXPECT_EQ(plan(*problem).error().code, Code::infeasible);
        continue;
      }
      const Size bound = std::max(from.tile_size(), to.tile_size());
      if (within.count(bound) == 0) within[bound] = brute.costs_from(source, bound);
      ASSERT_EQ(within[bound].count(target), 1U);
      hold_adding(*problem, within[bound].at(target), least->second, totals);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  std::cout << totals.pairs << " pairs (" << totals.whole << " partial to whole, " << totals.partial
            << " partial to partial), " << totals.permuted << " with a permutation, "
            << totals.twisted << " with a slice that mixes, " << totals.optimal
            << " between addends proved optimal, " << totals.certificates.accepted()
            << " certificates, " << totals.certificates.forged() << " forged ones refused\n";
  RecordProperty("pairs", static_cast<int>(totals.pairs));
}

// ---- Steps along several dimensions -------------------------------------------------------------

const PlanOptions along_several{.steps = Scope::several_dims};

struct SeveralTotals {
  Size pairs = 0;
  Size cheaper = 0;  // than steps along one dimension each
  Size together = 0;
  Size optimum = 0;
  Size optimal = 0;  // and said to be, among all steps
  Size optimal_along_one = 0;
};

/// What a plan says of all steps, and of those along one dimension.
/// \param along_one, least  what brute force found of these, and of all
void hold_several(const Problem& problem, Size along_one, Size least, SeveralTotals& totals) {
  const auto made = plan(problem, along_several);
  ASSERT_TRUE(made.has_value()) << render(made.error());
  const std::string text = adding_text(*made);
  EXPECT_LE(made->cost, along_one) << text;
  EXPECT_GE(made->cost, least) << text;
  EXPECT_LE(made->lower_bound, made->scope == Scope::one_dim ? along_one : least) << text;
  EXPECT_EQ(made->optimal, made->lower_bound == made->cost) << text;
  EXPECT_EQ(made->scope == Scope::any, made->lower_bound == 0) << text;
  const spec::Verdict verdict = spec::check(spec::parse_programs(text).programs.front());
  EXPECT_TRUE(verdict.right) << text;
  EXPECT_EQ(verdict.cost, made->cost) << text;
  const Verdict ours = check(lower(*made));
  EXPECT_EQ(ours.answer, Answer::right) << text;
  EXPECT_EQ(ours.cost, made->cost) << text;
  EXPECT_EQ(ours.height, made->height) << text;
  ++totals.pairs;
  totals.cheaper += made->cost < along_one ? 1 : 0;
  totals.together += std::any_of(made->steps.begin(), made->steps.end(),
                                 [](const PlanStep& step) { return !step.parts.empty(); })
                         ? 1
                         : 0;
  totals.optimum += made->cost == least ? 1 : 0;
  totals.optimal += made->optimal && made->scope != Scope::one_dim ? 1 : 0;
  totals.optimal_along_one += made->optimal && made->scope == Scope::one_dim ? 1 : 0;
}

class EveryPairAlongSeveral : public ::testing::TestWithParam<AddingCase> {};

TEST_P(EveryPairAlongSeveral, no_plan_claims_too_much) {
  const auto& [name, mesh, global] = GetParam();
  support::AddingBruteForce single(global);
  support::AddingBruteForce several(global, true);
  constexpr Size unbounded = std::numeric_limits<Size>::max();
  SeveralTotals totals;
  const std::vector<Layout> ends = layouts_with_addends(mesh, global);
  for (const Layout& from : ends) {
    const auto along_one = single.costs_from(single.state_of(from), unbounded);
    const auto least = several.costs_from(several.state_of(from), unbounded);
    for (const Layout& to : ends) {
      const auto one = along_one.find(single.number_of(single.state_of(to)));
      const auto all = least.find(several.number_of(several.state_of(to)));
      if (from == to || one == along_one.end()) continue;
      ASSERT_TRUE(all != least.end());
      hold_several(Problem::make(from, to).value(), one->second, all->second, totals);
      ASSERT_FALSE(HasFailure());
    }
  }
  std::cout << totals.pairs << " pairs, " << totals.cheaper << " cheaper than along one dimension, "
            << totals.together << " with steps along several; " << totals.optimum
            << " at the optimum of all steps, " << totals.optimal << " called optimal among these, "
            << totals.optimal_along_one << " among those along one dimension\n";
  EXPECT_EQ(totals.optimum, totals.pairs);
}

const std::vector<AddingCase> adding_cases = {
    {"2x2_4", {2, 2}, {4}},           {"2x2_2x2", {2, 2}, {2, 2}}, {"2x2_4x4", {2, 2}, {4, 4}},
    {"2x2_3x5", {2, 2}, {3, 5}},      {"4_4x4", {4}, {4, 4}},      {"2x3_6", {2, 3}, {6}},
    {"2x3_6x6", {2, 3}, {6, 6}},      {"2x3_3x4", {2, 3}, {3, 4}}, {"2x3_12x2", {2, 3}, {12, 2}},
    {"2x2x2_2", {2, 2, 2}, {2}},      {"2x2x2_3", {2, 2, 2}, {3}}, {"2x2x2_4", {2, 2, 2}, {4}},
    {"2x2x2_2x2", {2, 2, 2}, {2, 2}},
};

INSTANTIATE_TEST_SUITE_P(Small, EveryPairOfAddends, ::testing::ValuesIn(adding_cases),
                         [](const auto& it) { return std::string(it.param.name); });

INSTANTIATE_TEST_SUITE_P(Small, EveryPairAlongSeveral,
                         ::testing::Values(AddingCase{"2x2_4", {2, 2}, {4}},
                                           AddingCase{"2x2_2x2", {2, 2}, {2, 2}},
                                           AddingCase{"2x2_4x4", {2, 2}, {4, 4}},
                                           AddingCase{"2x3_6x6", {2, 3}, {6, 6}},
                                           AddingCase{"2x3_12x2", {2, 3}, {12, 2}},
                                           AddingCase{"2x2x2_2x2", {2, 2, 2}, {2, 2}}),
                         [](const auto& it) { return std::string(it.param.name); });

#ifdef RETILE_SLOW_TESTS
INSTANTIATE_TEST_SUITE_P(Slow, EveryPairAlongSeveral,
                         ::testing::Values(AddingCase{"2x2x2_4x2", {2, 2, 2}, {4, 2}},
                                           AddingCase{"4x2_4x4", {4, 2}, {4, 4}},
                                           AddingCase{"2x2x2_2x2x2", {2, 2, 2}, {2, 2, 2}}),
                         [](const auto& it) { return std::string(it.param.name); });

const std::vector<AddingCase> more_adding_cases = {
    {"2x2x2_4x2", {2, 2, 2}, {4, 2}}, {"2x2x2_8", {2, 2, 2}, {8}},
    {"2x2x2_2x3", {2, 2, 2}, {2, 3}}, {"2x2x2_2x2x2", {2, 2, 2}, {2, 2, 2}},
    {"4x2_4x4", {4, 2}, {4, 4}},      {"5_5x5", {5}, {5, 5}},
    {"7_7x7", {7}, {7, 7}},
};

INSTANTIATE_TEST_SUITE_P(Slow, EveryPairOfAddends, ::testing::ValuesIn(more_adding_cases),
                         [](const auto& it) { return std::string(it.param.name); });
#endif

}  // namespace
}  // namespace retile::plan_test
