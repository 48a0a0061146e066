// The search limit bounds all that planning does, by two counts: the planner's own, and how often
// it asks for memory, which no part of it can forget to count.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace {
retile::Size allocations = 0;
}

__attribute__((noinline)) void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* out = ::operator new(size, std::nothrow);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}
__attribute__((noinline)) void operator delete(void* at) noexcept { std::free(at); }
__attribute__((noinline)) void operator delete(void* at, std::size_t) noexcept { std::free(at); }
__attribute__((noinline)) void operator delete(void* at, const std::nothrow_t&) noexcept {
  std::free(at);
}

namespace retile::search_limit_test {
namespace {

/// Problems on 90,720 devices that cost more than the ones drawn at random: many mixed digits, or
/// many tiles to run, or many dear paths to decide.
std::vector<Problem> dear_problems() {
  const std::string primes = "a:2,b:2,c:2,d:2,e:2,f:3,g:3,h:3,i:3,j:5,k:7";
  const std::string powers = "a:4,b:8,c:81,d:5,e:7";
  std::vector<Problem> out;
  for (const auto& [mesh, from, to] :
       {std::tuple{primes, "[420{b,i,c}5040, 72{j}360, 630{a}1260, 126{h,d}756, 840{g,f}7560]",
                   "[1680{g}5040, 360, 7{f,d,j,i,e}1260, 189{a,c}756, 1260{b,h}7560]"},
        std::tuple{primes, "[40{d,h,i}720, 2520{f}7560, 504{j}2520, 360{b,k}5040, 180{a,e}720, 2]",
                   "[48{j,h}720, 630{f,c,d}7560, 1260{a}2520, 1680{i}5040, 240{g}720, 1{e}2]"},
        std::tuple{powers, "[3780{a}15120, 1008{d}5040, 270{e}1890, 2520]",
                   "[2160{e}15120, 5040, 1890, 504{d}2520]"},
        std::tuple{powers, "[1260, 24{e,d}840, 63{a}252, 945{b}7560]",
                   "[315{a}1260, 840, 36{e}252, 1512{d}7560]"}}) {
    out.push_back(parse_problem(mesh, from, to).value());
  }
  return out;
}

/// The most that one step of a search takes after the limit: a move of digit lists that mixes
/// numbers made of mixed numbers.
constexpr Size last_step = 1 << 10;

/// Ends are compared first: as long as devices hold the same, each takes a few allocations.
TEST(SearchLimit, ends_that_differ_are_told_apart_at_the_first_device_that_does) {
  const std::string mesh = "a:256,b:256";
  const auto asked = [&](const std::string& from, const std::string& to) {
    const Problem problem = parse_problem(mesh, from, to).value();
    const Size before = allocations;
    EXPECT_TRUE(plan(problem));
    return allocations - before;
  };
  EXPECT_LE(asked("[3{a}767, 4{b}1023]", "[3{b}767, 4{a}1023]"), 2'000);
  EXPECT_LE(asked("[3{a}767, 4{b}1023]", "[3{a}767, 4{b}1023]"), 2'000);
}

TEST(SearchLimit, bounds_the_work_of_every_part_on_the_dearest_problems) {
  Size stopped = 0;
  for (const Problem& problem : dear_problems()) {
    for (const CostModel model : {CostModel::paper, CostModel::bytes}) {
      for (const bool limited : {false, true}) {
        Size proved = 0;
        Size cheapest = std::numeric_limits<Size>::max();
        for (const Size limit : {Size{0}, Size{1} << 12, Size{1} << 16, Size{1} << 19}) {
          PlanOptions options{.cost_model = model, .search_limit = limit};
          if (limited) options.memory_limit_bytes = smallest_feasible_bytes(problem, 4).value();
          const Size before = allocations;
          const auto made = plan(problem, options);
          const Size asked = allocations - before;
          ASSERT_TRUE(made.has_value()) << render(made.error());
          EXPECT_LE(made->work, limit + last_step) << problem.spelling->from;
          EXPECT_LE(asked, limit + (Size{1} << 15)) << problem.spelling->from;
          EXPECT_LE(made->height, made->bound);
          EXPECT_EQ(made->optimal, made->cost == made->lower_bound);
          EXPECT_EQ(made->steps.back().tile, problem.to.tile());
          stopped += made->complete ? 0 : 1;
          proved = std::max(proved, made->lower_bound);
          cheapest = std::min(cheapest, made->cost);
        }
        EXPECT_LE(proved, cheapest);  // a search that stopped proves no more than is true
      }
    }
  }
  std::cout << stopped << " searches stopped at their limit\n";
  EXPECT_GT(stopped, 20);
}

// Control: without a limit one of them looks at more and asks for more memory than the largest
// limit above allows, so that both counts would have been passed.
TEST(SearchLimit, dear_problems_pass_the_limit_where_there_is_none) {
  Size most_work = 0;
  Size most_asked = 0;
  for (const Problem& problem : dear_problems()) {
    const Size before = allocations;
    const auto made = plan(problem, {.cost_model = CostModel::bytes, .search_limit = 1 << 22});
    most_asked = std::max(most_asked, allocations - before);
    most_work = std::max(most_work, made.value().work);
  }
  std::cout << "at most " << most_work << " looked at, memory asked for " << most_asked
            << " times\n";
  EXPECT_GT(most_work, (Size{1} << 19) + last_step);
  EXPECT_GT(most_asked, (Size{1} << 16) + (Size{1} << 15));
}

TEST(SearchLimit, a_plan_of_a_search_that_stopped_says_so_and_states_the_gap) {
  const Problem problem = dear_problems().front();
  const auto made = plan(problem, {.cost_model = CostModel::bytes, .search_limit = 1 << 12});
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(made->complete);
  EXPECT_FALSE(made->optimal);
  EXPECT_LT(made->lower_bound, made->cost);
  EXPECT_GT(made->lower_bound, 0);
}

/// Whether slices alone reach the target needs no search and no run over tiles (S5), so that a
/// memory limit which only they could keep is never undecided, however many tiles there are.
TEST(SearchLimit, slices_alone_are_decided_whatever_the_number_of_tiles) {
  const std::string mesh = "a:4096,b:4096,c:2";
  const auto least = [&](const std::string& from, const std::string& to) {
    return smallest_feasible_bytes(parse_problem(mesh, from, to).value(), 4).value();
  };
  // 2^24 tiles. The larger end has 2^13 elements.
  const Size ends = Size{4} << 13;
  EXPECT_EQ(least("[8192, 1{b}4096]", "[2{a}8192, 1{b}4096]"), ends);
  EXPECT_EQ(least("[8192, 1{b}4096]", "[1{c,a}8192, 1{b}4096]"), ends);
  // Control: another axis, or the right ones in another order, and two tiles must fit somewhere.
  for (const Size limit : {Size{0}, Size{1} << 24}) {
    const Problem other = parse_problem(mesh, "[8192, 1{b}4096]", "[2{b}8192, 1{a}4096]").value();
    const auto refused = plan(other, {.memory_limit_bytes = 8, .search_limit = limit});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::infeasible);
    const Problem turned =
        parse_problem(mesh, "[2{a}8192, 4096]", "[1{a,c}8192, 1{b}4096]").value();
    const Size turned_ends = Size{4} << 13;
    EXPECT_EQ(plan(turned, {.memory_limit_bytes = turned_ends, .search_limit = limit})->permutes(),
              1U);
  }
}

}  // namespace
}  // namespace retile::search_limit_test
