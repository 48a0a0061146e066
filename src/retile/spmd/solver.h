// Which of the thesis' solvers a redistribution is one for.
#pragma once

#include <string_view>

#include "retile/core/layout.h"

namespace retile::spmd {

/// The calls to which the solvers of the thesis lower it: its grid-mapped arrays (5.1.2) where one end is the
/// root, which is device 0 with all of the array; MPI_Alltoallv (4.6) where neither is.
///
///   `bcast`, `scatterv`, `scatterv+bcast` (replicas), `overlapping-scatterv` (8.1.2), `gatherv`, `reduce`,
///   `reduce+gatherv`, `allreduce`, `alltoallv`, `reduce+alltoallv`, `none` (every device keeps what it has)
///
/// What a route takes is another question: the planner decides it.
[[nodiscard]] std::string_view solver_of(const Layout& from, const Layout& to);

}  // namespace retile::spmd
