#include "retile/foreign/to_program.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "functions.h"
#include "random_modules.h"
#include "retile/check/check.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/reader.h"
#include "retile/program/forms/text.h"
#include "support/samples.h"

namespace retile::foreign {
namespace to_program_test {

using testing::Chain;
using testing::layout;

/// The names of the steps, and whether both verdicts are the same.
std::string steps(const Function& function, const Layout& from, const Layout& to) {
  const Result<Program> program = to_program(function, from, to);
  EXPECT_TRUE(program.has_value());
  if (!program) return "";
  std::string out;
  for (const Step& step : program->steps) out += std::string(op_name(step)) + " ";
  const bool right = check(*program).answer == Answer::right;
  EXPECT_EQ(judge(function, from, to).right, right) << to_text(*program);
  const auto again = parse_programs(to_text(*program));
  EXPECT_TRUE(again.has_value()) << to_text(*program);
  return out + (right ? "right" : "wrong");
}

const Groups both = {{0, 1}};

TEST(ToProgram, collectives_are_steps) {
  const Layout rows = layout("[2{x}4, 4]", "x:2");
  const Layout columns = layout("[4, 2{x}4]", "x:2");
  const Layout all = layout("[4, 4]", "x:2");
  EXPECT_EQ(steps(Chain(2, {2, 4}).then(AllGather{0, both}, {4, 4}).done(), rows, all),
            "allgather right");
  EXPECT_EQ(steps(Chain(2, {2, 4}).then(AllToAll{1, 0, both}, {4, 2}).done(), rows, columns),
            "alltoall right");
  EXPECT_EQ(steps(Chain(2, {4, 4}).then(TakeBox{{{0, 0}, {0, 2}}}, {4, 2}).done(), all, columns),
            "dynslice right");
  EXPECT_EQ(steps(Chain(2, {2, 4})
                      .then(AllGather{0, both}, {4, 4})
                      .then(TakeBox{{{0, 0}, {0, 2}}}, {4, 2})
                      .done(),
                  rows, columns),
            "allgather dynslice right");
  const CollectivePermute swap{{{0, 1}, {1, 0}}};
  EXPECT_EQ(steps(Chain(2, {2, 4}).then(swap, {2, 4}).then(swap, {2, 4}).done(), rows, rows),
            "allpermute allpermute right");
}

TEST(ToProgram, reshapes_around_a_collective_belong_to_it) {
  const Function function = Chain(2, {2, 4})
                                .then(Reshape{}, {2, 2, 2})
                                .then(AllToAll{1, 1, both}, {2, 2, 2})
                                .then(Transpose{{1, 0, 2}}, {2, 2, 2})
                                .then(Reshape{}, {4, 2})
                                .done();
  EXPECT_EQ(steps(function, layout("[2{x}4, 4]", "x:2"), layout("[4, 2{x}4]", "x:2")),
            "alltoall right");
}

/// As XLA gathers two dimensions at once: the grid of the members goes to the tile by a transposition.
TEST(ToProgram, one_collective_of_several_dimensions_is_one_step) {
  const Groups all = {{0, 1, 2, 3, 4, 5}};
  const Layout cut = layout("[2{x}4, 1{y}3]", "x:2,y:3");
  const Layout whole = layout("[4, 3]", "x:2,y:3");
  const auto gathered = [&](const Shape& grid, const std::vector<std::size_t>& order,
                            const Groups& groups) {
    return Chain(6, {2, 1})
        .then(Reshape{}, {1, 2, 1})
        .then(AllGather{0, groups}, {6, 2, 1})
        .then(Reshape{}, grid)
        .then(Transpose{order}, {2, 2, 3, 1})
        .then(Reshape{}, {4, 3})
        .done();
  };
  EXPECT_EQ(steps(gathered({2, 3, 2, 1}, {0, 2, 1, 3}, all), cut, whole), "allgather_dims right");
  EXPECT_EQ(steps(gathered({3, 2, 2, 1}, {1, 2, 0, 3}, {{0, 3, 1, 4, 2, 5}}), cut, whole),
            "allgather_dims right");
  // What lies in no order of rows and columns is no step, and what lies in a wrong one is wrong.
  EXPECT_EQ(steps(gathered({2, 3, 2, 1}, {0, 2, 1, 3}, {{0, 1, 2, 3, 5, 4}}), cut, whole),
            "allgather_dims wrong");
  EXPECT_EQ(steps(gathered({2, 2, 3, 1}, {0, 1, 2, 3}, all), cut, whole), "exchange wrong");
}

TEST(ToProgram, pieces_of_several_dimensions_are_exchanged_in_one_step) {
  // x goes from rows to the third dimension, y from columns to the fourth.
  const Layout from = layout("[1{x}2, 1{y}3, 2, 3]", "x:2,y:3");
  const Layout to = layout("[2, 3, 1{x}2, 1{y}3]", "x:2,y:3");
  const auto exchanged = [&](const Groups& groups) {
    return Chain(6, {1, 1, 2, 3})
        .then(Reshape{}, {6})
        .then(AllToAll{0, 0, groups}, {6})
        .then(Reshape{}, {2, 3, 1, 1})
        .done();
  };
  EXPECT_EQ(steps(exchanged({{0, 1, 2, 3, 4, 5}}), from, to), "alltoall_dims right");
  EXPECT_EQ(steps(exchanged({{1, 0, 2, 3, 4, 5}}), from, to), "alltoall_dims wrong");
  // Both go to one dimension, y as the faster one.
  const Layout together = layout("[2, 3, 2, 1{y,x}6]", "x:2,y:3");
  const Layout turned = layout("[2, 3, 2, 1{x,y}6]", "x:2,y:3");
  const Layout before = layout("[1{x}2, 1{y}3, 2, 6]", "x:2,y:3");
  const Function function = Chain(6, {1, 1, 2, 6})
                                .then(Transpose{{3, 0, 1, 2}}, {6, 1, 1, 2})
                                .then(AllToAll{0, 0, {{0, 1, 2, 3, 4, 5}}}, {6, 1, 1, 2})
                                .then(Reshape{}, {2, 3, 2, 1})
                                .done();
  EXPECT_EQ(steps(function, before, together), "alltoall_dims right");
  EXPECT_EQ(steps(function, before, turned), "alltoall_dims wrong");
}

TEST(ToProgram, digits_of_one_dimension_stand_on_both_sides_of_another) {
  const Groups all = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  const Function function = Chain(12, {1, 1})
                                .then(Reshape{}, {1, 1, 1})
                                .then(AllGather{0, all}, {12, 1, 1})
                                .then(Reshape{}, {2, 3, 2, 1})
                                .then(Transpose{{0, 2, 1, 3}}, {2, 2, 3, 1})
                                .then(Reshape{}, {4, 3})
                                .done();
  EXPECT_EQ(
      steps(function, layout("[1{z,x}4, 1{y}3]", "x:2,y:3,z:2"), layout("[4, 3]", "x:2,y:3,z:2")),
      "allgather_dims right");
}

TEST(ToProgram, what_one_row_does_and_another_does_not_is_no_step) {
  const Groups rows = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const Layout from = layout("[1{x}2, 1{y}2, 4]", "w:2,x:2,y:2");
  const Layout to = layout("[2, 2, 1{y,x}4]", "w:2,x:2,y:2");
  const auto taking = [&](const std::vector<Size>& columns) {
    TakeBox take;
    for (const Size column : columns) take.starts.push_back({0, column});
    return Chain(8, {1, 1, 4})
        .then(Reshape{}, {4})
        .then(AllGather{0, rows}, {16})
        .then(Reshape{}, {4, 4})
        .then(take, {4, 1})
        .then(Reshape{}, {2, 2, 1})
        .done();
  };
  EXPECT_EQ(steps(taking({0, 1, 2, 3, 0, 1, 2, 3}), from, to), "alltoall_dims right");
  EXPECT_EQ(steps(taking({0, 1, 2, 3, 3, 2, 1, 0}), from, to), "exchange wrong");
}

/// One collective of Shardy between shardings over @mesh, which lists x:2 and y:3.
std::string shardy(const std::string& from, const std::string& op, const std::string& to,
                   const std::string& shape) {
  const auto sharding = [](const std::string& lists) {
    return " {sdy.sharding = #sdy.sharding<@mesh, " + lists + ">}";
  };
  const std::string text = "sdy.mesh @mesh = <[\"x\"=2, \"y\"=3]>\nfunc.func @main(%a: " + shape +
                           sharding(from) + ") -> (" + shape + sharding(to) + ") {\n  %0 = " + op +
                           " %a out_sharding=<@mesh, " + to + "> : " + shape +
                           "\n  return %0 : " + shape + "\n}\n";
  const text::Input input{.text = text, .source = "test.mlir", .numbered = true};
  const auto functions = read(input, Language::mlir, {});
  EXPECT_TRUE(functions.has_value()) << (functions ? "" : render(functions.error()));
  if (!functions) return "";
  const auto ends = find_ends(functions->front(), {}, input);
  EXPECT_TRUE(ends.has_value()) << (ends ? "" : render(ends.error()));
  if (!ends) return "";
  return steps(functions->front(), ends->from, ends->to);
}

TEST(ToProgram, collectives_of_shardy_with_several_dimensions_are_one_step) {
  const std::string rows_and_columns = R"([{"x"}, {"y"}, {}, {}])";
  EXPECT_EQ(shardy(rows_and_columns, R"(sdy.all_gather [{"x"}, {"y"}, {}, {}])", "[{}, {}, {}, {}]",
                   "tensor<4x6x6x8xf32>"),
            "allgather_dims right");
  const std::string moves = R"(sdy.all_to_all [{"x"}: 0->3, {"y"}: 1->2])";
  EXPECT_EQ(shardy(rows_and_columns, moves, R"([{}, {}, {"y"}, {"x"}])", "tensor<4x6x6x8xf32>"),
            "alltoall_dims right");
  // Tiles of 3 and 2 rows: no step has these.
  EXPECT_EQ(shardy(rows_and_columns, moves, R"([{}, {}, {"y"}, {"x"}])", "tensor<5x6x6x8xf32>"),
            "exchange right");
}

TEST(ToProgram, a_cut_of_several_dimensions_is_several_slices) {
  const Layout all = layout("[4, 6]", "x:2,y:2");
  const Layout cut = layout("[2{x}4, 3{y}6]", "x:2,y:2");
  const TakeBox corners{{{0, 0}, {0, 3}, {2, 0}, {2, 3}}};
  EXPECT_EQ(steps(Chain(4, {4, 6}).then(corners, {2, 3}).done(), all, cut),
            "dynslice dynslice right");
  const TakeBox other{{{0, 0}, {2, 0}, {0, 3}, {2, 3}}};
  EXPECT_EQ(steps(Chain(4, {4, 6}).then(other, {2, 3}).done(), all, cut),
            "dynslice dynslice wrong");
}

TEST(ToProgram, a_cut_between_parts_is_an_exchange) {
  const Layout all = layout("[4]", "x:2");
  const Layout rows = layout("[2{x}4]", "x:2");
  EXPECT_EQ(steps(Chain(2, {4}).then(TakeBox{{{1}, {2}}}, {2}).done(), all, rows),
            "exchange wrong");
  EXPECT_EQ(steps(Chain(2, {4}).then(TakeBox{{{0}, {0}}}, {3}).done(), all, rows),
            "exchange wrong");
}

TEST(ToProgram, what_no_step_says_is_an_exchange) {
  const Layout rows = layout("[2{x}4]", "x:2");
  const Layout columns = layout("[4]", "x:2");
  const Function turned =
      Chain(2, {2}).then(AllGather{0, {{1, 0}}}, {4}).then(TakeBox{{{2}, {0}}}, {2}).done();
  EXPECT_EQ(steps(turned, rows, rows), "allgather dynslice right");
  const Function shifted =
      Chain(2, {4}).then(TakeBox{{{0}, {1}}}, {2}).then(AllGather{0, both}, {4}).done();
  EXPECT_EQ(steps(shifted, columns, columns), "exchange allgather wrong");
  const Function zeros = Chain(2, {2}).then(CollectivePermute{{{0, 1}}}, {2}).done();
  EXPECT_EQ(steps(zeros, rows, rows), "exchange wrong");
}

TEST(ToProgram, uneven_ends_are_one_exchange) {
  const Layout from = layout("[2{x}3]", "x:2");
  const Layout to = layout("[3]", "x:2");
  const Function function =
      Chain(2, {2}).then(AllGather{0, both}, {4}).then(Slice{{0}, {3}, {1}}, {3}).done();
  EXPECT_EQ(steps(function, from, to), "exchange right");
  EXPECT_EQ(steps(Chain(2, {2}).then(Same{}, {2}).done(), from, from), "exchange right");
}

TEST(ToProgram, sums_are_one_exchange_that_adds) {
  const Layout from = layout("sum{x}[4]", "x:2");
  const Layout to = layout("[4]", "x:2");
  EXPECT_EQ(steps(Chain(2, {4}).then(AllReduce{Addition::sum, both}, {4}).done(), from, to),
            "exchange right");
  EXPECT_EQ(steps(Chain(2, {4}).then(AllReduce{Addition::max, both}, {4}).done(), from, to),
            "exchange wrong");
  EXPECT_EQ(steps(Chain(2, {4}).done(), from, to), "exchange wrong");
  EXPECT_EQ(steps(Chain(2, {4}).done(), from, from), "exchange right");
}

TEST(ToProgram, nothing_to_do_is_no_step) {
  const Layout rows = layout("[2{x}4]", "x:2");
  EXPECT_EQ(steps(Chain(2, {2}).done(), rows, rows), "right");
  EXPECT_EQ(steps(Chain(2, {2}).then(Same{}, {2}).done(), rows, rows), "right");
}

/// Random modules, whose ends are whatever layouts of their tiles: nearly all of them are wrong.
TEST(ToProgram, random_modules_are_judged_alike) {
  int judged = 0;
  for (std::uint64_t seed = 0; seed < support::samples(6000U); ++seed) {
    std::mt19937_64 random(seed);
    testing::RandomModule module([&](Size bound) {
      return static_cast<Size>(random() % static_cast<std::uint64_t>(bound));
    });
    const Function function = testing::function_of(module.text());
    const Shape& tile = module.tile();
    const Shape& end = function.values[function.results.front()].type.extents;
    if (tile.size() != end.size() || tile.empty()) continue;
    std::vector<std::vector<Digit>> digits(tile.size());
    Shape global = tile;
    const Layout all = *Layout::compact(module.devices(), tile, tile, digits);
    if (end == tile) {
      ++judged;
      static_cast<void>(steps(function, all, all));
    }
    if (module.devices() == 1) continue;
    digits[0] = {{1, module.devices()}};
    global[0] *= module.devices();
    const Layout rows = *Layout::compact(module.devices(), global, tile, digits);
    if (end == tile) static_cast<void>(steps(function, rows, rows));
    if (end == global) {
      ++judged;
      static_cast<void>(steps(function, rows,
                              *Layout::compact(module.devices(), global, global,
                                               std::vector<std::vector<Digit>>(tile.size()))));
    }
  }
  EXPECT_GT(judged, support::samples(500));
}

}  // namespace to_program_test
}  // namespace retile::foreign
