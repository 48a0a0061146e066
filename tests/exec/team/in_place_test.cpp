#include "retile/exec/team/in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "exec/programs.h"
#include "retile/exec/npy/pattern.h"
#include "retile/exec/sim/sim.h"
#include "retile/exec/team/cycles.h"
#include "retile/exec/team/turn.h"
#include "retile/program/tile_shapes.h"
#include "support/samples.h"

namespace retile::team::in_place_test {
namespace {

using test::NamedProgram;
using test::parsed;
using test::pattern_tile;
using test::random_program;

// ---- Turning -----------------------------------------------------------------------------------

std::vector<std::byte> random_bytes(Size bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

/// What turning means, run by run.
std::vector<std::byte> turned(const std::vector<std::byte>& data, Size rows, Size columns,
                              Size run) {
  std::vector<std::byte> out(data.size());
  for (Size r = 0; r < rows; ++r) {
    for (Size c = 0; c < columns; ++c) {
      std::memcpy(out.data() + (c * rows + r) * run, data.data() + (r * columns + c) * run,
                  static_cast<std::size_t>(run));
    }
  }
  return out;
}

struct ScratchMemory {
  std::vector<std::byte> panel;
  std::vector<std::byte> marks;
  ScratchMemory(Size panel_bytes, Size mark_bytes)
      : panel(static_cast<std::size_t>(panel_bytes)), marks(static_cast<std::size_t>(mark_bytes)) {}
  [[nodiscard]] Scratch view() { return {.panel = panel, .marks = marks}; }
};

TEST(Turn, of_every_small_matrix_is_its_transpose_whatever_the_scratch) {
  Size matrices = 0;
  for (Size rows = 1; rows <= 13; ++rows) {
    for (Size columns = 1; columns <= 13; ++columns) {
      for (const Size run : {1, 3, 4, 16, 24, 64}) {
        const auto data = random_bytes(rows * columns * run, static_cast<std::uint64_t>(rows));
        const auto expected = turned(data, rows, columns, run);
        for (const Size panel : {1, 7, 40, 96, 300, 4096}) {
          for (const Size marks : {0, 2, 64}) {
            ScratchMemory scratch(panel, marks);
            auto bytes = data;
            turn(bytes.data(), rows, columns, run, scratch.view());
            ASSERT_EQ(bytes, expected) << rows << " x " << columns << " runs of " << run
                                       << ", panel " << panel << ", marks " << marks;
            ++matrices;
          }
        }
      }
    }
  }
  std::cout << matrices << " matrices turned\n";
}

TEST(Turn, of_large_matrices_leaves_rests_and_cuts_blocks) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    constexpr Size runs[] = {1, 2, 4, 12, 64, 1000, 5000};
    const Size run = runs[random() % 7];
    Size rows = static_cast<Size>(1 + random() % 9);
    Size columns = std::max<Size>(1, static_cast<Size>(random() % 400'000) / rows / run);
    if (i % 2 == 0) std::swap(rows, columns);
    const auto data = random_bytes(rows * columns * run, random());
    ScratchMemory scratch(static_cast<Size>(1 + random() % 20'000), 64);
    auto bytes = data;
    turn(bytes.data(), rows, columns, run, scratch.view());
    ASSERT_EQ(bytes, turned(data, rows, columns, run)) << rows << " x " << columns << " x " << run;
  }
}

TEST(Turn, twice_is_nothing) {
  auto bytes = random_bytes(7 * 11 * 5, 1);
  const auto before = bytes;
  ScratchMemory scratch(40, 8);
  turn(bytes.data(), 7, 11, 5, scratch.view());
  EXPECT_NE(bytes, before);
  turn(bytes.data(), 11, 7, 5, scratch.view());
  EXPECT_EQ(bytes, before);
}

// ---- Programs ----------------------------------------------------------------------------------

/// Members as threads: control block and memories of one process.
class Threads {
 public:
  Threads(int members, Size memory_bytes)
      : memory_(static_cast<std::size_t>(members),
                std::vector<std::byte>(static_cast<std::size_t>(memory_bytes))) {
    const auto bytes = static_cast<std::size_t>(Team::control_bytes(members));
    control_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}));
    Team::initialise(control_, members);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { ::operator delete (control_, std::align_val_t{64}); }

  [[nodiscard]] std::byte* control() const { return control_; }
  [[nodiscard]] std::vector<std::byte>& memory(int member) {
    return memory_[static_cast<std::size_t>(member)];
  }

  template <typename Function>
  void run(const Function& function) {
    std::vector<std::thread> threads;
    for (int member = 0; member < static_cast<int>(memory_.size()); ++member) {
      threads.emplace_back([this, &function, member] {
        std::vector<std::span<std::byte>> views(memory_.begin(), memory_.end());
        Team team(control_, member, std::move(views));
        function(member, team);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::byte* control_ = nullptr;
  std::vector<std::vector<std::byte>> memory_;
};

constexpr std::byte guard{0xa5};
constexpr Size guard_bytes = 64;

// ---- Cycles ------------------------------------------------------------------------------------

using Tiles = std::vector<std::vector<std::byte>>;

/// What a BlockTurn means, block by block.
Tiles turned(const BlockTurn& turn, const Tiles& tiles) {
  Tiles out = tiles;
  const Size bytes = turn.block_bytes;
  const Size row = turn.members * turn.columns;
  for (Size batch = 0; batch < turn.batches; ++batch) {
    for (Size s = 0; s < turn.members; ++s) {
      for (Size d = 0; d < turn.members; ++d) {
        for (Size c = 0; c < turn.columns; ++c) {
          const Size in_rows = d * turn.columns + c;  // of the blocks of s
          const Size in_turn = c * turn.members + d;
          const Size to_rows = s * turn.columns + c;
          const Size to_turn = c * turn.members + s;
          const Size from = batch * row + (turn.turned_before ? in_turn : in_rows);
          const Size to = batch * row + (turn.turned_before ? to_rows : to_turn);
          std::memcpy(out[static_cast<std::size_t>(d)].data() + to * bytes,
                      tiles[static_cast<std::size_t>(s)].data() + from * bytes,
                      static_cast<std::size_t>(bytes));
        }
      }
    }
  }
  return out;
}

/// All members' shares one after the other, in `order`: after keep() no member needs another.
/// \param shares  how many bytes each has changed
Tiles cycled(const BlockTurn& turn, Tiles tiles, Size scratch_bytes, bool marked,
             const std::vector<std::size_t>& order, std::vector<Size>& shares) {
  constexpr std::ptrdiff_t most_beyond = 4096;
  const auto n = static_cast<std::size_t>(turn.members);
  Threads team(static_cast<int>(turn.members), 0);
  std::vector<std::span<std::byte>> views(tiles.begin(), tiles.end());
  const Team any(team.control(), 0, views);
  std::vector<int> members;
  for (std::size_t m = 0; m < n; ++m) members.push_back(static_cast<int>(m));
  std::vector<std::vector<std::byte>> marks(n);
  std::vector<std::vector<std::byte>> scratch(n);
  std::vector<Cycles> cycles;
  for (std::size_t m = 0; m < n; ++m) {
    if (marked) marks[m].resize(static_cast<std::size_t>(Cycles::blocks_of(turn) / 8 + 1));
    scratch[m].resize(static_cast<std::size_t>(scratch_bytes) + most_beyond, guard);
    cycles.emplace_back(turn, members, static_cast<Size>(m), scratch_bytes, marks[m]);
    cycles.back().keep(any, scratch[m]);
  }
  shares.assign(n, 0);
  for (const std::size_t m : order) {
    const Tiles before = tiles;
    cycles[m].run(scratch[m]);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t i = 0; i < tiles[t].size(); ++i) shares[m] += tiles[t][i] != before[t][i];
    }
    EXPECT_EQ(std::count(scratch[m].end() - most_beyond, scratch[m].end(), guard), most_beyond)
        << "member " << m << " wrote behind its scratch";
  }
  return tiles;
}

TEST(Cycles, every_small_exchange_is_right_in_any_order_of_the_members) {
  std::mt19937_64 random(5);
  Size exchanges = 0;
  int cases = 0;
  for (Size members = 1; members <= 5; ++members) {
    for (Size columns = 1; columns <= 7; ++columns) {
      for (const Size bytes : {1, 5, 64}) {
        for (const Size batches : {1, 2, 7}) {
          for (const bool before : {false, true}) {
            if (support::instrumented && ++cases % 3 != 0) continue;
            const BlockTurn turn{.members = members,
                                 .columns = columns,
                                 .block_bytes = bytes,
                                 .batches = batches,
                                 .turned_before = before};
            Tiles tiles;
            for (Size m = 0; m < members; ++m) {
              tiles.push_back(random_bytes(members * columns * bytes * batches, random()));
            }
            const Tiles expected = turned(turn, tiles);
            std::vector<std::size_t> order(static_cast<std::size_t>(members));
            std::iota(order.begin(), order.end(), std::size_t{0});
            for (const Size scratch : {2, 9, 100, 1000}) {
              std::shuffle(order.begin(), order.end(), random);
              for (const bool marked : {false, true}) {
                std::vector<Size> shares;
                ASSERT_EQ(cycled(turn, tiles, scratch, marked, order, shares), expected)
                    << members << " members, " << columns << " columns, " << batches << " times "
                    << bytes << " bytes, before " << before << ", scratch " << scratch;
                ++exchanges;
              }
            }
          }
        }
      }
    }
  }
  std::cout << exchanges << " exchanges\n";
}

TEST(Cycles, stay_within_their_scratch_whatever_the_blocks_and_batches) {
  for (const Size columns : {1, 3}) {
    for (const Size bytes : {1, 2, 7, 63, 65, 130, 500, 700}) {
      for (const Size batches : {1, 3, 20}) {
        const BlockTurn turn{
            .members = 3, .columns = columns, .block_bytes = bytes, .batches = batches};
        Tiles tiles;
        for (Size m = 0; m < turn.members; ++m) {
          tiles.push_back(random_bytes(turn.members * columns * bytes * batches,
                                       static_cast<std::uint64_t>(m)));
        }
        const Tiles expected = turned(turn, tiles);
        std::vector<Size> shares;
        for (const Size scratch : {130, 200, 1000, 1100}) {
          EXPECT_EQ(cycled(turn, tiles, scratch, true, {0, 1, 2}, shares), expected)
              << columns << " columns, " << batches << " times " << bytes << " bytes, scratch "
              << scratch;
        }
      }
    }
  }
}

TEST(Cycles, members_move_equally_much_even_of_a_single_cycle) {
  for (const auto& [members, columns] :
       {std::pair<Size, Size>{2, 1}, {2, 50}, {3, 37}, {4, 16}, {5, 1}}) {
    for (const bool before : {false, true}) {
      if (support::instrumented && before != (members % 2 == 0)) continue;
      const BlockTurn turn{.members = members,
                           .columns = columns,
                           .block_bytes = 20'000,
                           .batches = 1,
                           .turned_before = before};
      Tiles tiles;
      for (Size m = 0; m < members; ++m) {
        tiles.push_back(
            random_bytes(members * columns * turn.block_bytes, static_cast<std::uint64_t>(m)));
      }
      std::vector<std::size_t> order(static_cast<std::size_t>(members));
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::vector<Size> shares;
      ASSERT_EQ(cycled(turn, tiles, Size{1} << 16, true, order, shares), turned(turn, tiles));
      const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
      // A random byte is seldom what it was before; boundaries are those of copies.
      EXPECT_GT(*least, 0);
      EXPECT_LE(*most - *least, 2 * Cycles::most_bytes + *most / 50) << members << " " << columns;
    }
  }
}

InPlace in_place_of(const Program& program, Size element_bytes, int member,
                    Size panel_bytes = default_panel_bytes) {
  return {program, shapes_alike(tile_shapes(program, element_bytes).value()).value(), element_bytes,
          member, panel_bytes};
}

/// Runs the Program in place `times` times and returns every member's tile; fails where a byte
/// behind the largest tile is touched.
std::vector<std::vector<std::byte>> run_in_place(const Program& program,
                                                 const std::vector<std::vector<std::byte>>& tiles,
                                                 Size element_bytes, Size panel_bytes,
                                                 int times = 1) {
  const int members = static_cast<int>(program.devices);
  std::vector<InPlace> moves;
  for (int member = 0; member < members; ++member) {
    moves.push_back(in_place_of(program, element_bytes, member, panel_bytes));
  }
  const Size bytes = moves.front().memory_bytes();
  Threads threads(members, bytes + guard_bytes);
  for (int time = 0; time < times; ++time) {
    for (int member = 0; member < members; ++member) {
      std::fill(threads.memory(member).begin(), threads.memory(member).end(), guard);
      const auto& tile = tiles[static_cast<std::size_t>(member)];
      std::copy(tile.begin(), tile.end(), threads.memory(member).begin());
    }
    threads.run([&](int member, Team& team) {
      const auto ran = moves[static_cast<std::size_t>(member)].run(team);
      EXPECT_TRUE(ran) << render(ran.error());
    });
  }
  std::vector<std::vector<std::byte>> out;
  for (int member = 0; member < members; ++member) {
    auto& memory = threads.memory(member);
    EXPECT_EQ(std::count(memory.end() - guard_bytes, memory.end(), guard), guard_bytes)
        << "member " << member << " was written behind its largest tile";
    memory.resize(static_cast<std::size_t>(moves.front().out_bytes()));
    out.push_back(memory);
  }
  return out;
}

std::vector<std::vector<std::byte>> random_tiles(const Program& program, Size element_bytes,
                                                 std::uint64_t seed) {
  std::vector<std::vector<std::byte>> tiles;
  for (Size device = 0; device < program.devices; ++device) {
    tiles.push_back(random_bytes(program.from.tile_size() * element_bytes,
                                 seed * 1000 + static_cast<std::uint64_t>(device)));
  }
  return tiles;
}

class RightPrograms : public testing::TestWithParam<NamedProgram> {};

TEST_P(RightPrograms, run_in_place_with_every_element_size_and_panel) {
  const Program program = parsed(GetParam().text);
  for (const Size width : test::element_sizes) {
    std::vector<std::vector<std::byte>> tiles;
    for (Size d = 0; d < program.devices; ++d)
      tiles.push_back(pattern_tile(program.from, d, width));
    for (const Size panel : {program.devices * width, Size{200} * width, default_panel_bytes}) {
      const auto out =
          run_in_place(program, tiles, width, std::max(panel, program.devices * width));
      ASSERT_EQ(out.size(), tiles.size());
      for (Size d = 0; d < program.devices; ++d) {
        EXPECT_EQ(find_pattern_mismatch(program.to, d, width, out[static_cast<std::size_t>(d)]),
                  std::nullopt);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InPlace, RightPrograms, testing::ValuesIn(test::right_programs()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(InPlace, random_programs_do_what_the_simulator_does) {
  Size programs = 0;
  Size steps = 0;
  std::mt19937_64 random(11);
  for (std::uint64_t seed = 0; seed < support::samples(1200U); ++seed) {
    constexpr Size sizes[] = {1, 2, 3, 4, 6, 8};
    const Program program = random_program(seed, sizes[seed % 6]);
    const Size width = test::element_sizes[seed % 5];
    const auto tiles = random_tiles(program, width, seed);
    const auto expected = sim::run(program, tiles, width);
    ASSERT_TRUE(expected) << render(expected.error());
    const Size panel = program.devices * width + static_cast<Size>(random() % 3000);
    const auto out = run_in_place(program, tiles, width, panel, 2);
    ASSERT_EQ(out, expected->tiles) << to_text(program) << "panel " << panel;
    ++programs;
    steps += static_cast<Size>(program.steps.size());
  }
  std::cout << programs << " Programs of " << steps << " steps in all\n";
}

TEST(InPlace, tiles_of_many_panels_are_moved_in_rounds) {
  const Program outwards = parsed(
      "retile.program/1\nmesh x:4\nfrom [60, 60{x}240]\nto [15{x}60, 240]\n"
      "alltoall split=0 concat=1 groups=[1,4]<=[4]\n");
  const Program inwards = parsed(
      "retile.program/1\nmesh x:4\nfrom [15{x}60, 240]\nto [60, 60{x}240]\n"
      "alltoall split=1 concat=0 groups=[1,4]<=[4]\n");
  // 3607 is a prime: no panel divides it, so pieces are swapped first and turned apart.
  const Program prime = parsed(
      "retile.program/1\nmesh x:2\nfrom [7214, 2{x}4]\nto [3607{x}7214, 4]\n"
      "alltoall split=0 concat=1 groups=[1,2]<=[2]\n");
  const Program prime_back = parsed(
      "retile.program/1\nmesh x:2\nfrom [3607{x}7214, 4]\nto [7214, 2{x}4]\n"
      "alltoall split=1 concat=0 groups=[1,2]<=[2]\n");
  for (const Program* program : {&outwards, &inwards, &prime, &prime_back}) {
    std::vector<std::vector<std::byte>> tiles;
    for (Size d = 0; d < program->devices; ++d) tiles.push_back(pattern_tile(program->from, d, 4));
    for (const Size panel : {16, 100, 1000, 4000, 16000, 100'000}) {
      const auto out = run_in_place(*program, tiles, 4, panel);
      for (Size d = 0; d < program->devices; ++d) {
        EXPECT_EQ(find_pattern_mismatch(program->to, d, 4, out[static_cast<std::size_t>(d)]),
                  std::nullopt)
            << to_text(*program) << "panel " << panel;
      }
    }
  }
}

TEST(InPlace, single_bytes_that_change_places_leave_the_marks_alone) {
  const Program program = parsed(
      "retile.program/1\nmesh x:2\nfrom [20000, 2, 1{x}2]\nto [20000, 1{x}2, 2]\n"
      "alltoall split=1 concat=2 groups=[1,2]<=[2]\n");
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto tiles = random_tiles(program, 1, seed);
    const auto expected = sim::run(program, tiles, 1);
    ASSERT_TRUE(expected) << render(expected.error());
    EXPECT_TRUE(run_in_place(program, tiles, 1, default_panel_bytes, 2) == expected->tiles) << seed;
  }
}

TEST(InPlace, a_step_that_marks_as_many_blocks_as_are_left_keeps_its_marks) {
  // Steps of 4096 blocks, which take 512 bytes of marks, and of 4 blocks, which take one. Two of
  // the long steps are left when 1 KiB of marks is.
  const std::string rows = "alltoall split=0 concat=1 groups=[1,2]<=[2]\n";
  const std::string columns = "alltoall split=1 concat=0 groups=[1,2]<=[2]\n";
  const std::string swap = "alltoall split=0 concat=0 groups=[1,2]<=[2]\n";
  std::string text = "retile.program/1\nmesh x:2\nfrom [2048, 128{x}256]\nto [2048, 128{x}256]\n";
  for (Size marked = 1024; marked < cycle_marks_bytes; marked += 1024) {
    text.append(rows).append(columns);
  }
  // The steps of an end undo each other. In the first, `columns` gets exactly what is left. If a
  // step took a byte more than its marks, `rows` of the second would. Another step follows.
  for (const std::string& end :
       {rows + columns + swap + swap, swap + rows + swap + swap + columns + swap}) {
    const Program program = parsed(text + end);
    const auto tiles = random_tiles(program, 4, 1);
    EXPECT_TRUE(run_in_place(program, tiles, 4, default_panel_bytes) == tiles) << end;
  }
}

TEST(InPlace, memory_is_the_largest_tile_and_scratch_the_same_for_all_sizes) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Program program = random_program(seed, 4);
    const InPlace made = in_place_of(program, 4, 0);
    Shape tile = program.from.tile();
    Size largest = program.from.tile_size();
    for (const Step& step : program.steps) {
      tile = *shape_after(step, tile, program.devices);
      largest = std::max(largest, checked_product(tile).value());
    }
    EXPECT_EQ(made.memory_bytes(), largest * 4);
    EXPECT_LE(made.scratch_bytes(), Size{1} << 20);
  }
}

TEST(InPlace, a_broken_team_is_an_error_and_no_wait) {
  const Program program = parsed(test::right_programs().front().text);
  Threads threads(24, 1024);
  threads.run([&](int member, Team& team) {
    InPlace made = in_place_of(program, 4, member);
    if (member == 7) return team.break_team();
    const auto ran = made.run(team);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, Code::team_broken);
  });
}

}  // namespace
}  // namespace retile::team::in_place_test
