// One process fails where the others cannot know it: the whole job must end, and say why.
//
//   late_failure collective   MPI_Alltoall reports an error on process 1
//   late_failure killed       process 1 is killed there
//   late_failure split        MPI_Comm_split reports an error on process 1
//   late_failure environment  process 1 gives up while the others wait in a collective
//
// The failures are put under the library by defining MPI functions here: MPI lets every function be
// replaced that way.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "exec/programs.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/redistribute.h"

namespace {

std::string failure;

void give_up_alone() {
  auto environment = retile::mpi::Environment::start(nullptr, nullptr);
  if (!environment) return;
  if (environment->process() == 1) environment->abort(4, "cannot go on");
  // No collective that an abort which first makes a communicator could be mistaken for.
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

extern "C" int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  int process = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1 && failure == "split") return MPI_ERR_OTHER;
  return PMPI_Comm_split(comm, color, key, made);
}

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
  if (failure == "environment") give_up_alone();
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
