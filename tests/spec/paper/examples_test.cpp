#include "spec/paper/examples.h"

#include <gtest/gtest.h>

#include "spec/paper/sec3_factor.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::examples_test {
namespace {

TEST(Examples, are_problems_between_well_formed_types) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const Mesh H = mesh(example.mesh);
    const Type from = type(H, example.from), to = type(H, example.to);
    EXPECT_TRUE(wf_mesh(H));
    EXPECT_TRUE(wf_type(H, from));
    EXPECT_TRUE(wf_type(H, to));
    EXPECT_EQ(globaltype(from), globaltype(to));
  }
  EXPECT_GT(examples().size(), 20U);
}

TEST(Examples, what_sec_2_5_excludes_has_two_globaltypes) {
  for (const Example& example : not_redistributions()) {
    SCOPED_TRACE(example.name);
    const Mesh H = mesh(example.mesh);
    const Type from = type(H, example.from), to = type(H, example.to);
    EXPECT_TRUE(wf_type(H, from));
    EXPECT_TRUE(wf_type(H, to));
    EXPECT_NE(globaltype(from), globaltype(to));
  }
}

/// W as brute force finds it, and what is known of the optimum: W ≤ OPT ≤ W + valley (S2).
TEST(Examples, cost_what_they_are_said_to_cost) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const Mesh H = mesh(example.mesh);
    const Type from = type(H, example.from), to = type(H, example.to);
    const auto w =
        cheapest_weak(device_count(H).value(), globaltype(from), localtype(from), localtype(to));
    ASSERT_TRUE(w);
    EXPECT_EQ(w->cost, example.weak_cost.value_or(w->cost));
    if (!example.optimum) continue;
    Sizes sizes;
    for (const Sizes& c : w->c) sizes.push_back(size_of(c));
    EXPECT_LE(w->cost, *example.optimum);
    EXPECT_LE(*example.optimum, w->cost + valley(sizes));
    EXPECT_TRUE(*example.optimum == 0 || *example.optimum >= localsize(to));  // S5
  }
}

TEST(TypeExamples, have_the_localtypes_that_the_paper_states) {
  for (const TypeExample& example : type_examples()) {
    SCOPED_TRACE(example.name);
    const Mesh H = mesh(example.mesh);
    const Type tau = type(H, example.type);
    EXPECT_TRUE(wf_type(H, tau));
    EXPECT_EQ(localtype(tau), example.localtype);
  }
}

std::optional<Size> cost_if_typed(const WorkedSequence& example) {
  const Mesh H = mesh(example.mesh);
  Sequence s = {{type(H, example.from)}, {}};
  for (const Arrow& arrow : example.arrows) {
    const Type next = type(H, arrow.type);
    const auto p = parse_collective(arrow.label, s.sigma.back(), next);
    if (!p || apply(H, *p, s.sigma.back()) != next) return std::nullopt;
    s.sigma.push_back(next);
    s.p.push_back(p->p);
  }
  return cost(s);
}

TEST(WorkedSequences, type_check_and_cost_the_sum_of_fig_11) {
  for (const WorkedSequence& example : worked_sequences()) {
    EXPECT_EQ(cost_if_typed(example), example.cost) << example.name;
  }
}

/// Negative control: with one label or type changed the sequence no longer type-checks.
TEST(WorkedSequences, do_not_type_check_when_an_arrow_is_changed) {
  std::size_t mutants = 0;
  for (const WorkedSequence& example : worked_sequences()) {
    for (std::size_t k = 0; k + 1 < example.arrows.size(); ++k) {
      WorkedSequence left_out = example;
      left_out.arrows.erase(left_out.arrows.begin() + static_cast<std::ptrdiff_t>(k));
      // Two allpermutes or two slices in a row may lose one and still arrive.
      if (std::string_view(example.arrows[k].label) == "allpermute") continue;
      EXPECT_EQ(cost_if_typed(left_out), std::nullopt) << example.name << " without arrow " << k;
      ++mutants;
    }
  }
  EXPECT_GT(mutants, 15U);
}

/// E17: the printed third step of Example 3.1 is alltoall(1,0), which does not apply.
TEST(WorkedSequences, E17_the_printed_step_does_not_type_check) {
  for (WorkedSequence example : worked_sequences()) {
    if (std::string_view(example.name).rfind("Example 3.1 (E17", 0) != 0) continue;
    EXPECT_EQ(cost_if_typed(example), 24);
    example.arrows[2].label = "alltoall(1,0)";
    EXPECT_EQ(cost_if_typed(example), std::nullopt);
    return;
  }
  FAIL() << "Example 3.1 is gone";
}

/// E16: no composition of the three swaps of Fig. 3 is a typed allpermute on the mesh as it is, but
/// with prime axes it is one.
TEST(Examples, E16_needs_prime_axes) {
  const Mesh H = mesh("x:4,y:2,z:2");
  const FactoredMesh split = factor(H, into_primes(H)).value();
  const Type from = type(H, "[2{x}8]"), to = type(H, "[2{y,z}8]");
  EXPECT_TRUE(t_permute(from, to));
  EXPECT_EQ(to_text(factor(split, from).value()), "[2{x.1,x.2}8]");
  EXPECT_TRUE(t_permute(factor(split, from).value(), factor(split, to).value()));
}

}  // namespace
}  // namespace spec::examples_test
