// Problems whose tiles differ, from plan to verdict: worked examples, and all small ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/exchange/solved.h"
#include "retile/check/check.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "retile/program/moves.h"
#include "retile/program/tile_shapes.h"
#include "support/ceil_types.h"
#include "support/values.h"
#include "support/verdict_fields.h"

namespace retile::uneven_test {
namespace {

using exchange_tests::received;
using exchange_tests::solve;
using exchange_tests::Solved;

std::size_t transfers(const Program& program) {
  return exchange_tests::transfers_of(program).size();
}

TEST(Moves, of_one_device_are_those_that_begin_or_end_there) {
  const DeviceTable pairs = DeviceTable::rows({{2, 0}, {1, 3}});
  const PieceSize piece = 3;
  const TileShapes uneven{{4, 6}, {0, 0}, {2, 6}, {3, 6}};
  const TileShapes alike(4, {4, 6});
  const std::vector<std::pair<Op, TileShapes>> steps{
      {Dynslice{.dim = 1, .pieces = pairs, .piece = piece}, uneven},
      {Allgather{.dim = 0, .groups = pairs}, uneven},
      {Alltoall{.split = 1, .concat = 0, .groups = pairs, .piece = PieceSize(4)}, uneven},
      {Alltoall{.split = 0, .concat = 0, .groups = pairs}, alike},
      {AlltoallDims{.splits = {1, 0},
                    .concats = {0, 1},
                    .counts = {2, 2},
                    .groups = DeviceTable::rows({{3, 0, 1, 2}})},
       alike},
      {Allpermute{DeviceTable::list({1, 2, 3, 0})}, uneven},
      {Allreduce{.groups = pairs}, alike},
      {Exchange{
           {{.target = 1, .source = 2, .target_start = {0}, .source_start = {0}, .shape = {1}},
            {.target = 0, .source = 0, .target_start = {0}, .source_start = {0}, .shape = {1}}},
           Addition::sum},
       TileShapes(4, {1})}};
  for (const auto& [op, before] : steps) {
    Step step{op, {}};
    if (is_exchange(step)) step.claims.tile = Shape{1};
    const Moves all = moves_of(step, before).value();
    for (Size device = 0; device < 4; ++device) {
      SCOPED_TRACE(std::string(op_name(step)) + " of device " + std::to_string(device));
      std::vector<Transfer> wanted;
      for (const Transfer& transfer : all.transfers) {
        if (transfer.source == device || transfer.target == device) wanted.push_back(transfer);
      }
      const Moves own = moves_of(step, before, {}, device).value();
      EXPECT_EQ(own.after, all.after);
      EXPECT_EQ(own.transfers, wanted);
    }
  }
}

TEST(Uneven, sixteen_by_twenty_three_on_three_by_four) {
  const Solved it = solve("a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]");
  EXPECT_EQ(it.plan.cost, 32);
  EXPECT_EQ(it.plan.height, 36);
  EXPECT_EQ(it.plan.exchange->reason,
            "dim 0: cuts 0 6 12 16 and 0 4 8 12 16 do not nest, so no collective ends there");
  EXPECT_EQ(transfers(it.program), 30U);
  const auto got = received(it.program);
  EXPECT_LE(*std::max_element(got.begin(), got.end()), 32);
}

TEST(Uneven, twenty_seven_by_fourteen_on_five_by_two) {
  const Solved it = solve("a:5,b:2", "[6{a}27, 7{b}14]", "[14{b}27, 3{a}14]");
  EXPECT_EQ(it.plan.bound, 42);
  EXPECT_EQ(transfers(it.program), 36U);
}

TEST(Uneven, rows_to_columns_on_three) {
  const Solved it = solve("x:3", "[3{x}8, 11]", "[8, 4{x}11]");
  EXPECT_EQ(transfers(it.program), 9U);
  EXPECT_EQ(received(it.program), (std::vector<Size>{20, 20, 18}));
}

TEST(Uneven, four_empty_devices_become_two) {
  const Solved it = solve("a:2,b:6", "[5{a}9, 1{b}4]", "[2{b}9, 2{a}4]");
  const auto empty = [](const Layout& layout) {
    const TileShapes shapes = shapes_of(layout);
    return std::count_if(shapes.begin(), shapes.end(), is_empty);
  };
  EXPECT_EQ(it.plan.bound, 5);
  EXPECT_EQ(empty(it.program.from), 4);
  EXPECT_EQ(empty(it.program.to), 2);
  EXPECT_EQ(transfers(it.program), 24U);
}

TEST(Uneven, one_element_on_twelve_devices) {
  const Solved it = solve("a:3,b:4", "[1{a}1, 1{b}1]", "[1{b}1, 1{a}1]");
  EXPECT_TRUE(it.program.steps.empty());  // the first device has it at both ends
  EXPECT_EQ(it.plan.cost, 0);
}

TEST(Uneven, aligned_ends_are_planned_as_even_ones) {
  const Solved it = solve("x:2,y:2", "[3{y,x}11]", "[6{x}11]");
  ASSERT_FALSE(it.plan.exchange);
  EXPECT_EQ(to_text(it.program),
            "retile.program/2\nmesh x:2,y:2\nfrom [3{y,x}11]\nto [6{x}11]\n"
            "allgather dim=0 groups=[2,2]<=[4] tile=[6] map=[6{x}11]\n");
}

TEST(Uneven, ends_that_are_not_aligned_get_one_exchange) {
  const Solved it = solve("x:2,y:2", "[3{y,x}10]", "[5{x}10]");
  ASSERT_TRUE(it.plan.exchange);
  EXPECT_EQ(it.plan.exchange->reason,
            "dim 0: cuts 0 3 6 9 10 and 0 5 10 do not nest, so no collective ends there");
}

TEST(Uneven, parts_of_an_axis_need_no_gather) {
  const Solved it = solve("x:6", "[3{x:(1)2}6]", "[2{x:(1)3}6]");
  ASSERT_FALSE(it.plan.exchange);
  EXPECT_EQ(it.plan.cost, 2);
  EXPECT_EQ(it.plan.height, 3);
  EXPECT_FALSE(it.plan.permutation);
}

TEST(Uneven, everything_to_one_device) {
  const Solved it = solve("p:4", "[3{p}9]", "[9]@0");
  EXPECT_EQ(transfers(it.program), 3U);
  EXPECT_EQ(received(it.program), (std::vector<Size>{6, 0, 0, 0}));
}

TEST(Uneven, halos_come_from_the_neighbours) {
  const Solved it = solve("p:4", "[3{p}12]", "[3{p}12<1,1>]");
  EXPECT_EQ(received(it.program), (std::vector<Size>{1, 2, 2, 1}));
}

TEST(Uneven, all_small_problems_are_right_and_within_the_bound) {
  std::size_t solved = 0;
  std::size_t aligned = 0;
  for (const char* mesh : {"a:2,b:3", "a:2,b:2"}) {
    for (Size rows = 1; rows <= 7; ++rows) {
      for (Size columns = 1; columns <= 5; columns += 2) {
        const auto all = support::ceil_types(parse_mesh(mesh).value(), {rows, columns});
        for (const std::string& from : all) {
          for (const std::string& to : all) {
            const Problem problem = support::problem(mesh, from.c_str(), to.c_str());
            const Plan planned = plan(problem).value();
            const Program program = program_of(planned).value();
            const Verdict verdict = check(program);
            ASSERT_EQ(verdict.answer, Answer::right) << from << " to " << to << to_text(program);
            ASSERT_TRUE(verdict.within_bound) << from << " to " << to << to_text(program);
            ASSERT_EQ(verdict.cost, planned.cost) << from << " to " << to << to_text(program);
            ASSERT_EQ(parse_programs(to_text(program)).value().front(), program);
            ++solved;
            aligned += planned.uneven ? 1U : 0U;
          }
        }
      }
    }
  }
  EXPECT_GT(solved, 5'000U);
  EXPECT_GT(aligned, 1'000U);
}

TEST(Uneven, the_first_device_whose_tile_does_not_fit_is_named) {
  const auto device_of = [](Op op, const TileShapes& before) {
    const auto after = tiles_after({std::move(op), {}}, before);
    return after ? std::nullopt : after.error().device;
  };
  const DeviceTable pairs = DeviceTable::rows({{0, 1}, {2, 3}});
  EXPECT_EQ(device_of(Dynslice{0, pairs}, {{4}, {3}, {4}, {3}}), 1);
  EXPECT_EQ(device_of(Allgather{0, pairs}, {{4, 2}, {3, 2}, {4, 2}, {4, 3}}), 3);
}

TEST(Uneven, tiles_that_differ_in_a_row_are_said_not_to_fit) {
  const Program program = parse_programs(
                              "retile.program/2\nmesh p:2,q:2\nfrom [2{p}3, 3{q}5]\nto [3, 3{q}5]\n"
                              "allgather dim=0 groups=[[0,3],[1,2]]\n")
                              .value()
                              .front();
  const auto shapes = tile_shapes(program, 1);
  ASSERT_FALSE(shapes);
  EXPECT_EQ(shapes.error().notes, (std::vector<std::string>{"the tile of device 3 does not fit"}));
}

TEST(Uneven, a_step_that_fits_no_tiles_is_found) {
  const auto verdict = [](const std::string& steps) {
    return support::fields_of(
        check(parse_programs(
                  "retile.program/2\nmesh p:2,q:2\nfrom [2{p}3, 3{q}5]\nto [3, 3{q}5]\n" + steps)
                  .value()
                  .front()));
  };
  EXPECT_EQ(verdict("allgather dim=0 groups=[[0,2],[1,3]]\n").reason, std::nullopt);
  // Tiles of 3 and of 2 columns in one row.
  EXPECT_EQ(verdict("allgather dim=0 groups=[[0,3],[1,2]]\n").reason, Reason::ragged);
  EXPECT_EQ(verdict("dynslice dim=0 groups=[[0,2],[1,3]]\n").reason, Reason::indivisible);
  EXPECT_EQ(verdict("allgather dim=0 groups=[[2,0],[1,3]]\n").reason, Reason::not_a_box);
  EXPECT_EQ(verdict("allgather dim=0 groups=[[0,2],[1,3]] tile=[4,3]\n").reason,
            Reason::tile_claim);
  EXPECT_EQ(verdict("allgather dim=0 groups=[[0,2],[1,3]] map=[3, (0,2,5){q}5]\n").reason,
            Reason::map_claim);
  EXPECT_EQ(verdict("").reason, Reason::end);
  EXPECT_EQ(
      verdict("exchange transfers=[[0,0,0,0,0,0,2,3]] shapes=[[3,3],[3,2],[3,3],[3,2]]\n").reason,
      Reason::transfers);
}

}  // namespace
}  // namespace retile::uneven_test
