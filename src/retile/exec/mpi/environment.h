// MPI for those who do not want to see it: starting, ending, agreeing. Does not include <mpi.h>.
#pragma once

#include <string>

#include "retile/core/result.h"

namespace retile::mpi {

/// MPI for as long as the object lives, on all processes of the job. One object per program, used
/// by the main thread.
class Environment {
 public:
  /// MPI_Init_thread (funneled); when MPI runs already, joins it and leaves ending it to whoever
  /// started it.
  /// \error mpi_error
  [[nodiscard]] static Result<Environment> start(int* argc, char*** argv);

  /// MPI_Finalize, if this object started MPI. Collective.
  ~Environment();
  Environment(Environment&& other) noexcept;
  Environment& operator=(Environment&&) = delete;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] int process() const { return process_; }  ///< 0 .. processes() - 1
  [[nodiscard]] int processes() const { return processes_; }

  /// Collective: the text that process 0 gave, on all processes.
  /// \error mpi_error
  [[nodiscard]] Result<std::string> broadcast(const std::string& text) const;
  /// Collective: the largest of the numbers that the processes gave; how they agree on an exit
  /// code.
  /// \error mpi_error
  [[nodiscard]] Result<int> largest(int value) const;
  /// Ends the whole job with `exit_code` at once, also processes that wait for a message. Prints
  /// `message` on stderr.
  [[noreturn]] void abort(int exit_code, const std::string& message) const;

  /// Whether this program runs under mpirun (or another starter that Open MPI, MPICH or PMI
  /// announce in the environment).
  [[nodiscard]] static bool started_by_launcher();

 private:
  Environment() = default;
  int process_ = 0;
  int processes_ = 1;
  bool ends_mpi_ = false;
};

}  // namespace retile::mpi
