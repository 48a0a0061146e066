// Ordered layouts are planned by renaming the devices: what is planned costs what brute force over
// every tile map says (brute_force.h), and the Program of the devices that were asked for is right.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "brute_force.h"
#include "retile/check/check.h"
#include "retile/core/problem.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/ceil_types.h"
#include "support/program_bridge.h"
#include "support/random_problems.h"

namespace retile::renamed_test {
namespace {

using support::BruteForce;
using support::Minimise;

/// All compact layouts whose digits are these parts of the device number, each put on a dimension
/// (at its major end) or on none.
std::vector<Layout> all_layouts(Size devices, const Shape& global,
                                const std::vector<Digit>& parts) {
  std::vector<Layout> out;
  std::vector<std::vector<Digit>> digits(global.size());
  Shape tile = global;
  const auto put = [&](const auto& self, std::size_t k) -> void {
    if (k == parts.size()) {
      out.push_back(Layout::compact(devices, global, tile, digits).value());
      return;
    }
    self(self, k + 1);
    for (std::size_t i = 0; i < global.size(); ++i) {
      if (tile[i] % parts[k].size != 0) continue;
      tile[i] /= parts[k].size;
      digits[i].push_back(parts[k]);
      self(self, k + 1);
      digits[i].pop_back();
      tile[i] *= parts[k].size;
    }
  };
  put(put, 0);
  return out;
}

/// Device numbers read by columns: position v is device (v mod columns) * rows + v div columns.
IotaChain transposed(Size rows, Size columns) {
  IotaChain chain(rows * columns);
  chain.append({{rows, columns}, {1, 0}});
  return chain;
}

struct Totals {
  Size planned = 0;
  Size exchanged = 0;
  Size renamed = 0;   // of those planned
  Size permuted = 0;  // of those planned
  Size unproved = 0;  // of those planned: digits of the two ends that do not nest
};

/// Brute force from one layout, once per bound.
class Truth {
 public:
  explicit Truth(Layout from) : from_(std::move(from)) {}
  Size operator()(const Layout& to) {
    const Size bound = std::max(from_.tile_size(), to.tile_size());
    const auto at = known_.try_emplace(bound, from_, Minimise::paper, bound, Size{1} << 40).first;
    return at->second.cost(to).value();
  }

 private:
  Layout from_;
  std::map<Size, BruteForce> known_;
};

/// Plans from one layout to another and holds the plan against the truth.
void hold(const Layout& from, const Layout& to, Truth& truth, Totals& totals) {
  const Problem problem = Problem::make(from, to).value();
  const auto made = plan(problem);
  ASSERT_TRUE(made) << render(made.error());
  if (made->exchange) {
    ++totals.exchanged;
    return;
  }
  ++totals.planned;
  totals.renamed += made->device_at ? 1 : 0;
  totals.permuted += static_cast<Size>(made->permutes());
  const Program program = lower(*made);
  SCOPED_TRACE(to_text(program));
  totals.unproved += made->optimal ? 0 : 1;
  ASSERT_LE(made->lower_bound, truth(to));
  ASSERT_GE(made->cost, truth(to));
  ASSERT_TRUE(program.from.equivalent(from));
  ASSERT_TRUE(program.to.equivalent(to));
  const Verdict verdict = check(program);
  ASSERT_EQ(verdict.answer, Answer::right);
  // Where the digits of the two ends do not nest, a permutation may turn out to move nothing.
  ASSERT_LE(verdict.cost, made->cost);
  if (made->optimal) {
    ASSERT_EQ(verdict.cost, made->cost);
  }
  ASSERT_TRUE(spec::check(support::to_spec(program)).right);
  const auto again = parse_programs(to_text(program));
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(check(again->front()).answer, Answer::right);
}

/// Every layout of six devices under one name of the devices to every layout under another.
Totals hold_all(const IotaChain& before, const IotaChain& after) {
  Totals totals;
  for (const Shape& global : {Shape{6}, Shape{6, 2}, Shape{3, 4}}) {
    for (const std::vector<Digit>& parts : {std::vector<Digit>{{1, 3}, {3, 2}}, {{1, 2}, {2, 3}}}) {
      const std::vector<Layout> layouts = all_layouts(6, global, parts);
      for (const Layout& from : layouts) {
        Truth truth(from.renamed(before));
        for (const Layout& to : layouts) {
          hold(from.renamed(before), to.renamed(after), truth, totals);
          if (testing::Test::HasFatalFailure()) return totals;
        }
      }
    }
  }
  std::cout << totals.planned << " planned, " << totals.renamed << " of them with renamed devices, "
            << totals.permuted << " with a permutation, " << totals.unproved << " not proved; "
            << totals.exchanged << " exchanged\n";
  return totals;
}

TEST(RenamedDevices, both_ends_in_one_order_are_always_planned) {
  for (const IotaChain& order : {transposed(2, 3), transposed(3, 2)}) {
    const Totals totals = hold_all(order, order);
    EXPECT_EQ(totals.exchanged, 0);
    EXPECT_EQ(totals.unproved, 0);
    EXPECT_GT(totals.renamed, 0);
    EXPECT_GT(totals.permuted, 0);
  }
}

TEST(RenamedDevices, what_is_planned_between_two_orders_is_right) {
  const IotaChain none(6);
  Size exchanged = 0;
  for (const auto& [before, after] :
       {std::pair(transposed(2, 3), none), std::pair(none, transposed(2, 3)),
        std::pair(transposed(2, 3), transposed(3, 2))}) {
    const Totals totals = hold_all(before, after);
    EXPECT_GT(totals.renamed, 0);
    exchanged += totals.exchanged;
  }
  EXPECT_GT(exchanged, 0);  // no names make digits of both
}

TEST(RenamedDevices, limits_do_not_depend_on_names) {
  const IotaChain order = transposed(2, 3);
  for (const Layout& from : all_layouts(6, {6, 2}, {{1, 3}, {3, 2}})) {
    for (const Layout& to : all_layouts(6, {6, 2}, {{1, 3}, {3, 2}})) {
      const Problem plain = Problem::make(from, to).value();
      const Problem named = Problem::make(from.renamed(order), to.renamed(order)).value();
      ASSERT_EQ(smallest_feasible_bytes(named, 4).value(),
                smallest_feasible_bytes(plain, 4).value());
    }
  }
}

/// All pairs of types by ceil blocks, of arrays that divide and of some that do not.
std::vector<Problem> ceil_problems() {
  const Mesh mesh = parse_mesh("a:2,b:3").value();
  std::vector<Problem> out;
  for (const Shape& global : {Shape{6}, Shape{7}, Shape{6, 2}, Shape{5, 4}}) {
    const std::vector<std::string> types = support::ceil_types(mesh, global);
    for (const std::string& from : types) {
      for (const std::string& to : types) {
        out.push_back(parse_problem("a:2,b:3", from, to).value());
      }
    }
  }
  return out;
}

/// The problem with device p called device_at.at(p).
/// \param is_said  beside the layouts, which show an iota themselves
Problem called(const Problem& problem, const DeviceTable& device_at, bool is_said) {
  const Size devices = problem.from.devices();
  Problem out =
      Problem::make(problem.from.placed(device_at, devices), problem.to.placed(device_at, devices))
          .value();
  if (is_said) out.placed = Placed{problem.from, problem.to, device_at};
  return out;
}

/// The plan is that of the devices' own names, and its Program is right.
void hold_named(const Problem& plain, const Problem& named, const PlanOptions& options) {
  const auto want = plan(plain, options);
  const auto made = plan(named, options);
  ASSERT_EQ(made.has_value(), want.has_value());
  const auto least = [&](const Problem& problem) {
    return smallest_feasible_bytes(problem, 4, options.collectives).value_or(-1);
  };
  ASSERT_EQ(least(named), least(plain));
  if (!made) return;
  ASSERT_EQ(made->exchange.has_value(), want->exchange.has_value());
  ASSERT_EQ(made->cost, want->cost);
  ASSERT_EQ(made->height, want->height);
  ASSERT_EQ(made->optimal, want->optimal);
  if (made->exchange) {
    ASSERT_TRUE(made->problem.from.equivalent(named.from));
    return;
  }
  const Program program = lower(*made);
  SCOPED_TRACE(to_text(program));
  ASSERT_TRUE(program.from.equivalent(named.from));
  ASSERT_TRUE(program.to.equivalent(named.to));
  const Verdict verdict = check(program);
  ASSERT_EQ(verdict.answer, Answer::right);
  ASSERT_EQ(verdict.cost, made->cost);
  ASSERT_EQ(verdict.height, made->height);
  const auto theirs = spec::parse_programs(to_text(program));
  ASSERT_FALSE(theirs.error);
  ASSERT_TRUE(spec::check(theirs.programs.front()).right);
}

TEST(RenamedDevices, plans_do_not_depend_on_names) {
  const IotaChain iota = transposed(2, 3);
  const DeviceTable chain = DeviceTable::iota(iota, iota.size());
  const DeviceTable list = DeviceTable::list({3, 0, 5, 4, 1, 2});  // no iota makes these
  for (const auto& [names, is_said] :
       {std::pair(chain, true), std::pair(chain, false), std::pair(list, true)}) {
    for (const Problem& plain : ceil_problems()) {
      for (const bool collectives : {false, true}) {
        hold_named(plain, called(plain, names, is_said), {.collectives = collectives});
        ASSERT_FALSE(testing::Test::HasFatalFailure())
            << plain.spelling->from << " to " << plain.spelling->to;
      }
    }
  }
}

/// The ends of a drawn problem of up to 12 devices: even, uneven or of a sum.
struct Ends {
  Mesh mesh;
  std::string from, to;
  bool is_uneven, adds;
};
Ends drawn_ends(support::Random& random) {
  static const std::vector<std::string> meshes = {"x:2",     "x:3",     "x:4",        "x:2,y:2",
                                                  "x:2,y:3", "x:3,y:4", "x:2,y:2,z:2"};
  const Mesh mesh = parse_mesh(meshes[random() % meshes.size()]).value();
  const bool adds = random() % 3 == 0;
  const bool is_uneven = !adds && random() % 2 == 0;
  Shape global;
  for (Size rank = support::draw(random, 1, 2); rank > 0; --rank) {
    global.push_back(is_uneven ? support::draw(random, 1, 13)
                               : support::draw(random, 1, 2) * (random() % 2 == 0 ? 4 : 6));
  }
  if (is_uneven) {
    const std::vector<std::string> types = support::ceil_types(mesh, global);
    const auto any = [&] { return types[random() % types.size()]; };
    return {mesh, any(), any(), is_uneven, adds};
  }
  std::vector<Axis> rest = mesh.axes();
  if (adds) rest.erase(rest.begin());
  std::string from = fmt::format("[{}]", fmt::join(global, ", "));
  if (!rest.empty()) from = to_text(support::draw_type(random, Mesh::make(rest).value(), global));
  return {mesh, (adds ? "sum{x}" : "") + from, to_text(support::draw_type(random, mesh, global)),
          is_uneven, adds};
}

TEST(RenamedDevices, groups_of_any_devices_have_the_plans_of_those_from_0_on) {
  support::Random random(11);
  int held = 0, uneven = 0, sums = 0, exchanged = 0;
  for (int k = 0; held < 10'000; ++k) {
    const Ends ends = drawn_ends(random);
    std::vector<Size> names(
        static_cast<std::size_t>(ends.mesh.device_count() + support::draw(random, 1, 100)));
    std::iota(names.begin(), names.end(), Size{0});
    support::shuffle(random, names);
    names.resize(static_cast<std::size_t>(ends.mesh.device_count()));
    // Devices 0 to n - 1 in another order are no group.
    if (*std::max_element(names.begin(), names.end()) < ends.mesh.device_count()) continue;
    SCOPED_TRACE(fmt::format("{} to {} on [{}]", ends.from, ends.to, fmt::join(names, ",")));
    const Problem plain = parse_problem({ends.mesh}, std::nullopt, ends.from, ends.to).value();
    const Problem named =
        parse_problem({ends.mesh, DeviceTable::list(names)}, std::nullopt, ends.from, ends.to)
            .value();
    hold_named(plain, named, {.collectives = k % 4 == 0});
    if (testing::Test::HasFatalFailure()) return;
    const auto made = plan(named);
    if (!made || made->exchange) {
      exchanged += made ? 1 : 0;
    } else {
      // The same Program, but that it says who its devices are.
      const Program program = lower(*made);
      ASSERT_EQ(program.numbers, DeviceNumbers(names));
      Program counted = program;
      counted.numbers = {};
      ASSERT_EQ(to_text(counted), to_text(lower(plan(plain).value())));
    }
    ++held;
    uneven += ends.is_uneven ? 1 : 0;
    sums += ends.adds ? 1 : 0;
  }
  std::cout << uneven << " uneven, " << sums << " sums, " << exchanged << " exchanged\n";
  EXPECT_GT(uneven, 2'000);
  EXPECT_GT(sums, 2'000);
  EXPECT_LT(exchanged, 5'000);
}

TEST(RenamedDevices, problems_in_digits_are_not_renamed) {
  for (const Layout& from : all_layouts(6, {6}, {{1, 3}, {3, 2}})) {
    const Plan made = plan(Problem::make(from, from).value()).value();
    EXPECT_FALSE(made.device_at);
    EXPECT_EQ(made.problem.from, from);
  }
}

}  // namespace
}  // namespace retile::renamed_test
