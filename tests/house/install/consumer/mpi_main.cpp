// Moves a tile on one process through the installed header, once and with a Redistributor.
#include <retile/mpi.h>
#include <retile/retile.h>

#include <cstddef>
#include <vector>

namespace {

int moved() {
  const auto programs = retile::parse_programs("retile.program/1\nmesh x:1\nfrom [4]\nto [4]\n");
  if (!programs) return 1;
  std::vector<std::byte> in(16, std::byte{7});
  std::vector<std::byte> out(16);
  if (!retile::mpi::redistribute(MPI_COMM_SELF, programs->front(), in, out, 4)) return 2;
  if (in != out) return 3;

  auto redistributor = retile::mpi::Redistributor::make(
      MPI_COMM_SELF, programs->front(), 4, {.strategy = retile::mpi::Strategy::collectives});
  if (!redistributor || redistributor->in_bytes() != 16) return 4;
  in.assign(16, std::byte{8});
  if (!redistributor->run(in, out) || in != out) return 5;
  return redistributor->strategy() == retile::mpi::Strategy::collectives ? 0 : 6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int exit_code = moved();
  MPI_Finalize();
  return exit_code;
}
