// One run of a Program: data in, moved, every element verified, data out, and the figures of it.
// Whoever moves the data is an Executor.
#pragma once

#include <optional>
#include <string>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/executor/executor.h"
#include "retile/program/program.h"
#include "retile/run/files.h"
#include "retile/run/report.h"

namespace retile::run {

/// The same on all processes, but for the progress.
struct RunOptions {
  /// Of the generated array; with an input, which says it itself, what it must be, byte order aside.
  std::optional<ElementType> type = {};  ///< if absent, that of the input, or f32
  std::string input = {};                ///< path of a .npy file, or empty for the generated array
  std::string output = {};               ///< path of the .npy file to write, or empty
  Size repetitions = 1;                  ///< >= 1
  Progress progress = {};                ///< called on process 0; empty: nobody is told
};

/// Collective: where the data comes from. What fails here has touched no other file.
/// \error disagreement, bad_argument (repetitions); unsupported (a file for a Program with addends); as
///     Source::open. The same on all processes
[[nodiscard]] Result<Source> open_source(const Processes& processes, const Program& program,
                                         const RunOptions& options);

/// Collective over the executor's processes. Runs `program` (which should be one that `check` calls
/// right), then compares every element with what the target tile must hold. The output file appears
/// only when all is right.
/// \param executor  made of `program`, for elements of the source's type
/// \error as Sink::create and Sink::write; file_error and bad_file (the input cannot be read any
///     more); the executor's own. All processes return the same error, and no file was left behind
[[nodiscard]] Result<Report> run(Executor& executor, const Program& program, const Source& source,
                                 const RunOptions& options);

}  // namespace retile::run
