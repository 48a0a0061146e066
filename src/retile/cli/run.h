// What the parts of `retile run` share.
#pragma once

#include <optional>
#include <string>

#include "retile/check/check.h"
#include "retile/cli/common.h"
#include "retile/cli/progress.h"
#include "retile/exec/executor/executor.h"
#include "retile/exec/mpi/options.h"
#include "retile/program/program.h"
#include "retile/run/run.h"

namespace retile::mpi {
class Environment;
}

namespace retile::cli {

/// Who moves the data.
enum class Backend : std::size_t { mpi, sim, cuda };

/// The options as text.
struct RunArguments {
  ProblemArguments problem;
  std::optional<std::string> program;
  std::optional<std::string> processes;
  std::optional<std::string> backend;
  std::optional<std::string> dtype;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> repeat;
  std::optional<std::string> memory_limit;
  std::optional<std::string> strategy;
  std::optional<std::string> timeout;
  bool explain = false;
  bool json = false;
};

/// A run whose arguments were read.
struct RunRequest {
  Backend backend = Backend::mpi;
  Program program;
  std::string program_text;  ///< a form of it, for other processes
  run::RunOptions data;
  mpi::Options how;    ///< of the simulator, the memory limit of a device's tiles alone
  CheckOptions check;  ///< of the Program before it runs
  bool explain = false;
  bool json = false;
};

/// Who a process is when it prepares a run.
struct Place {
  /// How many processes mpirun has started; nothing where they are still to be started.
  std::optional<Size> processes = {};
  /// Whether a launch started them, which has read and checked everything.
  bool launched = false;
};

/// Reads arguments and Program, plans where needed, checks; an Outcome when that already is the
/// answer. A launched process reads its values and the Program, nothing more.
[[nodiscard]] tl::expected<RunRequest, Outcome> prepare(const RunArguments& arguments,
                                                        const Place& place);
/// The values of the options, without looking at any file; the Program stays empty.
[[nodiscard]] Result<RunRequest> read_values(const RunArguments& arguments);

/// Starts one process per device of the request's Program, which get the same options, and waits.
[[nodiscard]] Outcome run_launched(const RunArguments& arguments, const RunRequest& request);
/// Whether processes can be started at all: built with MPI.
[[nodiscard]] bool mpi_is_built();

/// The work of one of the processes that mpirun started. Process 0 prepares and reports; the Program
/// goes from it to all. The outcomes of the others have the same exit code and no words.
[[nodiscard]] Outcome run_in_job(const mpi::Environment& environment,
                                 const RunArguments& arguments);

/// The run itself, on whatever the executor's processes are; told of on process 0.
[[nodiscard]] Outcome run_on(Executor& executor, const run::Source& source, RunRequest& request);

/// What is said of it: exit code yes or no, or of an error the one that it means.
[[nodiscard]] Outcome report_of(const Result<run::Report>& report, const RunRequest& request);
[[nodiscard]] Outcome refusal_of(Diagnostic diagnostic, const RunRequest& request);

/// Where nothing stays within the memory limit: exit code no.
[[nodiscard]] Outcome over_limit(Size limit_bytes, std::optional<Size> resident_bytes, bool json);

}  // namespace retile::cli
