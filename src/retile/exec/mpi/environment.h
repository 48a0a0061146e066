// MPI for those who do not want to see it: starting and ending. Does not include <mpi.h>.
#pragma once

#include <memory>
#include <string>

#include "retile/core/result.h"
#include "retile/exec/executor/processes.h"

namespace retile::mpi {

/// MPI for as long as the object lives, and the processes of the job. One object per program, used
/// by the main thread. An error of MPI ends the job.
class Environment {
 public:
  /// MPI_Init_thread (funneled); when MPI runs already, joins it and leaves ending it to whoever
  /// started it. Collective over all processes of the job.
  /// \error mpi_error
  [[nodiscard]] static Result<Environment> start(int* argc, char*** argv);
  Environment(Environment&&) noexcept = default;
  Environment& operator=(Environment&&) = delete;
  /// MPI_Finalize, if this object started MPI. Collective.
  ~Environment();

  [[nodiscard]] const Processes& processes() const { return *job_; }

  /// Ends the whole job with `exit_code` at once, also processes that wait for a message. Prints
  /// `message` on stderr.
  [[noreturn]] void abort(int exit_code, const std::string& message) const;

  /// Whether this program runs under mpirun (or another starter that Open MPI, MPICH or PMI
  /// announce in the environment).
  [[nodiscard]] static bool started_by_launcher();

 private:
  Environment(std::unique_ptr<Processes> job, bool ends_mpi);
  std::unique_ptr<Processes> job_;  // empty where it was moved from
  bool ends_mpi_;
};

}  // namespace retile::mpi
