/* Moves data between MPI processes from C. Process p of the communicator is device p of the Program.
 *
 * All functions but those that free and count are collective: all processes of the communicator call them, with the same Program, and
 * get the same status.
 */
#ifndef RETILE_C_RETILE_MPI_H
#define RETILE_C_RETILE_MPI_H

#include <mpi.h>
#include <retile/c/retile.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Moves once: `in` is this process's tile of the start, `out` its tile of the end, both in C order, of so many bytes.
 * element_bytes: 1, 2, 4, 8 or 16. RETILE_REFUSED on all processes where a buffer of any has another size. */
retile_status retile_redistribute(MPI_Comm comm, const retile_program* program, const void* in,
                                  size_t in_bytes, void* out, size_t out_bytes,
                                  int64_t element_bytes);

/* A Program made ready for one communicator, to be run many times. Free it on all processes, before MPI_Finalize. */
typedef struct retile_mover retile_mover;

/* memory_limit_bytes: the most that tiles and buffers of a process take; 0: no limit. RETILE_NO: no way stays within it.
 * RETILE_REFUSED: it is below 0. */
retile_status retile_mover_make(MPI_Comm comm, const retile_program* program, int64_t element_bytes,
                                int64_t memory_limit_bytes, retile_mover** mover);
retile_status retile_mover_run(retile_mover* mover, const void* in, size_t in_bytes, void* out,
                               size_t out_bytes);
void retile_mover_free(retile_mover* mover);
int64_t retile_mover_in_bytes(const retile_mover* mover);  /* of this process's tile of the start */
int64_t retile_mover_out_bytes(const retile_mover* mover); /* and of the end */
int64_t retile_mover_peak_limit_bytes(const retile_mover* mover);

/* For Fortran, whose communicators are numbers: MPI_Comm_f2c, then the same. */
retile_status retile_redistribute_f(MPI_Fint comm, const retile_program* program, const void* in,
                                    size_t in_bytes, void* out, size_t out_bytes,
                                    int64_t element_bytes);
retile_status retile_mover_make_f(MPI_Fint comm, const retile_program* program,
                                  int64_t element_bytes, int64_t memory_limit_bytes,
                                  retile_mover** mover);

#ifdef __cplusplus
}
#endif

#endif
