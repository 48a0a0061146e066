#include "retile/c/mpi/retile_mpi.h"

#include <memory>
#include <span>
#include <utility>

#include "retile/c/guard.h"
#include "retile/c/objects.h"
#include "retile/exec/mpi/redistribute.h"

struct retile_mover {
  retile::mpi::Redistributor mover;
};

namespace {

std::span<const std::byte> bytes_of(const void* data, size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
std::span<std::byte> bytes_of(void* data, size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

}  // namespace

using retile::Result;
namespace c = retile::c;

retile_status retile_redistribute(MPI_Comm comm, const retile_program* program, const void* in,
                                  size_t in_bytes, void* out, size_t out_bytes,
                                  int64_t element_bytes) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(program, "program"); !there) return there;
    return retile::mpi::redistribute(comm, program->program, bytes_of(in, in_bytes),
                                     bytes_of(out, out_bytes), element_bytes);
  });
}

retile_status retile_mover_make(MPI_Comm comm, const retile_program* program, int64_t element_bytes,
                                int64_t memory_limit_bytes, retile_mover** mover) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(mover, "mover"); !there) return there;
    *mover = nullptr;
    if (auto there = c::is_there(program, "program"); !there) return there;
    retile::mpi::Options options;
    if (memory_limit_bytes != 0) options.memory_limit_bytes = memory_limit_bytes;
    auto made = retile::mpi::Redistributor::make(comm, program->program, element_bytes, options);
    if (!made) return retile::refuse(made.error());
    *mover = new retile_mover{*std::move(made)};
    return {};
  });
}

retile_status retile_mover_run(retile_mover* mover, const void* in, size_t in_bytes, void* out,
                               size_t out_bytes) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(mover, "mover"); !there) return there;
    return mover->mover.run(bytes_of(in, in_bytes), bytes_of(out, out_bytes));
  });
}

void retile_mover_free(retile_mover* mover) { delete mover; }

int64_t retile_mover_in_bytes(const retile_mover* mover) {
  return mover ? mover->mover.in_bytes() : 0;
}
int64_t retile_mover_out_bytes(const retile_mover* mover) {
  return mover ? mover->mover.out_bytes() : 0;
}
int64_t retile_mover_peak_limit_bytes(const retile_mover* mover) {
  return mover ? mover->mover.peak_limit_bytes() : 0;
}

retile_status retile_redistribute_f(MPI_Fint comm, const retile_program* program, const void* in,
                                    size_t in_bytes, void* out, size_t out_bytes,
                                    int64_t element_bytes) {
  return retile_redistribute(MPI_Comm_f2c(comm), program, in, in_bytes, out, out_bytes,
                             element_bytes);
}

retile_status retile_mover_make_f(MPI_Fint comm, const retile_program* program,
                                  int64_t element_bytes, int64_t memory_limit_bytes,
                                  retile_mover** mover) {
  return retile_mover_make(MPI_Comm_f2c(comm), program, element_bytes, memory_limit_bytes, mover);
}
