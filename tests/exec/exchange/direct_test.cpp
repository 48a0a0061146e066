#include "retile/exec/exchange/direct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "exec/exchange/problems.h"
#include "retile/notation/paper/problem.h"
#include "support/program_generators.h"

namespace retile::test::direct_test {
namespace {

Program ends_of(std::string_view mesh, std::string_view from, std::string_view to) {
  const Problem problem = parse_problem(mesh, from, to).value();
  return ends(problem.from, problem.to);
}

const std::vector<Transfer>& transfers(const Program& program) {
  return std::get<Exchange>(program.steps.front().op).transfers;
}

TEST(Direct, cuts_new_tiles_where_old_ones_begin) {
  const Program made = direct(ends_of("x:2", "[2{x}4, 4]", "[4, 2{x}4]")).value();
  EXPECT_EQ(to_text(made.steps.front(), nullptr),
            "exchange transfers=[[0,0,0,0,0,0,2,2],[0,1,2,0,0,0,2,2],[1,0,0,0,0,2,2,2],"
            "[1,1,2,0,0,2,2,2]] tile=[4,2]");
}

TEST(Direct, keeps_the_ends_and_their_names) {
  Program given = ends_of("x:2", "[2{x}4, 4]", "[4, 2{x}4]");
  given.mesh = Mesh::make({{"x", 2}}).value();
  given.steps.push_back({Allpermute{PairList{}}, {}});
  const Program made = direct(given).value();
  EXPECT_EQ(made.mesh, given.mesh);
  EXPECT_EQ(made.from, given.from);
  EXPECT_EQ(made.to, given.to);
  EXPECT_EQ(made.steps.size(), 1U);
}

TEST(Direct, moves_nothing_where_everybody_has_its_tile) {
  const Program made = direct(ends_of("x:2,y:3", "[4, 2{y}6]", "[4, 2{y}6]")).value();
  EXPECT_EQ(transfers(made).size(), 6U);
  for (const Transfer& transfer : transfers(made)) EXPECT_EQ(transfer.source, transfer.target);
  EXPECT_EQ(check(made).cost, 0);
}

TEST(Direct, slices_a_replica_at_home) {
  const Program made = direct(ends_of("x:4", "[8]", "[2{x}8]")).value();
  EXPECT_EQ(sent(made), std::vector<Size>(4, 0));
}

TEST(Direct, spreads_over_replicas) {
  // Four devices hold each half of the array, and everybody needs all of it: 8 boxes from 4.
  const Program made = direct(ends_of("x:2,y:4", "[4{x}8]", "[8]")).value();
  EXPECT_EQ(sent(made), std::vector<Size>(8, 4));
}

TEST(Direct, large_boxes_are_dealt_out_before_small_ones) {
  // 0 and 1 hold the first half, of which 2, 3 and 4 lack 1, 1 and 2 elements: in this order the
  // last one would meet nobody who has not sent yet.
  const auto from = Layout::listed(5, {8}, {4}, {0, 0, 4, 4, 4}).value();
  const auto to = Layout::listed(5, {8}, {4}, {0, 0, 3, 3, 2}).value();
  EXPECT_EQ(direct_fault(from, to), "");
  EXPECT_EQ(sent(direct(ends(from, to)).value()), (std::vector<Size>{2, 2, 0, 0, 0}));
}

TEST(Direct, an_array_of_rank_0_stays_where_it_is) {
  const auto map = Layout::compact(3, {}, {}, {}).value();
  EXPECT_EQ(direct_fault(map, map), "");
}

TEST(Direct, tiles_may_lie_like_bricks) {
  // Old tiles overlap along the first dimension and touch along none that is a grid.
  const auto from = Layout::listed(4, {4, 6}, {2, 3}, {0, 0, 0, 3, 2, 0, 2, 3}).value();
  const auto shifted =
      Layout::listed(6, {4, 6}, {2, 2}, {0, 0, 0, 2, 0, 4, 2, 0, 2, 2, 2, 4}).value();
  const auto bricks =
      Layout::listed(6, {5, 6}, {2, 2}, {0, 0, 1, 2, 0, 4, 2, 0, 3, 2, 2, 4}).value();
  EXPECT_EQ(direct_fault(from, from), "");
  EXPECT_EQ(direct_fault(shifted, shifted), "");
  const auto inner =
      Layout::listed(6, {5, 6}, {2, 6}, {1, 0, 1, 0, 1, 0, 1, 0, 2, 0, 1, 0}).value();
  EXPECT_EQ(direct_fault(bricks, inner), "");
  // Each new tile meets at most two bricks in each of three columns.
  EXPECT_LE(transfers(direct(ends(bricks, inner)).value()).size(), 6U * 6U);
}

TEST(Direct, refuses_what_nobody_holds) {
  const auto from = Layout::listed(2, {6}, {2}, {0, 4}).value();
  const auto to = Layout::listed(2, {6}, {2}, {0, 3}).value();
  const auto made = direct(ends(from, to));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::inapplicable);
  EXPECT_NE(made.error().message.find("device 1"), std::string::npos);
  const auto outside = Layout::listed(2, {6}, {2}, {0, 1}).value();
  EXPECT_EQ(direct(ends(outside, from)).error().code, Code::inapplicable);
}

TEST(Direct, refuses_more_transfers_than_the_limit) {
  const Program given = ends_of("x:8", "[2{x}16, 16]", "[16, 2{x}16]");
  EXPECT_TRUE(direct(given, {.transfer_limit = 64}));
  const auto made = direct(given, {.transfer_limit = 63});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::limit_reached);
  // As many as there are devices.
  EXPECT_TRUE(direct(ends_of("x:8", "[2{x}16]", "[2{x}16]"), {.transfer_limit = 8}));
  EXPECT_FALSE(direct(ends_of("x:8", "[2{x}16]", "[2{x}16]"), {.transfer_limit = 7}));
  // Counted before any is made: this would be 2^40.
  const auto huge =
      direct(ends_of("x:1048576", "[1{x}1048576, 1048576]", "[1048576, 1{x}1048576]"));
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, Code::limit_reached);
}

TEST(Direct, thousands_of_devices_take_no_time_for_pairs) {
  // 4096 devices that exchange with 16 others each: 2^16 transfers, of 2^24 pairs.
  const Program made =
      direct(ends_of("x:16,y:256", "[1{x}16, 1{y}256, 16]", "[16, 1{y}256, 1{x}16]")).value();
  EXPECT_EQ(transfers(made).size(), std::size_t{1} << 16);
  EXPECT_EQ(check(made).answer, Answer::right);
}

// Any tilings: boxes anywhere, in any number, and digits in any order.
TEST(Direct, random_ends_are_right_or_refused_for_a_reason) {
  Size right = 0;
  Size refused = 0;
  Size crossed = 0;  // where no nodes are known, and some device need not cross
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    const support::Choose choose = support::random_choices(seed);
    const Size devices = 1 + choose(12);
    Shape global;
    for (Size rank = choose(4); rank > 0; --rank) global.push_back(1 + choose(12));
    const auto map = [&] {
      return choose(2) == 0 ? support::choose_compact(choose, devices, global)
                            : support::choose_explicit(choose, devices, global);
    };
    const Layout from = map();
    const Layout to = map();
    const auto made = direct(ends(from, to));
    if (!made) {
      // Then there is an element that nobody has.
      const sim::Tiles held = tags(from);
      const sim::Tiles wanted = tags(to);
      bool missing = false;
      const auto has = [&](const std::byte* tag) {
        for (const auto& tile : held) {
          for (std::size_t at = 0; at < tile.size(); at += 8) {
            if (std::memcmp(tile.data() + at, tag, 8) == 0) return true;
          }
        }
        return false;
      };
      for (const auto& tile : wanted) {
        for (std::size_t at = 0; at < tile.size() && !missing; at += 8) {
          missing = !has(tile.data() + at);
        }
      }
      ASSERT_TRUE(missing) << render(made.error()) << to_text(ends(from, to));
      ++refused;
      continue;
    }
    ASSERT_EQ(direct_fault(from, to), "") << "seed " << seed;
    const Size node = 1 + choose(devices);
    const auto by_nodes = direct(ends(from, to), {.node_devices = node});
    ASSERT_TRUE(by_nodes);
    ASSERT_EQ(fault_of_nodes(*by_nodes, node), "") << "seed " << seed;
    ASSERT_TRUE(check(*by_nodes).answer == Answer::right) << "seed " << seed;
    crossed += fault_of_nodes(*made, node).empty() ? 0 : 1;
    // Nobody receives what it holds.
    for (const Transfer& transfer : transfers(*made)) {
      if (transfer.source == transfer.target) continue;
      const Shape old_base = from.base_offset(transfer.target);
      const Shape new_base = to.base_offset(transfer.target);
      bool holds = true;
      for (std::size_t k = 0; k < global.size(); ++k) {
        const Size begin = new_base[k] + transfer.target_start[k];
        holds = holds && begin >= old_base[k] && begin < old_base[k] + from.tile()[k];
      }
      ASSERT_FALSE(holds) << to_text(*made);
    }
    ++right;
  }
  std::cout << right << " right, " << refused << " refused\n";
  EXPECT_GT(right, 300);
  EXPECT_GT(refused, 50);
  EXPECT_GT(crossed, 50);
}

TEST(Direct, a_transfer_left_out_is_noticed) {
  // Control of direct_fault: what it looks at is changed behind its back.
  const Program given = ends_of("x:2", "[2{x}4, 4]", "[4, 2{x}4]");
  Program made = direct(given).value();
  auto& moved = std::get<Exchange>(made.steps.front().op).transfers;
  std::swap(moved[1].source, moved[0].source);
  const auto outcome = sim::run(made, tags(given.from), 8);
  ASSERT_TRUE(outcome);
  EXPECT_NE(outcome->tiles, tags(given.to));
  moved.pop_back();
  const auto refused = sim::run(made, tags(given.from), 8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::inapplicable);
  EXPECT_EQ(refused.error().rule, "transfers");
}

}  // namespace
}  // namespace retile::test::direct_test
