// Plans of problems with addends whose answer is known by hand or by exhaustive search.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/certificate.h"
#include "retile/plan/lacking.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"

namespace retile::plan_test {
namespace {

Problem adding(const std::string& mesh, const std::string& from, const std::string& to) {
  auto made = parse_problem(mesh, from, to);
  EXPECT_TRUE(made.has_value()) << (made ? "" : render(made.error()));
  return made.value();
}

std::string ops(const Plan& plan) {
  std::string out;
  for (const PlanStep& step : plan.steps) {
    out += (out.empty() ? "" : " ") + std::string(collective_name(step.op));
  }
  return out;
}

/// Plans, lowers and checks.
Plan right(const std::string& mesh, const std::string& from, const std::string& to,
           const PlanOptions& options = {}) {
  const auto made = plan(adding(mesh, from, to), options);
  EXPECT_TRUE(made.has_value()) << from << " -> " << to << (made ? "" : render(made.error()));
  if (!made) return {};
  EXPECT_EQ(made->searched, !made->optimal);
  const Program program = lower(*made);
  const Verdict verdict = check(program);
  EXPECT_EQ(verdict.answer, Answer::right) << to_text(program);
  if (options.cost_model == CostModel::paper) {
    EXPECT_EQ(verdict.cost, made->cost) << to_text(program);
  }
  EXPECT_EQ(verdict.height, made->height) << to_text(program);
  EXPECT_TRUE(verdict.within_bound) << to_text(program);
  return *made;
}

Diagnostic refused(const std::string& mesh, const std::string& from, const std::string& to,
                   const PlanOptions& options = {}) {
  const auto made = plan(adding(mesh, from, to), options);
  EXPECT_FALSE(made.has_value()) << from << " -> " << to;
  return made ? Diagnostic{} : made.error();
}

struct Example {
  const char* mesh;
  const char* from;
  const char* to;
  Size cost;
  Size height;
  const char* ops;
  Size least;  ///< the proved lower bound
};

TEST(Adding, examples_cost_what_exhaustive_search_finds) {
  const std::vector<Example> examples = {
      {"x:4", "sum{x}[8]", "[8]", 16, 8, "allreduce", 16},
      {"x:2,y:2", "sum{x}[8]", "[8]", 12, 8, "dynslice reducescatter allgather", 12},
      {"x:2,y:2", "sum{x,y}[8]", "[8]", 16, 8, "allreduce", 16},
      {"x:2,y:2", "sum{x}[8]", "[2{x,y}8]", 4, 8, "dynslice reducescatter", 4},
      {"x:2,y:2", "sum{x}[8]", "[4{x}8]", 8, 8, "reducescatter", 8},
      {"x:2,y:2", "sum{x}[8]", "[4{y}8]", 8, 8, "dynslice allreduce", 8},
      {"x:2,y:2", "sum{x}[8]", "sum{y}[8]", 8, 8, "allpermute", 8},
      {"x:2,y:2", "sum{x}[4, 2{y}4]", "[1{y,x}4, 4]", 12, 8, "reducescatter alltoall", 12},
      {"x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]", 20, 8, "reducescatter alltoall allgather", 16},
      {"x:2,y:2", "sum{y}[3]", "[3]", 6, 3, "allreduce", 6},
      {"x:2,y:3", "sum{x}[6]", "[6]", 8, 6, "dynslice reducescatter allgather", 8},
      {"x:2,y:3", "sum{y}[6]", "[6]", 9, 6, "dynslice reducescatter allgather", 9},
      {"r:2,s:8", "sum{s}[8{r}16, 256]", "[8{r}16, 32{s}256]", 2048, 2048, "reducescatter", 2048},
      {"r:2,s:8", "sum{s}[8{r}16, 256]", "[8{r}16, 256]", 4096, 2048, "allreduce", 4096},
      {"r:2,s:8", "sum{s}[8{r}16, 256]", "[16, 256]", 6144, 4096, "reducescatter allgather", 6144},
  };
  for (const Example& it : examples) {
    for (const std::string name : {"sum", "max", "min"}) {
      const auto named = [&](std::string type) {
        if (type.starts_with("sum")) type.replace(0, 3, name);
        return type;
      };
      const Plan got = right(it.mesh, named(it.from), named(it.to));
      EXPECT_EQ(got.cost, it.cost) << it.from << " -> " << it.to;
      EXPECT_EQ(got.height, it.height) << it.from << " -> " << it.to;
      EXPECT_EQ(got.height, got.bound);
      EXPECT_EQ(ops(got), it.ops) << it.from << " -> " << it.to;
      EXPECT_EQ(got.lower_bound, it.least) << it.from << " -> " << it.to;
      EXPECT_EQ(got.optimal, it.least == it.cost);
    }
  }
}

TEST(Adding, the_second_example_is_this_program) {
  EXPECT_EQ(to_text(lower(right("x:2,y:2", "sum{x}[8]", "[8]"))),
            "retile.program/2\n"
            "mesh x:2,y:2\n"
            "from sum{x}[8]\n"
            "to [8]\n"
            "dynslice dim=0 groups=[2,2]<=[4] tile=[4] map=sum{x}[4{y}8]\n"
            "reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[2] map=[2{x,y}8]\n"
            "allgather dim=0 groups=[1,4]<=[2,2]T(1,0) tile=[8] map=[8]\n");
}

TEST(Adding, what_costs_nothing_is_optimal) {
  for (const auto& [from, to] :
       {std::pair{"sum{x}[8]", "sum{x}[4{y}8]"}, std::pair{"sum{x,y}[8]", "sum{y,x}[8]"},
        std::pair{"sum{x}[8]", "sum{x}[8]"}}) {
    const Plan got = right("x:2,y:2", from, to);
    EXPECT_EQ(got.cost, 0);
    EXPECT_TRUE(got.optimal);
  }
}

TEST(Adding, a_stack_keeps_its_arrays) {
  EXPECT_EQ(right("x:2,y:2", "stack{x}[8]", "stack{x}[4{y}8]").cost, 0);
  EXPECT_EQ(right("x:2,y:2", "stack{x}[4{y}8]", "stack{x}[8]").cost, 8);
  EXPECT_EQ(right("x:2,y:2", "stack{x}[4{y}8]", "stack{y}[4{x}8]").cost, 4);
  EXPECT_EQ(right("x:2,y:2", "stack{x,y}[8]", "stack{y,x}[8]").cost, 8);
  EXPECT_EQ(right("x:2,y:2", "sum{x,y}[8]", "sum{y,x}[8]").cost, 0);
}

TEST(Adding, what_adding_does_not_make_is_refused) {
  const auto is = [](const Diagnostic& diagnostic, const std::string& message) {
    EXPECT_EQ(diagnostic.code, Code::infeasible);
    EXPECT_EQ(diagnostic.message, message);
  };
  is(refused("x:2,y:3", "[6]", "sum{x}[6]"),
     "no redistribution makes addends: from holds the array itself");
  is(refused("x:2,y:3", "sum{x}[6]", "sum{y}[6]"),
     "2 addends cannot be added up to 3: their number must divide");
  const Problem sums = adding("x:2,y:3", "sum{x}[6]", "[6]");
  const Problem maxima = adding("x:2,y:3", "max{x}[6]", "[6]");
  is(plan(Problem::make(sums.from, maxima.from).value()).error(),
     "addends of a sum are no addends of a max");
  // Text is refused where it is read.
  const Problem two = adding("x:2,y:3", "stack{x}[6]", "stack{x}[6]");
  const Problem three = adding("x:2,y:3", "stack{y}[6]", "stack{y}[6]");
  for (const Layout& to : {sums.to, three.to}) {
    is(plan(Problem::make(two.from, to).value()).error(),
       "nothing adds the 2 arrays of a stack: to must be a stack of as many");
  }
}

TEST(Adding, a_slice_that_mixes_does_without_a_permutation) {
  const Plan got = right("x:2,y:2,z:2", "sum{z}[2{y}4]", "sum{x}[4]");
  EXPECT_EQ(got.cost, 4);  // with a permutation 5
  EXPECT_EQ(ops(got), "dynslice allgather");
  ASSERT_EQ(got.twists.size(), 1U);
  EXPECT_EQ(got.twists[0].sliced, (Digit{4, 2}));
  EXPECT_EQ(got.twists[0].addend, (Digit{1, 2}));
  // A device keeps piece x + z mod 2: devices 0 and 5 the first one.
  EXPECT_EQ(to_text(lower(got)),
            "retile.program/2\n"
            "mesh x:2,y:2,z:2\n"
            "from sum{z}[2{y}4]\n"
            "to sum{x}[4]\n"
            "dynslice dim=0 groups=[[0,4],[5,1],[2,6],[7,3]] tile=[1]\n"
            "allgather dim=0 groups=[[0,1,2,3],[5,4,7,6]] tile=[4] map=sum{x}[4]\n");
  // Where a permutation costs no more, its table is shorter.
  EXPECT_EQ(ops(right("x:2,y:2", "sum{x}[8]", "sum{y}[8]")), "allpermute");
}

TEST(Adding, a_digit_that_mixing_made_count_addends_is_scattered) {
  const Plan got = right("x:2,y:2,z:2", "sum{y,z}[4, 2]", "[1{z,x}4, 2]");
  EXPECT_EQ(got.cost, 6);  // with a permutation 7
  EXPECT_EQ(ops(got), "dynslice reducescatter allgather");
  EXPECT_EQ(got.twists.size(), 1U);
}

TEST(Adding, a_mixed_slice_of_three) {
  const Plan got = right("x:3,y:3,z:3", "sum{z}[3{y}9]", "sum{x}[9]");
  EXPECT_EQ(got.cost, 9);
  EXPECT_EQ(got.twists.size(), 1U);
}

TEST(Adding, a_memory_limit_bounds_the_tiles_before_and_after_together) {
  const auto limited = [](Size elements) {
    return PlanOptions{.element_bytes = 8, .memory_limit_bytes = 8 * elements};
  };
  EXPECT_EQ(right("x:4", "sum{x}[8]", "[8]").resident, 16);
  const Plan less = right("x:4", "sum{x}[8]", "[8]", limited(15));
  EXPECT_EQ(ops(less), "reducescatter allgather");
  EXPECT_EQ(less.cost, 16);
  EXPECT_EQ(less.resident, 10);
  EXPECT_EQ(refused("x:4", "sum{x}[8]", "[8]", limited(9)).code, Code::infeasible);
  EXPECT_EQ(smallest_feasible_bytes(adding("x:4", "sum{x}[8]", "[8]"), 8).value(), 80);
  // Nothing but one permutation of whole tiles leads there.
  EXPECT_EQ(refused("x:2,y:2", "sum{x}[3]", "sum{y}[3]", limited(5)).code, Code::infeasible);
  EXPECT_EQ(smallest_feasible_bytes(adding("x:2,y:2", "sum{x}[3]", "sum{y}[3]"), 8).value(), 48);
  EXPECT_EQ(smallest_feasible_bytes(adding("x:2,y:2", "sum{x}[4]", "sum{x}[2{y}4]"), 8).value(),
            32);
}

TEST(Adding, costs_in_bytes_count_what_is_received) {
  const PlanOptions bytes{.cost_model = CostModel::bytes, .element_bytes = 4};
  // 4 (1 - 1/2) elements, and 8 - 2: as much as 2 (1 - 1/2) 8 elements of an allreduce.
  EXPECT_EQ(right("x:2,y:2", "sum{x}[8]", "[8]", bytes).cost, 32);
  EXPECT_EQ(right("x:2,y:2", "sum{x}[8]", "[4{x}8]", bytes).cost, 16);
  EXPECT_EQ(right("x:2,y:2", "sum{y}[3]", "[3]", bytes).cost, 16);
}

TEST(Adding, a_search_without_work_is_no_answer) {
  const Diagnostic none = refused("x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]", {.search_limit = 1});
  EXPECT_EQ(none.code, Code::limit_reached);
}

TEST(Adding, costs_in_bytes_have_no_proof) {
  const PlanOptions bytes{.cost_model = CostModel::bytes, .element_bytes = 4};
  const Plan got = right("x:4", "sum{x}[8]", "[8]", bytes);
  EXPECT_EQ(got.lower_bound, 0);
  EXPECT_TRUE(got.searched);
  EXPECT_EQ(certify(got).error().code, Code::unsupported);
}

TEST(Adding, a_search_that_stopped_proves_no_more_than_the_new_tile) {
  const Problem problem = adding("x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]");
  EXPECT_EQ(plan(problem)->lower_bound, 16);
  bool stopped = false;
  for (Size limit = 1; limit < 4096 && !stopped; ++limit) {
    const auto made = plan(problem, {.search_limit = limit});
    if (!made || made->complete) continue;
    EXPECT_LE(made->lower_bound, 16);
    EXPECT_GE(made->lower_bound, 8);
    stopped = true;
  }
  EXPECT_TRUE(stopped);
}

TEST(Adding, the_certificate_of_the_second_example) {
  EXPECT_EQ(to_text(certify(right("x:2,y:2", "sum{x}[8]", "[8]")).value()),
            "lower_bound 12\n"
            "addends [2] 1 8\n"
            "addends [4] 1 8\n"
            "addends [8] 1 0\n");
  // A bound that is not above the new tile needs no line.
  EXPECT_EQ(to_text(certify(right("x:2,y:2", "sum{x}[8]", "sum{y}[8]")).value()),
            "lower_bound 8\n");
}

TEST(Adding, certificates_are_of_steps_along_one_dimension) {
  const auto problem = adding("x:2,y:2,z:2", "sum{z}[8{x}16, 8{y}16]", "[16, 16]");
  const PlanOptions several{.steps = Scope::several_dims};
  EXPECT_EQ(plan(problem, several).value().cost, 320);
  const PlanOptions options = certifiable(problem, several);
  EXPECT_EQ(options.steps, Scope::one_dim);
  EXPECT_EQ(certify(plan(problem, options).value()).value().lower_bound, 352);
  const auto array = adding("x:2,y:2", "[8{x}16, 8{y}16]", "[16, 16]");
  EXPECT_EQ(certifiable(array, several).steps, Scope::several_dims);
}

TEST(Adding, what_is_received_whatever_the_steps_is_known_of_arrays_alone) {
  EXPECT_EQ(least_received(adding("x:2", "[8{x}16]", "[16]")), Size{8});
  EXPECT_EQ(least_received(adding("x:2", "sum{x}[16]", "[16]")), std::nullopt);
}

TEST(Adding, a_certificate_has_a_limit) {
  const Plan got = right("x:2,y:2", "sum{x}[8]", "[8]");
  EXPECT_EQ(certify(got, {.most_lines = 2}).error().code, Code::limit_reached);
  EXPECT_EQ(certify(got, {.search_limit = 3}).error().code, Code::limit_reached);
  EXPECT_TRUE(certify(got, {.most_lines = 3}).has_value());
}

/// The steps among which nothing costs less than the lower bound, of every kind of plan.
struct ScopeExample {
  const char* mesh;
  const char* from;
  const char* to;
  PlanOptions options;
  const char* kind;
  Scope scope;
  Size lower_bound;
  Size cost;
};

TEST(Scopes, say_of_every_kind_of_plan_among_which_steps_the_bound_holds) {
  const PlanOptions one{};
  const PlanOptions several{.steps = Scope::several_dims};
  const PlanOptions bytes{.cost_model = CostModel::bytes, .steps = Scope::several_dims};
  const PlanOptions legs{.collectives = true, .steps = Scope::several_dims};
  const ScopeExample examples[] = {
      {"x:2,y:2", "[2{x}4, 2{y}4]", "[2{x}4, 2{y}4]", several, "nothing", Scope::any, 0, 0},
      {"x:2,y:2", "[4, 4]", "[2{x}4, 2{y}4]", several, "slices", Scope::any, 0, 0},
      {"x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]", one, "even", Scope::one_dim, 20, 20},
      {"x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]", several, "even", Scope::several_dims, 16, 16},
      {"x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]", bytes, "bytes", Scope::several_dims, 48, 48},
      {"x:2", "[3{x}5]", "[5]", one, "uneven", Scope::any, 0, 5},
      {"x:2", "[3{x}5]", "[5]", several, "uneven", Scope::any, 0, 5},
      {"x:2", "[5]", "[3{x}5]", several, "uneven slice", Scope::any, 0, 0},
      {"x:2,y:3", "[(0,1,6){x}6]", "[2{y}6]", several, "exchange", Scope::any, 0, 2},
      {"x:2,y:3", "[(0,1,6){x}6]", "[2{y}6]", legs, "legs", Scope::any, 0, 6},
      {"x:2,y:2", "sum{x}[8]", "[8]", one, "sum", Scope::several_dims, 12, 12},
      {"x:2,y:2", "sum{x}[8]", "[8]", several, "sum", Scope::several_dims, 12, 12},
      {"x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]", one, "sum", Scope::several_dims, 16, 20},
      {"x:2,y:2", "sum{x}[4, 2{y}4]", "[2{y}4, 4]", several, "sum", Scope::several_dims, 16, 20},
      {"x:2,y:2,z:2", "sum{z}[2{x}4, 2{y}4]", "sum{z}[4, 4]", one, "sum", Scope::one_dim, 20, 20},
      {"x:2", "sum{x}[5]", "[3{x}5]", several, "sum, exchange", Scope::any, 0, 6},
      {"x:2", "sum{x}[4]", "sum{x}[4]", several, "sum, nothing", Scope::any, 0, 0},
  };
  for (const ScopeExample& it : examples) {
    const auto made = plan(adding(it.mesh, it.from, it.to), it.options);
    ASSERT_TRUE(made.has_value()) << it.kind << render(made.error());
    EXPECT_EQ(scope_name(made->scope), scope_name(it.scope)) << it.kind << " " << it.from;
    EXPECT_EQ(made->lower_bound, it.lower_bound) << it.kind << " " << it.from;
    EXPECT_EQ(made->cost, it.cost) << it.kind << " " << it.from;
    EXPECT_EQ(made->optimal, made->cost == made->lower_bound) << it.kind << " " << it.from;
  }
}

/// Addends with steps along several dimensions.
TEST(AddingOverDims, steps_along_several_dimensions_are_taken_where_they_are_cheaper) {
  const PlanOptions several{.steps = Scope::several_dims};
  const struct {
    const char* mesh;
    const char* from;
    const char* to;
    const char* steps;
    Size one;
    Size all;
  } examples[] = {
      {"x:2,y:2,z:2", "sum{z}[2{x}4, 2{y}4]", "sum{z}[4, 4]", "allgather_dims", 20, 16},
      {"x:2,y:2,z:2", "sum{z}[2{x}4, 2{y}4, 4, 4]", "sum{z}[4, 4, 2{x}4, 2{y}4]", "alltoall_dims",
       128, 64},
  };
  for (const auto& it : examples) {
    EXPECT_EQ(right(it.mesh, it.from, it.to).cost, it.one) << it.from;
    const Plan made = right(it.mesh, it.from, it.to, several);
    EXPECT_EQ(made.cost, it.all) << it.from;
    EXPECT_TRUE(made.optimal) << it.from;
    EXPECT_EQ(made.scope, Scope::several_dims) << it.from;
    std::string names;
    for (const PlanStep& step : made.steps) names += step_name(step);
    EXPECT_EQ(names, it.steps) << it.from;
  }
}

}  // namespace
}  // namespace retile::plan_test
