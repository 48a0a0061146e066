#include "retile/problems/problems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "retile/notation/paper/notation.h"

namespace problems_test {
namespace {

using namespace retile;
using problems::arguments_of;
using problems::draw;
using problems::End;
using problems::Family;
using Drawn = problems::Problem;

constexpr Size checked = 800;

bool is_even(const Drawn& problem, const End& end) {
  return type_text(problem, end).find("sum") != std::string::npos ||
         parse_type(type_text(problem, end), problem.mesh).has_value();
}

TEST(Problems, by_hand) {
  Drawn problem{.family = Family::sums, .mesh = parse_mesh("x:2,y:3,z:2").value()};
  problem.shape = {7, 12};
  problem.from = {.dims = {{1}, {}}, .sums = {2, 0}, .order = {}};
  problem.to = {.dims = {{}, {0, 1}}, .sums = {}, .order = {}};
  EXPECT_EQ(type_text(problem, problem.from), "sum{x,z}[3{y}7, 12]");
  EXPECT_EQ(type_text(problem, problem.to), "[7, 2{y,x}12]");
  EXPECT_EQ(
      arguments_of(problem),
      (std::vector<std::string>{"--mesh", "x:2,y:3,z:2", "sum{x,z}[3{y}7, 12]", "[7, 2{y,x}12]"}));
  problem.to.order = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto words = arguments_of(problem);
  EXPECT_EQ(words[2], "--order");
  EXPECT_EQ(words[3], "[12]<=[12]");
  EXPECT_EQ(words[4], "--order-to");
  EXPECT_EQ(words[5], "[1,0,2,3,4,5,6,7,8,9,10,11]");
}

TEST(Problems, keep_to_their_limits) {
  for (Size number = 0; number < checked; ++number) {
    const Drawn problem = draw(3, number);
    Size elements = 1;
    for (const Size extent : problem.shape) elements *= extent;
    ASSERT_LE(elements, 4096) << number;
    ASSERT_GE(elements, 2) << number;
    ASSERT_LE(problem.mesh.device_count(), 64) << number;
    ASSERT_TRUE(problem.from.order || problem.to.order || problem.from != problem.to) << number;
  }
}

TEST(Problems, families_are_what_they_say) {
  std::set<Family> families;
  Size uneven = 0;
  for (Size number = 0; number < checked; ++number) {
    const Drawn problem = draw(4, number);
    families.insert(problem.family);
    EXPECT_EQ(problem.family, problems::family_of(number));
    const bool sums = !problem.from.sums.empty() || !problem.to.sums.empty();
    ASSERT_TRUE(!sums || problem.family == Family::sums) << number;
    const bool orders = problem.from.order || problem.to.order;
    ASSERT_EQ(orders, problem.family == Family::orders) << number;
    const bool even = is_even(problem, problem.from) && is_even(problem, problem.to);
    ASSERT_TRUE(even || problem.family == Family::uneven || problem.family == Family::sums);
    if (!even) ++uneven;
  }
  EXPECT_EQ(families.size(), problems::family_names.size());
  EXPECT_GT(uneven, checked / 20);
}

TEST(Problems, orders_list_every_device) {
  Size listed = 0;
  for (Size number = 6; number < checked; number += 8) {
    const Drawn problem = draw(5, number);
    for (const End& end : {problem.from, problem.to}) {
      if (!end.order) continue;
      ++listed;
      std::vector<Size> sorted = *end.order;
      std::sort(sorted.begin(), sorted.end());
      std::vector<Size> wanted(static_cast<std::size_t>(problem.mesh.device_count()));
      std::iota(wanted.begin(), wanted.end(), Size{0});
      ASSERT_EQ(sorted, wanted) << number;
    }
  }
  EXPECT_GT(listed, 100);
}

TEST(Problems, the_addends_of_the_end_are_some_of_the_start) {
  for (Size number = 7; number < checked; number += 8) {
    const Drawn problem = draw(6, number);
    for (const std::size_t axis : problem.to.sums) {
      const auto& sums = problem.from.sums;
      ASSERT_NE(std::find(sums.begin(), sums.end(), axis), sums.end()) << number;
    }
  }
}

TEST(Problems, ends_are_shardings) {
  for (Size number = 0; number < checked; ++number) {
    const Drawn problem = draw(7, number);
    for (const End& end : {problem.from, problem.to}) {
      const Sharding sharding = sharding_of(problem, end);
      ASSERT_EQ(sharding.layout.global(), problem.shape) << number;
      ASSERT_EQ(sharding.mesh.order.has_value(), end.order.has_value()) << number;
      ASSERT_EQ(sharding.addends.empty(), end.sums.empty()) << number;
      ASSERT_EQ(retile::type_text(sharding), type_text(problem, end)) << number;
    }
  }
}

TEST(Problems, a_seed_and_a_number_say_which) {
  EXPECT_EQ(arguments_of(draw(1, 7)), arguments_of(draw(1, 7)));
  EXPECT_NE(arguments_of(draw(1, 7)), arguments_of(draw(2, 7)));
  EXPECT_NE(arguments_of(draw(1, 7)), arguments_of(draw(1, 15)));
  EXPECT_NE(arguments_of(draw(0, 7)), arguments_of(draw(Size{1} << 32, 7)));
}

}  // namespace
}  // namespace problems_test
