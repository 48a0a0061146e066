// The paper's worked examples on real processes: every example with as many devices as there are
// processes here.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <iostream>
#include <optional>
#include <vector>

#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/npy/pattern.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "spec/paper/examples.h"

namespace retile::mpi_examples_test {
namespace {

constexpr Size element_bytes = 4;

TEST(MpiExamples, every_element_arrives) {
  int processes = 0;
  int mpi_rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
  int count = 0;
  for (const spec::Example& example : spec::examples()) {
    const Problem problem = parse_problem(example.mesh, example.from, example.to).value();
    if (problem.from.devices() != processes) continue;
    SCOPED_TRACE(example.name);
    const Program program = lower(plan(problem).value());
    std::vector<std::byte> in(static_cast<std::size_t>(program.from.tile_size() * element_bytes));
    std::vector<std::byte> out(static_cast<std::size_t>(program.to.tile_size() * element_bytes));
    fill_pattern(program.from, mpi_rank, element_bytes, in);
    const auto moved = mpi::redistribute(MPI_COMM_WORLD, program, in, out, element_bytes);
    ASSERT_TRUE(moved.has_value()) << render(moved.error());
    EXPECT_EQ(find_pattern_mismatch(program.to, mpi_rank, element_bytes, out), std::nullopt);
    ++count;
  }
  if (mpi_rank == 0) std::cout << count << " examples on " << processes << " processes\n";
  EXPECT_GT(count, 0) << "no example has as many devices";
}

}  // namespace
}  // namespace retile::mpi_examples_test
