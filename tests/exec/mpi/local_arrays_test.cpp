// Tiles that lie in larger arrays of their processes: every element arrives, on every way of the
// exchange, and no byte beside the tiles is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/program/tile_shapes.h"
#include "support/random_layouts.h"

namespace retile {
namespace {

using mpi::LocalArray;
using mpi::LocalArrays;
using mpi::Options;
using mpi::Redistributor;
using mpi::Strategy;
using test::between;
using test::Bytes;
using test::pattern_tile;
using test::process;
using test::processes;
using testing::HasSubstr;

Shape tile_of(const Layout& layout) {
  return shapes_of(layout)[static_cast<std::size_t>(process())];
}

/// An array with some elements before and behind the tile in every dimension.
LocalArray around(const Shape& tile, std::mt19937_64& random) {
  LocalArray out;
  for (const Size extent : tile) {
    out.start.push_back(static_cast<Size>(random() % 3));
    out.extents.push_back(out.start.back() + extent + static_cast<Size>(random() % 4));
  }
  return out;
}

/// Calls use(byte of the array, byte of the tile) for every element of the tile.
template <typename Use>
void each_element(const Shape& tile, const LocalArray& array, Size element_bytes, const Use& use) {
  const Size count = checked_product(tile).value();
  for (Size n = 0; n < count; ++n) {
    Size rest = n;
    Size stride = element_bytes;
    Size at = 0;
    for (std::size_t k = tile.size(); k-- > 0;) {
      const Size start = array.start.empty() ? 0 : array.start[k];
      at += (start + rest % tile[k]) * stride;
      rest /= tile[k];
      stride *= array.extents[k];
    }
    use(static_cast<std::ptrdiff_t>(at), static_cast<std::ptrdiff_t>(n * element_bytes));
  }
}

/// The tile in its array, or alone; bytes of a pattern beside it.
Bytes put_around(const Bytes& tile, const Shape& shape, const std::optional<LocalArray>& array,
                 Size element_bytes) {
  if (!array) return tile;
  Bytes out(static_cast<std::size_t>(checked_product(array->extents).value() * element_bytes));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<std::byte>(k * 7 + 3);
  each_element(shape, *array, element_bytes, [&](std::ptrdiff_t at, std::ptrdiff_t of_tile) {
    std::copy_n(tile.begin() + of_tile, element_bytes, out.begin() + at);
  });
  return out;
}

/// What a process has before and must have afterwards.
struct Case {
  const Program& program;
  Size element_bytes;
  LocalArrays arrays;
  Bytes in = put_around(pattern_tile(program.from, process(), element_bytes), tile_of(program.from),
                        arrays.in, element_bytes);
  Bytes out = put_around(Bytes(pattern_tile(program.to, process(), element_bytes).size()),
                         tile_of(program.to), arrays.out, element_bytes);
  Bytes wanted = put_around(pattern_tile(program.to, process(), element_bytes), tile_of(program.to),
                            arrays.out, element_bytes);
};

void move_twice(const Case& given, Options options) {
  options.arrays = given.arrays;
  auto made = Redistributor::make(MPI_COMM_WORLD, given.program, given.element_bytes, options);
  ASSERT_TRUE(made) << render(made.error());
  ASSERT_EQ(made->in_bytes(), static_cast<Size>(given.in.size()));
  ASSERT_EQ(made->out_bytes(), static_cast<Size>(given.out.size()));
  EXPECT_EQ(made->strategy(), Strategy::exchange);
  for (int time = 0; time < 2; ++time) {
    Bytes in = given.in;
    Bytes out = given.out;
    if (options.own_buffers) {
      std::copy(in.begin(), in.end(), made->input().begin());
      std::copy(out.begin(), out.end(), made->output().begin());
      ASSERT_TRUE(made->run());
      std::copy(made->input().begin(), made->input().end(), in.begin());
      std::copy(made->output().begin(), made->output().end(), out.begin());
    } else {
      ASSERT_TRUE(made->run(in, out));
    }
    EXPECT_EQ(in, given.in);
    EXPECT_EQ(out, given.wanted);
  }
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
}

void move_all_ways(const Case& given) {
  for (const bool own : {false, true}) {
    for (const Size chunk : {Size{1} << 16, Size{1}}) {
      SCOPED_TRACE(testing::Message()
                   << (own ? "own" : "callers'") << " buffers, chunks of " << chunk);
      const Options options{.chunk_bytes = chunk, .own_buffers = own};
      move_twice(given, test::on_one_node(options));
      move_twice(given, test::by_messages(options));
      const test::Blocks blocks(2);
      move_twice(given, test::over_nodes(options));
    }
  }
  move_twice(given, {});
  Bytes out = given.out;
  const auto moved = mpi::redistribute(MPI_COMM_WORLD, given.program, given.in, out,
                                       given.element_bytes, given.arrays);
  ASSERT_TRUE(moved) << render(moved.error());
  EXPECT_EQ(out, given.wanted);
}

TEST(LocalArrays, tiles_arrive_in_them_and_nothing_beside_is_written) {
  std::mt19937_64 random(23);
  std::mt19937_64 own(static_cast<std::uint64_t>(100 + process()));  // arrays differ
  for (int i = 0; i < 24; ++i) {
    const Shape global = support::random_global(random, 4, 9);
    const Layout from = support::random_layout(random, processes(), global);
    const Layout to = support::random_layout(random, processes(), global);
    const Program program = between(from, to);
    SCOPED_TRACE("problem " + std::to_string(i));
    LocalArrays arrays;
    if (i % 3 != 1) arrays.in = around(tile_of(from), own);
    if (i % 3 != 2) arrays.out = around(tile_of(to), own);
    move_all_ways({program, test::element_sizes[static_cast<std::size_t>(i) % 5], arrays});
  }
}

/// Blocks that are dealt out along both dimensions, or along the second one only.
Layout dealt(const Shape& global, Size block, bool by_rows) {
  const Size n = processes();
  const Digit all{.stride = 1, .size = n};
  const auto whole = [&](std::size_t k) { return Cuts::blocks(global[k], 1, global[k]); };
  const auto in_turn = [&](std::size_t k) {
    return Cuts::dealt(n, {{.end = global[k], .block = block}});
  };
  return by_rows ? Layout::numbered(n, {in_turn(0), whole(1)}, {{all}, {}}).value()
                 : Layout::numbered(n, {whole(0), in_turn(1)}, {{}, {all}}).value();
}

TEST(LocalArrays, dealt_blocks_lie_in_rows_that_are_longer) {
  for (const Size element_bytes : {1, 16}) {
    for (const Size block : {1, 3}) {
      const Program program = between(dealt({37, 53}, block, false), dealt({37, 53}, 5, true));
      const auto longer = [](const Shape& tile) {
        return LocalArray{.extents = {tile[0], tile[1] + 2 + process()}};
      };
      move_all_ways({program,
                     element_bytes,
                     {.in = longer(tile_of(program.from)), .out = longer(tile_of(program.to))}});
    }
  }
}

TEST(LocalArrays, large_tiles_lie_between_ghost_cells) {
  const Size n = processes();
  const Program program = test::rows_to_columns(64, 48 * 1024 / n / 64);
  const auto ghosts = [](const Shape& tile) {
    return LocalArray{.extents = {tile[0] + 2, tile[1] + 2 + process()}, .start = {1, process()}};
  };
  const LocalArray in = ghosts(tile_of(program.from));
  const LocalArray out = ghosts(tile_of(program.to));
  move_all_ways({program, 8, {.in = in, .out = out}});
  move_all_ways({program, 8, {.in = in}});
  move_all_ways({program, 8, {.out = out}});
}

TEST(LocalArrays, a_program_without_steps_moves_from_one_array_to_another) {
  const std::string n = std::to_string(processes());
  const std::string end = "[3{d}" + std::to_string(3 * processes()) + ", 4]\n";
  const Program program =
      test::parsed("retile.program/1\nmesh d:" + n + "\nfrom " + end + "to " + end);
  move_all_ways({program,
                 2,
                 {.in = LocalArray{.extents = {4, 6}, .start = {1, 2}},
                  .out = LocalArray{.extents = {5, 5}, .start = {0, 1}}}});
  move_all_ways({program, 2, {.out = LocalArray{.extents = {5, 5}, .start = {2, 0}}}});
}

TEST(LocalArrays, an_array_of_an_empty_tile_stays_as_it_is) {
  const Layout first = Layout::rooted(processes(), {3, 2}, 0);
  const Layout last = Layout::rooted(processes(), {3, 2}, processes() - 1);
  move_all_ways({between(first, last),
                 4,
                 {.in = LocalArray{.extents = {4, 5}}, .out = LocalArray{.extents = {3, 3}}}});
}

TEST(LocalArrays, the_comparison_sees_a_byte_beside_the_tile) {
  const Shape tile{2, 3};
  const LocalArray array{.extents = {4, 5}, .start = {1, 1}};
  const Bytes before = put_around(Bytes(6, std::byte{1}), tile, array, 1);
  std::vector<std::ptrdiff_t> places;
  each_element(tile, array, 1, [&](std::ptrdiff_t at, std::ptrdiff_t) { places.push_back(at); });
  EXPECT_EQ(places, (std::vector<std::ptrdiff_t>{6, 7, 8, 11, 12, 13}));
  EXPECT_EQ(before[6], std::byte{1});
  EXPECT_EQ(before[9], std::byte{9 * 7 + 3});
}

// ---- Refusals ----------------------------------------------------------------------------------

/// The error that all processes get.
Diagnostic refusal(const Program& program, const Options& options, Size element_bytes = 4) {
  const auto made = Redistributor::make(MPI_COMM_WORLD, program, element_bytes, options);
  if (!made) return made.error();
  ADD_FAILURE() << "it was taken";
  return {};
}

Options with_in(LocalArray array, Options options = {}) {
  options.arrays.in = std::move(array);
  return options;
}

TEST(LocalArrays, one_that_does_not_hold_the_tile_is_refused_by_all) {
  const Program program = test::rows_to_columns(3, 2);
  const Shape tile = tile_of(program.from);
  const LocalArray good{.extents = tile};
  EXPECT_TRUE(Redistributor::make(MPI_COMM_WORLD, program, 4, with_in(good)));
  const Size wide = tile[1];
  const LocalArray bad[] = {{.extents = {2, wide}},
                            {.extents = {3, wide - 1}},
                            {.extents = {4, wide}, .start = {2, 0}},
                            {.extents = {4, wide}, .start = {-1, 0}},
                            {.extents = {3, wide}, .start = {Size{1} << 62, 0}},
                            {.extents = {-3, wide}},
                            {.extents = {std::numeric_limits<Size>::min(), wide}, .start = {1, 0}},
                            {.extents = {3}},
                            {.extents = {3, wide, 1}},
                            {.extents = {3, wide}, .start = {0}},
                            {.extents = {3, wide}, .start = {0, 0, 0}}};
  for (const LocalArray& one : bad) {
    const Diagnostic error = refusal(program, with_in(test::is_last() ? one : good));
    EXPECT_EQ(error.code, Code::bad_argument);
    EXPECT_THAT(error.message, HasSubstr("options.arrays.in: an array of ["));
  }
  Options out;
  out.arrays.out = LocalArray{.extents = {1, 1}};
  EXPECT_THAT(refusal(program, out).message,
              HasSubstr("options.arrays.out: an array of [1, 1] does not "
                        "hold a tile of ["));
}

TEST(LocalArrays, one_element_has_an_array_without_dimensions) {
  const std::string n = std::to_string(processes());
  const Program program = test::parsed("retile.program/1\nmesh d:" + n + "\nfrom []\nto []\n");
  EXPECT_TRUE(Redistributor::make(MPI_COMM_WORLD, program, 4, with_in({.extents = {}})));
  EXPECT_EQ(refusal(program, with_in({.extents = {3}})).code, Code::bad_argument);
}

TEST(LocalArrays, one_of_too_many_bytes_is_refused_by_all) {
  const Program program = test::rows_to_columns(3, 2);
  const Shape tile = tile_of(program.from);
  // Eight of them are counted, of 4 bytes each element: 2^58 elements are too many.
  for (const Shape& extents :
       {Shape{Size{1} << 40, Size{1} << 40}, Shape{Size{1} << 29, Size{1} << 29}}) {
    const LocalArray array{.extents = test::is_last() ? extents : tile};
    EXPECT_EQ(refusal(program, with_in(array)).code, Code::size_overflow);
  }
}

TEST(LocalArrays, all_give_one_or_nobody) {
  if (processes() == 1) GTEST_SKIP() << "one process agrees with itself";
  const Program program = test::rows_to_columns(3, 2);
  Options options;
  if (test::is_last()) options.arrays.in = LocalArray{.extents = tile_of(program.from)};
  EXPECT_EQ(refusal(program, options).code, Code::disagreement);
  options = {};
  if (test::is_last()) options.arrays.out = LocalArray{.extents = tile_of(program.to)};
  EXPECT_EQ(refusal(program, options).code, Code::disagreement);
}

TEST(LocalArrays, other_strategies_refuse_them_by_name) {
  const Program program = test::rows_to_columns(3, 2);
  const LocalArray array{.extents = tile_of(program.from)};
  for (const Strategy strategy : {Strategy::collectives, Strategy::in_place}) {
    const Options options{.strategy = strategy, .own_buffers = true};
    const Diagnostic error = refusal(program, with_in(array, options));
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_THAT(error.message, HasSubstr("larger arrays (options.arrays)"));
  }
}

TEST(LocalArrays, a_program_that_adds_refuses_them_by_name) {
  const std::string n = std::to_string(processes());
  const Program program =
      test::parsed("retile.program/2\nmesh x:" + n + "\nfrom sum{x}[8]\nto [8]\n" +
                   "allreduce groups=[1," + n + "]<=[" + n + "] add=sum\n");
  Options options{.element_type = ElementType{ElementKind::signed_integer, 4}};
  const Diagnostic error = refusal(program, with_in({.extents = {8}}, options));
  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_THAT(error.message, HasSubstr("with addends takes no tiles that lie in larger arrays"));
}

TEST(LocalArrays, a_buffer_of_the_tile_alone_is_refused) {
  const Program program = test::rows_to_columns(3, 2);
  const Shape tile = tile_of(program.from);
  auto made =
      Redistributor::make(MPI_COMM_WORLD, program, 4, with_in({.extents = {tile[0], tile[1] + 1}}));
  ASSERT_TRUE(made);
  const Bytes in = pattern_tile(program.from, process(), 4);
  Bytes out(static_cast<std::size_t>(made->out_bytes()));
  const auto moved = made->run(in, out);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::bad_argument);
}

}  // namespace
}  // namespace retile
