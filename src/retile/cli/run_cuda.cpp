// retile run --backend cuda: generated arrays on GPUs, a process per device.
#include <algorithm>
#include <string>
#include <utility>

#include "retile/cli/run.h"
#include "retile/program/tile_shapes.h"

namespace retile::cli {

cuda::RunOptions cuda_options(const RunRequest& request) {
  cuda::RunOptions out;
  out.element_bytes = request.element_bytes;
  out.repetitions = request.repetitions;
  out.exchange.memory_limit_bytes = request.memory_limit_bytes;
  return out;
}

// No progress is shown: its thread would not survive the forks.
Outcome run_cuda(const RunRequest& request) {
  return report_cuda(cuda::run(request.program, cuda_options(request)), request);
}

Outcome report_cuda(const Result<cuda::RunReport>& report, const RunRequest& request) {
  if (!report) {
    Diagnostic diagnostic = report.error();
    if (diagnostic.code == Code::infeasible) {
      diagnostic.notes = {
          std::exchange(diagnostic.message, "no path on the GPUs stays within the memory limit")};
      return over_limit(request, diagnostic);
    }
    if (diagnostic.code == Code::unsupported && diagnostic.notes.empty()) {
      diagnostic.notes = {"--backend sim runs all devices in one process"};
    }
    const Exit exit = exit_of_backend(diagnostic);
    return failed(exit, std::move(diagnostic));
  }
  const Program& program = request.program;

  RunFigures figures = figures_of("cuda", cuda::path_name(report->path), *report);
  // The tiles fitted in memory, so their sizes in bytes fit in 63 bits.
  figures.resident_bytes = resident_elements(program).value_or(0) * request.element_bytes;
  figures.bound_bytes =
      std::max(program.from.tile_size(), program.to.tile_size()) * request.element_bytes;
  return report_run(figures, request);
}

}  // namespace retile::cli
