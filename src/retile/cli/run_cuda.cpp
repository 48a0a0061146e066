// retile run --backend cuda: a process per device, forked from this one, on the GPUs of this
// machine.
#include <algorithm>
#include <string>
#include <utility>

#include "retile/cli/run.h"
#include "retile/exec/cuda/run.h"
#include "retile/program/tile_shapes.h"

namespace retile::cli {

Outcome run_cuda(const RunRequest& request) {
  const Program& program = request.program;
  for (const auto& [path, option] :
       {std::pair(&request.input, "--input"), std::pair(&request.output, "--output")}) {
    if (!path->empty()) {
      return failed(Exit::environment,
                    about_argument(Code::unsupported, option, *path,
                                   "the backend cuda moves the generated array, no files",
                                   {"--backend mpi and --backend sim read and write files"}));
    }
  }
  cuda::RunOptions options;
  options.element_bytes = request.element_bytes;
  options.repetitions = request.repetitions;
  options.exchange.memory_limit_bytes = request.memory_limit_bytes;
  // No progress is shown: its thread would not survive the forks.
  auto report = cuda::run(program, options);
  if (!report) {
    Diagnostic diagnostic = std::move(report.error());
    if (diagnostic.code == Code::infeasible) {
      diagnostic.notes = {
          std::exchange(diagnostic.message, "no path on the GPUs stays within the memory limit")};
      return over_limit(request, diagnostic);
    }
    if (diagnostic.code == Code::unsupported && diagnostic.notes.empty()) {
      diagnostic.notes = {"--backend sim runs all devices in one process"};
    }
    const Exit exit = exit_of_run(diagnostic);
    return failed(exit, std::move(diagnostic));
  }

  RunFigures figures;
  figures.right = report->right;
  figures.backend = "cuda";
  figures.strategy = cuda::path_name(report->path);
  figures.reasons = report->reasons;
  figures.processes = report->processes;
  figures.repetitions = report->repetitions;
  figures.elements_checked = report->elements_checked;
  figures.seconds = report->seconds;
  figures.bytes_per_process = report->bytes_per_process;
  figures.peak_bytes_per_process = report->peak_bytes_per_process;
  figures.peak_limit_bytes = report->peak_limit_bytes;
  // The tiles fitted in memory, so their sizes in bytes fit in 63 bits.
  figures.resident_bytes = resident_elements(program).value_or(0) * request.element_bytes;
  figures.bound_bytes =
      std::max(program.from.tile_size(), program.to.tile_size()) * request.element_bytes;
  if (report->mismatch) {
    figures.wrong_device = report->mismatch->device;
    figures.wrong_index = report->mismatch->local_index;
  }
  return report_run(figures, request);
}

}  // namespace retile::cli
