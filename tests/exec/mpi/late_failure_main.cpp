// One process fails after all agreed, in the middle of moving data: the whole job must end, and say
// why.
//
//   late_failure collective   MPI_Alltoall reports an error on process 1
//   late_failure killed       process 1 is killed
//
// The failures are put under the library by defining MPI_Alltoall here: MPI lets every function be
// replaced that way.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "exec/programs.h"
#include "retile/exec/mpi/redistribute.h"

namespace {

std::string failure;

}  // namespace

extern "C" int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                            int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1 && failure == "collective") return MPI_ERR_OTHER;
  if (process == 1 && failure == "killed") std::raise(SIGKILL);
  return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  failure = argc > 1 ? argv[1] : "";
  const retile::Program program = retile::test::parsed(R"(retile.program/1
mesh d:4
from [4{d}16, 16]
to [16, 4{d}16]
allpermute pairs=[[0,0]]
alltoall split=1 concat=0 groups=[1,4]<=[4]
)");
  std::vector<std::byte> in(256);
  std::vector<std::byte> out(256);
  const auto done = retile::mpi::redistribute(MPI_COMM_WORLD, program, in, out, 4);
  std::printf("survived%s\n", done ? "" : (": " + retile::render(done.error())).c_str());
  MPI_Finalize();
  return 0;
}
