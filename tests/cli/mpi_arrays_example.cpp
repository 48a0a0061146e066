#include <retile/mpi.h>
#include <retile/retile.h>

#include <cstdio>
#include <span>

// Rows between ghost rows become columns that are dealt out two by two, in wider rows, on two processes.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  const auto problem = retile::parse_problem("p:2", "[2{p}4, 10]", "[4, 2@{p}10]");
  const auto plan = retile::plan(problem.value());
  const auto program = retile::program_of(plan.value());

  double in[4][10];  // a ghost row, two rows of the tile, another ghost row
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 10; ++j) in[i][j] = i == 0 || i == 3 ? -1 : 10 * (2 * rank + i - 1) + j;
  }
  double out[4][9];  // the first six columns are the tile, or the first four
  for (auto& row : out) {
    for (double& element : row) element = -2;
  }
  const retile::mpi::LocalArrays arrays{
      .in = retile::mpi::LocalArray{.extents = {4, 10}, .start = {1, 0}},
      .out = retile::mpi::LocalArray{.extents = {4, 9}}};
  const auto moved =
      retile::mpi::redistribute(MPI_COMM_WORLD, program.value(), std::as_bytes(std::span(in)),
                                std::as_writable_bytes(std::span(out)), sizeof(double), arrays);
  if (!moved) std::fputs(retile::render(moved.error()).c_str(), stderr);

  // Process 0 has the columns 0, 1, 4, 5, 8 and 9, process 1 the other four.
  bool right = moved.has_value();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 9; ++k) {
      const int column = k / 2 * 4 + 2 * rank + k % 2;
      right = right && out[i][k] == (column < 10 ? 10 * i + column : -2);
    }
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
