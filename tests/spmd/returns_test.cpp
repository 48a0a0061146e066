// Modules that return several values, blocks of definitions behind `denotes`, and the indicators step and equal:
// what both judges say of them, and runs.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "retile/exec/sim/executor.h"
#include "retile/spmd/enclosure.h"
#include "retile/spmd/judge.h"
#include "retile/spmd/run/rounding.h"
#include "retile/spmd/run/run.h"
#include "spmd/modules.h"
#include "spmd/verdicts.h"

namespace retile::spmd::returns_test {
namespace {

using test::oracles;
using test::ours;
using test::replaced;

void expect(const std::string& text, const std::string& verdict) {
  EXPECT_EQ(ours(text, {.seed = 1}), verdict) << text;
  EXPECT_EQ(oracles(text), verdict) << text;
}

/// A product and its gradients, of which the first one's sum is cut.
const std::string step = R"(retile.spmd/1
mesh d:2
fn main(x : [4, 2{d}4], w : [2{d}4, 3], dy : [4, 3]) -> [4, 2{d}4], [2{d}4, 3], [4, 3]
dx = spmd dy w { einsum "ij,kj->ik" dy w } as [4, 2{d}4]
dw = spmd dy x { einsum "ij,ik->kj" dy x } as [2{d}4, 3]
y = spmd x w { einsum "ik,kj->ij" x w } as sum{d}[4, 3]
z = redistribute y as [4, 3]
q = spmd z { mul z z } as [4, 3]
return dx, dw, q
denotes {
dx = einsum "ij,kj->ik" dy w
dw = einsum "ij,ik->kj" dy x
z = einsum "ik,kj->ij" x w
q = mul z z
return dx, dw, q
}
)";

TEST(Returns, each_value_is_compared_with_what_it_denotes) {
  expect(step, "right");
  expect(replaced(step, "dw = einsum \"ij,ik->kj\" dy x", "dw = einsum \"kj,ik->kj\" w x"),
         "denotes return");
  expect(replaced(step, "q = mul z z\nreturn", "q = add z z\nreturn"), "denotes return");
  expect(replaced(step, "{ mul z z }", "{ add z z }"), "denotes return");
  // Two of one shape in the other order.
  const std::string both = R"(retile.spmd/1
mesh d:2
fn main(x : [2{d}4]) -> [2{d}4], [2{d}4]
a = spmd x { neg x } as [2{d}4]
b = spmd x { scale 2 x } as [2{d}4]
return a, b
denotes {
a = neg x
b = add x x
return a, b
}
)";
  expect(both, "right");
  expect(replaced(both, "return a, b\ndenotes", "return b, a\ndenotes"), "denotes return");
  expect(replaced(both, "return a, b\n}", "return b, a\n}"), "denotes return");
  expect(replaced(both, "return a, b\ndenotes", "return a, a\ndenotes"), "refused");
}
TEST(Returns, the_verdict_names_the_value) {
  const std::string text = replaced(step, "{ mul z z }", "{ add z z }");
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  ASSERT_TRUE(module);
  const auto verdict = judge(*module, {.seed = 1});
  ASSERT_TRUE(verdict && verdict->wrong);
  EXPECT_EQ(verdict->wrong->returned, 2U);
}
TEST(Returns, what_does_not_fit_is_refused) {
  expect(replaced(step, "return dx, dw, q\ndenotes", "return dx, dx, q\ndenotes"), "refused");
  expect(replaced(step, "return dx, dw, q\ndenotes", "return dx, dw\ndenotes"), "refused");
  expect(replaced(step, "return dx, dw, q\ndenotes", "return dx, dw, z, q\ndenotes"), "refused");
  expect(replaced(step, "return dx, dw, q\ndenotes", "return dw, dx, q\ndenotes"), "refused");
  expect(replaced(step, "return dx, dw, q\n}", "return dx, dw\n}"), "refused");
  expect(replaced(step, "return dx, dw, q\n}", "return dw, dx, q\n}"), "refused");
  expect(replaced(step, "return dx, dw, q\n}", "return dx, dw, p\n}"), "refused");
  expect(replaced(step, "z = einsum \"ik,kj->ij\" x w\nq", "z = einsum \"ik,kj->ji\" x w\nq"),
         "refused");
  expect(replaced(step, "q = mul z z\nreturn", "q = mul z dx\nreturn"), "refused");
}

std::string one_of(const std::string& body, const std::string& denotes) {
  return "retile.spmd/1\nmesh d:2\nfn main(x : [2{d}4], w : [2{d}4]) -> [2{d}4]\ny = spmd x w { " +
         body + " } as [2{d}4]\nreturn y\ndenotes " + denotes + "\n";
}

TEST(Indicators, are_the_same_for_the_same_argument) {
  expect(one_of("step (sub x w)", "step (add (neg w) x)"), "right");
  expect(one_of("equal x w", "equal (add x w) (scale 2 w)"), "right");
  expect(one_of("mul (step x) (step x)", "mul (step x) (step (add x w))"), "denotes return");
  expect(one_of("step x", "equal x w"), "denotes return");
  expect(one_of("step x", "step (neg x)"), "denotes return");
  expect(one_of("equal x w", "equal x (neg w)"), "denotes return");
  // By no law that is known are they the same.
  EXPECT_EQ(ours(one_of("step x", "step (scale 2 x)"), {.seed = 1}), "undecided");
  EXPECT_EQ(oracles(one_of("step x", "step (scale 2 x)")), "undecided");
}
TEST(Indicators, are_known_of_constants) {
  expect(one_of("step (fill 3 x)", "fill 1 x"), "right");
  expect(one_of("step (sub x x)", "fill 0 x"), "right");
  expect(one_of("step (fill -3 x)", "fill 0 x"), "right");
  expect(one_of("equal x x", "fill 1 x"), "right");
  expect(one_of("equal (add x (fill 1 x)) x", "fill 0 x"), "right");
  expect(one_of("step (fill 3 x)", "fill 0 x"), "denotes return");
}
TEST(Indicators, differ_beside_functions) {
  expect(one_of("mul (exp x) (step x)", "mul (exp x) (step w)"), "denotes return");
  // The maximum is one of its arguments, and all others are smaller: what is drawn shows it.
  const std::string share = "div (equal x (max x w)) (add (equal x (max x w)) (equal w (max x w)))";
  expect(one_of(share, share), "right");
  EXPECT_EQ(
      ours(one_of(share, replaced(share, "equal x (max x w)", "equal w (max x w)")), {.seed = 1}),
      "denotes return");
}

Result<RunReport> simulated(const std::string& text, const ElementType& type) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  if (!module) return refuse(module.error());
  const auto routes = routes_of(*module);
  if (!routes) return refuse(routes.error());
  return run(OneProcess(), *module, *routes, type,
             [&type](const Program& program) { return sim::make_executor(program, type); });
}
constexpr ElementType i32 = {ElementKind::signed_integer, 4};
constexpr ElementType f64 = {ElementKind::floating, 8};

TEST(ReturnsRun, every_value_is_compared) {
  for (const ElementType& type : {i32, f64}) {
    const auto report = simulated(step, type);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->difference);
    EXPECT_EQ(report->compared, 16 + 12 + 24);
    const auto wrong = simulated(replaced(step, "{ mul z z }", "{ add z z }"), type);
    ASSERT_TRUE(wrong) << wrong.error().message;
    ASSERT_TRUE(wrong->difference);
    EXPECT_EQ(wrong->difference->returned, 2U);
    EXPECT_EQ(wrong->difference->element.size(), 2U);
  }
}
/// Of a definition the box around all that is needed is worked out: here from both ends.
TEST(ReturnsRun, definitions_are_worked_out_where_they_are_needed) {
  const std::string ends = R"(retile.spmd/1
mesh d:2
fn main(x : [8]) -> [2{d}4], [2]
a = spmd x { trim 0 4 0 (mul x x) } as [4]
b = redistribute a as [2{d}4]
c = spmd x { trim 0 1 5 (mul x x) } as [2]
return b, c
denotes {
s = mul x x
b = trim 0 4 0 s
c = trim 0 1 5 s
return b, c
}
)";
  const auto report = simulated(ends, i32);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->difference);
  const auto wrong = simulated(replaced(ends, "c = trim 0 1 5 s", "c = trim 0 2 4 s"), i32);
  ASSERT_TRUE(wrong);
  EXPECT_TRUE(wrong->difference);
}
TEST(ReturnsRun, indicators_are_exact_without_functions) {
  const std::string text =
      one_of("mul (step x) (equal x (max x w))", "mul (step x) (equal x (max x w))");
  for (const ElementType& type : {i32, f64}) {
    const auto report = simulated(text, type);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->difference);
    EXPECT_EQ(report->tolerance, 0);
    EXPECT_LE(report->largest, 1);
  }
  EXPECT_TRUE(simulated(one_of("step x", "step (neg x)"), i32)->difference);
  EXPECT_TRUE(simulated(one_of("equal x (max x w)", "equal w (max x w)"), i32)->difference);
}
TEST(ReturnsRun, indicators_beside_functions_are_compared) {
  const auto report = simulated(one_of("mul (exp x) (step w)", "mul (exp x) (step w)"), f64);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->difference);
  EXPECT_TRUE(
      simulated(one_of("mul (exp x) (step w)", "mul (exp x) (step (neg w))"), f64)->difference);
}

TEST(Rounding, says_where_an_indicator_is_open) {
  const Rounding bound(std::numeric_limits<float>::epsilon() / 2);
  const auto one = Rounding::of(1), more = Rounding::of(1 + 1e-9), two = Rounding::of(2);
  EXPECT_EQ(bound.step(one).number, 1);
  EXPECT_LT(bound.tolerance(bound.step(one)), 1e-6);
  EXPECT_EQ(bound.step(Rounding::of(-1)).number, 0);
  EXPECT_EQ(bound.step(Rounding::from(0)).number, 0);
  EXPECT_LT(bound.tolerance(bound.step(Rounding::from(0))), 1e-6);
  // The difference of two numbers that are so near may be on either side of 0.
  EXPECT_GE(bound.tolerance(bound.step(bound.sub(more, one))), 1);
  EXPECT_LT(bound.tolerance(bound.equal(one, two)), 1e-6);
  EXPECT_GE(bound.tolerance(bound.equal(one, more)), 1);
  // A maximum is the argument that it is, unless that is not known.
  const auto largest = bound.max(one, two);
  EXPECT_EQ(bound.equal(two, largest).number, 1);
  EXPECT_LT(bound.tolerance(bound.equal(two, largest)), 1e-6);
  EXPECT_EQ(bound.equal(one, largest).number, 0);
  EXPECT_GE(bound.tolerance(bound.equal(more, bound.max(one, more))), 1);
  // What is settled is off by as much, whatever its terms were.
  const auto cancelled = bound.sub(Rounding::of(1000), Rounding::of(999));
  EXPECT_GE(bound.tolerance(bound.settled(cancelled)), 0.99 * bound.tolerance(cancelled));
  const auto thrice = [&](const Rounding::Value& a) {
    return bound.tolerance(bound.add(bound.add(a, a), a));
  };
  EXPECT_GE(thrice(bound.settled(cancelled)), 2.9 * bound.tolerance(cancelled));
}

TEST(Enclosures, hold_indicators) {
  const auto at = [](double low, double high) { return Enclosures::Value{low, high}; };
  const auto is = [](const Enclosures::Value& value, double low, double high) {
    return value.low == low && value.high == high;
  };
  EXPECT_TRUE(is(Enclosures::step(at(1, 2)), 1, 1));
  EXPECT_TRUE(is(Enclosures::step(at(-1, 0)), 0, 0));
  EXPECT_TRUE(is(Enclosures::step(at(-1, 1)), 0, 1));
  EXPECT_TRUE(is(Enclosures::equal(at(1, 2), at(3, 4)), 0, 0));
  EXPECT_TRUE(is(Enclosures::equal(at(1, 2), at(1, 2)), 0, 1));
  EXPECT_TRUE(is(Enclosures::equal(at(2, 2), at(2, 2)), 1, 1));
  std::mt19937_64 random(1);
  Enclosures some({1.0});
  some.begin_family(random);
  const auto x = Enclosures::exp(some.drawn(random)), y = Enclosures::exp(some.drawn(random));
  ASSERT_TRUE(Enclosures::differ(x, y));
  const auto& more = x.low > y.high ? x : y;
  EXPECT_TRUE(is(Enclosures::equal(more, Enclosures::max(x, y)), 1, 1));
  EXPECT_TRUE(is(Enclosures::equal(x, Enclosures::add(x, Enclosures::from(0))), 0, 1));
}

}  // namespace
}  // namespace retile::spmd::returns_test
