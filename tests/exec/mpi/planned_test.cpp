// What the planner and lower make, run on processes: mixed axis sizes, replication, axes that are
// cut, and a permutation.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "exec/mpi/processes.h"
#include "exec/programs.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"
#include "support/ceil_types.h"

namespace retile {
namespace {

/// Meshes of this many devices.
std::vector<std::vector<Size>> meshes(Size devices) {
  switch (devices) {
    case 2:
      return {{2}};
    case 4:
      return {{4}, {2, 2}};
    case 6:
      return {{6}, {2, 3}, {3, 2}};
    case 8:
      return {{2, 2, 2}, {4, 2}};
    case 12:
      return {{2, 2, 3}, {4, 3}, {2, 6}};
    case 24:
      return {{4, 6}, {2, 3, 4}};
    default:
      return {{devices}};
  }
}

/// A random type: every axis is left out or put on a dimension, in random order. `global` must be
/// divisible enough.
std::string random_type(std::mt19937_64& random, const std::vector<Size>& axes,
                        const Shape& global) {
  std::vector<std::size_t> order(axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::string> names(global.size());
  Shape tile = global;
  for (const std::size_t axis : order) {
    const std::size_t dim = random() % (global.size() + 1);
    if (dim == global.size()) continue;
    names[dim] += (names[dim].empty() ? "" : ",") + std::string(1, static_cast<char>('a' + axis));
    tile[dim] /= axes[axis];
  }
  std::string text = "[";
  for (std::size_t i = 0; i < global.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(tile[i]) + "{" + names[i] + "}" +
            std::to_string(global[i]);
  }
  return text + "]";
}

std::string mesh_text(const std::vector<Size>& axes) {
  std::string mesh;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    mesh += (i == 0 ? "" : ",") + std::string(1, static_cast<char>('a' + i)) + ":" +
            std::to_string(axes[i]);
  }
  return mesh;
}

TEST(Planned, random_problems_arrive) {
  const Size devices = test::processes_of(MPI_COMM_WORLD);
  const int device = test::process_of(MPI_COMM_WORLD);
  std::mt19937_64 random(20240601);
  std::size_t steps = 0;
  for (const auto& axes : meshes(devices)) {
    const std::string mesh = mesh_text(axes);
    const int problems = devices > 8 ? 8 : 20;
    for (int i = 0; i < problems; ++i) {
      const Shape global =
          i % 2 == 0 ? Shape{devices, 2 * devices} : Shape{devices, devices, devices / 2 * 2};
      const std::string from = random_type(random, axes, global);
      const std::string to = random_type(random, axes, global);
      SCOPED_TRACE("retile run --mesh " + mesh + " '" + from + "' '" + to + "'");
      const auto problem = parse_problem(mesh, from, to);
      ASSERT_TRUE(problem) << render(problem.error());
      const auto planned = plan(*problem);
      ASSERT_TRUE(planned) << render(planned.error());
      const Program program = lower(*planned);
      steps += program.steps.size();
      const Size element_bytes = test::element_sizes[static_cast<std::size_t>(i) % 5];
      auto redistributor = mpi::Redistributor::make(MPI_COMM_WORLD, program, element_bytes);
      ASSERT_TRUE(redistributor) << render(redistributor.error());
      const auto in = test::pattern_tile(program.from, device, element_bytes);
      std::vector<std::byte> out(static_cast<std::size_t>(redistributor->out_bytes()));
      ASSERT_TRUE(redistributor->run(in, out));
      EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, out), std::nullopt);
      // No tile between the ends is larger than the larger end, so the bound has a short form.
      const Size bound = planned->bound * element_bytes;
      EXPECT_LE(redistributor->peak_limit_bytes(), redistributor->in_bytes() +
                                                       redistributor->out_bytes() + 2 * bound +
                                                       mpi::Options{}.chunk_bytes);
      EXPECT_LE(redistributor->peak_bytes(), redistributor->peak_limit_bytes());
    }
  }
  EXPECT_GT(steps, 0U);
}

TEST(Planned, of_an_uneven_gather_all_but_the_own_tile_is_received) {
  const Size devices = test::processes_of(MPI_COMM_WORLD);
  const int device = test::process_of(MPI_COMM_WORLD);
  const Size global = 2 * devices - 1;  // the last tile is short
  const std::string n = std::to_string(global);
  const auto problem =
      parse_problem("x:" + std::to_string(devices), "[2{x}" + n + "]", "[" + n + "]");
  const Program program = lower(plan(*problem).value());
  const auto made = mpi::Redistributor::make(MPI_COMM_WORLD, program, 4,
                                             {.strategy = mpi::Strategy::collectives});
  ASSERT_TRUE(made) << render(made.error());
  EXPECT_EQ(made->received_bytes(), (global - problem->from.tile_size(device)) * 4);
}

/// Every second problem through buffers of an element per member, so that pieces go in rounds; every third
/// with nothing straight between tiles.
TEST(Planned, uneven_tiles_arrive_by_collectives) {
  const Size devices = test::processes_of(MPI_COMM_WORLD);
  const int device = test::process_of(MPI_COMM_WORLD);
  std::mt19937_64 random(11);
  std::set<std::size_t> ops;
  std::size_t uneven = 0;
  for (const auto& axes : meshes(devices)) {
    const std::string mesh = mesh_text(axes);
    const int problems = devices > 8 ? 16 : 60;
    for (int i = 0; i < problems; ++i) {
      const Size n = devices;
      const Shape global = i % 3 == 0   ? Shape{n + 1, 3}
                           : i % 3 == 1 ? Shape{5, 2 * n - 1, 2}
                                        : Shape{n - 1, 2 * n + 1};
      const auto types = support::ceil_types(parse_mesh(mesh).value(), global);
      const std::string& from = types[random() % types.size()];
      const std::string& to = types[random() % types.size()];
      SCOPED_TRACE("retile run --mesh " + mesh + " '" + from + "' '" + to + "' --collectives");
      const auto planned = plan(parse_problem(mesh, from, to).value(), {.collectives = true});
      ASSERT_TRUE(planned) << render(planned.error());
      const Program program = lower(*planned);
      uneven += traits_of(program).version == 1 ? 0U : 1U;
      for (const Step& step : program.steps) ops.insert(step.op.index());
      const Size element_bytes = test::element_sizes[static_cast<std::size_t>(i) % 5];
      auto made =
          mpi::Redistributor::make(MPI_COMM_WORLD, program, element_bytes,
                                   {.chunk_bytes = i % 2 == 0 ? Size{1} << 16 : 1,
                                    .message_bytes = i % 3 == 0 ? 1 : mpi::most_message_bytes,
                                    .strategy = mpi::Strategy::collectives});
      ASSERT_TRUE(made) << render(made.error());
      const auto in = test::pattern_tile(program.from, device, element_bytes);
      std::vector<std::byte> out(static_cast<std::size_t>(made->out_bytes()), std::byte{0xee});
      for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(made->run(in, out));
        EXPECT_EQ(find_pattern_mismatch(program.to, device, element_bytes, out), std::nullopt);
        std::fill(out.begin(), out.end(), std::byte{0xee});
      }
      EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
      Size least = made->peak_limit_bytes();
      MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
      EXPECT_EQ(least, made->peak_limit_bytes()) << "the same on all processes";
    }
  }
  EXPECT_GT(uneven, 10U);
  EXPECT_GE(ops.size(), 3U);
}

}  // namespace
}  // namespace retile
