// What the backends of `retile run` share.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "retile/cli/arguments.h"
#include "retile/cli/common.h"
#include "retile/exec/cuda/run.h"
#include "retile/exec/npy/npy.h"
#include "retile/program/program.h"

namespace retile::cli {

/// Who moves the data.
enum class Backend : std::size_t { mpi, sim, cuda };

/// The backend that was asked for.
/// \error one that there is not, or options that it does not know
[[nodiscard]] Result<Backend> read_backend(const RunArguments& arguments);

/// A run whose arguments were read and whose Program `check` calls right.
struct RunRequest {
  Program program;
  Size element_bytes = 4;
  std::string npy_descr;  ///< element type for an output without an input; with an input, only if
                          ///< --dtype was given
  bool dtype_given = false;
  std::string dtype_name = "f32";
  std::string input;   ///< empty: the generated array
  std::string output;  ///< empty: none
  Size repetitions = 1;
  std::string strategy = "automatic";      ///< how MPI processes move the data
  std::optional<Size> memory_limit_bytes;  ///< of a process; for the simulator, of a device's tiles
  bool explain = false;
  bool json = false;
};

/// The figures of `retile.run/1`.
struct RunFigures {
  bool right = false;
  std::string_view backend;
  std::string_view strategy = {};         ///< empty: the backend knows but one way
  std::vector<std::string> reasons = {};  ///< why this one
  Size processes = 0;
  Size repetitions = 0;
  Size elements_checked = 0;
  double seconds = 0;
  Size bytes_per_process = 0;
  Size peak_bytes_per_process = 0;
  Size peak_limit_bytes = 0;
  Size resident_bytes = 0;
  Size bound_bytes = 0;
  std::optional<Size> wrong_device = {};
  std::optional<Size> wrong_index = {};  ///< linear, in the device's tile
};

/// The figures that the reports of mpi::run and cuda::run have in common.
template <typename Report>
[[nodiscard]] RunFigures figures_of(std::string_view backend, std::string_view strategy,
                                    const Report& report) {
  RunFigures figures;
  figures.right = report.right;
  figures.backend = backend;
  figures.strategy = strategy;
  figures.reasons = report.reasons;
  figures.processes = report.processes;
  figures.repetitions = report.repetitions;
  figures.elements_checked = report.elements_checked;
  figures.seconds = report.seconds;
  figures.bytes_per_process = report.bytes_per_process;
  figures.peak_bytes_per_process = report.peak_bytes_per_process;
  figures.peak_limit_bytes = report.peak_limit_bytes;
  if (report.mismatch) {
    figures.wrong_device = report.mismatch->device;
    figures.wrong_index = report.mismatch->local_index;
  }
  return figures;
}

/// The answer where no way to run stays within the memory limit: exit code no.
[[nodiscard]] Outcome over_limit(const RunRequest& request, const Diagnostic& diagnostic);

/// The report of a run that came to its end: exit code yes or no.
[[nodiscard]] Outcome report_run(const RunFigures& figures, const RunRequest& request);

/// The exit code of an error met while running: files that cannot be written or read to their end
/// are the environment's fault.
[[nodiscard]] Exit exit_of_run(const Diagnostic& diagnostic);

/// The same for a backend: what it cannot do at all is the environment's fault, too.
[[nodiscard]] Exit exit_of_backend(const Diagnostic& diagnostic);

/// Whether the array of a .npy file is the one that the Program starts from. `descr`: the type
/// asked for, or empty.
[[nodiscard]] Result<void> check_input(const NpyHeader& header, const std::string& path,
                                       const Shape& global, std::string_view descr);

/// Says on stderr what is going on, from the second second on and ever more rarely.
class Progress {
 public:
  /// A silent one never prints.
  explicit Progress(bool silent = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `move` counts repetitions, every other stage bytes.
  void update(std::string_view stage, Size done, Size total);

 private:
  void print_until_ended();

  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::string stage_;
  Size done_ = 0;
  Size total_ = 0;
  std::thread thread_;
};

/// Runs all devices in this process.
[[nodiscard]] Outcome run_sim(const RunRequest& request);

/// Forks a process per device, which work on the GPUs of this machine; generated arrays only.
[[nodiscard]] Outcome run_cuda(const RunRequest& request);

/// What a run on GPUs is told, and what is said of it.
[[nodiscard]] cuda::RunOptions cuda_options(const RunRequest& request);
[[nodiscard]] Outcome report_cuda(const Result<cuda::RunReport>& report, const RunRequest& request);

/// Whether this program was built with MPI.
[[nodiscard]] bool mpi_is_built();

/// Whether this process is one of several that mpirun started.
[[nodiscard]] bool is_mpi_process();

/// Prints an outcome and gives the exit code.
using PrintOutcome = std::function<int(const Outcome&)>;

/// The work of one of those processes. Process 0 prepares the request and prints; a Program goes
/// from it to all.
/// \param arguments  what the command line said, or why it cannot be read
/// \param typed  the command line itself: all processes must have been given the same
/// \return the exit code, the same on all processes
[[nodiscard]] int run_mpi_process(const Result<RunArguments>& arguments, const std::string& typed,
                                  const PrintOutcome& print);

/// Starts one process per device and waits for them.
[[nodiscard]] Outcome run_mpi_launch(const RunRequest& request);

/// The values of the options, without looking at any file; the Program stays empty.
[[nodiscard]] Result<RunRequest> read_run_values(const RunArguments& arguments);

/// Reads arguments, Program and input header, plans where needed, checks; an Outcome when that
/// already is the answer.
[[nodiscard]] tl::expected<RunRequest, Outcome> prepare_run(const RunArguments& arguments,
                                                            std::optional<Size> processes_there);

}  // namespace retile::cli
