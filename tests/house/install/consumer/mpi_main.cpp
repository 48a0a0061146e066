// Links the installed exec/mpi room, starts MPI on one process and ends it.
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/redistribute.h"

int main(int argc, char** argv) {
  const auto environment = retile::mpi::Environment::start(&argc, &argv);
  return environment && environment->processes() == 1 ? 0 : 1;
}
