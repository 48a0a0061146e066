// Verbs in the processes of a job: what mpirun started, by hand or for `retile run`.
#pragma once

#include <string>

#include "retile/cli/engines.h"

namespace retile::cli {

/// The work of one of those processes. Process 0 prints.
/// \param line   what the command line said, or why it cannot be read
/// \param typed  the command line itself: all processes must have been given the same
/// \param print  prints an outcome and gives the exit code
/// \return the exit code, the same on all processes
[[nodiscard]] int work_in_job(const Result<CommandLine>& line, const std::string& typed,
                              const Print& print);

}  // namespace retile::cli
