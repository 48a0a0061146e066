#include "spec/paper/fig08_typing.h"

#include <gtest/gtest.h>

#include "spec/search/search.h"
#include "support/samples.h"
#include "tests/spec/values.h"

namespace spec::fig08_typing_test {
namespace {

const Mesh& H() {
  static const Mesh mesh = spec::mesh("x:4,y:2,z:3");
  return mesh;
}
std::string gathered(Index i, std::string_view e) {
  return shown(t_allgather(H(), i, type(H(), e)));
}
std::string sliced(Index i, const Name& x, std::string_view e) {
  return shown(t_dynslice(H(), i, x, type(H(), e)));
}
std::string moved(Index i, Index j, std::string_view e) {
  return shown(t_alltoall(H(), i, j, type(H(), e)));
}

TEST(T_ALLGATHER, removes_the_minor_most_axis) {
  EXPECT_EQ(gathered(0, "[2{y,x}16, 3]"), "[4{x}16, 3]");
  EXPECT_EQ(gathered(1, "[16, 1{z}3]"), "[16, 3]");
}
TEST(T_ALLGATHER, p1_rejects_a_dimension_that_is_not_there) {
  EXPECT_EQ(gathered(0, "[4{x}16]"), "[16]");
  EXPECT_EQ(gathered(1, "[4{x}16]"), "none");
}
TEST(T_ALLGATHER, p2_rejects_an_empty_axis_list) {
  EXPECT_EQ(gathered(0, "[4{x}16]"), "[16]");
  EXPECT_EQ(gathered(0, "[16]"), "none");
}
TEST(T_ALLGATHER, p3_rejects_an_axis_outside_the_mesh) {
  EXPECT_EQ(gathered(0, "[4{x}16]"), "[16]");
  EXPECT_EQ(gathered(0, "[4{w}16]"), "none");
}
TEST(T_ALLGATHER, p4_rejects_a_tile_of_2_63) {
  const Size quarter = Size{1} << 61;
  EXPECT_TRUE(t_allgather(H(), 0, {{quarter / 2, {"x"}, 1}}));
  EXPECT_FALSE(t_allgather(H(), 0, {{quarter, {"x"}, 1}}));
}

TEST(T_DYNSLICE, prepends_the_axis) {
  EXPECT_EQ(sliced(0, "y", "[4{x}16, 3]"), "[2{y,x}16, 3]");
  EXPECT_EQ(sliced(1, "z", "[4{x}16, 3]"), "[4{x}16, 1{z}3]");
}
TEST(T_DYNSLICE, p1_rejects_a_dimension_that_is_not_there) {
  EXPECT_EQ(sliced(0, "x", "[16]"), "[4{x}16]");
  EXPECT_EQ(sliced(1, "x", "[16]"), "none");
}
TEST(T_DYNSLICE, p2_rejects_an_axis_outside_the_mesh) {
  EXPECT_EQ(sliced(0, "x", "[16]"), "[4{x}16]");
  EXPECT_EQ(sliced(0, "w", "[16]"), "none");
}
TEST(T_DYNSLICE, p3_rejects_an_axis_in_use_in_any_dimension) {
  EXPECT_EQ(sliced(0, "x", "[16, 2{y}4]"), "[4{x}16, 2{y}4]");
  EXPECT_EQ(sliced(0, "x", "[16, 1{x}4]"), "none");
  EXPECT_EQ(sliced(0, "x", "[4{x}16, 4]"), "none");
}
TEST(T_DYNSLICE, p4_rejects_an_indivisible_tile) {
  EXPECT_EQ(sliced(0, "z", "[6]"), "[2{z}6]");
  EXPECT_EQ(sliced(0, "x", "[6]"), "none");
}

TEST(T_ALLTOALL, moves_the_minor_most_axis_to_the_minor_most_place) {
  EXPECT_EQ(moved(0, 1, "[2{y,x}16, 4{z}12]"), "[4{x}16, 2{y,z}12]");
  EXPECT_EQ(moved(1, 0, "[16, 4{x}16]"), "[4{x}16, 16]");
}
TEST(T_ALLTOALL, p1_rejects_dimensions_that_are_not_there) {
  EXPECT_EQ(moved(0, 1, "[4{x}16, 8]"), "[16, 2{x}8]");
  EXPECT_EQ(moved(2, 1, "[4{x}16, 8]"), "none");
  EXPECT_EQ(moved(0, 2, "[4{x}16, 8]"), "none");
}
/// E4: the printed rule allows i = j, and leads from [2{x}8] to the ill-formed [2{x,x}8].
TEST(T_ALLTOALL, E4_p2_rejects_equal_dimensions) {
  EXPECT_EQ(moved(0, 1, "[4{x}16, 8]"), "[16, 2{x}8]");
  EXPECT_EQ(moved(0, 0, "[4{x}16, 8]"), "none");
}
TEST(T_ALLTOALL, p3_rejects_an_empty_axis_list) {
  EXPECT_EQ(moved(0, 1, "[4{x}16, 8]"), "[16, 2{x}8]");
  EXPECT_EQ(moved(1, 0, "[4{x}16, 8]"), "none");
}
TEST(T_ALLTOALL, p4_rejects_indivisible_tile) {
  EXPECT_EQ(moved(0, 1, "[4{x}16, 8]"), "[16, 2{x}8]");
  EXPECT_EQ(moved(0, 1, "[4{x}16, 6]"), "none");
}
TEST(T_ALLTOALL, p5_rejects_an_axis_outside_the_mesh) {
  EXPECT_EQ(moved(0, 1, "[4{x}16, 8]"), "[16, 2{x}8]");
  EXPECT_EQ(moved(0, 1, "[4{w}16, 8]"), "none");
}

bool permutes(std::string_view from, std::string_view to) {
  return t_permute(type(H(), from), type(H(), to));
}
TEST(T_PERMUTE, p1_rejects_other_localtypes) {
  EXPECT_TRUE(permutes("[8{y}16, 4]", "[8{x}16, 4]"));
  EXPECT_FALSE(permutes("[8{y}16, 4]", "[4{x}16, 4]"));
  EXPECT_FALSE(permutes("[2{y}4, 4]", "[4, 2{y}4]"));  // of one size
}
/// E5: by its text alone the printed rule relates [2{x}4] and [2].
TEST(T_PERMUTE, E5_p2_rejects_other_globaltypes) {
  EXPECT_TRUE(permutes("[2{y}4]", "[2{x}4]"));
  EXPECT_FALSE(permutes("[2{y}4]", "[2]"));
}

TEST(Apply, rejects_ill_formed_types_and_meshes) {
  const Collective gather = {Op::allgather, 0, 0, "", {}};
  EXPECT_EQ(shown(apply(H(), gather, type(H(), "[4{x}16, 2{y}4]"))), "[16, 2{y}4]");
  EXPECT_EQ(shown(apply(H(), gather, type(H(), "[4{x}16, 2{y}5]"))), "none");
  EXPECT_EQ(shown(apply({{"x", 4}, {"x", 4}}, gather, type(H(), "[4{x}16]"))), "none");
  Collective permute = {Op::allpermute, 0, 0, "", type(H(), "[8{y}16]")};
  EXPECT_EQ(shown(apply(H(), permute, type(H(), "[8{y}16]"))), "[8{y}16]");
  permute.to = {{8, {"w"}, 16}};
  EXPECT_EQ(shown(apply(H(), permute, type(H(), "[8{y}16]"))), "none");
}

TEST(Def_4_3, strong_step_is_the_rule_read_as_a_relation) {
  const Type from = type(H(), "[4{x}16, 8]"), to = type(H(), "[16, 2{x}8]");
  EXPECT_TRUE(strong_step(H(), {Op::alltoall, 0, 1, "", {}}, from, to));
  EXPECT_FALSE(strong_step(H(), {Op::alltoall, 1, 0, "", {}}, from, to));
  EXPECT_FALSE(strong_step(H(), {Op::alltoall, 0, 1, "", {}}, from, from));
}

/// "Only well-formed types count": the rules lead from well-formed types to well-formed types of
/// the same globaltype. The mutants drop one premise each and must leave the well-formed types.
TEST(Fig08, rules_keep_types_well_formed_and_mutants_do_not) {
  Counts steps, dropped_e4, dropped_unused, dropped_divisible;
  int number = 0;
  for (const auto& [mesh, g] : prime_spaces(3)) {
    const std::string text = to_text(mesh);
    for (const Type& tau : all_types(mesh, g)) {
      if (support::instrumented && ++number % 3 != 0) continue;
      std::vector<std::optional<Type>> results;
      for (Index i = 0; i < rank(tau); ++i) {
        results.push_back(t_allgather(mesh, i, tau));
        for (const Axis& alpha : mesh) {
          const auto next = t_dynslice(mesh, i, alpha.x, tau);
          results.push_back(next);
          Type mutant = tau;
          mutant[i] = {tau[i].c / alpha.k, cons(alpha.x, tau[i].xs), tau[i].s};
          if (wf_type(mesh, mutant)) {
            ASSERT_EQ(next, mutant);
          } else {
            ASSERT_FALSE(next) << to_text(tau);
            const bool divides = tau[i].c % alpha.k == 0;
            dropped_unused[text] += divides ? 1U : 0U;
            dropped_divisible[text] += divides ? 0U : 1U;
          }
        }
        for (Index j = 0; j < rank(tau); ++j) {
          results.push_back(t_alltoall(mesh, i, j, tau));
          if (i == j && !tau[i].xs.empty()) {
            Type mutant = tau;
            mutant[j].xs = cons(tau[i].xs.front(), tau[i].xs);
            mutant[j].c = tau[i].c / lookup(mesh, tau[i].xs.front()).value();
            dropped_e4[text] += wf_type(mesh, mutant) ? 0U : 1U;
          }
        }
      }
      for (const auto& next : results) {
        if (!next) continue;
        ++steps[text];
        ASSERT_TRUE(wf_type(mesh, *next)) << to_text(tau) << " -> " << to_text(*next);
        ASSERT_EQ(globaltype(*next), globaltype(tau));
      }
    }
  }
  expect_on_each("steps", steps, 6, support::instrumented ? 300 : 1000);
  expect_on_each("one dimension for both of E4", dropped_e4, 6, 100);
  expect_on_each("an axis in use", dropped_unused, 6, 100);
  expect_on_each("an indivisible tile", dropped_divisible, 6, 100);
}

}  // namespace
}  // namespace spec::fig08_typing_test
