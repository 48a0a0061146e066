// Groups of devices, whatever they are called: what is planned, written, read and judged of them is what
// is of the devices 0..n-1, but for their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/device_numbers.h"
#include "retile/core/division.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/random_problems.h"
#include "support/samples.h"

namespace retile::groups_test {
namespace {

using support::draw;
using support::Random;

/// Two ends over one mesh.
struct Ends {
  Mesh mesh;
  std::string from;
  std::string to;
  bool adds = false;
};

Mesh draw_mesh(Random& random) {
  std::vector<Axis> axes;
  for (Size k = draw(random, 1, 3); k > 0; --k) {
    axes.push_back({std::string(1, static_cast<char>('x' + axes.size())), draw(random, 2, 3)});
  }
  return Mesh::make(std::move(axes)).value();
}

/// A type over the mesh, of which each axis cuts a dimension or none, or counts addends.
/// \param may_add  the axes that may count addends; those that do stay in it
std::string draw_text(Random& random, const Mesh& mesh, const Shape& global,
                      std::vector<std::string>& may_add) {
  std::vector<std::vector<Axis>> cutting(global.size());
  std::vector<std::string> addends;
  std::vector<Axis> axes = mesh.axes();
  support::shuffle(random, axes);
  for (const Axis& axis : axes) {
    const bool may = std::find(may_add.begin(), may_add.end(), axis.name) != may_add.end();
    if (may && draw(random, 0, 1) == 0) {
      addends.push_back(axis.name);
    } else if (const Size dim = draw(random, 0, static_cast<Size>(global.size()));
               dim < static_cast<Size>(global.size())) {
      cutting[static_cast<std::size_t>(dim)].push_back(axis);
    }
  }
  std::string out;
  for (std::size_t i = 0; i < global.size(); ++i) {
    Size tiles = 1;
    std::string names;
    for (const Axis& axis : cutting[i]) {
      tiles *= axis.size;
      names += (names.empty() ? "" : ",") + axis.name;
    }
    out += (i == 0 ? "[" : ", ") + std::to_string(ceil_div(global[i], tiles)) + "{" + names + "}" +
           std::to_string(global[i]);
  }
  std::string sum;
  for (const std::string& name : addends) sum += (sum.empty() ? "sum{" : ",") + name;
  may_add = addends;
  return (sum.empty() ? "" : sum + "}") + out + "]";
}

Ends draw_ends(Random& random) {
  Ends out{draw_mesh(random), "", ""};
  Shape global;
  for (Size rank = draw(random, 1, 3); rank > 0; --rank) global.push_back(draw(random, 1, 12));
  std::vector<std::string> may_add;
  if (draw(random, 0, 2) == 0) {
    for (const Axis& axis : out.mesh.axes()) may_add.push_back(axis.name);
  }
  out.from = draw_text(random, out.mesh, global, may_add);
  out.adds = !may_add.empty();
  out.to = draw_text(random, out.mesh, global, may_add);
  return out;
}

/// Distinct numbers: any, ascending ones, ranges, or those of the devices themselves in another order.
std::vector<Size> draw_numbers(Random& random, Size count) {
  std::vector<Size> out;
  const Size most = draw(random, 0, 3) == 0 ? count - 1 : draw(random, count, 1000);
  const Size first = draw(random, 0, most - count + 1);
  for (Size d = first; d < first + count; ++d) out.push_back(d);
  if (draw(random, 0, 3) == 0) return out;
  for (Size& number : out) {
    const Size other = draw(random, 0, most);
    if (std::find(out.begin(), out.end(), other) == out.end()) number = other;
  }
  support::shuffle(random, out);
  if (draw(random, 0, 3) == 0) std::sort(out.begin(), out.end());
  return out;
}

/// The verdict of the oracle on a text.
spec::Verdict oracle(const std::string& text) {
  const spec::Programs read = spec::parse_programs(text);
  if (read.error) {
    ADD_FAILURE() << read.error->message;
    return {};
  }
  return spec::check(read.programs.front());
}

/// Both checkers find the same wrong, on the device of the number in the place of that of the plain one.
void hold_wrong(Program plain, Program named) {
  plain.steps.pop_back();
  named.steps.pop_back();
  const Verdict want = check(plain);
  const Verdict got = check(named);
  ASSERT_EQ(got.answer, want.answer);
  const spec::Verdict theirs = oracle(to_text(named));
  ASSERT_EQ(theirs.right, got.answer == Answer::right);
  if (!want.wrong) return;
  ASSERT_EQ(got.wrong->reason, want.wrong->reason);
  ASSERT_EQ(got.wrong->step, want.wrong->step);
  ASSERT_EQ(got.wrong->witness.device.has_value(), want.wrong->witness.device.has_value());
  if (!want.wrong->witness.device) return;
  ASSERT_EQ(*got.wrong->witness.device, named.numbers.of(*want.wrong->witness.device));
  ASSERT_EQ(*theirs.wrong->device, named.numbers.of(*oracle(to_text(plain)).wrong->device));
}

struct Totals {
  std::map<std::string, Size> seen;
};

/// The Programs are the same but for the numbers, in both forms, and right.
void hold_programs(const Program& plain, const Program& named, Totals& totals) {
  const std::string text = to_text(named);
  SCOPED_TRACE(text);
  Program counted = named;
  counted.numbers = {};
  ASSERT_EQ(to_text(counted), to_text(plain));
  if (named.numbers.are_listed()) {
    ASSERT_NE(text.find("\ndevices " + named.numbers.text() + "\n"), std::string::npos);
  }
  const auto again = parse_programs(text);
  ASSERT_TRUE(again) << render(again.error());
  ASSERT_EQ(to_text(again->front()), text);
  ASSERT_EQ(again->front().numbers, named.numbers);
  const auto json = parse_program_json(to_json(named));
  ASSERT_TRUE(json) << render(json.error());
  ASSERT_EQ(to_text(*json), text);
  const Verdict verdict = check(again->front());
  ASSERT_EQ(verdict.answer, Answer::right);
  ASSERT_EQ(verdict.cost, check(plain).cost);
  const spec::Verdict theirs = oracle(text);
  ASSERT_TRUE(theirs.right);
  ASSERT_EQ(theirs.cost, verdict.cost);
  if (named.steps.empty()) return;
  ++totals.seen["with steps"];
  hold_wrong(plain, named);
}

void hold(const Problem& plain, const Problem& named, Totals& totals) {
  const auto want = plan(plain);
  const auto got = plan(named);
  ASSERT_EQ(got.has_value(), want.has_value());
  if (!want) return;
  ASSERT_EQ(got->cost, want->cost);
  ASSERT_EQ(got->height, want->height);
  ASSERT_EQ(got->lower_bound, want->lower_bound);
  ASSERT_EQ(got->optimal, want->optimal);
  ASSERT_EQ(got->exchange.has_value(), want->exchange.has_value());
  ++totals.seen[want->exchange ? "exchanges" : "collectives"];
  const auto claimed = certify(*want);
  const auto certified = certify(*got);
  ASSERT_EQ(certified.has_value(), claimed.has_value());
  if (claimed) {
    ASSERT_EQ(to_text(*certified), to_text(*claimed));
    ++totals.seen["certified"];
  }
  hold_programs(program_of(*want).value(), program_of(*got).value(), totals);
}

TEST(Groups, are_planned_and_judged_as_the_devices_from_0_on) {
  constexpr int problems = support::samples(1500);
  Random random(7);
  Totals totals;
  for (int k = 0; k < problems; ++k) {
    const Ends ends = draw_ends(random);
    const std::vector<Size> numbers = draw_numbers(random, ends.mesh.device_count());
    PlacedMesh mesh{ends.mesh, DeviceTable::list(numbers), "numbers"};
    if (!DeviceNumbers(numbers).are_listed()) mesh.order.reset();
    SCOPED_TRACE(ends.from + " to " + ends.to + " over " + to_text(ends.mesh));
    const auto plain = parse_problem({ends.mesh}, {}, ends.from, ends.to);
    const auto named = parse_problem(mesh, {}, ends.from, ends.to);
    ASSERT_TRUE(plain) << render(plain.error());
    ASSERT_TRUE(named) << render(named.error());
    totals.seen["sums"] += ends.adds ? 1 : 0;
    totals.seen["uneven"] += plain->from.is_even() && plain->to.is_even() ? 0 : 1;
    // A few are all devices in a mesh turned, which is an order and needs no numbers.
    if (named->numbers.list() != mesh.order.value_or(DeviceTable()).entries()) {
      ASSERT_EQ(plan(*named).value().cost, plan(*plain).value().cost);
      continue;
    }
    hold(*plain, *named, totals);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto& [what, count] : totals.seen) {
    std::cout << count << " " << what << "\n";
    EXPECT_GT(count, problems / 20) << what;
  }
}

/// The devices of these numbers in the order of a chain.
std::vector<Size> in_order(const std::vector<Size>& numbers, const IotaChain& chain) {
  std::vector<Size> out;
  for (const Size place : chain.list()) out.push_back(numbers[static_cast<std::size_t>(place)]);
  return out;
}

TEST(Groups, whose_end_is_turned_are_planned_as_the_devices_from_0_on) {
  Random random(8);
  Size collectives = 0;
  for (int k = 0; k < support::samples(600); ++k) {
    const Ends ends = draw_ends(random);
    const Size count = ends.mesh.device_count();
    IotaChain chain(count);
    const Size rows = ends.mesh.axes().front().size;
    chain.append({{rows, count / rows}, {1, 0}});
    const std::vector<Size> numbers = draw_numbers(random, count);
    const auto over = [&ends](const std::vector<Size>& list) {
      return PlacedMesh{ends.mesh, DeviceTable::list(list), "a list"};
    };
    if (ends.adds || count == rows) continue;
    SCOPED_TRACE(ends.from + " to " + ends.to + " over " + to_text(ends.mesh));
    const PlacedMesh turned{ends.mesh, DeviceTable::iota(chain, count), "an iota"};
    const Problem plain = parse_problem({ends.mesh}, turned, ends.from, ends.to).value();
    const Problem named =
        parse_problem(over(numbers), over(in_order(numbers, chain)), ends.from, ends.to).value();
    ASSERT_EQ(named.from.devices(), count);
    const Plan want = plan(plain).value();
    const Plan got = plan(named).value();
    ASSERT_EQ(got.cost, want.cost);
    collectives += got.exchange ? 0 : 1;
    const std::string text = to_text(program_of(got).value());
    SCOPED_TRACE(text);
    const Program again = parse_programs(text).value().front();
    ASSERT_EQ(check(again).answer, Answer::right);
    ASSERT_EQ(again.numbers, named.numbers);
    ASSERT_TRUE(oracle(text).right);
  }
  EXPECT_GT(collectives, support::samples(600) / 10);
}

/// Problems of four devices in any numbers, and of the same ones turned.
TEST(Groups, count_both_ends_by_one_list) {
  const Mesh mesh = parse_mesh("x:2,y:2").value();
  const auto problem = [&mesh](std::vector<Size> from, std::vector<Size> to) {
    const auto over = [&mesh](std::vector<Size> list) {
      return PlacedMesh{mesh, DeviceTable::list(std::move(list)), "a list"};
    };
    return parse_problem(over(std::move(from)), over(std::move(to)), "[2{x}4, 4]", "[4, 2{x}4]")
        .value();
  };
  // Turned, they are digits of both lists.
  const Problem turned = problem({9, 2, 5, 3}, {9, 5, 2, 3});
  EXPECT_EQ(turned.numbers.list(), (std::vector<Size>{9, 2, 5, 3}));
  EXPECT_FALSE(plan(turned)->exchange);
  EXPECT_EQ(problem({4, 5, 6, 7}, {4, 6, 5, 7}).numbers.list(), (std::vector<Size>{4, 5, 6, 7}));
  EXPECT_EQ(problem({4, 6, 5, 7}, {4, 5, 6, 7}).numbers.list(), (std::vector<Size>{4, 5, 6, 7}));
  // Of all devices a mesh turned is an order, and needs no numbers.
  EXPECT_FALSE(problem({0, 2, 1, 3}, {0, 2, 1, 3}).numbers.are_listed());
  // Other devices at the end, or no digits of any list: every device is there, and the problem is an exchange.
  const Problem other = problem({4, 5, 6, 7}, {0, 1, 2, 3});
  EXPECT_EQ(other.from.devices(), 8);
  EXPECT_FALSE(other.numbers.are_listed());
  const Problem mixed = problem({4, 5, 6, 7}, {5, 4, 6, 7});
  EXPECT_EQ(mixed.from.devices(), 8);
  EXPECT_TRUE(plan(mixed)->exchange);
}

TEST(Groups, of_addends_in_an_order_are_counted_by_it) {
  const auto problem = [](std::vector<Size> order, const char* iota) {
    PlacedMesh mesh{parse_mesh("x:2,y:3").value()};
    mesh.order = parse_order(iota, 6).value();
    if (!order.empty()) mesh.order = DeviceTable::list(std::move(order));
    return parse_problem(mesh, {}, "sum{x}[2{y}6]", "[1{x,y}6]");
  };
  // Positions 0 to 5 are no digits of 0 3 1 4 2 5, as the axes are of unequal sizes.
  const Problem turned = problem({}, "[6]<=[2,3]T(1,0)").value();
  EXPECT_EQ(turned.numbers.list(), (std::vector<Size>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(plan(turned)->exchange);
  EXPECT_EQ(plan(turned)->cost, plan(problem({5, 0, 4, 1, 3, 2}, "[6]<=[6]").value())->cost);
}

TEST(Groups, one_of_them_may_hold_all) {
  PlacedMesh mesh{parse_mesh("x:4").value()};
  mesh.order = DeviceTable::list({9, 2, 5, 3});
  const Problem problem = parse_problem(mesh, {}, "[2{x}8]", "[8]@5").value();
  EXPECT_EQ(problem.from.devices(), 4);
  EXPECT_EQ(problem.to.tile_size(2), 8);
  const std::string text = to_text(program_of(plan(problem).value()).value());
  EXPECT_NE(text.find("transfers=[[5,9,0,0,2],[5,2,2,0,2],[5,5,4,0,2],[5,3,6,0,2]]"),
            std::string::npos)
      << text;
  EXPECT_TRUE(oracle(text).right);
  // A device that is none of them needs its own number.
  const Problem other = parse_problem(mesh, {}, "[2{x}8]", "[8]@0").value();
  EXPECT_EQ(other.from.devices(), 10);
  EXPECT_EQ(other.to.tile_size(0), 8);
  EXPECT_EQ(other.from.box(9).at, Shape{0});
}

}  // namespace
}  // namespace retile::groups_test
