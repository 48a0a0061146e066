// Every step on real processes: the same bytes as the simulator's, and what the target tile must
// hold.
#include "retile/exec/mpi/redistribute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "exec/allocations.h"
#include "exec/mpi/processes.h"
#include "exec/programs.h"
#include "retile/exec/sim/sim.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Redistributor;
using test::element_sizes;
using test::parsed;
using test::pattern_tile;

using test::allocations;

using Bytes = std::vector<std::byte>;

const Options one_element_at_a_time{.chunk_bytes = 1, .message_bytes = 1};
// No multiple of anything, so that rounds end in the middle of segments.
const Options odd_sizes{.chunk_bytes = 1000, .message_bytes = 777};
const Options nothing_straight{.chunk_bytes = Size{1} << 16, .message_bytes = 1};

/// What every device holds at the end by the simulator, from generated tiles.
sim::Tiles simulated(const Program& program, Size element_bytes) {
  sim::Tiles tiles;
  for (Size device = 0; device < program.devices; ++device) {
    tiles.push_back(pattern_tile(program.from, device, element_bytes));
  }
  auto outcome = sim::run(program, std::move(tiles), element_bytes);
  EXPECT_TRUE(outcome) << render(outcome.error());
  return outcome ? outcome->tiles : sim::Tiles(static_cast<std::size_t>(program.devices));
}

/// Runs `program` on `comm` and compares with the simulator; returns this process's tile.
Bytes run_and_compare(MPI_Comm comm, const Program& program, Size element_bytes,
                      const Options& options) {
  const auto device = static_cast<std::size_t>(test::process_of(comm));
  const Bytes in = pattern_tile(program.from, test::process_of(comm), element_bytes);
  Bytes out(static_cast<std::size_t>(program.to.tile_size() * element_bytes), std::byte{0xee});
  auto redistributor = Redistributor::make(comm, program, element_bytes, options);
  if (!redistributor) {
    ADD_FAILURE() << render(redistributor.error());
    return out;
  }
  EXPECT_EQ(redistributor->in_bytes(), static_cast<Size>(in.size()));
  EXPECT_EQ(redistributor->out_bytes(), static_cast<Size>(out.size()));
  const Bytes before = in;
  const auto done = redistributor->run(in, out);
  EXPECT_TRUE(done) << render(done.error());
  EXPECT_EQ(in, before);
  EXPECT_EQ(out, simulated(program, element_bytes)[device]);
  EXPECT_LE(redistributor->peak_bytes(), redistributor->peak_limit_bytes());
  EXPECT_GE(redistributor->peak_bytes(), static_cast<Size>(in.size() + out.size()));
  return out;
}

TEST(Redistribute, right_programs_bring_every_element_to_its_place) {
  int run = 0;
  for (const auto& named : test::right_programs()) {
    const Program program = parsed(named.text);
    const int processes = test::processes_of(MPI_COMM_WORLD);
    // Those made for this number of processes, and on 8 also the smaller ones, on a communicator of
    // their own.
    if (program.devices != processes && (processes != 8 || program.devices > processes)) continue;
    SCOPED_TRACE(std::string(named.name));
    ++run;
    const MPI_Comm comm = test::first_processes(program.devices);
    if (comm == MPI_COMM_NULL) continue;
    for (const Size element_bytes : element_sizes) {
      for (const Options& options :
           {Options{}, one_element_at_a_time, odd_sizes, nothing_straight}) {
        const Bytes out = run_and_compare(comm, program, element_bytes, options);
        EXPECT_EQ(find_pattern_mismatch(program.to, test::process_of(comm), element_bytes, out),
                  std::nullopt);
      }
    }
    MPI_Comm handle = comm;
    MPI_Comm_free(&handle);
  }
  EXPECT_GE(run, 1);
}

TEST(Redistribute, random_steps_do_what_the_simulator_does) {
  const Size processes = test::processes_of(MPI_COMM_WORLD);
  const std::uint64_t seeds = processes > 8 ? 12 : 60;
  int gathers = 0;
  int exchanges = 0;
  int permutations = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Program program = test::random_program(seed, processes);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(program));
    for (const Step& step : program.steps) {
      gathers += std::holds_alternative<Allgather>(step.op) ? 1 : 0;
      exchanges += std::holds_alternative<Alltoall>(step.op) ? 1 : 0;
      permutations += std::holds_alternative<Allpermute>(step.op) ? 1 : 0;
    }
    const Size element_bytes = element_sizes[seed % 5];
    const Options options = seed % 3 == 0   ? Options{}
                            : seed % 3 == 1 ? odd_sizes
                                            : nothing_straight;
    run_and_compare(MPI_COMM_WORLD, program, element_bytes, options);
  }
  EXPECT_GT(std::min({gathers, exchanges, permutations}), 0);
}

/// A Program for any number of processes that uses every collective and leaves its data where it
/// was.
Program round_trip(Size processes) {
  const std::string d = std::to_string(processes);
  std::string rows;
  for (Size p = 0; p < processes; ++p)
    rows += (p == 0 ? "" : ",") + std::to_string((p + 1) % processes);
  return parsed(
      "retile.program/1\nmesh d:" + d + "\nfrom [4{d}" + std::to_string(4 * processes) + ", " +
      std::to_string(3 * processes) + "]\nto tile=[4," + std::to_string(3 * processes) +
      "] global=[" + std::to_string(4 * processes) + "," + std::to_string(3 * processes) + "] at=" +
      [&] {
        std::string at = "[";
        for (Size p = 0; p < processes; ++p) {
          at += (p == 0 ? "[" : ",[") + std::to_string((p + 1) % processes * 4) + ",0]";
        }
        return at + "]";
      }() +
      "\nalltoall split=1 concat=0 groups=[1," + d + "]<=[" + d + "]\nallpermute source=[" + rows +
      "]\nallgather dim=1 groups=[1," + d + "]<=[" + d + "]\nallpermute source=[" + rows +
      "]\ndynslice dim=0 groups=[1," + d + "]<=[" + d + "]\n");
}

TEST(Redistribute, repeated_runs_allocate_nothing_and_give_the_same) {
  const Size processes = test::processes_of(MPI_COMM_WORLD);
  const Program program = round_trip(processes);
  for (const Options& options : {Options{}, odd_sizes}) {
    const std::size_t before_make = allocations();
    auto redistributor = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    ASSERT_TRUE(redistributor) << render(redistributor.error());
    EXPECT_GT(allocations(), before_make);  // the counter counts
    const Bytes in = pattern_tile(program.from, test::process_of(MPI_COMM_WORLD), 4);
    Bytes out(static_cast<std::size_t>(redistributor->out_bytes()));
    ASSERT_TRUE(redistributor->run(in, out));
    const Bytes first = out;
    const Size peak = redistributor->peak_bytes();
    const std::size_t before = allocations();
    bool good = true;
    for (int repetition = 0; repetition < 5; ++repetition) {
      std::fill(out.begin(), out.end(), std::byte{0});
      good = good && redistributor->run(in, out).has_value() && out == first;
    }
    EXPECT_EQ(allocations(), before);
    EXPECT_TRUE(good);
    EXPECT_EQ(redistributor->peak_bytes(), peak);
    EXPECT_LE(peak, redistributor->peak_limit_bytes());
  }
}

TEST(Redistribute, the_peak_limit_is_the_stated_formula) {
  const Size processes = test::processes_of(MPI_COMM_WORLD);
  const Program program = round_trip(processes);
  const auto redistributor = Redistributor::make(MPI_COMM_WORLD, program, 2, odd_sizes);
  ASSERT_TRUE(redistributor);
  const Size end = 4 * 3 * processes * 2;
  const Size between =
      end * processes;  // after the allgather; larger than `out` but on one process
  EXPECT_EQ(redistributor->peak_limit_bytes(), end + end + between + (processes > 1 ? between : 0) +
                                                   std::max<Size>(1000, 2 * processes * 2));
}

TEST(Redistribute, counts_what_it_receives) {
  const Size processes = test::processes_of(MPI_COMM_WORLD);
  const Program program = round_trip(processes);
  const auto redistributor = Redistributor::make(MPI_COMM_WORLD, program, 8);
  ASSERT_TRUE(redistributor);
  const Size tile = 4 * 3 * processes * 8;
  const Size want = processes == 1 ? 0
                                   : tile / processes * (processes - 1)  // alltoall
                                         + tile                          // allpermute
                                         + tile * (processes - 1)        // allgather
                                         + tile * processes;  // allpermute of what was gathered
  EXPECT_EQ(redistributor->received_bytes(), want);
}

TEST(Redistribute, in_one_call) {
  const Program program = round_trip(test::processes_of(MPI_COMM_WORLD));
  const int device = test::process_of(MPI_COMM_WORLD);
  const Bytes in = pattern_tile(program.from, device, 4);
  Bytes out(static_cast<std::size_t>(program.to.tile_size() * 4));
  const auto done = mpi::redistribute(MPI_COMM_WORLD, program, in, out, 4);
  ASSERT_TRUE(done) << render(done.error());
  EXPECT_EQ(out, simulated(program, 4)[static_cast<std::size_t>(device)]);
}

TEST(Redistribute, its_messages_meet_no_others) {
  // A receive that takes anything is open on the caller's communicator all the while.
  const int processes = test::processes_of(MPI_COMM_WORLD);
  const int device = test::process_of(MPI_COMM_WORLD);
  int caught = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&caught, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  const Program program = round_trip(processes);
  run_and_compare(MPI_COMM_WORLD, program, 4, {});
  const int mine = device;
  MPI_Send(&mine, 1, MPI_INT, (device + 1) % processes, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(caught, (device + processes - 1) % processes);
}

TEST(Redistribute, two_objects_live_side_by_side_and_can_be_moved) {
  const Size processes = test::processes_of(MPI_COMM_WORLD);
  const Program program = round_trip(processes);
  auto first = Redistributor::make(MPI_COMM_WORLD, program, 4);
  auto second = Redistributor::make(MPI_COMM_WORLD, program, 8, odd_sizes);
  ASSERT_TRUE(first && second);
  Redistributor moved = std::move(*first);
  const int device = test::process_of(MPI_COMM_WORLD);
  Bytes out4(static_cast<std::size_t>(moved.out_bytes()));
  Bytes out8(static_cast<std::size_t>(second->out_bytes()));
  ASSERT_TRUE(moved.run(pattern_tile(program.from, device, 4), out4));
  ASSERT_TRUE(second->run(pattern_tile(program.from, device, 8), out8));
  EXPECT_EQ(out4, simulated(program, 4)[static_cast<std::size_t>(device)]);
  EXPECT_EQ(out8, simulated(program, 8)[static_cast<std::size_t>(device)]);
}

// The comparison itself must be able to fail, for every element size: two tiles, then two elements
// change places behind its back.
TEST(Redistribute, exchanged_tiles_are_caught) {
  const int processes = test::processes_of(MPI_COMM_WORLD);
  if (processes == 1) GTEST_SKIP() << "one process has no tile to exchange";
  const int device = test::process_of(MPI_COMM_WORLD);
  const Program program =
      parsed("retile.program/1\nmesh d:" + std::to_string(processes) + "\nfrom [2{d}" +
             std::to_string(2 * processes) + ", " + std::to_string(6 * processes) + "]\nto [" +
             std::to_string(2 * processes) + ", 6{d}" + std::to_string(6 * processes) +
             "]\nalltoall split=1 concat=0 groups=[1," + std::to_string(processes) + "]<=[" +
             std::to_string(processes) + "]\n");
  for (const Size element_bytes : element_sizes) {
    Bytes out = run_and_compare(MPI_COMM_WORLD, program, element_bytes, {});
    EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, out), std::nullopt);
    Bytes exchanged = out;
    if (device < 2) {
      MPI_Sendrecv_replace(exchanged.data(), static_cast<int>(exchanged.size()), MPI_BYTE,
                           1 - device, 0, 1 - device, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, exchanged).has_value(),
              device < 2);

    // Two elements that differ in every size: of one byte each, some neighbours are equal.
    const auto width = static_cast<std::size_t>(element_bytes);
    std::size_t other = 1;
    while (std::memcmp(out.data(), out.data() + other * width, width) == 0) ++other;
    std::swap_ranges(out.begin(), out.begin() + element_bytes,
                     out.begin() + static_cast<std::ptrdiff_t>(other * width));
    EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, out), 0);
  }
}

}  // namespace
}  // namespace retile
