// Functions of CHLO as formulas: their numbers beside those of the standard library, the formula of a text in HLO beside the
// function's name, and what is another function.
#include "retile/whole/formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "retile/whole/evaluate.h"
#include "retile/whole/read.h"
#include "retile/whole/real.h"
#include "tests/whole/answers.h"

namespace retile::whole::tests {
namespace {

std::string text_of_function(const std::string& name, std::size_t count,
                             const std::string& type = "f32") {
  const std::string array = "tensor<" + std::to_string(count) + "x" + type + ">";
  return "module @m {\nfunc.func public @main(%x: " + array + ") -> " + array + " {\n%r = " + name +
         " %x : " + array + " -> " + array + "\nreturn %r : " + array + "\n}\n}\n";
}

/// What the formula of a function makes of numbers, in 64 bits.
std::vector<double> made(const std::string& name, const std::vector<double>& numbers,
                         const std::string& type = "f32") {
  const std::string text = text_of_function(name, numbers.size(), type);
  const Result<Module> module = read_stablehlo({text, "text", true}, "");
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return {};
  }
  EXPECT_EQ(module->formulas, (std::map<std::string, Size>{{name, 1}}));
  Limits limits(Size{1} << 30, Deadline::in(60));
  const Real real(1);
  Evaluator<Real> evaluator(*module, real, 1, limits);
  const auto argument = new_array(limits, module->main().values[0].type);
  for (std::size_t k = 0; k < numbers.size(); ++k) argument->words[k] = Real::word(numbers[k]);
  const std::vector<Held> results = evaluator.run({{argument}});
  EXPECT_EQ(evaluator.counts().unknown, 0);
  std::vector<double> out;
  for (const Word word : results.at(0).at(0)->words) out.push_back(Real::real(word));
  return out;
}

std::vector<double> between(double first, double last, int count) {
  std::vector<double> out;
  for (int k = 0; k < count; ++k) out.push_back(first + (last - first) * (k + 0.5) / count);
  return out;
}

/// The coefficients are of 32 bits, and so are the results: seven digits, absolutely or of the number.
template <typename Function>
void expect_near(const std::string& name, const std::vector<double>& numbers,
                 const Function& function, const std::string& type = "f32") {
  const std::vector<double> found = made(name, numbers, type);
  ASSERT_EQ(found.size(), numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const double expected = function(numbers[k]);
    EXPECT_NEAR(found[k], expected, 1e-6 * std::fmax(1, std::fabs(expected)))
        << name << " of " << numbers[k];
  }
}

TEST(Formulas, make_the_numbers_of_the_functions) {
  for (const std::string type : {"f32", "bf16", "f16"}) {
    expect_near(
        "chlo.erfc", between(-4, 4, 200), [](double x) { return std::erfc(x); }, type);
    expect_near(
        "chlo.sinh", between(-8, 8, 200), [](double x) { return std::sinh(x); }, type);
  }
  expect_near(
      "chlo.sinh", between(-8, 8, 200), [](double x) { return std::sinh(x); }, "f64");
  for (const std::string type : {"f32", "f64"}) {
    expect_near(
        "chlo.lgamma", between(-3, 20, 201), [](double x) { return std::lgamma(x); }, type);
  }
  const auto at_most_one = between(-0.999, 0.999, 200);
  for (const std::string type : {"bf16", "f32", "f64"}) {
    expect_near(
        "chlo.cosh", between(-8, 8, 200), [](double x) { return std::cosh(x); }, type);
    expect_near(
        "chlo.asinh", between(-90, 90, 200), [](double x) { return std::asinh(x); }, type);
    expect_near(
        "chlo.acosh", between(1, 90, 200), [](double x) { return std::acosh(x); }, type);
    expect_near(
        "chlo.asin", at_most_one, [](double x) { return std::asin(x); }, type);
    expect_near(
        "chlo.acos", at_most_one, [](double x) { return std::acos(x); }, type);
    expect_near(
        "chlo.atanh", at_most_one, [](double x) { return std::atanh(x); }, type);
  }
  const std::vector<double> near_one = between(-0.999, 0.999, 200);
  const std::vector<double> inverse = made("chlo.erf_inv", near_one);
  for (std::size_t k = 0; k < near_one.size(); ++k) {
    EXPECT_NEAR(std::erf(inverse.at(k)), near_one[k], 1e-6) << near_one[k];
  }
}

TEST(Formulas, make_infinities_at_the_ends) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(made("chlo.erf_inv", {-1, 1}), (std::vector<double>{-infinity, infinity}));
  EXPECT_EQ(made("chlo.lgamma", {-infinity, infinity, 0, -2}),
            (std::vector<double>{infinity, infinity, infinity, infinity}));
  EXPECT_EQ(made("chlo.erfc", {100, -100}), (std::vector<double>{0, 2}));
  // Beyond the root of the largest number there is no square.
  for (const std::string name : {"chlo.asinh", "chlo.acosh"}) {
    EXPECT_NEAR(made(name, {3e38}).at(0), std::log(6e38), 1e-6) << name;
  }
  EXPECT_TRUE(std::isnan(made("chlo.atanh", {2}).at(0)));
}

TEST(Formulas, are_known_for_some_types) {
  const auto knows = [](const std::string& name, const std::string& type) {
    return has_formula(name, operations::element_kind(type));
  };
  for (const std::string name : {"chlo.erfc", "chlo.erf_inv"}) {
    EXPECT_TRUE(knows(name, "f32"));
    EXPECT_TRUE(knows(name, "bf16"));
    EXPECT_FALSE(knows(name, "f64"));
  }
  for (const std::string name : {"chlo.lgamma", "chlo.next_after", "chlo.sinh", "chlo.asinh"}) {
    EXPECT_TRUE(knows(name, "f32"));
    EXPECT_TRUE(knows(name, "f64"));
    EXPECT_FALSE(knows(name, "c64"));
    EXPECT_FALSE(knows(name, "s32"));
  }
  EXPECT_FALSE(knows("chlo.digamma", "f32"));
  EXPECT_FALSE(knows("chlo.tan", "f32"));
}

/// Text in HLO of what a few operations make of %x.
std::string lowered(const std::string& operations) {
  return module_of(
      "%x = f32[5] parameter(0)\n%one = f32[] constant(1)\n%ones = f32[5] "
      "broadcast(%one), dimensions={}\n" +
      operations);
}

TEST(Formulas, stand_beside_what_XLA_writes) {
  // As XLA of JAX 0.12.0 writes it.
  const std::string text = text_of_function("chlo.asin", 5);
  const std::string same = lowered(
      "%m = f32[5] subtract(%ones, %x)\n%p = f32[5] add(%ones, %x)\n%q = f32[5] multiply(%m, %p)\n"
      "%s = f32[5] sqrt(%q)\n%d = f32[5] add(%ones, %s)\n%t = f32[5] atan2(%x, %d)\n"
      "ROOT %r = f32[5] add(%t, %t)\n");
  const Result<Validation> out = validated(text, same);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->answer, Answer::right) << out->why;
  EXPECT_EQ(out->notes,
            std::vector<std::string>{"1 chlo.asin was read as the formula that XLA writes for it"});
  EXPECT_EQ(answer(text, replaced(same, "subtract(%ones, %x)", "add(%ones, %x)")), "wrong");
  EXPECT_EQ(answer(text, replaced(same, "atan2(%x, %d)", "atan2(%d, %x)")), "wrong");
  // Another formula for the same function is no mistake.
  const std::string other = lowered(
      "%m = f32[5] subtract(%ones, %x)\n%p = f32[5] add(%ones, %x)\n%q = f32[5] multiply(%m, %p)\n"
      "%s = f32[5] sqrt(%q)\nROOT %r = f32[5] atan2(%x, %s)\n");
  const std::string undecided = "undecided: it differs in exact arithmetic, not in floating point";
  EXPECT_EQ(answer(text, other), undecided);
  // Nor is one whose numbers are near, and one whose numbers are not is none.
  const std::string another =
      replaced(replaced(same, "%m = ",
                        "%c = f32[] constant(1.00015)\n%cs = f32[5] broadcast(%c), "
                        "dimensions={}\n%m = "),
               "add(%ones, %s)", "add(%cs, %s)");
  EXPECT_EQ(answer(text, another), undecided);
  // Shorter numbers are not widened for it.
  std::string shorter = same.substr(same.find("ENTRY"));
  for (std::size_t at = 0; (at = shorter.find("f32[", at)) != std::string::npos; at += 5) {
    shorter.replace(at, 3, "bf16");
  }
  EXPECT_EQ(answer(text_of_function("chlo.asin", 5, "bf16"), "HloModule m\n" + shorter), "right");
  EXPECT_EQ(answer(text, replaced(another, "1.00015", "1.003")), "wrong");
}

TEST(Formulas, are_not_read_where_the_other_text_names_the_function) {
  const std::string text = text_of_function("chlo.tan", 5);
  EXPECT_EQ(answer(text, lowered("ROOT %r = f32[5] tan(%x)\n")), "right");
  const std::string asin = text_of_function("chlo.asin", 5);
  const Result<Validation> named = validated(asin, asin);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->answer, Answer::right);
  EXPECT_TRUE(named->notes.empty());
}

}  // namespace
}  // namespace retile::whole::tests
