// Tiles that are not all alike, and empty ones, on real processes: every element of every tile, on
// every way that takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check/over_dims_programs.h"
#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/sim/sim.h"
#include "support/random_layouts.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Redistributor;
using mpi::Strategy;
using test::between;
using test::Bytes;
using test::pattern_tile;
using test::process;
using test::processes;

/// One way to move, and blocks of processes that are taken for nodes.
struct Way {
  Options options;
  Size block = 0;
};

std::vector<Way> all_ways() {
  std::vector<Way> out;
  for (const bool own : {false, true}) {
    for (const Size chunk : {Size{1} << 16, Size{1}}) {
      const Options options{.chunk_bytes = chunk, .own_buffers = own};
      out.push_back({test::on_one_node(options)});
      out.push_back({test::by_messages(options)});
      out.push_back({test::over_nodes(options), 2});
    }
  }
  out.push_back({Options{}});
  return out;
}

void move_twice(const Program& program, Size element_bytes, const Way& way) {
  const test::Blocks blocks(way.block);
  auto made = Redistributor::make(MPI_COMM_WORLD, program, element_bytes, way.options);
  ASSERT_TRUE(made) << render(made.error());
  const Bytes in = pattern_tile(program.from, process(), element_bytes);
  Bytes out(static_cast<std::size_t>(made->out_bytes()), std::byte{0xee});
  ASSERT_EQ(made->in_bytes(), static_cast<Size>(in.size()));
  ASSERT_EQ(out.size(), pattern_tile(program.to, process(), element_bytes).size());
  for (int time = 0; time < 2; ++time) {
    if (way.options.own_buffers) {
      std::copy(in.begin(), in.end(), made->input().begin());
      std::fill(made->output().begin(), made->output().end(), std::byte{0xee});
      ASSERT_TRUE(made->run());
      out.assign(made->output().begin(), made->output().end());
    } else {
      std::fill(out.begin(), out.end(), std::byte{0xee});
      ASSERT_TRUE(made->run(in, out));
    }
    EXPECT_EQ(find_pattern_mismatch(program.to, process(), element_bytes, out), std::nullopt);
  }
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
}

void move_all_ways(const Program& program, Size element_bytes) {
  for (const Way& way : all_ways()) {
    SCOPED_TRACE(testing::Message()
                 << (way.options.own_buffers ? "own buffers" : "callers' buffers") << ", chunks of "
                 << way.options.chunk_bytes << ", blocks of " << way.block);
    move_twice(program, element_bytes, way);
  }
}

/// The simulator takes all tiles at once.
void simulate(const Program& program, Size element_bytes) {
  sim::Tiles tiles;
  for (Size device = 0; device < program.devices; ++device) {
    tiles.push_back(pattern_tile(program.from, device, element_bytes));
  }
  const auto outcome = sim::run(program, std::move(tiles), element_bytes);
  ASSERT_TRUE(outcome) << render(outcome.error());
  for (Size device = 0; device < program.devices; ++device) {
    const Bytes& tile = outcome->tiles[static_cast<std::size_t>(device)];
    EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, tile), std::nullopt);
  }
}

TEST(Uneven, random_layouts_arrive_on_every_way) {
  std::mt19937_64 random(19);
  const int problems = processes() > 8 ? 12 : 30;
  for (int i = 0; i < problems; ++i) {
    const Shape global = support::random_global(random, 3, 9);
    const Layout from = support::random_layout(random, processes(), global);
    const Layout to = support::random_layout(random, processes(), global);
    const Size element_bytes = test::element_sizes[static_cast<std::size_t>(i) % 5];
    SCOPED_TRACE("problem " + std::to_string(i));
    const Program program = between(from, to);
    simulate(program, element_bytes);
    move_all_ways(program, element_bytes);
  }
}

TEST(Uneven, large_tiles_of_odd_sizes_arrive) {
  const Size n = processes();
  const Shape global{8 * n * 16 - 1, 8 * n * 16 + 1};
  const std::vector<Digit> all{{.stride = 1, .size = n}};
  const auto cut = [&](std::size_t dim) {
    std::vector<Cuts> cuts;
    std::vector<std::vector<Digit>> digits(2);
    digits[dim] = all;
    for (std::size_t i = 0; i < 2; ++i) {
      const Size count = i == dim ? n : 1;
      cuts.push_back(Cuts::blocks((global[i] + count - 1) / count, count, global[i]));
    }
    return Layout::numbered(n, cuts, digits).value();
  };
  move_all_ways(between(cut(0), cut(1)), 4);
}

TEST(Uneven, one_element_for_all_processes) {
  const Layout first = Layout::rooted(processes(), {1, 1}, 0);
  const Layout last = Layout::rooted(processes(), {1, 1}, processes() - 1);
  move_all_ways(between(first, last), 8);
  move_all_ways(between(first, first), 8);
}

TEST(Uneven, an_empty_buffer_overlaps_with_nothing) {
  const Layout first = Layout::rooted(processes(), {5}, 0);
  const Layout last = Layout::rooted(processes(), {5}, processes() - 1);
  auto made = Redistributor::make(MPI_COMM_WORLD, between(first, last), 4, test::by_messages());
  ASSERT_TRUE(made) << render(made.error());
  Bytes bytes(40);
  const std::span<std::byte> all(bytes);
  const auto in = all.subspan(process() == 0 ? 20 : 8, static_cast<std::size_t>(made->in_bytes()));
  EXPECT_TRUE(made->run(in, all.first(static_cast<std::size_t>(made->out_bytes()))));
}

TEST(Uneven, wrong_sizes_of_one_process_are_refused_by_all) {
  const Layout first = Layout::rooted(processes(), {5}, 0);
  const Layout last = Layout::rooted(processes(), {5}, processes() - 1);
  for (const Options& options : {test::on_one_node(), test::by_messages()}) {
    auto made = Redistributor::make(MPI_COMM_WORLD, between(first, last), 4, options);
    ASSERT_TRUE(made) << render(made.error());
    // The last process thinks that its old tile is as large as the first one's.
    const Bytes in(test::is_last() ? 20 : static_cast<std::size_t>(made->in_bytes()));
    Bytes out(static_cast<std::size_t>(made->out_bytes()));
    const auto done = made->run(in, out);
    ASSERT_EQ(done.has_value(), processes() == 1);
    if (!done) {
      EXPECT_EQ(done.error().code, Code::bad_argument);
    }
  }
}

/// No step at all, so nothing but the tiles can be refused.
Program nothing_to_do() {
  Program program = between(Layout::rooted(processes(), {5}, 0),
                            Layout::rooted(processes(), {5}, processes() - 1));
  program.steps.clear();
  program.to = program.from;
  return program;
}

TEST(Uneven, in_place_is_refused_by_name) {
  const auto made = Redistributor::make(MPI_COMM_WORLD, nothing_to_do(), 4,
                                        {.strategy = Strategy::in_place, .own_buffers = true});
  if (processes() == 1) return;
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_THAT(made.error().message, testing::HasSubstr("not all alike"));
}

TEST(Uneven, collectives_without_a_step_copy) {
  const Options options{.strategy = Strategy::collectives};
  move_twice(nothing_to_do(), 8, {options});
  move_twice(nothing_to_do(), 8, {{.strategy = Strategy::collectives, .own_buffers = true}});
}

/// Lists as they come by hand: a permutation of tiles of any sizes, and slices of single devices.
TEST(Uneven, steps_by_hand_go_by_collectives) {
  const Size n = processes();
  std::vector<Size> at{0};
  for (Size d = 0; d < n; ++d) at.push_back(at.back() + 3 * (d % 3));
  const Cuts cuts = Cuts::listed(at);
  std::vector<Size> source;
  std::string pieces;
  for (Size d = 0; d < n; ++d) source.push_back((d + 1) % n);
  const Layout from = Layout::numbered(n, {cuts}, {{{.stride = 1, .size = n}}}).value();
  std::vector<Size> to_at;
  std::vector<Size> extents;
  for (const Size d : source) {
    const Box box = from.box(d);
    // Of every tile the second piece of 2.
    extents.push_back(std::max(Size{0}, std::min(Size{2}, box.extent[0] - 2)));
    to_at.push_back(extents.back() > 0 ? box.at[0] + 2 : 0);
  }
  Program program;
  program.devices = n;
  program.from = from;
  program.to = Layout::listed_boxes(n, from.global(), to_at, extents).value();
  program.steps.push_back({Allpermute{DeviceTable::list(source)}, {}});
  program.steps.push_back(
      {Dynslice{.dim = 0,
                .pieces = PartList{2, DeviceTable::list(std::vector<Size>(source.size(), 1))},
                .piece = 2},
       {}});
  for (const Size chunk : {Size{1} << 16, Size{1}}) {
    move_twice(program, 4,
               {{.chunk_bytes = chunk, .message_bytes = 4, .strategy = Strategy::collectives}});
  }
}

/// Rows of 5 columns, of which everybody keeps the first two: to boxes in a list.
Program first_columns() {
  const Size n = processes();
  const Size columns = 5;
  std::vector<Size> rows{0};
  std::vector<Size> at;
  std::vector<Size> extents;
  std::vector<std::vector<Size>> alone;
  for (Size d = 0; d < n; ++d) {
    const Size height = d % 3 + 1;
    at.insert(at.end(), {rows.back(), 0});
    extents.insert(extents.end(), {height, 2});
    rows.push_back(rows.back() + height);
    alone.push_back({d});
  }
  const std::vector<Digit> all{{.stride = 1, .size = n}};
  Program program;
  program.devices = n;
  program.from =
      Layout::numbered(n, {Cuts::listed(rows), Cuts::blocks(columns, 1, columns)}, {all, {}})
          .value();
  program.to = Layout::listed_boxes(n, program.from.global(), at, extents).value();
  program.steps.push_back(
      {Alltoall{.split = 1, .concat = 0, .groups = DeviceTable::rows(std::move(alone)), .piece = 2},
       {}});
  return program;
}

/// Of two columns or more, the first two are no stretch of a tile's bytes.
TEST(Uneven, an_alltoall_of_single_devices_keeps_the_first_piece) {
  const Program program = first_columns();
  ASSERT_GT(traits_of(program).version, 1);
  move_twice(program, 4, {{.strategy = Strategy::collectives}});
}

/// What an exchange between boxes in a list needs is known only once it is made.
TEST(Uneven, a_least_limit_is_named_with_what_is_not_known) {
  const auto refused = Redistributor::make(MPI_COMM_WORLD, first_columns(), 4,
                                           {.own_buffers = true, .memory_limit_bytes = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::infeasible);
  EXPECT_THAT(refused.error().message,
              testing::ContainsRegex("the least that one of them needs is [0-9]+, "
                                     "but one whose need is not known may do with less$"));
  EXPECT_THAT(refused.error().notes.front(), testing::StartsWith("exchange: needs more than "));
}

/// All hold the whole array, and each gets two boxes of it from the next one.
TEST(Uneven, several_boxes_of_one_process_have_places_of_their_own) {
  const Size n = processes();
  const Shape global{4, 4};
  Program program;
  program.devices = n;
  program.from = Layout::numbered(n, {Cuts::even(4, 1), Cuts::even(4, 1)}, {{}, {}}).value();
  program.to = program.from;
  Exchange exchange;
  for (Size d = 0; d < n; ++d) {
    const auto put = [&](Size source, const Shape& at, const Shape& shape) {
      exchange.transfers.push_back({d, source, at, at, shape});
    };
    put((d + 1) % n, {0, 1}, {1, 2});
    put((d + 1) % n, {2, 0}, {2, 2});
    put(d, {0, 0}, {1, 1});
    put(d, {0, 3}, {1, 1});
    put(d, {1, 0}, {1, 4});
    put(d, {2, 2}, {2, 2});
  }
  program.steps = {{std::move(exchange), {.tile = global, .map = {}, .at = {}}}};
  simulate(program, 4);
  move_all_ways(program, 4);
}

/// By collectives too, in pieces of any size.
TEST(Uneven, steps_over_several_dimensions_arrive_on_every_way) {
  over_dims_programs::Draws draws(24);
  const int problems = processes() > 8 ? 4 : 10;
  for (int i = 0; i < problems;) {
    const auto both = draws.right(processes());
    if (!both) continue;
    const Program& program = both->at_once;
    const Size element_bytes = test::element_sizes[static_cast<std::size_t>(i) % 5];
    SCOPED_TRACE("problem " + std::to_string(i));
    ASSERT_GT(traits_of(program).version, 1);
    simulate(program, element_bytes);
    move_all_ways(program, element_bytes);
    // Packed at once and in rounds, and straight where boxes lie in one piece.
    const Options at_once{
        .message_bytes = 16, .strategy = Strategy::collectives, .own_buffers = i % 2 == 0};
    Options in_rounds = at_once;
    in_rounds.chunk_bytes = 1;
    Options straight = in_rounds;
    straight.message_bytes = mpi::most_message_bytes;
    for (const Options& options : {at_once, in_rounds, straight}) {
      move_twice(program, element_bytes, {options});
    }
    ++i;
  }
}

/// Blocks of one size that lie in the new tile in one piece each, but not in the order of the members.
TEST(Uneven, gathered_blocks_may_lie_in_another_order) {
  if (processes() != 4) GTEST_SKIP() << "for four processes";
  const Cuts halves = Cuts::blocks(1, 2, 2);
  const Cuts whole = Cuts::blocks(2, 1, 2);
  const std::vector<Digit> slow{{.stride = 2, .size = 2}};
  const std::vector<Digit> fast{{.stride = 1, .size = 2}};
  Program program;
  program.devices = 4;
  program.from = Layout::numbered(4, {halves, halves}, {slow, fast}).value();
  program.to = Layout::numbered(4, {whole, whole}, {{}, {}}).value();
  program.steps.push_back(
      {AllgatherDims{.dims = {1, 0}, .counts = {2, 2}, .groups = DeviceTable::rows({{0, 2, 1, 3}})},
       {}});
  move_twice(program, 4, {{.strategy = Strategy::collectives}});
}

TEST(Uneven, wrong_buffers_of_a_process_that_moves_nothing_are_refused_on_all) {
  // The first process sends all to the last; those between have nothing and hear of nobody.
  const Program program = between(Layout::rooted(processes(), {1'000}, 0),
                                  Layout::rooted(processes(), {1'000}, processes() - 1));
  for (const Way& way : all_ways()) {
    if (way.options.own_buffers) continue;
    const test::Blocks blocks(way.block);
    auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, way.options);
    ASSERT_TRUE(made) << render(made.error());
    const Bytes in(static_cast<std::size_t>(made->in_bytes()) + 1);
    Bytes out(static_cast<std::size_t>(made->out_bytes()));
    for (Size wrong = 0; wrong <= processes(); ++wrong) {  // the last time nobody
      const std::size_t left_out = process() == wrong ? 0 : 1;
      const auto ran = made->run(std::span(in).first(in.size() - left_out), out);
      ASSERT_EQ(ran.has_value(), wrong == processes()) << wrong << " " << made->reasons().back();
      if (ran) continue;
      EXPECT_EQ(ran.error().code, Code::bad_argument);
    }
  }
}

}  // namespace
}  // namespace retile
