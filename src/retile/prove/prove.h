// Proving: a Program is right for all devices and all elements, decided without enumerating either.
//
// A regular Program (tables are iotas, tilings are in digits) is encoded with symbolic digits of
// the device number and of the local index, so the effort depends on the number of axes and steps,
// not on the number of devices. Other Programs are decided by evaluation, which for finite tables
// is a proof, too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/program/program.h"

namespace retile {

enum class SolverChoice { z3, cvc5, both };

/// How a verdict was reached.
enum class ProofMethod {
  symbolic,    ///< a solver answered questions about all devices and elements
  evaluation,  ///< every device was looked at (`check`)
};

/// `symbolic`, `evaluation`
[[nodiscard]] std::string_view method_name(ProofMethod method);

/// One question of a symbolic proof.
struct ProofQuery {
  std::string name;  ///< `step 1: the map claim`
  bool proved = false;
  double seconds = 0;  ///< of all solvers asked
};

struct ProveOptions {
  SolverChoice solver = SolverChoice::z3;
  double timeout_seconds = 60;                  ///< for the whole Program
  std::optional<std::string> smt2_prefix = {};  ///< each query is written to <prefix><number>.smt2
  /// Told of each query when it is answered.
  std::function<void(const ProofQuery&)> progress = {};
  Size piece_limit = Size{1} << 26;  ///< of an evaluation, see CheckOptions
};

struct Proof {
  /// As `check` gives it, with the first device and local index that is wrong.
  Verdict verdict;
  ProofMethod method = ProofMethod::symbolic;
  std::string solvers;  ///< `Z3 4.8.12`; empty for an evaluation
  std::vector<ProofQuery> queries;
  std::string undecided;  ///< why, when the answer is undecided

  /// Right, and no tile is larger than the larger end.
  [[nodiscard]] bool proved() const {
    return verdict.answer == Answer::right && verdict.within_bound;
  }
};

/// Whether this library was built with Z3. Without it `prove` refuses every Program.
[[nodiscard]] bool solver_is_built();

/// For all devices and elements: every table of groups holds each device once, every permutation is
/// a bijection, no step reads outside a tile, every claim holds, the end is the target.
///
/// A counterexample is reported only after it was replayed by the Program's tables. After the time
/// limit and two seconds at most the answer is there, whatever the Program, or it is undecided.
/// \error file_error (a query cannot be written, for the caller or for cvc5), unsupported (cvc5 is
///     asked for and cannot be run; this library was built without Z3, see solver_is_built())
[[nodiscard]] Result<Proof> prove(const Program& program, const ProveOptions& options = {});

/// What was proved, as the lines `fact` of a certificate, which stand behind the Program; one for
/// each question of a symbolic proof. Precondition: the Program was proved, with this verdict.
[[nodiscard]] std::string facts(const Program& program, const Verdict& verdict);

}  // namespace retile
