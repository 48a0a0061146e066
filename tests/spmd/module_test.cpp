// Modules: what is refused and where, steps in blocks and fusion, and runs on the simulator.
#include "retile/spmd/module.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "retile/exec/exchange/direct.h"
#include "retile/exec/sim/executor.h"
#include "retile/spmd/judge.h"
#include "retile/spmd/run/run.h"
#include "spmd/modules.h"

namespace retile::spmd::module_test {
namespace {

/// `line:column message` of what is refused, or nothing.
std::string refusal(const std::string& text) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  if (module) return "";
  const Diagnostic& why = module.error();
  const std::string line = why.source.substr(std::min<std::size_t>(2, why.source.size()));
  return line + ":" + std::to_string(why.where.begin + 1) + " " + why.message;
}
void begins(const std::string& text, const std::string& start) {
  EXPECT_EQ(refusal(text).substr(0, start.size()), start) << text.substr(0, 400);
}

TEST(Module, wrong_texts_are_pointed_at) {
  const std::string head = "retile.spmd/1\n";
  const std::string dot = test::module_named("dot");
  const auto with = [&dot](const std::string& what, const std::string& by) {
    return test::replaced(dot, what, by);
  };
  begins(head, "2:1 the module ends here too early");
  begins(head + "devices 4\n", "2:1 expected 'mesh'");
  begins(head + "meshes a:2\n", "2:1 expected 'mesh'");
  begins(with("sum{d}[4, 4]", "stack{d}[4, 4]"), "4:40 a module has no stacks");
  begins(with("as [1{d}4, 4]", "as [1{d}4, 8]"), "5:23 y has the global shape [4, 4], not [4, 8]");
  begins(with("z = ", "y = "), "5:1 y stands for another value");
  begins(with("redistribute y", "redistribute q"), "5:18 there is no value q");
  begins(with("spmd x w", "spmd x"), "4:14 einsum has 2 operands, not 1");
  begins(with("\"ik,kj->ij\" }", "\"ik,kj\" }"), "4:23 these are no subscripts");
  begins(with("\"ik,kj->ij\" }", "\"ik,kj->ii\" }"), "4:23 these are no subscripts");
  begins(with("{ einsum", "{ conv"), "4:16 there is no operation conv");
  begins(with("as sum{d}[4, 4]", "as sum{d}[4, 8]"),
         "4:40 the result on device 0 is [4, 4], but its tile is [4, 8]");
  begins(with("return z", "return w"), "6:8 w is [2{d}8, 4], but main returns [1{d}4, 4]");
  begins(with("return z", "return y"), "6:8 y is sum{d}[4, 4], but main returns [1{d}4, 4]");
  begins(with("return z", "return q"), "6:8 there is no value q");
  begins(with("denotes", "means"), "7:1 expected 'denotes' or the end");
  begins(dot + "y\n", "8:1 expected the end of the module");
  begins(with("\"ik,kj->ij\" x w", "\"ik,kj->i\" x w"), "7:1 this has the shape [4]");
  begins(with("y = spmd", "y = spmds"), "4:5 expected spmd or redistribute, found 'spmds'");
  begins(with("x : [4, 2{d}8]", "x : [4, 2{e}8]"), "3:19 ");
  begins(test::replaced(test::module_named("partial"), "as sum{x}[3]", "as max{x}[3]"), "4:23 ");
}

TEST(Module, subscripts_with_factors_have_a_length) {
  const auto of = [](const std::string& subscripts, const std::string& x, const std::string& out) {
    return refusal("retile.spmd/1\nmesh d:1\nfn main(x : [" + x + "]) -> [" + out +
                   "]\ny = spmd x { einsum \"" + subscripts + "\" x } as [" + out +
                   "]\nreturn y\n");
  };
  EXPECT_EQ(of("2i->i", "9", "5"), "");
  EXPECT_EQ(of("4096i->i", "4097", "2"), "");
  EXPECT_EQ(of("2ij->ij", "9, 2", "5, 2"), "");
  EXPECT_EQ(of("2i->i", "8", "4"), "4:14 the operands of einsum, [8], do not fit on device 0");
  for (const char* none :
       {"i->2i", "2->", "i2->i", "0i->i", "2+i->i", "4097i->i", "99999999999999999999i->i"}) {
    EXPECT_EQ(of(none, "9", "5"), "4:21 these are no subscripts") << none;
  }
}

TEST(Module, the_third_listing_needs_its_redistribution) {
  std::string text =
      test::replaced(test::module_named("chain"), "z = redistribute y as [1{devs}4, 8]\n", "");
  text = test::replaced(text, "spmd z w2", "spmd y w2");
  begins(text, "5:17 the operands of einsum, [4, 2] and [8, 3], do not fit on device 0");
}

TEST(Module, limits_are_named) {
  const std::string head = "retile.spmd/1\nmesh d:2\nfn main(x : [3]) -> [3]\n";
  std::string deep = "y = spmd x { ", wide = "y = spmd x { add", names = "y = spmd x {\n";
  for (int k = 0; k < 1000; ++k) deep += "neg (";
  for (int k = 0; k < 65; ++k) wide += " x";
  begins(head + deep, "4:339 more than 64 brackets");
  begins(head + wide + " } as [3]\n", "4:146 an operation has at most 64 operands");
  begins(std::string(1U << 21U, ' '), "1:1 a module has at most 2^20 bytes");
  begins("retile.spmd/1\nmesh d:131072\n", "2:6 at most 65536 devices");
  begins("retile.spmd/1\nmesh d:2\nfn main(x : [65536, 65536]) -> []\n",
         "3:13 a value has at most 2^32 elements");
  std::string many = head;
  for (int k = 0; k < 4097; ++k) many += "y" + std::to_string(k) + " = spmd x { x } as [3]\n";
  begins(many, "4100:1 a module has at most 4096 statements");
}

TEST(Module, sizes_near_2_63_do_not_wrap) {
  const std::string big = "9223372036854775807";
  begins("retile.spmd/1\nmesh d:2\nfn main(x : [0, " + big + ", " + big + "]) -> [0]\n", "3:");
  const std::string text =
      "retile.spmd/1\nmesh d:2\nfn main(x : [3]) -> [0]\ny = spmd x { trim 0 " + big + " " + big +
      " } as [0]\nreturn y\n";
  EXPECT_NE(refusal(text).find("3:"), std::string::npos);
  const std::string scaled =
      "retile.spmd/1\nmesh d:2\nfn main(x : [3]) -> [3]\ny = spmd x { scale -" + big +
      " } as [3]\nreturn y\ndenotes sub (neg x) (scale 9223372036854775806 x)\n";
  const text::Input input = {scaled, "m", true};
  const auto module = read_module(input);
  ASSERT_TRUE(module) << refusal(scaled);
  EXPECT_EQ(judge(*module)->answer, Answer::right);
}

// Steps.

std::string lowered_text(const std::string& text) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  const auto out = module ? lowered(*module, text) : Result<std::string>("");
  return out ? *out : out.error().message;
}

TEST(Lowered, modules_have_their_steps_and_stay_right) {
  for (const auto& [name, text] : test::modules()) {
    const std::string with_steps = lowered_text(text);
    const text::Input input = {with_steps, "m", true};
    const auto module = read_module(input);
    ASSERT_TRUE(module) << name << refusal(with_steps) << "\n" << with_steps;
    const auto verdict = judge(*module);
    ASSERT_TRUE(verdict) << name;
    EXPECT_EQ(verdict->answer, Answer::right) << with_steps;
    for (const Route& route : verdict->routes) EXPECT_FALSE(route.plan) << name;
    EXPECT_EQ(lowered_text(with_steps), with_steps) << name;
  }
}

TEST(Lowered, wrong_steps_are_wrong) {
  const std::string text = test::replaced(lowered_text(test::module_named("chain")),
                                          "split=0 concat=1", "split=1 concat=0");
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  ASSERT_TRUE(module) << text;
  const auto verdict = judge(*module);
  ASSERT_TRUE(verdict && verdict->wrong);
  EXPECT_EQ(verdict->wrong->reason, "program");
  EXPECT_EQ(verdict->wrong->statement, 1U);
  begins(test::replaced(text, "alltoall", "alltoal"), "6:1 ");
  begins(test::replaced(test::module_named("chain"), "as [1{devs}4, 8]", "as [1{devs}4, 8] { 3 }"),
         "5:39 expected the end");
}

TEST(Lowered, two_redistributions_are_one) {
  const std::string two = R"(retile.spmd/1
mesh x:2,y:2
fn main(x : [2{x}4, 4]) -> [4, 2{x}4]
a = redistribute x as [1{x,y}4, 4]
b = redistribute a as [4, 2{x}4]
return b
)";
  const std::string one = lowered_text(two);
  EXPECT_NE(one.find("# a and this in one: cost 8, apart "), std::string::npos) << one;
  EXPECT_NE(one.find("b = redistribute x as [4, 2{x}4] {"), std::string::npos) << one;
  EXPECT_EQ(one.find("a = "), std::string::npos) << one;
  // Not where something else uses the one in the middle.
  const std::string used = test::replaced(
      test::replaced(two, "return b", "c = spmd a { a } as [1{x,y}4, 4]\nreturn b"), "", "");
  EXPECT_NE(lowered_text(used).find("a = redistribute x"), std::string::npos);
}

TEST(Lowered, redistributions_go_as_the_planner_says) {
  const std::string text = R"(retile.spmd/1
mesh x:2,y:2
fn main(x : [2{x}4, 4]) -> [4, 2{x}4]
a = redistribute x as [1{x,y}4, 4]
b = redistribute a as [4, 2{x}4]
return b
)";
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  ASSERT_TRUE(module);
  // One exchange each, which costs what it is told.
  const auto exchanges = [&](Size whole, Size parts) {
    const Planner planner = {[=](const Problem& problem) -> Result<Planner::Steps> {
                               auto program = direct(problem);
                               if (!program) return refuse(program.error());
                               const bool is_whole =
                                   problem.from.tile_size() == problem.to.tile_size();
                               return Planner::Steps{*std::move(program), is_whole ? whole : parts};
                             },
                             [](Size cost) { return std::to_string(cost) + " stamps"; }};
    return lowered(*module, text, planner).value();
  };
  const std::string one = exchanges(7, 4);
  EXPECT_NE(one.find("# a and this in one: cost 7 stamps, apart 8 stamps\n"), std::string::npos)
      << one;
  EXPECT_NE(one.find("exchange"), std::string::npos);
  const std::string two = exchanges(9, 4);
  EXPECT_EQ(two.find("in one"), std::string::npos) << two;
  EXPECT_NE(two.find("a = redistribute x as [1{x,y}4, 4] {"), std::string::npos) << two;
  // What the planner refuses has the place of the statement.
  const Planner none = {[](const Problem&) -> Result<Planner::Steps> {
                          return refuse({.code = Code::size_overflow, .message = "for ever"});
                        },
                        [](Size) { return std::string(); }};
  const auto refused = lowered(*module, text, none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().source, "m:4");
}

// Runs.

Result<RunReport> simulated(const std::string& text, const ElementType& type) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  if (!module) return refuse(module.error());
  const auto routes = routes_of(*module);
  if (!routes) return refuse(routes.error());
  return run(OneProcess(), *module, *routes, type,
             [&type](const Program& program) { return sim::make_executor(program, type); });
}

TEST(Run, every_element_is_what_is_denoted) {
  for (const NamedElementType& named : named_element_types()) {
    const ElementType& type = named.type;
    const bool taken =
        named.name == "i32" || named.name == "i64" || named.name == "f32" || named.name == "f64";
    for (const auto& [name, text] : test::modules()) {
      const auto report = simulated(text, type);
      ASSERT_EQ(report.has_value(), taken)
          << name << " " << named.name << ": " << (report ? "" : report.error().message);
      if (!report) continue;
      EXPECT_FALSE(report->difference) << name;
      EXPECT_GT(report->compared, 0) << name;
    }
  }
}

TEST(Run, what_differs_is_shown) {
  const auto differs = [](const std::string& name, const std::string& what, const std::string& by) {
    const auto report = simulated(test::replaced(test::module_named(name), what, by), {});
    return report && report->difference &&
           report->difference->expected != report->difference->found;
  };
  EXPECT_TRUE(differs("stencil", "scale -2 a", "scale -3 a"));
  EXPECT_TRUE(differs("dealt", "as sum{y}[2@{x}7, 4]", "as sum{y}[4{x}7, 4]"));
  EXPECT_TRUE(
      differs("dot", "denotes einsum \"ik,kj->ij\" x w", "denotes neg (einsum \"ik,kj->ij\" x w)"));
  EXPECT_TRUE(differs("turned", "sub t q", "add t t"));
  EXPECT_TRUE(differs("convolution", "[[0],[2],[3],[5]]", "[[0],[2],[3],[4]]"));
}

TEST(Run, an_element_of_the_second_box_is_named) {
  // Device 0 holds 0, 2 and 4, and says that they are 0, 2 and 3.
  const auto report = simulated(
      "retile.spmd/1\nmesh x:2\nfn main(a : [1@{x}6]) -> [3{x}2+4]\n"
      "y = spmd a { a } as [3{x}2+4]\nreturn y\ndenotes a\n",
      {});
  ASSERT_TRUE(report && report->difference);
  EXPECT_EQ(report->difference->device, 0);
  EXPECT_EQ(report->difference->element, Shape{3});
  EXPECT_EQ(report->compared, 6);
}

TEST(Run, nothing_is_rounded) {
  const std::string cube = R"(retile.spmd/1
mesh d:2
fn main(x : [8]) -> [8]
y = spmd x { mul x (scale 3000 x) (scale 3000 x) } as [8]
return y
denotes mul x (scale 3000 x) (scale 3000 x)
)";
  EXPECT_TRUE(simulated(cube, {ElementKind::floating, 4}));
  const std::string large =
      test::replaced(test::replaced(cube, "scale 3000", "scale 30000"), "", "");
  const auto refused = simulated(large, {ElementKind::floating, 4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_TRUE(simulated(large, {ElementKind::floating, 8}));
  const auto silent =
      simulated(test::replaced(cube, "denotes mul x (scale 3000 x) (scale 3000 x)\n", ""), {});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Code::unsupported);
}

}  // namespace
}  // namespace retile::spmd::module_test
