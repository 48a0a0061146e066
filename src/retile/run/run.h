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
  std::string input = {};   ///< path of a .npy file, or empty; without any the generated array
  std::string output = {};  ///< path of the .npy file to write, or empty
  // Instead of one file with the whole array, a file for the tile of each device (tiles.h).
  std::string input_tiles = {};   ///< pattern of their paths, or empty
  std::string output_tiles = {};  ///< the same of those to write
  Size repetitions = 1;           ///< >= 1
  Progress progress = {};         ///< called on process 0; empty: nobody is told
};

/// Collective: where the data comes from. What fails here has touched no other file.
/// \param program  outlives the source
/// \error disagreement, bad_argument (repetitions, patterns, two inputs or outputs); unsupported (one file
///     for a Program with addends, or files of addends in a foreign byte order); as Source::open and
///     TileFiles::open. The same on all processes
[[nodiscard]] Result<Source> open_source(const Processes& processes, const Program& program,
                                         const RunOptions& options);

/// Collective over the executor's processes. Runs `program` (which should be one that `check` calls
/// right), then compares every element with what the target tile must hold. The output file appears
/// only when all is right.
/// \param executor  made of `program`, for elements of the source's type
/// \error as Sink and TileSink; file_error and bad_file (the input cannot be read any more, or its
///     replicas differ); as Comparison; unsupported (floating addends from files, added in an order that
///     MPI chooses); the executor's own. All processes return the same error, and no file was left behind
[[nodiscard]] Result<Report> run(Executor& executor, const Program& program, const Source& source,
                                 const RunOptions& options);

}  // namespace retile::run
