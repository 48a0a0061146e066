// Whole Programs on devices, between the members of a team: threads, or processes that this one
// forks. The library starts them by MPI; these need no launcher.
#pragma once

#include <memory>

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

/// On processes that this one forks; the report is that of member 0, without reasons but the last.
/// Call it from a process with one thread that has not used CUDA: neither survives a fork.
/// \error the same; cuda_error also where a process ends early
[[nodiscard]] Result<run::Report> run_on_forks(const Program& program, const ProgramRun& how);

}  // namespace retile::test
