// Verdicts on modules and on what becomes of them when words are changed, against the oracle's, which
// decides on formal polynomials and shares nothing with the room.
#include "retile/spmd/judge.h"

#include <gtest/gtest.h>

#include <cctype>
#include <iostream>
#include <map>
#include <random>

#include "retile/array/partition.h"
#include "spmd/modules.h"
#include "spmd/verdicts.h"
#include "support/samples.h"

namespace retile::spmd::judge_test {
namespace {

using Random = std::mt19937_64;

using test::oracles;
using test::ours;

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

TEST(Judge, modules_are_right) {
  for (const auto& [name, text] : test::modules()) {
    EXPECT_EQ(ours(text), "right") << name;
    EXPECT_EQ(oracles(text), "right") << name;
  }
}

TEST(Judge, what_goes_wrong_is_named) {
  const auto said = [](const std::string& name, const std::string& what, const std::string& by) {
    return ours(test::replaced(test::module_named(name), what, by));
  };
  EXPECT_EQ(said("dot", "as sum{d}[4, 4]", "as [4, 4]"), "replicas y");
  EXPECT_EQ(said("stencil", "scale -2 a", "scale -3 a"), "denotes return");
  EXPECT_EQ(said("convolution", "at=[[0],[2],[3],[5]]", "at=[[0],[2],[3],[4]]"), "denotes return");
  EXPECT_EQ(said("dealt", "as sum{y}[2@{x}7, 4]", "as sum{y}[4{x}7, 4]"), "denotes return");
  EXPECT_EQ(said("dealt", "as sum{y}[2@{x}7, 4]", "as [2@{x}7, 4]"), "replicas p");
  EXPECT_EQ(said("partial", "{ scale -3 a }", "{ relu a }"), "denotes return");
  EXPECT_EQ(said("partial", "{ scale -3 a }", "{ mul a a }"), "denotes return");
  EXPECT_EQ(said("maxima", "max{x}", "min{x}"), "denotes return");
  EXPECT_EQ(said("maxima", "max{x}", "sum{x}"), "denotes return");
}

/// A product of addends is right where one addend is the whole and the others are zeros: no module may
/// depend on that.
TEST(Judge, addends_are_any_numbers_with_their_sum) {
  const std::string text =
      test::replaced(test::module_named("partial"), "{ scale -3 a }", "{ mul a a }");
  const std::string squares = test::replaced(text, "denotes scale -3 x", "denotes mul x x");
  EXPECT_EQ(ours(squares), "denotes return");
  EXPECT_EQ(oracles(squares), "denotes return");
}

TEST(Judge, steps_may_make_addends_of_an_array) {
  const auto made = [](const std::string& steps, const std::string& type = "sum{d}[4]") {
    return ours("retile.spmd/1\nmesh d:2\nfn main(x : [4]) -> [4]\ny = redistribute x as " + type +
                steps + "\nz = redistribute y as [4]\nreturn z\ndenotes x\n");
  };
  EXPECT_EQ(made(" {\nunreduce groups=[[0,1]]\n}"), "right");
  EXPECT_EQ(made(" {\nunreduce groups=[[0],[1]]\n}"), "program y");
  EXPECT_EQ(made(""), "refused");
  EXPECT_EQ(made(" {\nunreduce groups=[[0,1]] add=max\n}", "max{d}[4]"), "undecided");
}

TEST(Judge, steps_make_no_other_addends_of_addends) {
  const auto moved = [](const std::string& from, const std::string& to) {
    return ours("retile.spmd/1\nmesh d:2,e:2\nfn main(x : " + from + ") -> " + to +
                "\ny = redistribute x as " + to + " {\nallpermute source=[0,1,2,3]\n}\nreturn y\n");
  };
  EXPECT_EQ(moved("sum{d}[4]", "sum{d}[4]"), "right");
  EXPECT_EQ(moved("sum{d}[4]", "max{d}[4]"), "refused");
  EXPECT_EQ(moved("sum{d}[4]", "sum{d,e}[4]"), "refused");
}

TEST(Judge, what_nobody_holds_is_no_zero) {
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(x : tile=[2] global=[5] at=[[0],[2]]) -> [5]
y = redistribute x as [5]
return y
)";
  EXPECT_EQ(ours(text), "uncovered y");
  EXPECT_EQ(oracles(text), "uncovered y");
}

/// What one device holds wrongly is seen, whoever it is, and where.
TEST(Judge, replicas_that_differ_are_found) {
  const std::string text = R"(retile.spmd/1
mesh d:3
fn main(x : tile=[2] global=[4] at=[[0],[2],[1]]) -> [4]
y = redistribute x as [4]
return y
denotes relu x
)";
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  ASSERT_TRUE(module);
  const auto verdict = judge(*module);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->answer, Answer::wrong);
  EXPECT_TRUE(verdict->has_maxima);
  const std::string disagree = R"(retile.spmd/1
mesh d:3
fn main(x : [1{d}3], z : [4]) -> [4]
y = spmd x z { einsum "i,j->j" x z } as [4]
return y
)";
  const text::Input other = {disagree, "m", true};
  const auto second = read_module(other);
  ASSERT_TRUE(second);
  const auto found = judge(*second);
  ASSERT_TRUE(found && found->wrong);
  EXPECT_EQ(found->wrong->reason, "replicas");
  EXPECT_EQ(found->wrong->device, 1);
  EXPECT_EQ(found->wrong->element, (Shape{0}));
  EXPECT_EQ(found->degree, 2);
}

TEST(Judge, transposes_take_dimensions_in_their_order) {
  const auto said = [](const std::string& order, const std::string& wanted) {
    const std::string text =
        "retile.spmd/1\nmesh d:2\nfn main(x : [3, 3, 3]) -> [3, 3, 3]\ny = spmd x { transpose [" +
        order + "] x } as [3, 3, 3]\nreturn y\ndenotes einsum \"ijk->" + wanted + "\" x\n";
    EXPECT_EQ(ours(text), oracles(text)) << order;
    return ours(text);
  };
  EXPECT_EQ(said("1,2,0", "jki"), "right");
  for (const char* other : {"ijk", "ikj", "jik", "kij", "kji"}) {
    EXPECT_EQ(said("1,2,0", other), "denotes return");
  }
}

TEST(Judge, use_of_addends_that_is_not_linear_is_noted) {
  const auto noted = [](const std::string& expression) {
    const std::string text =
        test::replaced(test::module_named("partial"), "{ scale -3 a }", "{ " + expression + " }");
    const text::Input input = {text, "m", true};
    const auto module = read_module(input);
    return module && !judge(*module)->not_linear.empty();
  };
  for (const char* linear : {"scale 2 a", "add a a", "neg (sub a (scale 3 a))", "fill 0 a",
                             "mul a (fill 2 a)", "add (scale 2 a) a"}) {
    EXPECT_FALSE(noted(linear)) << linear;
  }
  for (const char* other :
       {"relu a", "mul a a", "add a (fill 1 a)", "max a a", "einsum \"i,i->i\" a a"}) {
    EXPECT_TRUE(noted(other)) << other;
  }
}

TEST(Judge, degrees_bound_the_error) {
  const auto degree = [](const std::string& name) {
    const std::string text = test::module_named(name);
    const text::Input input = {text, "m", true};
    return judge(*read_module(input))->degree;
  };
  EXPECT_EQ(degree("partial"), 1);
  EXPECT_EQ(degree("dot"), 2);
  EXPECT_EQ(degree("chain"), 3);
  std::string squares = "retile.spmd/1\nmesh d:2\nfn main(x : [2]) -> [2]\n";
  for (int k = 0; k < 50; ++k) {
    const std::string from = k == 0 ? "x" : "y" + std::to_string(k - 1);
    squares +=
        "y" + std::to_string(k) + " = spmd " + from + " { mul " + from + " " + from + " } as [2]\n";
  }
  EXPECT_EQ(ours(squares + "return y49\n"), "undecided");
}

// Changed words.

#ifdef RETILE_SLOW_TESTS
constexpr int rounds = 100'000;
#else
constexpr int rounds = support::samples(6'000);
#endif

/// r[..] += a[..] b[..] by a schedule, as `retile partition` prints it.
std::string partitioned(Random& random) {
  const std::string names = "ijk";
  const std::size_t variables = 1 + below(random, 3);
  std::string left, a, b, a_shape, b_shape, schedule;
  std::size_t devices = 1;
  for (std::size_t v = 0; v < variables; ++v) {
    const std::size_t extent = 1 + below(random, 4), shift = below(random, 3);
    const auto add = [](std::string& list, const std::string& word) {
      list += (list.empty() ? "" : ",") + word;
    };
    const std::string name = names.substr(v, 1);
    if (below(random, 2) == 0) add(left, name);
    add(a, name);
    add(a_shape, std::to_string(extent));
    if (below(random, 3) > 0) {
      add(b, shift == 0 ? name : name + "+" + std::to_string(shift));
      add(b_shape, std::to_string(extent + shift));
    }
    const std::size_t pieces = std::min<std::size_t>(1 + below(random, 3), 12 / devices);
    devices *= pieces;
    add(schedule, name + ":" + std::to_string(pieces));
  }
  const std::string text = "retile.array/1\narray a[" + a_shape + "] b[" + b_shape + "]\nr[" +
                           left + "] += a[" + a + "] * b[" + b + "]\nschedule r " + schedule +
                           "\nreturn r\n";
  const text::Input input = {text, "a", true};
  const auto statements = array::read_statements(input);
  const auto module = statements ? array::partition(*statements) : Result<std::string>("");
  return module ? *module : "";
}

/// The text with one word changed, or a line less.
std::string changed(std::string text, Random& random) {
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"sum{", "max{"},      {"max{", "sum{"},
      {"add ", "sub "},      {"sub ", "add "},
      {"mul ", "add "},      {"neg ", "relu "},
      {"relu ", "neg "},     {"reduce_sum", "reduce_max"},
      {"ik,", "ki,"},        {"->ij", "->ji"},
      {"scale ", "fill "},   {"sum{", "min{"},
      {"einsum", "mul"},     {"trim 0 0", "trim 0 1"},
      {" x ", " y "},        {"{x}", "{y}"},
      {"{i}", "{k}"},        {"<0,", "<1,"},
      {"transpose", "trim"}, {"sum{x}", ""},
      {"sum{d}", ""},        {"sum{k}", ""},
      {"[1,0]", "[0,1]"}};
  if (below(random, 3) > 0) {
    const auto& [what, by] = words[below(random, words.size())];
    const bool all = below(random, 2) == 0;
    for (std::size_t at = text.find(what); at != std::string::npos;) {
      text.replace(at, what.size(), by);
      at = all ? text.find(what, at + by.size()) : std::string::npos;
    }
    return text;
  }
  if (below(random, 6) == 0) {  // a line less
    std::size_t begin = text.find('\n', below(random, text.size()));
    if (begin == std::string::npos) return text;
    const std::size_t end = text.find('\n', begin + 1);
    return end == std::string::npos ? text : text.erase(begin, end - begin);
  }
  std::vector<std::size_t> digits;
  for (std::size_t at = text.find('\n'); at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) != 0) digits.push_back(at);
  }
  if (digits.empty()) return text;
  text[digits[below(random, digits.size())]] = static_cast<char>('0' + below(random, 10));
  return text;
}

TEST(Judge, verdicts_are_the_oracles_on_changed_modules) {
  Random random(5);
  std::map<std::string, int> counts;
  int compared = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = below(random, 2) == 0
                           ? partitioned(random)
                           : test::modules()[below(random, test::modules().size())].text;
    for (std::size_t k = below(random, 3); k > 0; --k) text = changed(std::move(text), random);
    const std::string wanted = oracles(text);
    if (wanted == "undecided") continue;
    const std::string said = ours(text);
    if (said == "undecided") {  // no integers drawn tell maxima apart
      ++counts[said];
      continue;
    }
    ASSERT_EQ(said, wanted) << text;
    ++compared;
    ++counts[said.substr(0, said.find(' '))];
  }
  std::cout << compared << " modules";
  for (const auto& [verdict, count] : counts) std::cout << ", " << count << " " << verdict;
  std::cout << "\n";
  EXPECT_GT(counts["right"], rounds / 10);
  EXPECT_LE(counts["undecided"], rounds / 500);
  EXPECT_GT(counts["denotes"], rounds / 100);
  if (rounds >= 600) {
    EXPECT_GT(counts["replicas"], rounds / 600);
  }
  EXPECT_GT(counts["refused"], rounds / 20);
}

}  // namespace
}  // namespace retile::spmd::judge_test
