#include "retile/many/nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "many/pairs.h"
#include "retile/check/check.h"
#include "retile/many/traffic.h"
#include "retile/notation/sharding.h"

namespace retile::test::nodes_test {
namespace {

Size sum(const std::vector<Size>& counts) {
  return std::accumulate(counts.begin(), counts.end(), Size{0});
}

many::Traffic traffic(const many::Way& way, const Problem& problem, Size node_devices) {
  return many::traffic_of(way, problem, node_devices).value().value();
}

/// From devices 0 and 1 to the devices from 4 on, of a mesh.
Problem to_others(std::string_view mesh_to, std::string_view from, std::string_view to) {
  const ProblemText text{.mesh = parse_any_mesh("x:2").value(),
                         .mesh_to = parse_any_mesh(mesh_to).value(),
                         .from = from,
                         .to = to};
  return parse_problem(text).value();
}

constexpr std::string_view two_nodes = "DeviceMesh('cuda', [[4, 5], [6, 7], [8, 9], [10, 11]])";

TEST(Nodes, what_a_node_needs_comes_once) {
  // Nodes 4..7 and 8..11 need all of 24 elements on each device.
  const Problem problem = to_others(two_nodes, "[12{x}24]", "[24]");
  const auto made = many::by_nodes(problem, 4).value();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->steps.size(), 2U);
  EXPECT_EQ(check(*made).answer, Answer::right);
  EXPECT_EQ(check(*made).height, 24);
  many::Way way{.plan = plan(problem).value()};
  EXPECT_EQ(sum(traffic(way, problem, 4).crossed), 8 * 24);
  EXPECT_EQ(sum(traffic(way, problem, 0).crossed), 0);
  way.node_devices = 4;
  const many::Traffic by_nodes = traffic(way, problem, 4);
  EXPECT_EQ(sum(by_nodes.crossed), 2 * 24);
  EXPECT_EQ(sum(by_nodes.received), 8 * 24);
  EXPECT_EQ(by_nodes.crossed[11], 6);
}

TEST(Nodes, slices_of_what_does_not_divide) {
  // 7 elements for four devices: slices of 2, 2, 2 and 1; 2 elements: two devices get no slice.
  for (const Size extent : {7, 2, 1}) {
    const std::string whole = "[" + std::to_string(extent) + "]";
    const Problem problem = to_others(
        two_nodes, "[" + std::to_string((extent + 1) / 2) + "~{x}" + std::to_string(extent) + "]",
        whole);
    const auto made = many::by_nodes(problem, 4).value();
    ASSERT_TRUE(made);
    EXPECT_EQ(check(*made).answer, Answer::right) << whole;
    const many::Way way{.plan = plan(problem).value(), .node_devices = 4};
    EXPECT_EQ(sum(traffic(way, problem, 4).crossed), 2 * extent);
  }
}

TEST(Nodes, nobody_needs_the_same) {
  const Problem problem = to_others(two_nodes, "[12{x}24]", "[6{a0}24]");
  EXPECT_TRUE(many::by_nodes(problem, 4).value());
  EXPECT_FALSE(many::by_nodes(problem, 1).value());
  EXPECT_FALSE(many::by_nodes(to_others(two_nodes, "[12{x}24]", "[3{a0,a1}24]"), 4).value());
  EXPECT_FALSE(many::by_nodes(parse_problem("x:4", "sum{x}[24]", "[24]").value(), 2).value());
}

TEST(Nodes, only_where_less_comes_from_other_nodes) {
  many::Arrays arrays;
  arrays.names = {"a", "b", "c", "d"};
  // The third one goes by steps, and the last one inside a node.
  for (const Problem& problem : {to_others(two_nodes, "[12{x}24]", "[24]"),
                                 to_others(two_nodes, "[12{x}24]", "[3{a0,a1}24]"),
                                 parse_problem("x:8", "[3{x}24]", "[24]").value(),
                                 to_others("DeviceMesh('cuda', [2, 3])", "[12{x}24]", "[24]")}) {
    arrays.kinds.push_back(
        {.problem = problem, .element_bytes = 2, .arrays = {arrays.kinds.size()}});
  }
  auto schedule = many::schedule(arrays, {}).value();
  ASSERT_TRUE(many::route_by_nodes(arrays, schedule, 4));
  EXPECT_EQ(schedule.ways[0].node_devices, 4);
  EXPECT_EQ(schedule.ways[1].node_devices, 0);
  EXPECT_EQ(schedule.ways[2].node_devices, 0);
  EXPECT_EQ(schedule.ways[3].node_devices, 0);
  ASSERT_TRUE(many::count_traffic(arrays, schedule).value());
  Size crossed = 0;
  for (const many::Sums& sums : schedule.sums) crossed += sums.crossed;
  EXPECT_EQ(crossed, 2 * (2 * 24 + 24 + 8 * 12));
}

TEST(Nodes, every_small_pair_is_right_and_crosses_no_more_in_the_end) {
  int made_count = 0;
  for (const Problem& problem : small_pairs()) {
    for (const Size node : {2, 3}) {
      const auto made = many::by_nodes(problem, node).value();
      if (!made) continue;
      ++made_count;
      EXPECT_EQ(check(*made).answer, Answer::right);
      EXPECT_TRUE(check(*made).within_bound);
    }
  }
  EXPECT_GT(made_count, 50);
}

}  // namespace
}  // namespace retile::test::nodes_test
