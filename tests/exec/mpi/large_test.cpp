// More than 2^31 elements in the array, in one tile and in one step's message; counts of MPI 3.1
// are int.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include "exec/mpi/redistributing.h"
#include "retile/exec/mpi/redistribute.h"

namespace retile {
namespace {

using mpi::Strategy;

struct Way {
  const char* name;
  mpi::Options options;
};

class Large : public testing::TestWithParam<Way> {
 protected:
  /// Runs a Program of 1-byte elements on two processes and verifies every one.
  static void run_and_verify(const std::string& text) {
    ASSERT_EQ(test::processes_of(MPI_COMM_WORLD), 2);
    const int device = test::process_of(MPI_COMM_WORLD);
    const Program program = test::parsed(text);
    ASSERT_GT(program.from.tile_size(), Size{1} << 31);
    auto redistributor = mpi::Redistributor::make(MPI_COMM_WORLD, program, 1, GetParam().options);
    ASSERT_TRUE(redistributor) << render(redistributor.error());
    const bool own = GetParam().options.own_buffers;
    const auto in_bytes = static_cast<std::size_t>(redistributor->in_bytes());
    const auto out_bytes = static_cast<std::size_t>(redistributor->out_bytes());
    const std::unique_ptr<std::byte[]> given_in(own ? nullptr : new std::byte[in_bytes]);
    const std::unique_ptr<std::byte[]> given_out(own ? nullptr : new std::byte[out_bytes]);
    const auto in = own ? redistributor->input() : std::span(given_in.get(), in_bytes);
    const auto out = own ? redistributor->output() : std::span(given_out.get(), out_bytes);
    fill_pattern(program.from, device, 1, in);
    const auto done = own ? redistributor->run() : redistributor->run(in, out);
    ASSERT_TRUE(done) << render(done.error());
    EXPECT_EQ(find_pattern_mismatch(program.to, device, 1, out), std::nullopt);
    EXPECT_LE(redistributor->peak_bytes(), redistributor->peak_limit_bytes());
    const long long elements = test::sum_of(static_cast<long long>(out_bytes));
    if (device == 0) {
      std::printf("%lld elements verified; peak %lld bytes per process, limit %lld\n", elements,
                  static_cast<long long>(redistributor->peak_bytes()),
                  static_cast<long long>(redistributor->peak_limit_bytes()));
    }
    out.back() ^= std::byte{1};  // the verification reaches the very end
    EXPECT_EQ(find_pattern_mismatch(program.to, device, 1, out), static_cast<Size>(out_bytes - 1));
  }
};

// 2^31 + 2^27 + 2 = 2281701378 elements per tile.
TEST_P(Large, a_permuted_tile_of_more_than_2_to_the_31_elements) {
  run_and_verify(R"(retile.program/1
mesh x:2
from [1{x}2, 2281701378]
to tile=[1,2281701378] global=[2,2281701378] at=[[1,0],[0,0]]
allpermute pairs=[[0,1],[1,0]]
)");
}

TEST_P(Large, an_alltoall_of_tiles_of_more_than_2_to_the_31_elements) {
  run_and_verify(R"(retile.program/1
mesh x:2
from [1{x}2, 2281701378]
to [2, 1140850689{x}2281701378]
alltoall split=1 concat=0 groups=[[0,1]]
)");
}

TEST_P(Large, an_allgather_to_more_than_2_to_the_31_elements) {
  // Gathered along the fast dimension: no tile lies in one piece.
  run_and_verify(R"(retile.program/1
mesh x:2
from [46342, 46342]
to [46342, 46342]
dynslice dim=1 groups=[[0,1]]
allgather dim=1 groups=[[0,1]]
)");
}

INSTANTIATE_TEST_SUITE_P(
    By, Large,
    testing::Values(Way{"collectives", {.strategy = Strategy::collectives}},
                    Way{"messages", test::by_messages()}, Way{"slots", test::on_one_node()},
                    Way{"shared", test::on_one_node({.own_buffers = true})},
                    Way{"in_place", {.strategy = Strategy::in_place, .own_buffers = true}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace retile
