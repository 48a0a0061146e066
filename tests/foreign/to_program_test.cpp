#include "retile/foreign/to_program.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "functions.h"
#include "random_modules.h"
#include "retile/check/check.h"
#include "retile/foreign/judge.h"
#include "retile/program/forms/text.h"

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
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
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
  EXPECT_GT(judged, 200);
}

}  // namespace to_program_test
}  // namespace retile::foreign
