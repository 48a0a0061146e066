// The least sum of terms, each of one or two variables of few values, from both sides: values whose sum is small,
// and a bound below all sums. For sums of which elimination is too much work.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "elimination.h"

namespace retile::array {

/// Sequential reweighted message passing [Kolmogorov 2006]: every variable hands what it knows to those behind it,
/// and back. Only the first part of weights counts.
class Relaxation {
 public:
  explicit Relaxation(const std::vector<std::vector<Weight>>& alone, std::vector<Pair> pairs);

  struct Found {
    std::vector<std::size_t> values;
    Wide bound = 0;  ///< no sum is below it
  };
  /// Nothing where no sum was found that is finite. What is learnt is kept: of weights that are nearly the same
  /// the next time fewer sweeps are enough.
  [[nodiscard]] std::optional<Found> solve(const std::vector<std::vector<Weight>>& alone,
                                           int sweeps);

 private:
  struct Edge {
    std::size_t low = 0;  ///< variable, before `high`
    std::size_t high = 0;
    std::vector<double> table;  ///< by values of `low`, then of `high`
    std::vector<double> up;     ///< what `low` says, by values of `high`
    std::vector<double> down;   ///< what `high` says, by values of `low`
  };

  /// All variables, one after the other, from the first or from the last one. Returns the bound.
  double sweep(const std::vector<std::vector<double>>& alone, bool is_upward);
  [[nodiscard]] std::vector<double> belief(std::size_t variable,
                                           const std::vector<double>& alone) const;
  /// Values one after the other, each the best for those before it and what those behind it say.
  [[nodiscard]] std::vector<std::size_t> decoded(
      const std::vector<std::vector<double>>& alone) const;
  /// One variable after the other changed for the better, as long as one can be.
  void improve(const std::vector<std::vector<double>>& alone,
               std::vector<std::size_t>& values) const;
  /// What a value of one variable costs beside those of all others.
  [[nodiscard]] double beside(std::size_t variable, std::size_t value,
                              const std::vector<double>& alone,
                              const std::vector<std::size_t>& values) const;
  [[nodiscard]] double sum(const std::vector<std::vector<double>>& alone,
                           const std::vector<std::size_t>& values) const;

  std::vector<std::size_t> sizes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> below_;  ///< by variable: edges to variables before it
  std::vector<std::vector<std::size_t>> above_;
  double dear_ = 1;  ///< in the place of infinite: more than all that is finite together
};

}  // namespace retile::array
