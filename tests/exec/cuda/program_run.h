// Whole Programs on devices, between the members of a team: threads, or processes that this one
// forks. The library starts them by MPI; these need no launcher.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/team_transport.h"
#include "retile/exec/cuda/executor.h"
#include "retile/exec/executor/processes.h"
#include "retile/run/run.h"

namespace retile::test {

struct ProgramRun {
  Size element_bytes = 4;
  Size repetitions = 1;
  cuda::DeviceOptions exchange = {};
  cuda::OpenDevice open = {};
};

/// As one member of a team: collective. The report is the same on all, but for the reasons.
[[nodiscard]] Result<run::Report> run_as_member(team::Team& team, const Program& program,
                                                const ProgramRun& how);

/// Opens a device when it is first called and keeps it: every call gives one that passes all on to
/// it. A GPU takes a second to open. A process that forks does so before the first call, and then
/// each process has a device of its own. One run at a time.
/// \param open  nothing: open_cuda_device()
[[nodiscard]] cuda::OpenDevice kept_open(cuda::OpenDevice open = {});

/// A Program that is to be run.
struct WantedRun {
  std::string name;
  Program program;
  ProgramRun how;
};

/// On processes that this one forks, Programs of equally many devices one after the other on the
/// same processes. The reports are those of member 0, without reasons but the last, in the order of
/// the runs.
/// Call it from a process with one thread that has not used CUDA: neither survives a fork.
/// \error of each run the same; cuda_error where a process ends early, and for runs that no process
///     began because one before failed
[[nodiscard]] std::vector<Result<run::Report>> run_all_on_forks(const std::vector<WantedRun>& runs);

/// Runs them so and expects each to be right, within its limit, and to take the path that it is told.
void expect_all_right(const std::vector<WantedRun>& runs);

/// One of them.
[[nodiscard]] Result<run::Report> run_on_forks(const Program& program, const ProgramRun& how);

}  // namespace retile::test
