// A module as a C program of MPI calls, which compares its result with what the module denotes.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/result.h"
#include "retile/spmd/module.h"

namespace retile::spmd {

/// C11, for as many processes as the module has devices. Elements are doubles. Every process computes
/// its tiles by loops, and products of matrices by a BLAS unless NO_CBLAS is defined. A redistribution is
/// the collectives of its steps where all tiles are alike, else one exchange between its ends.
///
/// Process 0 computes what the module denotes by loops, with a bound of what rounding may do (Rounding), and
/// compares every element of the result. The program exits with 0 where they agree, 1 where they do not,
/// 2 for a wrong number of processes or argument, and 3 where rounding leaves nothing to compare.
/// \param text  what the module was read from
/// \error unsupported (a module without `denotes`; what MPI cannot say, at the statement), limit_reached
///     (more boxes or transfers than are listed); those of routes_of()
[[nodiscard]] Result<std::string> mpi_c(const Module& module, std::string_view text);

}  // namespace retile::spmd
