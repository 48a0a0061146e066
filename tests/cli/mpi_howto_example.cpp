#include <retile/mpi.h>
#include <retile/retile.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

// The value of a result; for a refusal, which all processes get alike, the end of the program.
template <typename T>
T value_or_exit(retile::Result<T> result, int rank) {
  if (result) return *std::move(result);
  if (rank == 0) std::fputs(retile::render(result.error()).c_str(), stderr);
  MPI_Finalize();
  std::exit(2);
}

// Rows of a matrix become columns, ten times, on four processes.
bool move_ten_times(int rank) {
  const auto problem =
      value_or_exit(retile::parse_problem("p:4", "[256{p}1024, 1024]", "[1024, 256{p}1024]"), rank);
  const auto plan = value_or_exit(retile::plan(problem), rank);
  const auto program = value_or_exit(retile::program_of(plan), rank);

  retile::mpi::Options options;
  options.memory_limit_bytes = retile::Size{8} << 20;
  options.own_buffers = true;
  auto mover = value_or_exit(
      retile::mpi::Redistributor::make(MPI_COMM_WORLD, program, sizeof(float), options), rank);

  auto* const rows = reinterpret_cast<float*>(mover.input().data());
  const auto* const columns = reinterpret_cast<const float*>(mover.output().data());
  for (int turn = 0; turn < 10; ++turn) {
    // Each process writes a number of its own, another one in each turn.
    for (int k = 0; k < 256 * 1024; ++k) rows[k] = static_cast<float>(turn + rank);
    if (!mover.run()) return false;
    // Row 256 r of a tile of columns comes from process r.
    for (int r = 0; r < 4; ++r) {
      if (columns[256 * 256 * r] != static_cast<float>(turn + r)) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool right = move_ten_times(rank);
  MPI_Finalize();
  return right ? 0 : 1;
}
