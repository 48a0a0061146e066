// All steps of a Program as sums of what is there at the start: made in one pass, and in rounds, they
// are the bytes that the simulator makes step by step.
#include "retile/exec/add/sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "exec/adding_programs.h"
#include "retile/core/element_type.h"
#include "retile/exec/add/order.h"
#include "retile/exec/add/rounds.h"
#include "retile/exec/add/shares.h"
#include "retile/exec/add/sum_pass.h"
#include "retile/exec/sim/sim.h"

namespace retile::test::sums_test {
namespace {

using Tile = std::vector<std::byte>;

/// Everything about one Program and one type.
struct Sample {
  Program program;
  ElementType type;
  std::vector<DeviceShapes> shapes;
  std::optional<add::Adder> adder;
  add::Sums sums;
  sim::Tiles before;
  sim::Tiles wanted;

  Sample(Program what, const ElementType& of) : program(std::move(what)), type(of) {
    shapes = tile_shapes(program, type.bytes).value();
    adder = add::adder_of(program, type).value();
    auto made = add::sums_of(program, shapes);
    EXPECT_TRUE(made) << render(made.error());
    sums = std::move(*made);
    for (Size d = 0; d < program.devices; ++d) {
      before.push_back(rough_tile(program.from, d, type));
    }
    auto outcome = sim::run(program, before, type);
    EXPECT_TRUE(outcome) << render(outcome.error());
    wanted = std::move(outcome->tiles);
  }

  [[nodiscard]] sim::Tiles outputs() const {
    sim::Tiles out;
    for (const Tile& tile : wanted) out.emplace_back(tile.size(), std::byte{0xee});
    return out;
  }
};

sim::Tiles in_one_pass(const Sample& it, bool streams) {
  sim::Tiles out = it.outputs();
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> targets;
  for (const Tile& tile : it.before) sources.push_back(tile.data());
  for (Tile& tile : out) targets.push_back(tile.data());
  const auto shares = add::shares_of(it.sums, it.type.bytes);
  for (const auto& own : shares) {
    add::SumPass pass(it.sums, own, it.shapes.front(), it.shapes.back(), it.type.bytes, it.adder,
                      streams);
    pass.run(sources, targets);
    EXPECT_LE(pass.held_bytes(), add::SumPass::bound_bytes(it.sums, own, it.program.from.rank()));
  }
  return out;
}

sim::Tiles in_rounds(const Sample& it, Size window) {
  sim::Tiles out = it.outputs();
  const add::Rounds rounds(it.sums, it.type.bytes);
  const add::RoundSizes sizes = rounds.sizes(window);
  const auto devices = static_cast<int>(it.program.devices);
  std::vector<add::RoundsOf> processes;
  for (int p = 0; p < devices; ++p) {
    processes.emplace_back(p, it.sums, rounds, sizes, it.shapes.front(), it.shapes.back(),
                           it.type.bytes, it.adder);
    EXPECT_LE(processes.back().held_bytes(), rounds.bound_bytes(it.sums, it.program.from.rank()));
  }
  const Size window_bytes = sizes.window * it.type.bytes;
  for (Size round = 0; round < sizes.rounds; ++round) {
    for (int owner = 0; owner < devices; ++owner) {
      std::vector<Tile> parcels;
      std::vector<const std::byte*> places;
      for (int source = 0; source < devices; ++source) {
        auto& from = processes[static_cast<std::size_t>(source)];
        parcels.emplace_back(static_cast<std::size_t>(sizes.parcels * window_bytes));
        const Size packed =
            from.pack(round, owner, it.before[static_cast<std::size_t>(source)].data(),
                      parcels.back().data());
        EXPECT_LE(packed, sizes.parcels * window_bytes);
        EXPECT_EQ(packed, from.sent_bytes(round, owner));
        EXPECT_EQ(packed, processes[static_cast<std::size_t>(owner)].received_bytes(round, source));
      }
      for (const Tile& parcel : parcels) places.push_back(parcel.data());
      Tile sums(static_cast<std::size_t>(window_bytes), std::byte{0xdd});
      processes[static_cast<std::size_t>(owner)].make(round, places, sums.data());
      for (int target = 0; target < devices; ++target) {
        auto& to = processes[static_cast<std::size_t>(target)];
        const auto given = processes[static_cast<std::size_t>(owner)].given(round, target);
        const auto taken = to.taken(round, owner);
        EXPECT_EQ(given.begin, taken.begin);
        EXPECT_EQ(given.end, taken.end);
        // Nothing else comes with a message.
        Tile came(sums.size(), std::byte{0xcc});
        std::copy(sums.begin() + given.begin, sums.begin() + given.end, came.begin() + given.begin);
        to.take(round, owner, came.data(), out[static_cast<std::size_t>(target)].data());
      }
    }
  }
  return out;
}

void hold_both(const Sample& it) {
  EXPECT_EQ(in_one_pass(it, false), it.wanted);
  EXPECT_EQ(in_one_pass(it, true), it.wanted);
  for (const Size window : {1, 3, 1000}) EXPECT_EQ(in_rounds(it, window), it.wanted) << window;
}

std::string step_of(const std::vector<add::Term>& terms) {
  std::string out;
  for (const add::Term& term : terms) {
    out += !out.empty() ? " " : "";
    out += term.device == add::Term::plus ? "+"
           : term.device == add::Term::neutral
               ? "0"
               : std::to_string(term.device) + ":" + std::to_string(term.element);
  }
  return out;
}

add::Sums sums_of(const std::string& text) {
  const Program program = parsed("retile.program/2\n" + text);
  return add::sums_of(program, tile_shapes(program, 4).value()).value();
}

TEST(Sums, are_written_as_the_steps_make_them) {
  const add::Sums sums = sums_of(
      "mesh x:2,y:2\nfrom sum{x,y}[4]\nto [4]\nallreduce groups=[[2,0],[1,3]] map=sum{y}[4]\n"
      "allreduce groups=[[0,1],[3,2]]\n");
  // Of one rank are 0 and 2, whose sums are made of 0 and 1 in that order.
  ASSERT_EQ(sums.boxes.size(), 1U);
  EXPECT_EQ(step_of(sums.boxes[0].terms), "0:0 2:0 + 1:0 3:0 + +");
  ASSERT_EQ(sums.boxes[0].targets.size(), 4U);
}

TEST(Sums, of_pieces_side_by_side_are_one_again) {
  const add::Sums sums = sums_of(
      "mesh x:4\nfrom sum{x}[8, 3]\nto [8, 3]\nreducescatter dim=0 groups=[1,4]<=[4]\n"
      "allgather dim=0 groups=[1,4]<=[4]\n");
  ASSERT_EQ(sums.boxes.size(), 1U);
  EXPECT_EQ(sums.boxes[0].shape, (Shape{8, 3}));
  EXPECT_EQ(step_of(sums.boxes[0].terms), "0:0 1:0 + 2:0 + 3:0 +");
  EXPECT_EQ(sums.boxes[0].targets.size(), 4U);
}

TEST(Sums, of_an_exchange_begin_with_zero) {
  const add::Sums sums = sums_of(
      "mesh x:2\nfrom sum{x}[2]\nto [1{x}2]\n"
      "exchange transfers=[[0,1,0,0,1],[0,0,0,0,1],[1,1,0,1,1],[1,0,0,1,1]] add=sum tile=[1]\n");
  ASSERT_EQ(sums.boxes.size(), 2U);
  EXPECT_EQ(step_of(sums.boxes[0].terms), "0 0:0 + 1:0 +");
  EXPECT_EQ(step_of(sums.boxes[1].terms), "0 0:1 + 1:1 +");
}

TEST(Sums, need_no_more_bytes_than_they_may) {
  const Program program =
      parsed("retile.program/2\nmesh x:4\nfrom sum{x}[8]\nto [8]\nallreduce groups=[1,4]<=[4]\n");
  const auto shapes = tile_shapes(program, 4).value();
  const auto made = add::sums_of(program, shapes);
  ASSERT_TRUE(made);
  EXPECT_GT(made->making_bytes, 0);
  const auto refused = add::sums_of(program, shapes, 500);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit_reached);
}

TEST(Sums, are_shared_out_in_lines_to_those_who_need_them) {
  add::Sums sums;
  sums.devices = 4;
  sums.boxes.push_back({{10, 10}, {{0, 0}}, {{1, 0}, {2, 0}, {3, 0}}});
  const auto shares = add::shares_of(sums, 4);
  ASSERT_EQ(shares.size(), 4U);
  EXPECT_TRUE(shares[0].empty());
  std::vector<Size> cuts;
  for (std::size_t p = 1; p < 4; ++p) {
    ASSERT_EQ(shares[p].size(), 1U);
    cuts.push_back(shares[p][0].begin);
    cuts.push_back(shares[p][0].end);
  }
  EXPECT_EQ(cuts, (std::vector<Size>{0, 48, 48, 80, 80, 100}));
}

TEST(Sums, of_all_programs_are_those_of_the_simulator) {
  for (const NamedProgram& named : adding_programs()) {
    SCOPED_TRACE(named.name);
    for (const Addition addition : additions) {
      const bool is_sum = addition == Addition::sum;
      const ElementType type = is_sum ? ElementType{} : ElementType{ElementKind::brain_floating, 2};
      hold_both({adding_program(named.text, addition), type});
    }
  }
}

TEST(Sums, of_all_element_types_are_those_of_the_simulator) {
  for (const char* const name : {"in_two_steps", "a5_in_halves", "an_exchange"}) {
    const auto found = std::find_if(adding_programs().begin(), adding_programs().end(),
                                    [&](const NamedProgram& named) { return named.name == name; });
    ASSERT_NE(found, adding_programs().end());
    for (const Addition addition : additions) {
      for (const NamedElementType& type : named_element_types()) {
        if (!can_add(addition, type.type)) continue;
        SCOPED_TRACE(testing::Message() << name << name_of(addition) << type.name);
        hold_both({adding_program(found->text, addition), type.type});
      }
    }
  }
}

/// Tiles of more than a block, in long and short runs, of pieces that are not alike.
TEST(Sums, of_large_tiles_are_those_of_the_simulator) {
  for (const char* const steps :
       {"from sum{x}[101, 70]\nto [101, 70]\nreducescatter dim=1 groups=[[1,0,3,2]] piece=18\n"
        "allgather dim=1 groups=[[1,0,3,2]]\n",
        "from sum{x}[5, 3001]\nto [5, 751{x}3001]\n"
        "reducescatter dim=1 groups=[1,4]<=[4] piece=751\n",
        "from sum{x}[9001]\nto [2251{x}9001]\nreducescatter dim=0 groups=[1,4]<=[4] piece=2251\n",
        "from sum{x}[1, 40, 3, 30]\nto [1, 40, 1{x}3, 30]\n"
        "reducescatter dim=2 groups=[1,4]<=[4] piece=1\n",
        "from sum{x}[9001]\nto [9001]\nallreduce groups=[1,4]<=[4]\n"}) {
    SCOPED_TRACE(steps);
    const Program program = parsed(std::string("retile.program/2\nmesh x:4\n") + steps);
    const Sample f32(program, {});
    EXPECT_EQ(in_one_pass(f32, false), f32.wanted);
    EXPECT_EQ(in_one_pass(f32, true), f32.wanted);
    EXPECT_EQ(in_rounds(f32, 999), f32.wanted);
    const Sample f64(program, {ElementKind::floating, 8});
    EXPECT_EQ(in_one_pass(f64, true), f64.wanted);
    EXPECT_EQ(in_rounds(f64, 4096), f64.wanted);
  }
}

/// Boxes in regular steps between two devices, as where all sums go to one: each is begun by its number.
TEST(Sums, of_boxes_in_regular_steps_are_those_of_the_simulator) {
  const Sample to_root(
      parsed(
          "retile.program/2\nmesh x:2,y:2,z:2\nfrom sum{z}[2{x}4, 3{y}6]\nto [4, 6]@0\n"
          "exchange transfers=[[0,0,0,0,0,0,2,3],[0,2,0,3,0,0,2,3],[0,4,2,0,0,0,2,3],"
          "[0,6,2,3,0,0,2,3],[0,1,0,0,0,0,2,3],[0,3,0,3,0,0,2,3],[0,5,2,0,0,0,2,3],"
          "[0,7,2,3,0,0,2,3]] add=sum shapes=[[4,6],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]\n"),
      {});
  EXPECT_EQ(to_root.sums.boxes.size(), 4U);
  hold_both(to_root);
  // Every second element.
  std::string transfers;
  for (int d = 0; d < 4; ++d) {
    for (int k = 0; k < 4; ++k) {
      transfers += std::string(transfers.empty() ? "" : ",") + "[0," + std::to_string(d) + "," +
                   std::to_string(2 * k + d / 2) + "," + std::to_string(k) + ",1]";
    }
  }
  const Sample cyclic(parsed("retile.program/2\nmesh x:2,z:2\nfrom sum{z}[1@{x}8]\nto [8]@0\n"
                             "exchange transfers=[" +
                             transfers + "] add=sum shapes=[[8],[0],[0],[0]]\n"),
                      {});
  EXPECT_EQ(cyclic.sums.boxes.size(), 8U);
  hold_both(cyclic);
}

/// Halves that change places lie side by side again, but not what they add.
TEST(Sums, of_halves_that_changed_places_stay_apart) {
  const Sample it(parsed("retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto [4]\n"
                         "exchange transfers=[[0,0,0,2,2],[0,0,2,0,2],[1,1,0,2,2],[1,1,2,0,2]] "
                         "tile=[4]\nallreduce groups=[[0,1]]\n"),
                  {});
  EXPECT_EQ(it.sums.boxes.size(), 2U);
  hold_both(it);
}

/// What nothing adds is moved, whatever it is: also arrays that stay apart.
TEST(Sums, of_one_addend_are_that_addend) {
  const Sample it(parsed("retile.program/2\nmesh x:2,y:2\nfrom stack{x}[6]\nto stack{y}[6]\n"
                         "allpermute source=[0,2,1,3]\n"),
                  {});
  EXPECT_FALSE(it.adder.has_value());
  hold_both(it);
}

TEST(Sums, are_received_once) {
  const auto received = [](const std::string& text) {
    const add::Sums sums = sums_of(text);
    std::vector<Size> out;
    for (Size p = 0; p < sums.devices; ++p) out.push_back(add::received_bytes(sums, p, 4));
    return out;
  };
  EXPECT_EQ(received("mesh x:2\nfrom sum{x}[64]\nto [32{x}64]\n"
                     "reducescatter dim=0 groups=[1,2]<=[2]\n"),
            (std::vector<Size>{128, 128}));
  // Half of the addends, and half of the sums.
  EXPECT_EQ(received("mesh x:2\nfrom sum{x}[64]\nto [64]\nallreduce groups=[1,2]<=[2]\n"),
            (std::vector<Size>{256, 256}));
}

}  // namespace
}  // namespace retile::test::sums_test
