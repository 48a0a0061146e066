// Many more processes than processors, and than most Programs of the other tests have devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/mpi/redistribute.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Redistributor;
using mpi::Strategy;

using Bytes = std::vector<std::byte>;

/// Moves twice; this process's tile after every element of it was compared.
Bytes moved(const Program& program, const Options& options) {
  const int device = test::process_of(MPI_COMM_WORLD);
  auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
  if (!made) {
    ADD_FAILURE() << render(made.error());
    return {};
  }
  EXPECT_EQ(made->strategy(), options.strategy);
  const Bytes in = test::pattern_tile(program.from, device, 4);
  for (int time = 0; time < 2; ++time) {
    std::copy(in.begin(), in.end(), made->input().begin());
    const auto done = made->run();
    EXPECT_TRUE(done) << render(done.error());
    EXPECT_EQ(find_pattern_mismatch(program.to, device, 4, made->output()), std::nullopt);
  }
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  return {made->output().begin(), made->output().end()};
}

void all_strategies_agree(const std::string& text) {
  const Program program = test::parsed(text);
  ASSERT_EQ(program.devices, test::processes_of(MPI_COMM_WORLD));
  const Bytes first = moved(program, {.strategy = Strategy::collectives, .own_buffers = true});
  ASSERT_FALSE(first.empty());
  for (Options options :
       {test::by_messages(), test::on_one_node(), Options{.strategy = Strategy::in_place}}) {
    SCOPED_TRACE(strategy_name(options.strategy));
    options.own_buffers = true;
    EXPECT_EQ(moved(program, options), first);
  }
  // Nodes of 16 and of 1, and one of 4 after three of 20.
  for (const Size block : {16, 1, 20}) {
    SCOPED_TRACE("blocks of " + std::to_string(block));
    const test::Blocks blocks(block);
    EXPECT_EQ(moved(program, test::over_nodes({.own_buffers = true})), first);
  }
}

TEST(Many, all_to_all_of_64_processes) {
  all_strategies_agree(R"(retile.program/1
mesh d:64
from [2{d}128, 192]
to [128, 3{d}192]
alltoall split=1 concat=0 groups=[1,64]<=[64]
)");
}

TEST(Many, two_steps_in_groups_of_8) {
  all_strategies_agree(R"(retile.program/1
mesh a:8,b:8
from [1{a}8, 16{b}128, 8]
to [8, 16{a}128, 1{b}8]
alltoall split=2 concat=1 groups=[8,8]<=[64]
alltoall split=1 concat=0 groups=[8,8]<=[8,8]T(1,0)
)");
}

TEST(Many, gathered_by_64_processes) {
  all_strategies_agree(R"(retile.program/1
mesh d:64
from [3, 2{d}128]
to [3, 128]
allgather dim=1 groups=[1,64]<=[64]
)");
}

}  // namespace
}  // namespace retile
