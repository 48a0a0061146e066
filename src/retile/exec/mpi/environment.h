// MPI for those who do not want to see it: starting, ending, agreeing. Does not include <mpi.h>.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "retile/core/result.h"
#include "retile/exec/executor/processes.h"

namespace retile::mpi {

/// MPI for as long as the object lives, and the processes of the job. One object per program, used
/// by the main thread. An error of MPI ends the job.
class Environment final : public Processes {
 public:
  /// MPI_Init_thread (funneled); when MPI runs already, joins it and leaves ending it to whoever
  /// started it. Collective over all processes of the job.
  /// \error mpi_error
  [[nodiscard]] static Result<std::unique_ptr<Environment>> start(int* argc, char*** argv);
  /// MPI_Finalize, if this object started MPI. Collective.
  ~Environment() override;

  [[nodiscard]] int process() const override;
  [[nodiscard]] int processes() const override;
  [[nodiscard]] Result<void> agree(const Result<void>& mine) const override;
  void barrier() const override;
  [[nodiscard]] std::string broadcast(const std::string& text) const override;
  [[nodiscard]] std::uint64_t broadcast(std::uint64_t number, int root) const override;
  [[nodiscard]] std::vector<bool> gather(bool mine) const override;
  void maximum(std::span<std::uint64_t> numbers) const override;
  void sum(std::span<std::uint64_t> numbers) const override;
  [[nodiscard]] double maximum(double number) const override;
  void send(std::span<const std::byte> bytes, int target) const override;
  void receive(std::span<std::byte> bytes, int source) const override;

  /// Ends the whole job with `exit_code` at once, also processes that wait for a message. Prints
  /// `message` on stderr.
  [[noreturn]] void abort(int exit_code, const std::string& message) const;

  /// Whether this program runs under mpirun (or another starter that Open MPI, MPICH or PMI
  /// announce in the environment).
  [[nodiscard]] static bool started_by_launcher();

 private:
  struct State;
  explicit Environment(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace retile::mpi
