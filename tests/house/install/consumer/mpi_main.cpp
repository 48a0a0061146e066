// Links the installed exec/mpi room: a Program of one device on one process.
#include <mpi.h>

#include <cstddef>
#include <vector>

#include "retile/exec/mpi/redistribute.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/forms/text.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto program =
      retile::parse_programs("retile.program/1\nmesh x:1\nfrom [4]\nto [4]\n", "main");
  std::vector<std::byte> in(16, std::byte{7});
  std::vector<std::byte> out(16);
  const auto done = retile::mpi::redistribute(MPI_COMM_SELF, program->front(), in, out, 4);
  MPI_Finalize();
  return done && in == out ? 0 : 1;
}
