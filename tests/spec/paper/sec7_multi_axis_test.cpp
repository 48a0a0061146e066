#include "spec/paper/sec7_multi_axis.h"

#include <gtest/gtest.h>

#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::sec7_multi_axis_test {
namespace {

const Mesh& H() {
  static const Mesh mesh = spec::mesh("x:2,y:2,z:3");
  return mesh;
}
std::string gathered(Index i, const Names& x, std::string_view e) {
  return shown(t_allgather(H(), i, x, type(H(), e)));
}
std::string sliced(Index i, const Names& x, std::string_view e) {
  return shown(t_dynslice(H(), i, x, type(H(), e)));
}
std::string moved(Index i, Index j, const Names& x, std::string_view e) {
  return shown(t_alltoall(H(), i, j, x, type(H(), e)));
}

TEST(Sec_7_1_ALLGATHER, takes_a_prefix_in_order) {
  EXPECT_EQ(gathered(0, {"x", "y"}, "[1{x,y,z}12]"), "[4{z}12]");
  EXPECT_EQ(gathered(0, {"y", "x"}, "[1{x,y,z}12]"), "none");  // the order is part of the rule
  EXPECT_EQ(gathered(0, {"x", "y", "z"}, "[2{x,y}8]"), "none");
  EXPECT_EQ(gathered(0, {}, "[2{x,y}8]"), "none");
  EXPECT_EQ(gathered(1, {"x"}, "[2{x,y}8]"), "none");
  EXPECT_EQ(gathered(0, {"w"}, "[2{w}8]"), "none");
}
TEST(Sec_7_1_DYNSLICE, prepends_a_list_of_unused_axes) {
  EXPECT_EQ(sliced(0, {"x", "y"}, "[4{z}12, 2]"), "[1{x,y,z}12, 2]");
  EXPECT_EQ(sliced(0, {"x", "z"}, "[4{y}8, 2]"), "none");  // 6 does not divide 4
  EXPECT_EQ(sliced(0, {"x", "y"}, "[4{z}12, 1{x}2]"), "none");
  EXPECT_EQ(sliced(0, {"x", "x"}, "[4{z}12, 2]"), "none");
  EXPECT_EQ(sliced(0, {}, "[4{z}12, 2]"), "none");
  EXPECT_EQ(sliced(2, {"x"}, "[4{z}12, 2]"), "none");
}
TEST(Sec_7_1_ALLTOALL, keeps_the_order_of_the_list) {
  EXPECT_EQ(moved(0, 1, {"x", "y"}, "[1{x,y}4, 4{z}12]"), "[4, 1{x,y,z}12]");
  EXPECT_EQ(moved(0, 1, {"y", "x"}, "[1{x,y}4, 4{z}12]"), "none");
  EXPECT_EQ(moved(0, 1, {"x", "y"}, "[1{x,y}4, 2{z}6]"), "none");  // 4 does not divide 2
  EXPECT_EQ(moved(0, 0, {"x"}, "[2{x,y}8, 4]"), "none");           // E4
  EXPECT_EQ(moved(0, 1, {}, "[1{x,y}4, 4]"), "none");
  EXPECT_EQ(moved(0, 2, {"x"}, "[1{x,y}4, 4]"), "none");
}

/// In two steps the list arrives reversed: treating it as a set would lose this.
TEST(Sec_7_1_ALLTOALL, one_step_and_two_steps_differ_in_order) {
  const Type tau = type(H(), "[1{x,y}4, 4]");
  const Type first = t_alltoall(H(), 0, 1, tau).value();
  EXPECT_EQ(shown(t_alltoall(H(), 0, 1, first)), "[4, 1{y,x}4]");
  EXPECT_EQ(shown(t_alltoall(H(), 0, 1, {"x", "y"}, tau)), "[4, 1{x,y}4]");
}

/// With a list of one axis the rules are those of Fig. 8, applicable or not.
TEST(Sec_7_1, lists_of_one_axis_are_the_rules_of_fig_8) {
  std::size_t compared = 0;
  for (const auto& [mesh, g] : prime_spaces(3)) {
    for (const Type& tau : all_types(mesh, g)) {
      for (const Axis& alpha : mesh) {
        for (Index i = 0; i < rank(tau); ++i) {
          const bool is_first = !tau[i].xs.empty() && tau[i].xs.front() == alpha.x;
          const auto none = std::optional<Type>();
          ASSERT_EQ(t_dynslice(mesh, i, {alpha.x}, tau), t_dynslice(mesh, i, alpha.x, tau));
          ASSERT_EQ(t_allgather(mesh, i, {alpha.x}, tau),
                    is_first ? t_allgather(mesh, i, tau) : none);
          for (Index j = 0; j < rank(tau); ++j) {
            ASSERT_EQ(t_alltoall(mesh, i, j, {alpha.x}, tau),
                      is_first ? t_alltoall(mesh, i, j, tau) : none);
          }
          ++compared;
        }
      }
    }
  }
  std::cout << compared << " comparisons of each rule\n";
  EXPECT_GT(compared, 30000U);
}

TEST(Sec_7_1, apply_rejects_what_is_ill_formed) {
  const MultiCollective p = {Op::allgather, 0, 0, {"x"}, {}};
  EXPECT_EQ(shown(apply(H(), p, type(H(), "[2{x}4]"))), "[4]");
  EXPECT_EQ(shown(apply(H(), p, type(H(), "[2{x}5]"))), "none");
}

}  // namespace
}  // namespace spec::sec7_multi_axis_test
