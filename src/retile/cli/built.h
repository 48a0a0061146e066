// What this build has.
#pragma once

namespace retile::cli {

inline constexpr bool mpi_is_built = RETILE_WITH_MPI != 0;
inline constexpr bool cuda_is_built = RETILE_WITH_CUDA != 0;
inline constexpr bool blas_is_built = RETILE_WITH_BLAS != 0;
inline constexpr bool solver_is_built = RETILE_WITH_Z3 != 0;

}  // namespace retile::cli
