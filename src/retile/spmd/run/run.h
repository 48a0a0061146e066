// Runs modules with real bytes and compares every element of the result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/exec/executor/executor.h"
#include "retile/spmd/judge.h"

namespace retile::spmd {

/// Where parameters come from, and where what is returned goes.
struct RunFiles {
  std::string input = {};   ///< as of run::open_inputs(); empty: parameters are made up
  std::string output = {};  ///< path of the .npy file to write, where there is an input, or empty
};

/// Makes what moves the data of one redistribution; the Program outlives it.
using MakeExecutor = std::function<Result<std::unique_ptr<Executor>>(const Program& program)>;

/// An element of the result that is not what `denotes` says.
struct Difference {
  std::size_t returned = 0;  ///< in Module::returned
  Size device = 0;
  Shape element;  ///< global index
  double expected = 0;
  double found = 0;
};

/// The same on all processes.
struct RunReport {
  std::optional<Difference> difference;  ///< of the first device that has one
  bool is_finite = true;                 ///< whether what was compared with are numbers
  double tolerance = 0;                  ///< how far an element could be off at most; 0: not at all
  double largest = 0;                    ///< magnitude of what should be there
  Size compared = 0;                     ///< elements, on all devices together
  Size moves = 0;                        ///< redistributions that were carried out
  double seconds = 0;         ///< computing and moving, without making ready and comparing
  double moving_seconds = 0;  ///< of them in redistributions
  double making_seconds = 0;  ///< making executors ready
  Size received_bytes = 0;    ///< most that one device received in all redistributions
  Size peak_bytes = 0;  ///< most that one process held: tiles, and what executors say of themselves
};

/// Collective. The parameters are small integers of a generator, so small that no sum can be rounded:
/// every element of the result is compared with `denotes`, evaluated by the process that holds it on
/// the elements that it needs. Where the result has addends they are added up first. With exp, sqrt or
/// div parameters are fractions, and elements may be off by what rounding can do (Rounding). Parameters from
/// files are as they are: integers so large that a sum may not fit are refused, and floating elements may be off by what
/// rounding can do. The output file appears only where no element differs.
/// \param routes  of the module's redistributions, by statement (judge())
/// \error unsupported (a module without `denotes`; a type other than i32, i64, f32 and f64; values that
///     the type could round; functions of integers, or that have no value; results that one file cannot hold),
///     limit_reached (operations that make too many elements), those of executors, run::open_inputs() and files; the
///     same on all processes, and then no file was left behind
[[nodiscard]] Result<RunReport> run(const Processes& processes, const Module& module,
                                    const std::vector<Route>& routes, const ElementType& type,
                                    const MakeExecutor& make, const RunFiles& files = {});

}  // namespace retile::spmd
