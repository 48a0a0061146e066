// The programs that stand beside `retile` and have the libraries that it does without.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/result.h"

namespace retile::cli {

/// Has MPI and a BLAS: processes of a job, and runs of modules.
inline constexpr std::string_view run_program = "retile-run";
/// Has a solver.
inline constexpr std::string_view prove_program = "retile-prove";

/// Where the program that runs is.
[[nodiscard]] std::string own_path();

/// Where such a program is, in a build and in an installation.
/// \error file_error: it is not there, or is no program
[[nodiscard]] Result<std::string> path_beside(std::string_view program);

/// Becomes that program, which gets the same words. Returns only where that fails.
/// \return file_error
[[nodiscard]] Diagnostic become(std::string_view program, const char* const* argv);

}  // namespace retile::cli
