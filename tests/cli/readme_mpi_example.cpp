#include <retile/mpi.h>
#include <retile/retile.h>

#include <cstdio>
#include <span>
#include <vector>

// A matrix cut by rows becomes one cut by columns, on four processes.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int row = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &row);

  const auto problem = retile::parse_problem("p:4", "[1{p}4, 4]", "[4, 1{p}4]");
  const auto plan = retile::plan(problem.value());
  const retile::Program program = retile::lower(plan.value());

  const float first = 10 * static_cast<float>(row);
  const std::vector<float> in = {first, first + 1, first + 2, first + 3};
  std::vector<float> out(4);
  const auto moved =
      retile::mpi::redistribute(MPI_COMM_WORLD, program, std::as_bytes(std::span(in)),
                                std::as_writable_bytes(std::span(out)), sizeof(float));
  if (!moved) std::fputs(retile::render(moved.error()).c_str(), stderr);

  const auto column = static_cast<float>(row);
  const std::vector<float> wanted = {column, 10 + column, 20 + column, 30 + column};
  MPI_Finalize();
  return moved && out == wanted ? 0 : 1;
}
