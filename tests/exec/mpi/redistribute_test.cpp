// Every step on real processes: the same bytes as the simulator's, and what the target tile must
// hold.
#include "retile/exec/mpi/redistribute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "exec/allocations.h"
#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/sim/sim.h"
#include "retile/exec/team/memory.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Partition;
using mpi::Redistributor;
using mpi::Strategy;
using mpi::WrongBuffers;
using test::allocations;
using test::by_messages;
using test::Bytes;
using test::element_sizes;
using test::on_one_node;
using test::parsed;
using test::pattern_tile;
using test::rows_to_columns;

constexpr Strategy steps = Strategy::collectives;
const Options by_steps{.strategy = steps};
const Options one_element_at_a_time{.chunk_bytes = 1, .message_bytes = 1, .strategy = steps};
// No multiple of anything, so that rounds end in the middle of segments.
const Options odd_sizes{.chunk_bytes = 1000, .message_bytes = 777, .strategy = steps};
const Options nothing_straight{.chunk_bytes = Size{1} << 16, .message_bytes = 1, .strategy = steps};

/// One way to move, and blocks of processes that are taken for nodes.
struct Way {
  Options options;
  Size block = 0;
  [[nodiscard]] std::string name() const {
    const std::string of = options.strategy != Strategy::exchange     ? ""
                           : options.partition == Partition::one_node ? " on one node"
                           : options.partition == Partition::apart    ? " by messages"
                                                                      : " over nodes";
    return std::string(strategy_name(options.strategy)) + of;
  }
};

/// Every way, with the caller's buffers and with its own.
std::vector<Way> all_ways(const Options& sizes) {
  std::vector<Way> all;
  for (const bool own : {false, true}) {
    Options options = sizes;
    options.own_buffers = own;
    options.strategy = Strategy::collectives;
    all.push_back({options});
    all.push_back({on_one_node(options)});
    all.push_back({by_messages(options)});
    all.push_back({test::over_nodes(options), 2});
    options.strategy = Strategy::in_place;
    if (own) all.push_back({options});
  }
  return all;
}

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

/// Runs `program` on `comm` twice and compares with the simulator; returns this process's tile.
Bytes run_and_compare(MPI_Comm comm, const Program& program, Size element_bytes, const Way& way) {
  const Options& options = way.options;
  const test::Blocks blocks(way.block);
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
  const bool in_place = options.strategy == Strategy::in_place;
  const auto expected = simulated(program, element_bytes)[device];
  for (int time = 0; time < 2; ++time) {
    if (options.own_buffers) {
      const auto input = redistributor->input();
      const auto output = redistributor->output();
      EXPECT_EQ(input.size(), in.size());
      EXPECT_EQ(output.size(), out.size());
      EXPECT_EQ(input.data() == output.data(), in_place);
      if (!in_place) std::fill(output.begin(), output.end(), std::byte{0xee});
      std::copy(in.begin(), in.end(), input.begin());
      const auto done = redistributor->run();
      EXPECT_TRUE(done) << render(done.error());
      if (!in_place) {
        EXPECT_TRUE(std::equal(in.begin(), in.end(), input.begin()));
      }
      out.assign(output.begin(), output.end());
    } else {
      const Bytes before = in;
      const auto done = redistributor->run(in, out);
      EXPECT_TRUE(done) << render(done.error());
      EXPECT_EQ(in, before);
    }
    EXPECT_EQ(out, expected);
  }
  EXPECT_LE(redistributor->peak_bytes(), redistributor->peak_limit_bytes())
      << strategy_name(redistributor->strategy());
  const std::size_t tiles = in_place ? std::max(in.size(), out.size()) : in.size() + out.size();
  EXPECT_GE(redistributor->peak_bytes(), static_cast<Size>(tiles));
  if (options.strategy != Strategy::automatic) {
    EXPECT_EQ(redistributor->strategy(), options.strategy);
  }
  return out;
}

TEST(Redistribute, right_programs_bring_every_element_to_its_place) {
  int run = 0;
  for (const auto& named : test::right_programs()) {
    const Program program = parsed(named.text);
    const int processes = test::processes();
    // Those made for this number of processes, and on 8 also the smaller ones, on a communicator of
    // their own.
    if (program.devices != processes && (processes != 8 || program.devices > processes)) continue;
    SCOPED_TRACE(std::string(named.name));
    ++run;
    const MPI_Comm comm = test::first_processes(program.devices);
    if (comm == MPI_COMM_NULL) continue;
    for (const Size element_bytes : element_sizes) {
      std::vector<Way> all{Way{}};
      for (const Options& sizes : {by_steps, one_element_at_a_time, odd_sizes, nothing_straight}) {
        // Element by element takes long; once is enough.
        if (sizes.chunk_bytes == 1 && element_bytes != 2) continue;
        for (const Way& way : all_ways(sizes)) all.push_back(way);
      }
      for (const Way& way : all) {
        SCOPED_TRACE(way.name());
        const Bytes out = run_and_compare(comm, program, element_bytes, way);
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
  const Size processes = test::processes();
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
    const Options options = seed % 3 == 0 ? by_steps : seed % 3 == 1 ? odd_sizes : nothing_straight;
    run_and_compare(MPI_COMM_WORLD, program, element_bytes, {options});
    // The other one that does the steps and not what the ends say.
    run_and_compare(MPI_COMM_WORLD, program, element_bytes,
                    {{.strategy = Strategy::in_place, .own_buffers = true}});
  }
  EXPECT_GT(std::min({gathers, exchanges, permutations}), 0);
}

/// A Program for any number of processes that uses every collective and says something wrong about
/// where it leaves its data: by steps, executors do the same with it.
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
  const Size processes = test::processes();
  const Program program = round_trip(processes);
  for (const Way& way : all_ways(odd_sizes)) {
    SCOPED_TRACE(way.name());
    const Options& options = way.options;
    const test::Blocks blocks(way.block);
    const std::size_t before_make = allocations();
    auto redistributor = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    ASSERT_TRUE(redistributor) << render(redistributor.error());
    EXPECT_GT(allocations(), before_make);  // the counter counts
    const Bytes in = pattern_tile(program.from, test::process(), 4);
    Bytes own(options.own_buffers ? 0 : static_cast<std::size_t>(redistributor->out_bytes()));
    const auto out = options.own_buffers ? redistributor->output() : std::span<std::byte>(own);
    const auto run = [&] {
      if (!options.own_buffers) return redistributor->run(in, out);
      std::copy(in.begin(), in.end(), redistributor->input().begin());
      return redistributor->run();
    };
    ASSERT_TRUE(run());
    const Bytes first(out.begin(), out.end());
    const Size peak = redistributor->peak_bytes();
    const std::size_t before = allocations();
    bool good = true;
    for (int repetition = 0; repetition < 5; ++repetition) {
      std::fill(out.begin(), out.end(), std::byte{0});
      good = good && run().has_value() && std::equal(out.begin(), out.end(), first.begin());
    }
    EXPECT_EQ(allocations(), before);
    EXPECT_TRUE(good);
    EXPECT_EQ(redistributor->peak_bytes(), peak);
    EXPECT_LE(peak, redistributor->peak_limit_bytes());
  }
}

TEST(Redistribute, the_peak_limit_is_the_stated_formula) {
  const Size processes = test::processes();
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
  const Size processes = test::processes();
  const Program program = round_trip(processes);
  const auto redistributor = Redistributor::make(MPI_COMM_WORLD, program, 8, by_steps);
  ASSERT_TRUE(redistributor);
  const Size tile = 4 * 3 * processes * 8;
  const Size want = processes == 1 ? 0
                                   : tile / processes * (processes - 1)  // alltoall
                                         + tile                          // allpermute
                                         + tile * (processes - 1)        // allgather
                                         + tile * processes;  // allpermute of what was gathered
  EXPECT_EQ(redistributor->received_bytes(), want);
  const auto in_place = Redistributor::make(MPI_COMM_WORLD, program, 8,
                                            {.strategy = Strategy::in_place, .own_buffers = true});
  ASSERT_TRUE(in_place) << render(in_place.error());
  EXPECT_EQ(in_place->received_bytes(), want);
  // At once, only the tile of the next process has to come here.
  for (const Options& options : {by_messages(), on_one_node()}) {
    const auto at_once = Redistributor::make(MPI_COMM_WORLD, program, 8, options);
    ASSERT_TRUE(at_once) << render(at_once.error());
    EXPECT_EQ(at_once->received_bytes(), processes == 1 ? 0 : tile);
  }
}

TEST(Redistribute, slots_of_messages_are_as_large_as_they_may_be_and_no_larger) {
  const Program program = rows_to_columns(2, 6);
  const auto limit = [&](Size chunk_bytes, Size message_bytes) {
    const auto made = Redistributor::make(
        MPI_COMM_WORLD, program, 8,
        by_messages({.chunk_bytes = chunk_bytes, .message_bytes = message_bytes}));
    EXPECT_TRUE(made) << render(made.error());
    return made ? made->peak_limit_bytes() : 0;
  };
  constexpr Size most = Size{8} << 20;
  // Two elements are always allowed: one comes while the other goes.
  const Size least = limit(1, 1);
  EXPECT_EQ(limit(2 * 8, most) - least, 0);
  EXPECT_EQ(limit(6 * 8, most) - least, 4 * 8);
  EXPECT_EQ(limit(1 << 16, most) - least, (1 << 16) - 2 * 8);
  EXPECT_EQ(limit(most, most) - least, most - 2 * 8);
  EXPECT_EQ(limit(2 * most, most) - least, most - 2 * 8);
  EXPECT_EQ(limit(most, 1000) - least, 16 * 1000 - 2 * 8);
}

TEST(Redistribute, one_process_gives_all_and_gets_nothing) {
  const Size processes = test::processes();
  const Size elements = 50'001;
  const std::string n = std::to_string(elements);
  Program program = parsed("retile.program/1\nmesh d:" + std::to_string(processes) + "\nfrom [" +
                           n + "]\nto [" + n + "]\n");
  Exchange exchange;
  for (Size target = 0; target < processes; ++target) {
    exchange.transfers.push_back({.target = target,
                                  .source = 0,
                                  .target_start = {0},
                                  .source_start = {0},
                                  .shape = {elements}});
  }
  program.steps = {{exchange, {.tile = program.from.tile(), .map = {}, .at = {}}}};
  // Messages that wait for their receiver, and more of them than slots.
  for (const Way& way : all_ways({.chunk_bytes = Size{1} << 17})) {
    if (way.options.strategy != Strategy::exchange || way.block != 0) continue;
    SCOPED_TRACE(way.name());
    run_and_compare(MPI_COMM_WORLD, program, 8, way);
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 8, way.options);
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(made->received_bytes(), test::process() == 0 ? 0 : elements * 8);
  }
}

TEST(Redistribute, buffers_that_share_their_last_byte_are_refused_on_all_processes) {
  const Program program = rows_to_columns(2, 6);
  for (const Way& way : all_ways({})) {
    if (way.options.own_buffers) continue;
    SCOPED_TRACE(way.name());
    const Options& options = way.options;
    const test::Blocks blocks(way.block);
    auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    ASSERT_TRUE(made) << render(made.error());
    const auto in_bytes = static_cast<std::size_t>(made->in_bytes());
    const auto out_bytes = static_cast<std::size_t>(made->out_bytes());
    Bytes both(in_bytes + out_bytes);
    const std::span<std::byte> all(both);
    const bool last = test::is_last();
    const auto code = [&](std::span<const std::byte> in, std::span<std::byte> out) {
      const auto ran = made->run(in, out);
      return ran ? "moved" : std::string(code_name(ran.error().code));
    };
    EXPECT_EQ(code(all.first(in_bytes), all.subspan(in_bytes - (last ? 1 : 0), out_bytes)),
              "bad_argument");
    EXPECT_EQ(code(all.subspan(out_bytes - (last ? 1 : 0), in_bytes), all.first(out_bytes)),
              "bad_argument");
    EXPECT_EQ(code(all.first(in_bytes), all.last(out_bytes)), "moved");
  }
}

TEST(Redistribute, in_one_call) {
  const Program program = rows_to_columns(2, 6);
  const int device = test::process();
  const Bytes in = pattern_tile(program.from, device, 4);
  Bytes out(static_cast<std::size_t>(program.to.tile_size() * 4));
  const auto done = mpi::redistribute(MPI_COMM_WORLD, program, in, out, 4);
  ASSERT_TRUE(done) << render(done.error());
  EXPECT_EQ(find_pattern_mismatch(program.to, device, 4, out), std::nullopt);
}

TEST(Redistribute, a_process_is_the_device_of_its_number_wherever_that_is_listed) {
  Program program = rows_to_columns(2, 6);
  const Size count = program.devices;
  std::vector<Size> numbers;  // 10, 20, .., 0
  for (Size place = 0; place < count; ++place) numbers.push_back((place + 1) % count * 10);
  program.numbers = DeviceNumbers(numbers);
  const Size place = (test::process() + count - 1) % count;
  const Bytes in = pattern_tile(program.from, place, 4);
  const auto out_bytes = static_cast<std::size_t>(program.to.tile_size(place) * 4);
  Bytes once(out_bytes);
  const auto done = mpi::redistribute(MPI_COMM_WORLD, program, in, once, 4);
  ASSERT_TRUE(done) << render(done.error());
  EXPECT_EQ(find_pattern_mismatch(program.to, place, 4, once), std::nullopt);
  Bytes kept(out_bytes);
  auto made = Redistributor::make(MPI_COMM_WORLD, program, 4);
  ASSERT_TRUE(made) << render(made.error());
  ASSERT_TRUE(made->run(in, kept));
  EXPECT_EQ(once, kept);
}

/// Of this process, in private memory.
Size huge_page_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  const std::string name = "AnonHugePages:";
  for (std::string line; std::getline(rollup, line);) {
    if (line.rfind(name, 0) == 0) return std::stoll(line.substr(name.size())) << 10;
  }
  return 0;
}

/// Whether this kernel makes huge pages of private memory when told to: asked of it directly.
bool huge_pages_can_be_had() {
  constexpr std::size_t huge = std::size_t{2} << 20;
  constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers do not know
  void* const at =
      mmap(nullptr, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  std::memset(at, 1, 2 * huge);
  const auto past = reinterpret_cast<std::uintptr_t>(at) % huge;
  const bool had = madvise(static_cast<std::byte*>(at) + (huge - past) % huge, huge, collapse) == 0;
  munmap(at, 2 * huge);
  return had;
}

TEST(Redistribute, makes_the_callers_pages_huge_only_where_it_is_asked_to) {
  const Program program = rows_to_columns(512, 512 / std::min<Size>(test::processes(), 4));
  const auto made_huge = [&](bool asked) {
    auto made = Redistributor::make(MPI_COMM_WORLD, program, 16, {.huge_pages = asked});
    EXPECT_TRUE(made) << render(made.error());
    const Bytes tile = pattern_tile(program.from, test::process(), 16);
    // Fresh memory with room for a whole huge page: what malloc gives may have been used before.
    const auto bytes = static_cast<std::size_t>(made->out_bytes() + (Size{4} << 20));
    void* const out =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(out, MAP_FAILED);
    const std::span<std::byte> into(static_cast<std::byte*>(out),
                                    static_cast<std::size_t>(made->out_bytes()));
    std::fill(into.begin(), into.end(), std::byte{0xee});
    const Size before = huge_page_bytes();
    for (int time = 0; time < 2; ++time) {
      const auto done = made->run(tile, into);
      EXPECT_TRUE(done) << render(done.error());
      EXPECT_EQ(find_pattern_mismatch(program.to, test::process(), 16, into), std::nullopt);
    }
    const Size grown = huge_page_bytes() - before;
    munmap(out, bytes);
    return grown;
  };
  EXPECT_EQ(made_huge(false), 0);
  const Size made = made_huge(true);
  if (!huge_pages_can_be_had()) GTEST_SKIP() << "this kernel makes no huge pages";
  EXPECT_GT(made, 0);
}

/// A tile that goes whole to all others: it lies together on both ends, and is longer than a slot.
TEST(Redistribute, messages_that_no_slot_holds_are_refused_like_others) {
  const Program program =
      test::with_processes("[12{d}" + std::to_string(12 * test::processes()) + "]",
                           "[" + std::to_string(12 * test::processes()) + "]", "allgather dim=0");
  auto made = Redistributor::make(MPI_COMM_WORLD, program, 8, by_messages({.chunk_bytes = 64}));
  ASSERT_TRUE(made) << render(made.error());
  const Bytes in = pattern_tile(program.from, test::process(), 8);
  for (int wrong = 0; wrong < test::processes(); ++wrong) {
    const bool mine = test::process() == wrong;
    Bytes out(static_cast<std::size_t>(made->out_bytes()));
    const auto refused = made->run(std::span(in).first(in.size() - (mine ? 8 : 0)), out);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, Code::bad_argument);
    ASSERT_TRUE(made->run(in, out));
    EXPECT_EQ(find_pattern_mismatch(program.to, test::process(), 8, out), std::nullopt);
    EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  }
}

/// Once on `comm`, by one call; whether this process got what the simulator says.
bool in_one_call(MPI_Comm comm, const Program& program, Size element_bytes) {
  const auto device = test::process_of(comm);
  const Bytes in = pattern_tile(program.from, device, element_bytes);
  Bytes out(static_cast<std::size_t>(program.to.tile_size() * element_bytes), std::byte{0xee});
  const auto done = mpi::redistribute(comm, program, in, out, element_bytes);
  return done && out == simulated(program, element_bytes)[static_cast<std::size_t>(device)];
}

TEST(Redistribute, one_call_after_the_other_shares_what_is_kept_with_the_communicator) {
  // Tiles that are copied, then such as need slots, then small ones again; two communicators in turn.
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int round = 0; round < 3; ++round) {
    for (const Size width : {Size{2}, Size{64}, Size{700}, Size{2}}) {
      EXPECT_TRUE(in_one_call(MPI_COMM_WORLD, rows_to_columns(width, 12), 8));
      EXPECT_TRUE(in_one_call(other, rows_to_columns(width, 6), 4));
    }
  }
  // What is kept with it goes with it; a new communicator may get the old one's handle.
  MPI_Comm_free(&other);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  EXPECT_TRUE(in_one_call(other, rows_to_columns(2, 6), 4));
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(other, 0, -test::process_of(other), &half);
  EXPECT_TRUE(in_one_call(half, rows_to_columns(2, 6), 4));
  MPI_Comm_free(&half);
  EXPECT_TRUE(in_one_call(other, rows_to_columns(64, 6), 4));
  MPI_Comm_free(&other);
}

TEST(Redistribute, one_call_with_wrong_input_leaves_what_is_kept_usable) {
  Bytes none;
  const auto refused = mpi::redistribute(MPI_COMM_WORLD, rows_to_columns(2, 6), none, none, 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::bad_argument);
  const auto nowhere = mpi::redistribute(MPI_COMM_NULL, rows_to_columns(2, 6), none, none, 4);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::bad_argument);
  EXPECT_TRUE(in_one_call(MPI_COMM_WORLD, rows_to_columns(2, 6), 4));
}

TEST(Redistribute, its_messages_meet_no_others) {
  // A receive that takes anything is open on the caller's communicator all the while.
  const int processes = test::processes();
  const int device = test::process();
  int caught = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&caught, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  const Program program = rows_to_columns(2, 6);
  for (const Way& way : all_ways({})) run_and_compare(MPI_COMM_WORLD, program, 4, way);
  const int mine = device;
  MPI_Send(&mine, 1, MPI_INT, (device + 1) % processes, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(caught, (device + processes - 1) % processes);
}

TEST(Redistribute, two_objects_live_side_by_side_and_can_be_moved) {
  const Size processes = test::processes();
  const Program program = round_trip(processes);
  auto first = Redistributor::make(MPI_COMM_WORLD, program, 4, by_steps);
  auto second = Redistributor::make(MPI_COMM_WORLD, program, 8, odd_sizes);
  ASSERT_TRUE(first && second);
  Redistributor moved = std::move(*first);
  const int device = test::process();
  Bytes out4(static_cast<std::size_t>(moved.out_bytes()));
  Bytes out8(static_cast<std::size_t>(second->out_bytes()));
  ASSERT_TRUE(moved.run(pattern_tile(program.from, device, 4), out4));
  ASSERT_TRUE(second->run(pattern_tile(program.from, device, 8), out8));
  EXPECT_EQ(out4, simulated(program, 4)[static_cast<std::size_t>(device)]);
  EXPECT_EQ(out8, simulated(program, 8)[static_cast<std::size_t>(device)]);
}

/// The least limit that a refusal names.
Size least_named(const std::string& message) {
  const std::string before = "; the least that one of them needs is ";
  const std::size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::stoll(message.substr(at + before.size()));
}

TEST(Redistribute, takes_the_first_strategy_that_fits_the_memory_and_says_why) {
  const Size processes = test::processes();
  const Program program = round_trip(processes);
  const auto chosen = [&](Size bytes, bool own, Size node) -> std::string {
    const test::Blocks blocks(node);
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 16,
                                          {.own_buffers = own, .memory_limit_bytes = bytes});
    if (!made) return std::string(code_name(made.error().code));
    EXPECT_LE(made->peak_limit_bytes(), bytes);
    // `exchange: chosen, ..`, `exchange by messages: chosen, ..`
    const std::string& why = made->reasons().back();
    EXPECT_THAT(why, testing::StartsWith(std::string(strategy_name(made->strategy()))));
    EXPECT_THAT(why, testing::HasSubstr(": chosen, "));
    return why.substr(0, why.find(':'));
  };
  constexpr Size plenty = Size{1} << 30;
  EXPECT_EQ(chosen(plenty, true, 0), "exchange");
  EXPECT_EQ(chosen(plenty, false, 0), "exchange");
  EXPECT_EQ(chosen(plenty, true, processes), "exchange");
  if (processes > 1) {
    EXPECT_EQ(chosen(plenty, true, 1), "exchange by messages");
    EXPECT_EQ(chosen(plenty, false, processes - 1),
              processes == 2 ? "exchange by messages" : "exchange");
  }
  // Less than the largest tile on the way is too little for every strategy.
  const Size tile = 4 * 3 * processes * 16;
  const auto refused = Redistributor::make(MPI_COMM_WORLD, program, 16,
                                           {.own_buffers = true, .memory_limit_bytes = tile - 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::infeasible);
  EXPECT_EQ(refused.error().notes.size(), 4U);
  // The least that is named does.
  const Size least = least_named(refused.error().message);
  EXPECT_GT(least, tile);
  EXPECT_NE(chosen(least, true, 0), "infeasible");
  // For ways by steps nothing less does; one exchange to tiles in a list may need less than they, but
  // there was no room to find out.
  for (const Strategy strategy : {Strategy::collectives, Strategy::in_place}) {
    Options options{.strategy = strategy, .own_buffers = true, .memory_limit_bytes = tile - 1};
    const auto named = Redistributor::make(MPI_COMM_WORLD, program, 16, options);
    ASSERT_FALSE(named);
    options.memory_limit_bytes = least_named(named.error().message);
    EXPECT_TRUE(Redistributor::make(MPI_COMM_WORLD, program, 16, options));
    --*options.memory_limit_bytes;
    EXPECT_FALSE(Redistributor::make(MPI_COMM_WORLD, program, 16, options));
  }
}

TEST(Redistribute, a_limit_without_room_for_an_exchange_is_told_what_it_needs) {
  for (const bool own : {false, true}) {
    for (Options options : {by_messages(), on_one_node(), Options{}}) {
      options.own_buffers = own;
      // Tiles that are copied to shared memory, and others.
      for (const Program& program :
           {rows_to_columns(2, 6), rows_to_columns(4, 2112 / test::processes() + 1)}) {
        const auto refusal = [&](Size limit_bytes) -> std::string {
          options.memory_limit_bytes = limit_bytes;
          const auto made = Redistributor::make(MPI_COMM_WORLD, program, 8, options);
          if (made) return "made";
          EXPECT_EQ(made.error().code, Code::infeasible);
          return made.error().message;
        };
        const Size needed = least_named(refusal(1));
        EXPECT_GT(needed, 0);
        EXPECT_THAT(refusal(needed - 1), testing::EndsWith(" needs is " + std::to_string(needed)));
        EXPECT_EQ(refusal(needed), "made");
      }
    }
  }
}

TEST(Redistribute, buffers_shrink_to_a_memory_limit) {
  const bool alone = test::processes() == 1;
  // Of tiles above 64 KiB, shared takes slots and no copies.
  const Program program = rows_to_columns(4, 2112 / test::processes() + 1);
  for (const bool own : {false, true}) {
    for (const Options& which :
         {Options{.strategy = Strategy::collectives}, by_messages(), on_one_node()}) {
      Options options = which;
      options.own_buffers = own;
      const auto free = Redistributor::make(MPI_COMM_WORLD, program, 8, options);
      ASSERT_TRUE(free) << render(free.error());
      for (const Size less : {1, 5000, 100'000}) {
        if (options.partition == Partition::one_node && (own || alone)) continue;  // no slots
        options.memory_limit_bytes = free->peak_limit_bytes() - less;
        SCOPED_TRACE(Way{options}.name());
        run_and_compare(MPI_COMM_WORLD, program, 8, {options});
      }
    }
  }
}

TEST(Redistribute, strategies_that_cannot_be_used_are_refused_on_all_processes) {
  const Size processes = test::processes();
  const Program program = round_trip(processes);
  const auto code = [&](const Options& options) {
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    return made ? "made" : std::string(code_name(made.error().code));
  };
  EXPECT_EQ(code({.strategy = Strategy::in_place}), "unsupported");
  EXPECT_EQ(code({.memory_limit_bytes = -1}), "bad_argument");
  EXPECT_EQ(code({.strategy = static_cast<Strategy>(77)}), "bad_argument");
  EXPECT_EQ(code({.partition = static_cast<Partition>(77)}), "bad_argument");
  EXPECT_EQ(code({.wrong_buffers = static_cast<WrongBuffers>(2)}), "bad_argument");
  EXPECT_EQ(code({.wrong_buffers = static_cast<WrongBuffers>(-1)}), "bad_argument");
  if (processes == 1) return;
  {
    const test::Blocks apart(1);
    EXPECT_EQ(code(on_one_node()), "unsupported");
    EXPECT_EQ(code({.strategy = Strategy::in_place, .own_buffers = true}), "unsupported");
  }
  EXPECT_EQ(
      code({.strategy = Strategy::in_place, .partition = Partition::apart, .own_buffers = true}),
      "unsupported");
  const bool first = test::process() == 0;
  EXPECT_EQ(code({.strategy = first ? Strategy::exchange : Strategy::collectives}), "disagreement");
  EXPECT_EQ(code(first ? on_one_node() : by_messages()), "disagreement");
  EXPECT_EQ(code({.own_buffers = first}), "disagreement");
  EXPECT_EQ(code({.huge_pages = first}), "disagreement");
  EXPECT_EQ(code({.wrong_buffers = first ? WrongBuffers::end_job : WrongBuffers::refused}),
            "disagreement");
}

TEST(Redistribute, with_buffers_of_its_own_it_moves_no_others) {
  const Program program = round_trip(test::processes());
  for (const Way& way : all_ways({})) {
    if (!way.options.own_buffers) continue;
    SCOPED_TRACE(way.name());
    const test::Blocks blocks(way.block);
    auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, way.options);
    ASSERT_TRUE(made) << render(made.error());
    const Bytes in = pattern_tile(program.from, test::process(), 4);
    Bytes out(static_cast<std::size_t>(made->out_bytes()));
    for (const auto& ran :
         {made->run(in, out), made->run(made->input(), out), made->run(in, made->output())}) {
      ASSERT_FALSE(ran);
      EXPECT_EQ(ran.error().code, Code::bad_argument);
    }
    EXPECT_TRUE(made->run());
    EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  }
}

TEST(Redistribute, many_small_boxes_stay_within_the_peak_limit) {
  // One element from everyone to everyone: descriptions weigh more than tiles and slots.
  const Size processes = test::processes();
  const std::string d = std::to_string(processes);
  const std::string all = std::to_string(processes * processes);
  Program program = parsed("retile.program/1\nmesh d:" + d + "\nfrom [" + d + "{d}" + all +
                           "]\nto [" + d + "{d}" + all + "]\n");
  Exchange exchange;
  for (Size target = 0; target < processes; ++target) {
    for (Size source = 0; source < processes; ++source) {
      exchange.transfers.push_back({.target = target,
                                    .source = source,
                                    .target_start = {source},
                                    .source_start = {target},
                                    .shape = {1}});
    }
  }
  program.steps = {{exchange, {.tile = program.from.tile(), .map = {}, .at = {}}}};
  for (const Way& way : all_ways({.chunk_bytes = 1})) {
    if (way.options.strategy != Strategy::exchange) continue;
    SCOPED_TRACE(way.name());
    run_and_compare(MPI_COMM_WORLD, program, 4, way);
  }
}

TEST(Redistribute, what_one_process_cannot_allocate_all_do_without_and_count_no_more) {
  const int processes = test::processes();
  if (processes == 1) GTEST_SKIP() << "one process has nobody to wait for it";
  const Program program = rows_to_columns(2, 6);
  const bool limited = test::is_last();
  if (limited) test::fail_from(std::size_t{1} << 20);
  auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, {.partition = Partition::apart});
  test::fail_from(0);
  ASSERT_TRUE(made) << render(made.error());
  EXPECT_EQ(made->strategy(), Strategy::collectives);  // messages have slots of 8 MiB
  Bytes out(static_cast<std::size_t>(made->out_bytes()));
  ASSERT_TRUE(made->run(pattern_tile(program.from, test::process(), 4), out));
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  EXPECT_LT(made->peak_bytes(), Size{8} << 20);
}

TEST(Redistribute, without_shared_memory_on_one_process_all_take_another_way_and_say_so) {
  const int processes = test::processes();
  if (processes == 1) GTEST_SKIP() << "one process has nobody to share with";
  // Large enough for the limit to matter, whatever the number of processes.
  const Program program = rows_to_columns(1024, 1024);
  const Options small_slots{.chunk_bytes = 1, .own_buffers = true};
  const bool few = processes <= 4;  // the tiles of many take long to make
  Size shared_peak = 0;
  Size shared_making = 0;
  if (few) {
    const auto shared = Redistributor::make(MPI_COMM_WORLD, program, 1, small_slots);
    ASSERT_TRUE(shared) << render(shared.error());
    EXPECT_THAT(shared->reasons().back(), testing::StartsWith("exchange: chosen"));
    shared_peak = shared->peak_limit_bytes();
    shared_making = shared->preparing_limit_bytes();
  }
  auto limited = std::make_optional<test::Limited>(test::is_last(), RLIMIT_FSIZE, rlim_t{1} << 20);
  const auto refused =
      Redistributor::make(MPI_COMM_WORLD, program, 1, on_one_node({.own_buffers = true}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::shared_memory_error);
  EXPECT_FALSE(refused.error().notes.empty());
  auto other = Redistributor::make(MPI_COMM_WORLD, program, 1, {.own_buffers = true});
  if (few) {
    // Those who could share held their tiles until they heard that one could not.
    const auto smaller = Redistributor::make(MPI_COMM_WORLD, program, 1, small_slots);
    ASSERT_TRUE(smaller) << render(smaller.error());
    EXPECT_LT(smaller->peak_limit_bytes(), shared_peak);
    EXPECT_GE(smaller->preparing_limit_bytes(), shared_making);
  }
  limited.reset();
  ASSERT_TRUE(other) << render(other.error());
  EXPECT_THAT(other->reasons().back(), testing::StartsWith("exchange by messages: chosen"));
  EXPECT_THAT(other->reasons().front(), testing::StartsWith("exchange: "));
  const int device = test::process();
  fill_pattern(program.from, device, 1, other->input());
  ASSERT_TRUE(other->run());
  EXPECT_EQ(find_pattern_mismatch(program.to, device, 1, other->output()), std::nullopt);
}

/// While it lives, no other process may open what this one has open, as with processes of other
/// containers.
class Hidden {
 public:
  Hidden() {
    if (user_ == 0) good_ = seteuid(65534) == 0;
    good_ = prctl(PR_SET_DUMPABLE, 0) == 0 && good_;
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  ~Hidden() {
    if (user_ == 0) good_ = seteuid(user_) == 0 && good_;
    good_ = prctl(PR_SET_DUMPABLE, 1) == 0 && good_;
    EXPECT_TRUE(good_);
  }

 private:
  uid_t user_ = geteuid();
  bool good_ = true;
};

/// Collective: whether this process may open a file that process 0 has open.
bool reaches_process_0() {
  auto segment = team::SharedMemory::create(1);
  team::SharedHandle handle = segment ? segment->handle() : team::SharedHandle{};
  MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 0, MPI_COMM_WORLD);
  const bool reached = team::SharedMemory::attach(handle, 1).has_value();
  MPI_Barrier(MPI_COMM_WORLD);  // before process 0 closes it
  return reached;
}

/// Segments that this process has left behind.
int names_left() {
  const std::string mine = "retile-" + std::to_string(getpid()) + "-";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.path().filename().string().rfind(mine, 0) == 0 ? 1 : 0;
  }
  return count;
}

TEST(Redistribute, processes_that_may_not_open_each_others_files_share_memory_by_name) {
  const int processes = test::processes();
  if (processes == 1) GTEST_SKIP() << "one process has nobody to hide from";
  const int device = test::process();
  const Program program = rows_to_columns(2, 6);
  EXPECT_TRUE(reaches_process_0());
  for (const Way& way : all_ways({})) {
    const Options& options = way.options;
    const bool shares =
        options.strategy == Strategy::in_place ||
        (options.strategy == Strategy::exchange && options.partition == Partition::one_node);
    if (!shares) continue;
    SCOPED_TRACE(way.name());
    const auto made = [&] {
      const Hidden hidden;
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_EQ(reaches_process_0(), device == 0);
      auto out = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
      MPI_Barrier(MPI_COMM_WORLD);
      return out;
    };
    auto redistributor = made();
    ASSERT_TRUE(redistributor) << render(redistributor.error());
    EXPECT_EQ(names_left(), 0);
    const Bytes in = pattern_tile(program.from, device, 4);
    Bytes own(options.own_buffers ? 0 : static_cast<std::size_t>(redistributor->out_bytes()));
    const auto out = options.own_buffers ? redistributor->output() : std::span<std::byte>(own);
    if (options.own_buffers) std::copy(in.begin(), in.end(), redistributor->input().begin());
    ASSERT_TRUE(options.own_buffers ? redistributor->run() : redistributor->run(in, out));
    EXPECT_EQ(find_pattern_mismatch(program.to, device, 4, out), std::nullopt);
  }
}

TEST(Redistribute, where_one_process_may_open_nothing_all_say_that_neither_way_is_open) {
  const int processes = test::processes();
  if (processes == 1) GTEST_SKIP() << "one process has nobody to share with";
  const Program program = rows_to_columns(2, 6);
  auto limited = std::make_optional<test::Limited>(test::is_last(), RLIMIT_NOFILE, 0);
  const auto refused = Redistributor::make(MPI_COMM_WORLD, program, 4, on_one_node());
  auto other = Redistributor::make(MPI_COMM_WORLD, program, 4);
  limited.reset();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::shared_memory_error);
  EXPECT_THAT(refused.error().message, testing::HasSubstr(" /retile-"));
  EXPECT_THAT(refused.error().notes,
              testing::Contains(testing::AllOf(testing::StartsWith("without a name: "),
                                               testing::HasSubstr("/proc/"))));
  EXPECT_EQ(names_left(), 0);
  ASSERT_TRUE(other) << render(other.error());
  EXPECT_THAT(other->reasons().back(), testing::StartsWith("exchange by messages: chosen"));
}

// The comparison itself must be able to fail, for every element size: two tiles, then two elements
// change places behind its back.
TEST(Redistribute, exchanged_tiles_are_caught) {
  const int processes = test::processes();
  if (processes == 1) GTEST_SKIP() << "one process has no tile to exchange";
  const int device = test::process();
  const Program program = rows_to_columns(2, 6);
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
