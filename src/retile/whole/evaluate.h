// A whole program run on all devices at once, value by value. Room-internal.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "retile/whole/array.h"
#include "retile/whole/module.h"
#include "retile/whole/scalar.h"

namespace retile::whole {

/// What an evaluation did beside values.
struct Counts {
  Size unknown = 0;       ///< operations that were taken as functions of which nothing is known
  Size instructions = 0;  ///< that were run, loops included
  std::map<std::string, Size> unknown_by_name = {};
  std::set<std::pair<const Instruction*, Word>> branches =
      {};                                          ///< of conditionals, that were taken
  std::map<const Instruction*, Size> rounds = {};  ///< of loops, the most that one made
  /// An operation that some devices of a group came to and others did not.
  const Instruction* parted = nullptr;
};

/// Whether it is one of the operations between devices.
[[nodiscard]] bool is_collective(Id id);
/// Whether devices take from each other.
[[nodiscard]] bool exchanges(const Instruction& instruction);
/// The same, or whether each makes a number of its own.
[[nodiscard]] bool depends_on_device(const Instruction& instruction);

template <typename Domain>
class Evaluator {
 public:
  /// \param devices  that it is run on; the text may have been written for one
  /// Precondition: the module's types were checked; all of this outlives it.
  Evaluator(const Module& module, const Domain& domain, Size devices, Limits& limits)
      : module_(module),
        domain_(domain),
        devices_(static_cast<std::size_t>(devices)),
        limits_(limits),
        lifetimes_(module.computations.size()) {}

  /// Called with every parameter and every result of a computation each time it is run; a parameter
  /// has no instruction.
  using Look =
      std::function<void(const Computation& in, const Instruction*, ValueId value, const Held&)>;

  /// The results. Throws NotEvaluated and LimitReached.
  [[nodiscard]] std::vector<Held> run(std::vector<Held> arguments, const Look& look = {});
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// What a value of the entry is if another one is replaced, where all are known.
  /// \param values  of the entry, none of them gone
  [[nodiscard]] Held again_with(std::vector<Held> values, ValueId value, Held replaced,
                                ValueId result);

 private:
  using Frame = std::vector<Held>;  // of the values of a computation

  [[nodiscard]] std::vector<Held> run_computation(ComputationId id, std::vector<Held> arguments,
                                                  const Look& look);
  [[nodiscard]] const std::vector<std::vector<ValueId>>& lifetimes(ComputationId id);
  /// What an instruction makes.
  [[nodiscard]] std::vector<Held> applied(const Computation& in, const Instruction& instruction,
                                          const Frame& frame, const Look& look);
  [[nodiscard]] std::vector<Held> looped(const Instruction& instruction, std::vector<Held> operands,
                                         const Look& look);
  [[nodiscard]] std::vector<Held> chosen(const Computation& in, const Instruction& instruction,
                                         const std::vector<Held>& operands, const Look& look);
  /// What devices that come here make in a branch, and others whatever it is.
  [[nodiscard]] std::vector<Held> run_branch(const Instruction& instruction, Word branch,
                                             const std::vector<Held>& operands, const Look& look);
  /// Notes an exchange that not all devices of a group come to.
  void see_parted(const Instruction& instruction);

  const Module& module_;
  const Domain& domain_;
  std::size_t devices_;
  Limits& limits_;
  Counts counts_;
  std::vector<bool> comes_;  // devices that come here; others make what nobody looks at
  std::size_t random_ = 0;   // numbers drawn by operations of the text in this run
  std::vector<std::vector<std::vector<ValueId>>> lifetimes_;
};

}  // namespace retile::whole
