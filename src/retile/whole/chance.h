// How seldom two programs that are not the same pass a draw. Room-internal.
//
// docs/ledger/statements.md, "How seldom a wrong program passes", has the argument.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "retile/core/size.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// How often each loop of a text went round, at most.
using Rounds = std::map<const Instruction*, Size>;

/// Bounds of a value as a polynomial in drawn numbers, in results of functions of which nothing is known,
/// and in reciprocals of what the text divides by. They are upper bounds, infinity where none is known.
struct Degree {
  double numbers = 0;      ///< degree in numbers and results of functions
  double reciprocals = 0;  ///< degree in reciprocals
  double size = 0;         ///< log2 of the sum of its coefficients' magnitudes
  double halves = 0;       ///< coefficients times 2^halves are integers
};

/// What the values of both texts are.
class Formulas {
 public:
  /// Adds a text. \param devices  that run it
  void add(const Module& module, const Rounds& rounds, Size devices);

  /// -log2 of the probability that a draw does not tell apart formulas that differ; nothing where it is
  /// not known to be below 1.
  /// \param root_order  the prime is 1 modulo it
  [[nodiscard]] std::optional<double> bits(Size root_order) const;

 private:
  friend class FormulaWalk;
  struct Divisor {
    double count = 0;  ///< of different ones
    Degree degree = {};
  };
  /// Without reciprocals: what is left when all divisors are multiplied with.
  [[nodiscard]] Degree cleared(Degree of) const;

  std::vector<Divisor> divisors_;  // what is made of one stands behind it
  std::map<Id, double> functions_;
  double decisions_ = 0;  // whether two numbers are the same
  bool has_roots_ = false;
  Degree largest_;
};

}  // namespace retile::whole
