// Every pair of types on small meshes: planned, lowered, checked by `check` and by the oracle's
// code, and within W + valley.
//
// Shapes of rank 1-3 whose sizes divide the number of devices. The number of pairs is known and
// compared, so that a generator that loses some is noticed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "spec/program/type_text.h"
#include "spec/search/search.h"

namespace retile::exhaustive_test {
namespace {

std::vector<Shape> shapes(Size devices) {
  std::vector<Size> divisors;
  for (Size d = 1; d <= devices; ++d) {
    if (devices % d == 0) divisors.push_back(d);
  }
  std::vector<Shape> out;
  for (const Size a : divisors) {
    out.push_back({a});
    for (const Size b : divisors) {
      out.push_back({a, b});
      for (const Size c : divisors) {
        out.push_back({a, b, c});
      }
    }
  }
  return out;
}

/// W, and the least valley of the weak sequences that cost W: the bound of S2. Brute force on the
/// oracle's weak steps.
struct WeakOptimum {
  Size cost = 0;
  Size valley = 0;
};

WeakOptimum weak_optimum(Size devices, const spec::Sizes& global, const spec::Sizes& from,
                         const spec::Sizes& to) {
  const auto best = spec::cheapest_weak(devices, global, from, to);
  EXPECT_TRUE(best.has_value());
  // Every way to reach a state at a cost up to W, with the least valley on it: a walk over all weak
  // steps.
  std::map<spec::Sizes, std::map<Size, Size>> front;  // state -> cost -> least valley
  std::vector<std::pair<spec::Sizes, Size>> open{{from, 0}};
  front[from][0] = spec::size_of(from);
  const Size bound = std::max(spec::size_of(from), spec::size_of(to));
  while (!open.empty()) {
    const auto [state, cost] = open.back();
    open.pop_back();
    const Size valley = front[state][cost];
    for (const auto& step : spec::weak_steps(devices, global, state, false)) {
      const auto next = spec::weak_step(devices, global, step, state);
      if (!next || spec::size_of(*next) > bound) continue;
      const Size next_cost = cost + spec::cost(step.p, spec::size_of(state), spec::size_of(*next));
      if (next_cost > best->cost) continue;
      const Size next_valley = std::min(valley, spec::size_of(*next));
      const auto known = front[*next].find(next_cost);
      if (known != front[*next].end() && known->second <= next_valley) continue;
      front[*next][next_cost] = next_valley;
      open.emplace_back(*next, next_cost);
    }
  }
  return {best->cost, front[to].at(best->cost)};
}

struct Totals {
  Size pairs = 0;
  Size permuted = 0;
  Size optimal = 0;
};

/// Plans one pair and holds the result against everything known about it.
void hold(const Problem& problem, const WeakOptimum& weak, Totals& totals) {
  const auto made = plan(problem);
  ASSERT_TRUE(made.has_value()) << render(made.error());
  EXPECT_EQ(made->weak_cost, weak.cost);
  EXPECT_LE(made->cost, weak.cost + weak.valley);
  EXPECT_GE(made->cost, made->lower_bound);
  EXPECT_LE(made->height, made->bound);
  // Normal form with at most one permutation, and that one in the valley.
  int phase = 0;
  std::size_t permutes = 0;
  for (const PlanStep& step : made->steps) {
    const int now = step.op == Collective::dynslice ? 0 : step.op == Collective::allgather ? 2 : 1;
    EXPECT_GE(now, phase);
    phase = now;
    if (step.op == Collective::allpermute) {
      ++permutes;
      EXPECT_EQ(checked_product(step.tile), made->valley);
    }
  }
  EXPECT_LE(permutes, 1U);

  const Program program = lower(*made);
  const Verdict verdict = check(program);
  EXPECT_EQ(verdict.answer, Answer::right);
  EXPECT_EQ(verdict.cost, made->cost);
  EXPECT_EQ(verdict.height, made->height);

  const std::string text = to_text(program);
  const auto parsed = spec::parse_programs(text);
  ASSERT_EQ(parsed.programs.size(), 1U) << text;
  const spec::Verdict oracle = spec::check(parsed.programs.front());
  EXPECT_TRUE(oracle.decided && oracle.right) << text;
  EXPECT_EQ(oracle.cost, made->cost);
  EXPECT_EQ(oracle.height, made->height);
  if (::testing::Test::HasFailure()) std::cout << text;

  ++totals.pairs;
  totals.permuted += static_cast<Size>(permutes);
  totals.optimal += made->optimal ? 1 : 0;
}

class EveryPair : public ::testing::TestWithParam<std::pair<const char*, Size>> {};

TEST_P(EveryPair, plans_lowers_and_checks) {
  const auto& [mesh_text, pairs] = GetParam();
  const Mesh mesh = parse_mesh(mesh_text).value();
  const auto H = spec::parse_mesh(mesh_text);
  ASSERT_TRUE(H.has_value());
  Totals totals;
  for (const Shape& shape : shapes(mesh.device_count())) {
    std::vector<DistType> types;
    for (const spec::Type& tau : spec::all_types(*H, spec::Sizes(shape.begin(), shape.end()))) {
      std::vector<DistDim> dims;
      for (const spec::Dim& dim : tau)
        dims.push_back({dim.c, {dim.xs.begin(), dim.xs.end()}, dim.s});
      types.push_back(DistType::make(mesh, dims).value());
    }
    std::map<std::pair<Shape, Shape>, WeakOptimum> weak;
    for (const DistType& from : types) {
      for (const DistType& to : types) {
        const auto key = std::pair{from.localtype(), to.localtype()};
        auto known = weak.find(key);
        if (known == weak.end()) {
          known = weak.emplace(key, weak_optimum(mesh.device_count(), shape, key.first, key.second))
                      .first;
        }
        hold(make_problem(mesh, from, to).value(), known->second, totals);
        if (HasFailure()) {
          FAIL() << "first failing pair on " << to_text(mesh) << ": '" << to_text(from) << "' '"
                 << to_text(to) << "'";
        }
      }
    }
  }
  std::cout << "mesh " << mesh_text << ": " << totals.pairs
            << " pairs of types planned, lowered and checked twice; " << totals.permuted
            << " with a permutation, " << totals.optimal << " proved optimal\n";
  EXPECT_EQ(totals.pairs, pairs);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryPair,
                         ::testing::Values(std::pair{"a:2,b:2", Size{3607}},
                                           std::pair{"a:2,b:3", Size{4540}},
                                           std::pair{"a:2,b:2,c:2", Size{209847}},
                                           std::pair{"a:2,b:2,c:3", Size{319889}}));

// Control: the two checkers are what stands between a planner's mistake and "right". A plan that
// forgets its permutation, or that takes the wrong axis, is refused by both.
TEST(EveryPairControl, a_plan_without_its_permutation_is_refused_by_both) {
  const Problem problem = parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value();
  Program program = lower(plan(problem).value());
  EXPECT_EQ(check(program).answer, Answer::right);
  program.steps.erase(program.steps.begin() + 1);
  program.steps.back().claims = {};
  EXPECT_EQ(check(program).answer, Answer::wrong);
  const auto parsed = spec::parse_programs(to_text(program));
  ASSERT_EQ(parsed.programs.size(), 1U);
  EXPECT_FALSE(spec::check(parsed.programs.front()).right);
}

}  // namespace
}  // namespace retile::exhaustive_test
