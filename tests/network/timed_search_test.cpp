// Plans for cases where elements say little of time.
#include "retile/network/timed_search.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/network/plan.h"
#include "retile/network/read.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/forms/text.h"

namespace retile::test::network_search_test {
namespace {

network::NetworkPlan planned(const std::string& mesh, const std::string& from,
                             const std::string& to, const std::string& links,
                             PlanOptions options = {.element_bytes = 2}) {
  const Problem problem = parse_problem(mesh, from, to).value();
  const auto read =
      network::read_network(links, "--network", problem.spelling->mesh, problem.from.devices());
  auto made = network::plan(problem, read.value(), options).value();
  EXPECT_EQ(check(made.program).answer, Answer::right) << to_text(made.program);
  return made;
}

TEST(Search, does_not_leave_a_node_where_it_need_not) {
  const std::string nodes = "n:50GB/s:15us,*:450GB/s:5us";
  const std::string replicas = "dp:50GB/s:15us,*:450GB/s:5us";
  const std::string small = "n:4,a:2,b:2";
  const std::string large = "dp:4,ep:2,tp:4";
  for (const auto& [mesh, from, to, links] : std::vector<std::array<std::string, 4>>{
           {small, "[4096{b}8192, 8192, 32{a}64]", "[8192, 1024{a,n}8192, 32{b}64]", nodes},
           {small, "[8192, 4096{a}8192]", "[4096{a}8192, 4096{b}8192]", nodes},
           {large, "[1024{ep,tp}8192, 8192]", "[4096{ep}8192, 2048{tp}8192]", replicas},
           {large, "[4096{ep}8192, 2048{tp}8192]", "[2048{tp}8192, 4096{ep}8192]", replicas},
           {large, "[8192, 1024{ep,tp}8192]", "[2048{tp}8192, 8192]", replicas}}) {
    const auto made = planned(mesh, from, to, links);
    EXPECT_TRUE(made.optimal) << from;
    for (const network::StepTime& step : made.steps) EXPECT_EQ(step.bytes[1], 0) << from;
    // Where it costs no more elements the plan that knows no network does as well.
    EXPECT_EQ(made.usual_time == made.time, mesh == small) << from;
    EXPECT_EQ(made.usual_time > 4 * made.time, mesh == large) << from;
  }
}

TEST(Search, replicas_never_make_a_plan_slower) {
  for (const auto& [from, to] :
       {std::pair{"[1024{ep,tp}8192, 8192]", "[4096{ep}8192, 2048{tp}8192]"},
        {"[4096{ep}8192, 2048{tp}8192]", "[2048{tp}8192, 4096{ep}8192]"},
        {"[8192, 1024{ep,tp}8192]", "[2048{tp}8192, 8192]"},
        {"[2048{tp}8192, 8192]", "[8192, 1024{tp,ep}8192]"}}) {
    Size last = std::numeric_limits<Size>::max();
    for (const int replicas : {1, 4, 16, 64}) {
      const auto made = planned("dp:" + std::to_string(replicas) + ",ep:2,tp:4", from, to,
                                "dp:50GB/s:15us,*:450GB/s:5us");
      EXPECT_LE(made.time, last) << from << ", " << replicas;
      last = made.time;
    }
  }
}

TEST(Search, latency_decides_where_arrays_are_small) {
  // Gathered whole and cut again it is one step over the network instead of two.
  const std::string mesh = "n:2,a:2";
  const auto slow =
      planned(mesh, "[8{n}16, 8{a}16]", "[8{a}16, 8{n}16]", "n:1GB/s:1ms,a:1GB/s:1ms");
  EXPECT_TRUE(slow.optimal);
  EXPECT_EQ(slow.program.steps.size(), 1U);
}

TEST(Search, memory_buys_time) {
  // Within the bound the two dimensions change places by steps; with room for the whole array one gather and
  // slices have less latency.
  const std::string mesh = "a:2,b:3";
  const std::string links = "*:1GB/s:1ms";
  const auto bounded = planned(mesh, "[6{a}12, 4{b}12]", "[4{b}12, 6{a}12]", links);
  const auto roomy = planned(mesh, "[6{a}12, 4{b}12]", "[4{b}12, 6{a}12]", links,
                             {.element_bytes = 2, .memory_limit_bytes = Size{1} << 20});
  EXPECT_LE(roomy.time, bounded.time);
  EXPECT_LE(check(bounded.program).height, 24);
}

TEST(Search, slices_any_part_of_what_is_free) {
  for (const char* to : {"[4{n}8]", "[4{a}8]", "[4{b}8]", "[2{b,n}8]"}) {
    const Problem problem = parse_problem("n:2,a:2,b:2", "[8]", to).value();
    const auto read =
        network::read_network("n:1GB/s:1us,*:4GB/s:1us", "--network", problem.spelling->mesh, 8);
    const network::Found found = network::search(problem, *read, {.most_tile = 8});
    ASSERT_TRUE(found.steps) << to;
    EXPECT_TRUE(found.time == 0) << to;
    EXPECT_EQ(found.steps->size(), 1U) << to;
  }
}

TEST(Search, says_where_it_stopped) {
  const Problem problem =
      parse_problem("n:4,a:4,b:4", "[2{n,a}32, 8{b}32]", "[8{b}32, 2{a,n}32]").value();
  const auto read =
      network::read_network("n:1GB/s:1us,*:4GB/s:1us", "--network", problem.spelling->mesh, 64);
  network::SearchOptions options{.most_tile = problem.from.tile_size()};
  const network::Found whole = network::search(problem, *read, options);
  ASSERT_TRUE(whole.steps);
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(whole.lower_bound, whole.time);
  for (Size work = 1; work < whole.work; work *= 3) {
    options.most_work = work;
    const network::Found part = network::search(problem, *read, options);
    EXPECT_FALSE(part.complete && !part.steps) << work;
    EXPECT_LE(part.lower_bound, whole.time) << work;
  }
  // What is known to be as fast is not found again.
  options.most_work = Size{1} << 20;
  options.known = whole.time;
  EXPECT_FALSE(network::search(problem, *read, options).steps);
}

TEST(Search, on_many_devices_ways_are_found_and_nothing_is_proved) {
  const std::string links = "8:450GB/s:5us,256:100GB/s:10us,*:50GB/s:15us";
  const std::string from = "[16384{tp}131072, 8{dp,pp}65536]";
  const std::string to = "[128{dp}131072, 8192{pp}65536]";
  const auto made = planned("dp:1024,pp:8,tp:8", from, to, links);
  EXPECT_LT(made.time, made.usual_time);
  EXPECT_FALSE(made.complete);
  const Problem problem = parse_problem("dp:1024,pp:8,tp:8", from, to).value();
  const auto read = network::read_network(links, "--network", {}, 65536).value();
  const network::Found begun = network::search(
      problem, read, {.element_bytes = 2, .most_tile = Size{1} << 20, .most_work = 0});
  EXPECT_GT(begun.floor, 0U);
  EXPECT_TRUE(static_cast<network::Wide>(made.lower_bound) == begun.floor);
  EXPECT_EQ(made.optimal, made.lower_bound == made.time);
}

TEST(Search, with_haste_it_looks_no_further_where_it_finds_nothing) {
  const Problem problem =
      parse_problem("n:4,a:4,b:4", "[2{n,a}32, 8{b}32]", "[8{b}32, 2{a,n}32]").value();
  const auto read =
      network::read_network("n:1GB/s:1us,*:4GB/s:1us", "--network", problem.spelling->mesh, 64);
  network::SearchOptions options{.most_tile = problem.from.tile_size()};
  const network::Found whole = network::search(problem, *read, options);
  options.haste = 3;
  const network::Found hasty = network::search(problem, *read, options);
  ASSERT_TRUE(hasty.steps);
  EXPECT_TRUE(hasty.time == whole.time);
  EXPECT_TRUE(hasty.complete && hasty.lower_bound == whole.time);
  options.first_work = 8;
  options.known = whole.time;
  const network::Found nothing = network::search(problem, *read, options);
  EXPECT_FALSE(nothing.steps || nothing.complete);
  EXPECT_LT(nothing.work, 1000);
  EXPECT_TRUE(nothing.lower_bound < whole.time);
}

TEST(Search, a_link_that_ends_within_an_axis_leaves_nothing_proved) {
  const std::string mesh = "x:2,y:2,z:3";
  // Groups of 2 and of 4 cut z and y; of an axis that no end has, too, there are steps that are not searched.
  for (const auto& [from, to, links] : std::vector<std::array<std::string, 3>>{
           {"[50{y}100, 2, 25{x}50]", "[50{y}100, 2, 50]", "2:2GB/s:1us,4:113MB/s:2us,*:8MB/s:6us"},
           {"[25{x}50, 50]", "[50, 25{x}50]", "2:2GB/s:1us,*:8MB/s:6us"}}) {
    const auto made = planned(mesh, from, to, links);
    EXPECT_FALSE(made.optimal) << from;
    EXPECT_EQ(made.lower_bound, 0) << from;
  }
  const auto whole = planned(mesh, "[25{x}50, 50]", "[50, 25{x}50]", "3:2GB/s:1us,*:8MB/s:6us");
  EXPECT_TRUE(whole.optimal);
}

TEST(Search, uneven_tiles_go_by_steps_of_tiles_filled_up) {
  // The devices of a node share what comes over the slow link, as where all tiles are even.
  const std::string links = "n:1GB/s:1us,a:100GB/s:1us";
  const auto made = planned("n:4,a:4", "[1000{n}3998, 400]", "[3998, 400]", links);
  EXPECT_LT(3 * made.time, made.usual_time);
  EXPECT_FALSE(made.optimal);
  // Filled up, the new tile would be larger than it is.
  const Problem problem = parse_problem("n:4,a:4", "[1000{n}3998, 400]", "[3998, 400]").value();
  EXPECT_EQ(check(made.program).bound, problem.to.tile_size());
  EXPECT_TRUE(check(made.program).within_bound);
}

TEST(Search, ends_that_are_not_even_go_as_they_did) {
  const auto made = planned("n:2,a:2", "[3{n}5, 4]", "[5, 2{n}4]", "n:1GB/s:1us,*:2GB/s:1us");
  EXPECT_EQ(made.time, made.usual_time);
  EXPECT_FALSE(made.optimal);
}

}  // namespace
}  // namespace retile::test::network_search_test
