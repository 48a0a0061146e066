// Starting mpirun, and making one outcome of what comes back.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "retile/cli/common.h"

namespace retile::cli {

/// Set in the environment of processes that a launch started: they trust what it has checked, and
/// report to it. The value says where its words go.
inline constexpr const char* launched_variable = "RETILE_LAUNCHED";
inline constexpr std::string_view launched_from_terminal = "terminal";

/// Whether this process is one of several that mpirun started, or another starter that Open MPI, MPICH or
/// PMI announce in the environment.
[[nodiscard]] bool is_job_process();

/// How long processes of a job wait for each other, and a launch for them: RETILE_START_SECONDS, or
/// two minutes.
[[nodiscard]] std::chrono::seconds start_patience();

/// Process 0's first word to its launcher: all processes are there.
void say_started();

/// The report of process 0 to its launcher: what goes to stdout, then the exit code on a line of
/// its own. All processes then end with code 0, so that mpirun adds no words of its own.
[[nodiscard]] Outcome to_launcher(Outcome outcome);

/// Runs this program on `processes` processes under mpirun and waits.
///
/// stderr of the processes passes through as it comes. A job that does not start in time or does not
/// report is an environment failure, described in one diagnostic. Signals that ask this process to
/// end (INT, TERM, HUP) end the job.
/// \param arguments  of every process
/// \param input  what process 0 reads from stdin
[[nodiscard]] Outcome launch(Size processes, const std::vector<std::string>& arguments,
                             std::string_view input);

}  // namespace retile::cli
