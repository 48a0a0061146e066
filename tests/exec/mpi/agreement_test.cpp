// Wrong or different arguments: every process gets the same error, and none waits for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <string>
#include <vector>

#include "exec/allocations.h"
#include "exec/mpi/processes.h"
#include "exec/programs.h"
#include "retile/exec/mpi/redistribute.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Redistributor;
using test::outcome_text;
using test::parsed;
using test::same_everywhere;
using testing::HasSubstr;
using testing::StartsWith;

const std::string processes_text() { return std::to_string(test::processes_of(MPI_COMM_WORLD)); }
bool is_first() { return test::process_of(MPI_COMM_WORLD) == 0; }
bool is_last() {
  return test::process_of(MPI_COMM_WORLD) == test::processes_of(MPI_COMM_WORLD) - 1;
}

/// alltoall between rows and columns of a square, for this job's number of processes.
Program square(const std::string& steps = "") {
  const std::string d = processes_text();
  const std::string all = "groups=[1," + d + "]<=[" + d + "]";
  return parsed("retile.program/1\nmesh d:" + d + "\nfrom [1{d}" + d + ", " + d + "]\nto [" + d +
                ", 1{d}" + d + "]\n" +
                (steps.empty() ? "alltoall split=1 concat=0 " + all + "\n" : steps));
}

std::string make_outcome(const Program& program, Size element_bytes = 4,
                         const Options& options = {}) {
  return outcome_text(Redistributor::make(MPI_COMM_WORLD, program, element_bytes, options));
}

TEST(Agreement, the_accepting_twin) { EXPECT_EQ(make_outcome(square()), "accepted"); }

TEST(Agreement, different_programs) {
  const std::string d = processes_text();
  const Program other = square("allgather dim=0 groups=[1," + d + "]<=[" + d +
                               "]\ndynslice dim=1 groups=[1," + d + "]<=[" + d + "]\n");
  EXPECT_EQ(make_outcome(other), "accepted");
  const std::string outcome = make_outcome(is_last() ? other : square());
  EXPECT_THAT(outcome, StartsWith("disagreement"));
  EXPECT_THAT(outcome, HasSubstr("different Programs"));
  EXPECT_TRUE(same_everywhere(outcome));
}

TEST(Agreement, the_same_program_in_other_words_is_no_disagreement) {
  Program other = square();
  other.mesh.reset();
  other.steps.front().claims.tile = Shape{99};
  EXPECT_EQ(make_outcome(is_first() ? other : square()), "accepted");
}

TEST(Agreement, different_element_sizes) {
  const std::string outcome = make_outcome(square(), is_first() ? 8 : 4);
  EXPECT_THAT(outcome, StartsWith("disagreement"));
  EXPECT_THAT(outcome, HasSubstr("element sizes"));
  EXPECT_TRUE(same_everywhere(outcome));
}

TEST(Agreement, different_options) {
  for (const Options& options : {Options{.chunk_bytes = 64}, Options{.message_bytes = 64},
                                 Options{.memory_limit_bytes = Size{1} << 40},
                                 Options{.partition = mpi::Partition::one_node}}) {
    const std::string outcome = make_outcome(square(), 4, is_last() ? options : Options{});
    EXPECT_THAT(outcome, StartsWith("disagreement"));
    EXPECT_TRUE(same_everywhere(outcome));
    EXPECT_EQ(make_outcome(square(), 4, options), "accepted");
  }
}

TEST(Agreement, one_process_with_an_impossible_argument) {
  for (const Size element_bytes : {Size{3}, Size{0}, Size{-4}, Size{32}}) {
    const std::string outcome = make_outcome(square(), is_last() ? element_bytes : 4);
    EXPECT_THAT(outcome, StartsWith("bad_argument"));
    EXPECT_THAT(outcome, HasSubstr("found by process"));
    EXPECT_TRUE(same_everywhere(outcome));
  }
  for (const Options& options :
       {Options{.chunk_bytes = 0}, Options{.chunk_bytes = -1},
        Options{.chunk_bytes = std::numeric_limits<Size>::max()}, Options{.message_bytes = 0},
        Options{.message_bytes = (Size{1} << 30) + 1}}) {
    const std::string outcome = make_outcome(square(), 4, is_first() ? options : Options{});
    EXPECT_THAT(outcome, StartsWith("bad_argument"));
    EXPECT_TRUE(same_everywhere(outcome));
  }
}

TEST(Agreement, a_program_for_another_number_of_processes) {
  const Program one = parsed("retile.program/1\ndevices 1\nfrom [4]\nto [4]\n");
  const std::string outcome = make_outcome(one);
  EXPECT_THAT(outcome, StartsWith("bad_argument"));
  EXPECT_THAT(outcome, HasSubstr("for 1 devices, the communicator has " + processes_text()));
  EXPECT_TRUE(same_everywhere(outcome));
  EXPECT_EQ(outcome_text(Redistributor::make(MPI_COMM_SELF, one, 4)), "accepted");
  // Only one process is wrong.
  const std::string mixed = make_outcome(is_last() ? one : square());
  EXPECT_THAT(mixed, StartsWith("bad_argument"));
  EXPECT_TRUE(same_everywhere(mixed));
}

TEST(Agreement, programs_whose_steps_cannot_be_applied) {
  const std::string d = processes_text();
  const std::string all = "groups=[1," + d + "]<=[" + d + "]\n";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"dynslice dim=0 " + all, "indivisible"},
      {"alltoall split=0 concat=1 " + all, "indivisible"},
      {"allgather dim=0 groups=[[0],[0]]\n", "groups"},
      {"allgather dim=0 groups=[[0]]\n", "groups"},
      {"allpermute pairs=[[0,1]]\n", "bijection"},
      {"allgather dim=0 " + all, "end"},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first);
    const std::string outcome = make_outcome(square(entry.first));
    EXPECT_THAT(outcome, StartsWith("inapplicable"));
    EXPECT_THAT(outcome, HasSubstr("[" + entry.second + "]"));
    EXPECT_TRUE(same_everywhere(outcome));
  }
}

TEST(Agreement, an_exchange_is_not_for_the_collectives) {
  Program program = square();
  Exchange exchange;
  for (Size d = 0; d < program.devices; ++d) {
    const Shape zeros(program.from.rank(), 0);
    exchange.transfers.push_back({.target = d,
                                  .source = d,
                                  .target_start = zeros,
                                  .source_start = zeros,
                                  .shape = program.from.tile()});
  }
  program.steps = {{exchange, {.tile = program.from.tile(), .map = {}, .at = {}}}};
  program.to = program.from;
  EXPECT_EQ(make_outcome(program), "accepted");
  const std::string outcome = make_outcome(program, 4, {.strategy = mpi::Strategy::collectives});
  EXPECT_THAT(outcome, StartsWith("unsupported"));
  EXPECT_THAT(outcome, HasSubstr("exchange"));
  EXPECT_TRUE(same_everywhere(outcome));
}

TEST(Agreement, hand_made_programs_of_devices_and_dimensions_that_do_not_exist) {
  Program program = square();
  const Size devices = program.devices;
  std::vector<Size> row;
  for (Size d = 0; d < devices; ++d) row.push_back(d);
  program.steps.front().op = Alltoall{.split = 1, .concat = 0, .groups = DeviceTable::rows({row})};
  EXPECT_EQ(make_outcome(program), "accepted");
  row.back() = devices;
  program.steps.front().op = Alltoall{.split = 1, .concat = 0, .groups = DeviceTable::rows({row})};
  EXPECT_THAT(make_outcome(program), StartsWith("bad_program"));
  row.back() = -1;
  program.steps.front().op = Alltoall{.split = 1, .concat = 0, .groups = DeviceTable::rows({row})};
  EXPECT_THAT(make_outcome(program), StartsWith("bad_program"));
  program.steps.front().op =
      Allgather{.dim = 2,
                .groups = square().steps.empty() ? DeviceTable{}
                                                 : DeviceTable::iota(IotaChain(devices), devices)};
  EXPECT_THAT(make_outcome(program), StartsWith("bad_program"));
  program = square();
  program.to = Layout::listed(1, program.from.global(), program.to.tile(), {0, 0}).value();
  EXPECT_THAT(make_outcome(program), StartsWith("bad_program"));
}

TEST(Agreement, tiles_too_large_to_count) {
  const std::string d = processes_text();
  const std::string n = std::to_string((Size{1} << 60) / test::processes_of(MPI_COMM_WORLD));
  const Program program =
      parsed("retile.program/1\nmesh d:" + d + "\nfrom [" + n + ", " + d + "]\nto [" + n +
             ", 1{d}" + d + "]\ndynslice dim=1 groups=[1," + d + "]<=[" + d + "]\n");
  EXPECT_THAT(make_outcome(program, 16), StartsWith("size_overflow"));
}

TEST(Agreement, buffers_of_the_wrong_size_on_one_process) {
  auto redistributor = Redistributor::make(MPI_COMM_WORLD, square(), 4);
  ASSERT_TRUE(redistributor);
  const auto tile = static_cast<std::size_t>(redistributor->in_bytes());
  std::vector<std::byte> in(tile);
  std::vector<std::byte> out(tile);
  const auto run = [&](std::span<const std::byte> from, std::span<std::byte> to) {
    const std::string outcome = outcome_text(redistributor->run(from, to));
    EXPECT_TRUE(same_everywhere(outcome));
    return outcome;
  };
  EXPECT_EQ(run(in, out), "accepted");
  EXPECT_THAT(run(is_last() ? std::span(in).first(tile - 1) : std::span(in), out),
              StartsWith("bad_argument"));
  EXPECT_THAT(run(in, is_first() ? std::span<std::byte>() : std::span(out)),
              StartsWith("bad_argument"));
  EXPECT_THAT(run(is_first() ? std::span(out) : std::span(in), out), HasSubstr("overlap"));
  EXPECT_EQ(run(in, out), "accepted");  // an error does no harm
}

TEST(Agreement, buffers_of_a_caller_where_it_has_its_own) {
  auto redistributor = Redistributor::make(MPI_COMM_WORLD, square(), 4, {.own_buffers = true});
  ASSERT_TRUE(redistributor);
  const auto tile = static_cast<std::size_t>(redistributor->in_bytes());
  const std::vector<std::byte> in(tile);
  std::vector<std::byte> out(tile);
  const std::string outcome =
      outcome_text(is_first() ? redistributor->run(in, out) : redistributor->run());
  EXPECT_TRUE(same_everywhere(outcome));
  EXPECT_THAT(outcome, HasSubstr("no others"));
  EXPECT_EQ(outcome_text(redistributor->run()), "accepted");
}

TEST(Agreement, a_process_without_memory_for_words_refuses_wrong_buffers_with_all_others) {
  using mpi::Partition;
  using mpi::Strategy;
  for (const Options& options :
       {Options{.strategy = Strategy::collectives},
        Options{.strategy = Strategy::exchange, .partition = Partition::apart},
        Options{.strategy = Strategy::exchange, .partition = Partition::one_node}}) {
    auto made = Redistributor::make(MPI_COMM_WORLD, square(), 4, options);
    ASSERT_TRUE(made) << render(made.error());
    const auto tile = static_cast<std::size_t>(made->in_bytes());
    std::vector<std::byte> in(tile);
    std::vector<std::byte> out(tile);
    // Without memory is the process that is given the wrong buffer, or one that hears of it.
    for (const bool finder : {true, false}) {
      for (int allowed = 0; allowed < 12; ++allowed) {
        SCOPED_TRACE(made->reasons().back() + ", allowed " + std::to_string(allowed));
        const auto given = std::span(in).first(tile - (is_last() ? 1 : 0));
        std::string code = "an exception";
        if (finder ? is_last() : is_first()) test::fail_after(allowed);
        try {
          const auto ran = made->run(given, out);
          test::fail_after(-1);
          code = outcome_text(ran).substr(0, 12);
        } catch (const std::bad_alloc&) {
          test::fail_after(-1);
        }
        EXPECT_EQ(code, "bad_argument");
      }
    }
    EXPECT_EQ(outcome_text(made->run(in, out)), "accepted");
  }
}

TEST(Agreement, communicators_that_cannot_be_used) {
  EXPECT_THAT(outcome_text(Redistributor::make(MPI_COMM_NULL, square(), 4)),
              StartsWith("bad_argument"));
  MPI_Comm half = MPI_COMM_NULL;
  const int process = test::process_of(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, process == 0 ? 0 : 1, 0, &half);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, process == 0 ? 1 : 0, 5, &between);
  EXPECT_THAT(outcome_text(Redistributor::make(between, square(), 4)),
              HasSubstr("inter-communicator"));
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace retile
