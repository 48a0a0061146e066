// Work that takes a library which most calls do without: MPI, a BLAS, a solver.
//
// The program `retile` loads none of them. It reads the command line, and where the work is such a one it
// becomes the program beside it that has the library (beside.h). That one gets the same words and reads
// them anew, so each of these programs knows all verbs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "retile/cli/common.h"

namespace retile {
class Executor;
class Processes;
}  // namespace retile

namespace retile::cli {

struct CommandLine;
struct ModuleRequest;
struct ProveArguments;

/// Makes what moves the data of a redistribution, which outlives it.
using MakeMover = std::function<Result<std::unique_ptr<Executor>>(const Program& program)>;

/// Prints an outcome and gives the exit code.
using Print = std::function<int(const Outcome&)>;

/// Those of one program; null where another program has it, or none.
struct Engines {
  /// Does the work of one of the processes that mpirun started: job.h.
  int (*job)(const Result<CommandLine>& line, const std::string& typed,
             const Print& print) = nullptr;
  /// Runs a module on whatever moves the data: module_engine.h.
  Outcome (*modules)(const Processes& processes, const ModuleRequest& request,
                     const MakeMover& make) = nullptr;
  /// Proves Programs: proof_engine.h.
  Outcome (*proofs)(const ProveArguments& arguments) = nullptr;
};

/// What the program does with its command line.
/// \return the exit code
[[nodiscard]] int main_of(int argc, const char* const* argv, const Engines& engines);

}  // namespace retile::cli
