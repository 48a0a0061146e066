// Questions about a Program, what the solvers say to them, and what that means for the verdict.
// Private to this room.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/check/check.h"
#include "retile/check/witness.h"
#include "retile/core/deadline.h"
#include "retile/program/apply.h"
#include "retile/prove/prove.h"
#include "retile/prove/replay.h"
#include "retile/prove/solver.h"

namespace retile {

/// What a part of a proof comes to. `wrong` and `undecided` have written their verdict.
enum class Decision { right, wrong, undecided };

/// Whether some element of some device is not the one that is meant, in terms of SMT-LIB 2.
struct ElementQuestion {
  std::string name;          ///< `step 1: the map claim`
  std::string declarations;  ///< of the numbers in the terms
  std::size_t steps = 0;     ///< the element is one of the arrays after so many steps
  std::string device;
  std::vector<std::string> at;        ///< its local index, a term per dimension
  std::vector<std::string> found;     ///< its global index
  std::vector<std::string> expected;  ///< what that must be
  std::vector<std::size_t> compared;  ///< the dimensions in which it must be that
};

/// With so many dimensions a question names each of them; with more, only those of interest.
inline constexpr std::size_t few_dimensions = 1024;

/// One Program under examination, and the proof as far as it has come.
class Examination {
 public:
  Examination(const Program& program, const ProveOptions& options, Solvers solvers);

  [[nodiscard]] const Program& program() const { return program_; }
  /// Whether single elements are traced back: of sums none is.
  [[nodiscard]] bool traces() const { return traces_; }
  /// The shape of every tile at the start and after each step so far.
  [[nodiscard]] const std::vector<Shape>& tiles() const { return tiles_; }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }

  /// The proof, after all was decided.
  /// \error what the questions ran into
  [[nodiscard]] Result<Proof> concluded(Decision decision);

  // ---- Steps

  /// Takes step k, the next one: whether it can be applied to the tiles.
  [[nodiscard]] Decision take(std::size_t k);
  /// Adds up the cost and the height of step k. Precondition: it was taken.
  [[nodiscard]] Decision count(std::size_t k);
  /// The tiles that are there last have another shape than `expected`, which lies at `base`.
  [[nodiscard]] Decision other_shape(std::size_t step, Reason reason, const Shape& expected,
                                     const std::optional<Shape>& base);
  [[nodiscard]] Decision wrong(std::size_t step, Reason reason, const Witness& found);
  /// The time is up.
  [[nodiscard]] Decision late(const std::string& name);

  // ---- Questions

  using ExpectedAt = std::function<Shape(const HeldElement&)>;
  using Refuted = std::function<Decision(const Witness&)>;

  /// Asks whether some element is not the one that is meant; hands the first one to `refuted`, in
  /// the order of devices, then of local indices.
  [[nodiscard]] Decision all_are_meant(const ElementQuestion& question,
                                       const ExpectedAt& expected_at, const Refuted& refuted);
  /// A question whose answer is no would mean that the encoding is at fault, not the Program.
  [[nodiscard]] Decision must_hold(const std::string& name, const std::string& declarations,
                                   const std::string& goal, std::string_view otherwise);

 private:
  /// Asks whether the goal can fail. That it cannot counts only if the declarations by themselves
  /// can be fulfilled: from a contradiction everything follows.
  [[nodiscard]] SolverAnswer ask(const std::string& name, const std::string& declarations,
                                 const std::string& goal, const std::vector<std::string>& names);
  [[nodiscard]] SolverAnswer ask_solvers(const std::string& text,
                                         const std::vector<std::string>& names);
  [[nodiscard]] bool write_question(const std::string& name, const std::string& text);
  /// Of a number below `below` that has the value `high` in some counterexample: its least value in
  /// one. The counterexample in `answer` becomes one with that value.
  [[nodiscard]] Decision least(const std::string& number, Size below, const std::string& text,
                               const std::vector<std::string>& names, const std::string& question,
                               SolverAnswer& answer);

  void answer(Answer answer);
  [[nodiscard]] Decision refused(std::size_t k, const Refusal& refusal);
  [[nodiscard]] Decision undecided(std::string why);
  [[nodiscard]] Decision unanswered(const SolverAnswer& answer, const std::string& name);
  [[nodiscard]] Decision no_element(const std::string& name);

  const Program& program_;
  bool traces_;
  const ProveOptions& options_;
  Solvers solvers_;
  Deadline deadline_;
  std::vector<Shape> tiles_;
  Proof proof_;
  bool is_vacuous_ = false;
  bool is_too_large_ = false;
  std::optional<Diagnostic> trouble_;
};

}  // namespace retile
