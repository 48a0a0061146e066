// Sums between threads, with delays at every step and, for negative controls, without one of the
// waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "exec/adding_programs.h"
#include "exec/team/thread_team.h"
#include "retile/exec/add/order.h"
#include "retile/exec/sim/sim.h"
#include "retile/exec/team/sums_protocol.h"

namespace summing_test {

using retile::DeviceShapes;
using retile::ElementType;
using retile::Program;
using retile::Result;
using retile::Size;
using retile::team::SharedSums;
using retile::team::SumMoment;
using retile::team::SumPlaces;
using retile::team::Team;
using retile::team::TileSums;

/// What is left out.
enum class Flaw { none, no_entry, no_wait };

/// Delays a member now and then; does not wait where a flaw says so, but hears what it would have.
class Watch {
 public:
  Watch(Flaw flaw, std::uint64_t seed) : flaw_(flaw), random_(seed) {}

  void at(SumMoment /*moment*/, Size /*round*/ = 0) {
    if (random_() % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
    }
  }
  [[nodiscard]] Result<void> tell(Team& team, std::uint64_t word) {
    // The first time all hear that all is well, which they then go on to believe.
    if (flaw_ == Flaw::no_entry && told_) return {};
    told_ = true;
    return team.tell(word);
  }
  [[nodiscard]] Result<void> wait(Team& team, Size /*round*/) {
    return flaw_ == Flaw::no_wait ? Result<void>() : team.barrier();
  }

 private:
  Flaw flaw_;
  std::mt19937_64 random_;
  bool told_ = false;
};

/// A Program with the tiles of its runs, each of which has other elements.
struct Problem {
  Program program;
  ElementType type;
  std::vector<DeviceShapes> shapes;
  retile::add::Sums sums;
  std::vector<retile::sim::Tiles> before, wanted;  // by run

  Problem(Program what, const ElementType& of, int runs) : program(std::move(what)), type(of) {
    shapes = retile::tile_shapes(program, type.bytes).value();
    sums = retile::add::sums_of(program, shapes).value();
    for (int run = 0; run < runs; ++run) {
      retile::sim::Tiles tiles;
      for (Size d = 0; d < program.devices; ++d) {
        auto tile = retile::test::rough_tile(program.from, (d + run) % program.devices, type);
        tile.resize(static_cast<std::size_t>(program.from.tile_size(d) * type.bytes));
        tiles.push_back(std::move(tile));
      }
      before.push_back(tiles);
      wanted.push_back(retile::sim::run(program, std::move(tiles), type).value().tiles);
    }
  }
  [[nodiscard]] TileSums tiles() const {
    return {sums, shapes.front(), shapes.back(), type.bytes,
            retile::add::adder_of(program, type).value()};
  }
  [[nodiscard]] int members() const { return static_cast<int>(program.devices); }
};

struct Outcome {
  Size wrong = 0;  ///< bytes
  std::string error;
  [[nodiscard]] bool good() const { return wrong == 0 && error.empty(); }
};

/// \param slots_bytes  0: tiles lie in shared memory
inline Outcome run_problem(const Problem& it, Size slots_bytes, Flaw flaw = Flaw::none,
                           std::uint64_t seed = 0) {
  const auto rounded = [](Size bytes) { return (bytes + 63) / 64 * 64; };
  const Size in_most = rounded(it.program.from.tile_size() * it.type.bytes);
  const Size out_most = rounded(it.program.to.tile_size() * it.type.bytes);
  SumPlaces places;
  if (slots_bytes == 0) places.out_offset = in_most;
  places.slots_bytes = std::max(slots_bytes, SharedSums::least_slots_bytes(it.tiles()));
  const Size memory_bytes = slots_bytes == 0 ? in_most + out_most : places.slots_bytes;
  std::vector<Size> wrong(static_cast<std::size_t>(it.members()), 0);
  const auto outcomes =
      retile::team::run_threads(it.members(), memory_bytes, [&](Team& team) -> Result<void> {
        const auto self = static_cast<std::size_t>(team.member());
        SharedSums sums(team, it.tiles(), places);
        if (sums.held_bytes() > SharedSums::bound_bytes(it.tiles(), places)) wrong[self] += 1000;
        Watch watch(flaw, seed * 100 + self);
        std::vector<std::byte> own_in(it.before[0][self].size());
        std::vector<std::byte> own_out(it.wanted[0][self].size());
        std::span<std::byte> in = own_in;
        std::span<std::byte> out = own_out;
        if (slots_bytes == 0) {
          in = team.memory(team.member()).first(in.size());
          out = team.memory(team.member()).subspan(static_cast<std::size_t>(in_most), out.size());
        }
        for (std::size_t run = 0; run < it.before.size(); ++run) {
          std::copy(it.before[run][self].begin(), it.before[run][self].end(), in.begin());
          std::fill(out.begin(), out.end(), std::byte{0xee});
          auto done = seed == 0 ? sums.run(in, out) : sums.run(in, out, watch);
          if (!done) return done;
          for (std::size_t i = 0; i < out.size(); ++i) {
            wrong[self] += out[i] != it.wanted[run][self][i] ? 1 : 0;
          }
          // Whoever returns has all it needs, and nobody reads what it had.
          std::fill(in.begin(), in.end(), std::byte{0x11});
        }
        return {};
      });
  Outcome out;
  for (const Size bytes : wrong) out.wrong += bytes;
  for (const auto& outcome : outcomes) {
    if (!outcome) out.error = retile::render(outcome.error());
  }
  return out;
}

/// An all-reduce of so many elements on 4 members, in two steps of which pieces are not alike.
inline Program pieces_of(Size elements) {
  const std::string n = std::to_string(elements);
  return retile::test::parsed(
      "retile.program/2\nmesh x:4\nfrom sum{x}[" + n + "]\nto [" + n +
      "]\nreducescatter dim=0 groups=[[2,0,1,3]] piece=" + std::to_string((elements + 3) / 4) +
      "\nallgather dim=0 groups=[[2,0,1,3]]\n");
}

}  // namespace summing_test
