// Asking Z3 and cvc5. Both read the same SMT-LIB 2 text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/prove/prove.h"

namespace retile {

/// What a solver says about assertions: whether numbers exist that fulfil them.
enum class Satisfiable { no, yes, unknown };

struct SolverAnswer {
  std::optional<Satisfiable> z3;    ///< nothing: not asked
  std::optional<Satisfiable> cvc5;  ///< nothing: not asked
  double z3_seconds = 0;
  double cvc5_seconds = 0;
  std::map<std::string, Size> values;  ///< of the names asked for, when satisfiable
  std::optional<Diagnostic> trouble;   ///< file_error: the question could not be handed over

  [[nodiscard]] bool contradictory() const;
  /// yes or no when one solver says so and none the contrary.
  [[nodiscard]] Satisfiable together() const;
};

/// `4.8.12`
[[nodiscard]] std::string z3_version();

/// The path of cvc5: RETILE_CVC5 in the environment, else `cvc5` in PATH; empty when there is none.
[[nodiscard]] std::string cvc5_path();
/// `1.0.3`, empty when it cannot be run.
[[nodiscard]] std::string cvc5_version(const std::string& path);

class Solvers {
 public:
  /// \error environment_failed: cvc5 is asked for and cannot be run
  [[nodiscard]] static Result<Solvers> make(SolverChoice choice);
  Solvers(Solvers&&) noexcept;
  Solvers& operator=(Solvers&&) noexcept;
  Solvers(const Solvers&) = delete;
  Solvers& operator=(const Solvers&) = delete;
  ~Solvers();

  /// \param text      declarations and assertions
  /// \param names     numbers whose values are wanted
  /// \param deadline  after which no answer is waited for; of two solvers the first gets half of
  ///     the time until then
  [[nodiscard]] SolverAnswer ask(const std::string& text, const std::vector<std::string>& names,
                                 const Deadline& deadline);

  /// "Z3 4.8.12", "cvc5 1.0.3", "Z3 4.8.12 and cvc5 1.0.3"
  [[nodiscard]] std::string described() const;

 private:
  class PatientZ3;

  Solvers();
  /// First by the one that is kept. What that leaves open, and what is too long to be read as fast,
  /// is asked in a process of its own.
  [[nodiscard]] Satisfiable ask_z3(const std::string& text, const std::vector<std::string>& names,
                                   double seconds, std::map<std::string, Size>& values);

  std::unique_ptr<PatientZ3> z3_;  // made when first asked
  SolverChoice choice_ = SolverChoice::z3;
  std::string cvc5_;
  std::string cvc5_version_;
};

/// The whole text of a query, ready for any solver.
[[nodiscard]] std::string complete_query(const std::string& title, const std::string& text,
                                         const std::vector<std::string>& names);

}  // namespace retile
