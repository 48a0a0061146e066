// A whole run of a Program on all processes of the job: data in, redistribution, every element
// verified, data out. Does not include <mpi.h>.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"

namespace retile::mpi {

/// The same on all processes, but for the last three.
struct RunOptions {
  /// Of the generated array (pattern.h); if absent, what npy_descr says, or 4. With an input, the
  /// file says it; a value here must then agree.
  std::optional<Size> element_bytes = {};
  /// Element type written to the output when there is no input, as .npy files call it (npy.h); with
  /// an input it must be the file's, byte order aside. Needed for an output without an input.
  std::string npy_descr = {};
  std::string input = {};   ///< path of a .npy file, or empty for the generated array
  std::string output = {};  ///< path of the .npy file to write, or empty
  Size repetitions = 1;     ///< >= 1
  /// own_buffers is taken as true.
  Options options = {};

  /// Whether this process may open the files itself; false makes it take the way of a process that
  /// cannot, and process 0 reads or writes for it. Process 0 must be able to.
  bool opens_input = true;
  bool opens_output = true;
  /// Called on process 0 before and during each stage (`read`, `move`, `verify`, `write`) with done
  /// and total in bytes or, for `move`, repetitions.
  std::function<void(std::string_view stage, Size done, Size total)> progress = {};
};

/// The first element found wrong.
struct Mismatch {
  Size device = 0;
  Size local_index = 0;  ///< linear, in the device's tile
  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// What a run did; the same on all processes. Fields as in the JSON form `retile.run/1`.
struct RunReport {
  bool right = false;
  Size processes = 0;
  Strategy strategy = Strategy::automatic;  ///< the one that was chosen
  std::vector<std::string> reasons;         ///< Redistributor::reasons()
  Size repetitions = 0;
  Size element_bytes = 0;
  Size elements_checked = 0;  ///< summed over processes
  double seconds =
      0;  ///< median over repetitions of the slowest process, between barriers, moving only
  Size bytes_per_process = 0;  ///< most received from others by one, per repetition
  Size peak_bytes_per_process =
      0;  ///< largest sum of live buffers; with the buffers of files and streams
  Size peak_limit_bytes =
      0;  ///< Redistributor::peak_limit_bytes() + file_buffer_limit_bytes when files are used
  Size resident_bytes =
      0;  ///< max over steps of tile before + tile after, a dynslice counting the larger
  Size bound_bytes = 0;                   ///< the larger of the two end tiles
  std::optional<Mismatch> mismatch = {};  ///< of the lowest process that found one
};

/// Most bytes of the buffers through which one process reads, writes, streams and compares files.
inline constexpr Size file_buffer_limit_bytes = (Size{4} << 20);

/// Collective over all processes of the job. Runs `program` (which should be one that `check` calls
/// right), then compares every element with what the target tile must hold. The output file appears
/// only when all is right.
/// \error as Redistributor::make; bad_file (the input: missing, a directory, no good .npy file,
///     other shape or element type); file_error (the output cannot be written, or reading failed
///     midway); unsupported (an output whose target tiles do not cover the array exactly once but
///     for replicas). All processes return the same error, and no file was left behind.
[[nodiscard]] Result<RunReport> run(const Environment& environment, const Program& program,
                                    const RunOptions& options);

}  // namespace retile::mpi
