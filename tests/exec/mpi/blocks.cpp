#include "exec/mpi/blocks.h"

#include <mpi.h>

#include <utility>

namespace {

retile::Size block_processes = 0;

}  // namespace

__attribute__((weak)) bool retile::test::split_type_fails() { return false; }

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                   MPI_Comm* made) {
  if (retile::test::split_type_fails()) return MPI_ERR_OTHER;
  MPI_Comm shared = MPI_COMM_NULL;
  const int code = PMPI_Comm_split_type(comm, type, key, info, &shared);
  if (code != MPI_SUCCESS || block_processes == 0) {
    *made = shared;
    return code;
  }
  int process = 0;
  PMPI_Comm_rank(comm, &process);
  const int split = PMPI_Comm_split(shared, static_cast<int>(process / block_processes), key, made);
  PMPI_Comm_free(&shared);
  return split;
}

namespace retile::test {

Blocks::Blocks(Size block) : before_(std::exchange(block_processes, block)) {}
Blocks::~Blocks() { block_processes = before_; }

}  // namespace retile::test
