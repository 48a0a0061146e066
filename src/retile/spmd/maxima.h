// Maxima, and results of functions, as numbers that are drawn: the same one for the same arguments.
// Room-internal.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "expression.h"
#include "modular.h"
#include "retile/core/deadline.h"

namespace retile::spmd {

/// Lists of values, numbered as they came, that are found again.
class ListTable {
 public:
  using Value = Twofold::Value;
  using List = std::span<const Value>;

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  /// size() where it is not there.
  [[nodiscard]] std::size_t find(List list) const;
  /// Precondition: it is not there.
  void insert(List list);

 private:
  [[nodiscard]] List list(std::size_t k) const;
  /// Where it stands in slots_, or could.
  [[nodiscard]] std::size_t slot_of(List list) const;
  void grow();

  std::vector<Value> values_;              // of all lists
  std::vector<std::size_t> begins_ = {0};  // one more than lists
  std::vector<std::uint32_t> slots_;       // a list's number + 1, or 0; as many as a power of two
};

/// The k and the constants of a module, see Maxima.
struct KnownNumbers {
  std::vector<Size> factors;    ///< from 2 to 2^24 - 1, at most most_factors
  std::vector<Size> constants;  ///< beyond those that every Twofold knows
};
inline constexpr std::size_t most_factors = 8;

/// Maxima of polynomials, of which only the values at one random place are known.
///
/// Each set of arguments has a variable of its own, whose value is drawn. The same set has the same value,
/// in whatever order it comes. Some laws of maxima are used besides. The maximum of maxima is that of all
/// their arguments. Of constants, and of two whose difference is one, the larger counts. Of two
/// max(p, q) = q + r(p - q), where r(d) = d + r(-d). And max{k p, k q, ..} = k max{p, q, ..} for some
/// positive k. What is equal by these laws is equal for all numbers. What is not may be equal all
/// the same.
class Maxima {
 public:
  using Value = Twofold::Value;

  /// \param random  outlives this
  Maxima(const Twofold& field, const KnownNumbers& known, std::mt19937_64& random,
         const Deadline& deadline = {});

  /// The maximum of at least one. Throws Undecided beyond the limits, and after the deadline.
  [[nodiscard]] Value of(std::span<const Value> arguments);
  /// The result of a function of which nothing is known: the same one for the same argument, of every
  /// function another one. Throws as of().
  [[nodiscard]] Value of(LocalOp function, Value argument);
  /// Likewise of step and equal, of which the latter looks at the difference. Of constants they are known.
  [[nodiscard]] Value indicator(LocalOp function, Value argument);

  /// Values that are kept, and values that are looked for among them.
  static constexpr std::size_t most_kept = std::size_t{1} << 24U;
  static constexpr std::size_t most_looked_for = std::size_t{1} << 32U;

 private:
  using List = std::vector<Value>;
  struct Factor {
    Value number;
    Value reciprocal;
  };

  void spend(std::size_t values);
  [[nodiscard]] std::optional<Size> constant(Value p) const;
  /// Without maxima and equal ones in it. Of constants the largest stays.
  [[nodiscard]] List flat(std::span<const Value> arguments);
  [[nodiscard]] Value of_two(Value p, Value q);
  /// r(d), where r of a multiple of it is known.
  [[nodiscard]] std::optional<Value> positive_part(Value d);
  [[nodiscard]] Value of_set(const List& arguments);
  /// The maximum of a set of which a multiple is known.
  [[nodiscard]] std::optional<Value> known_set(const List& arguments);
  void keep(Value maximum, const List& arguments);
  void count_kept(std::size_t values);
  [[nodiscard]] std::size_t find(const ListTable& table, std::span<const Value> list);

  Twofold field_;
  std::vector<Factor> factors_;
  std::vector<std::pair<Value, Size>> constants_;  // sorted
  std::mt19937_64& random_;
  Watch watch_;
  ListTable differences_;                  // the d of which r(d) was drawn, a list of one each
  List positive_parts_;                    // r(d) of each
  ListTable sets_;                         // three and more, sorted
  List set_maxima_;                        // of each
  ListTable maxima_;                       // those that were made, a list of one each
  List arguments_;                         // of all of them
  std::vector<std::size_t> begins_ = {0};  // in arguments_
  ListTable functions_;  // the arguments of which a result was drawn, behind which function
  List results_;         // of each
  std::size_t kept_ = 0;
  std::size_t looked_for_ = 0;
};

/// Arithmetic of formal polynomials with maxima and functions, at one random place.
class Formal {
 public:
  using Value = Twofold::Value;

  /// \param maxima  outlives this
  Formal(const Twofold& field, Maxima& maxima) : field_(field), maxima_(&maxima) {}

  [[nodiscard]] Value from(Size number) const { return field_.from(number); }
  [[nodiscard]] Value add(Value a, Value b) const { return field_.add(a, b); }
  [[nodiscard]] Value sub(Value a, Value b) const { return field_.sub(a, b); }
  [[nodiscard]] Value mul(Value a, Value b) const { return field_.mul(a, b); }
  using Gathered = Twofold::Gathered;
  static constexpr std::size_t most_gathered = Twofold::most_gathered;
  static void gather(Gathered& sum, const Value& a, const Value& b) { Twofold::gather(sum, a, b); }
  [[nodiscard]] Value gathered(const Gathered& sum) const { return field_.gathered(sum); }
  [[nodiscard]] Value max(Value a, Value b) const {
    const Value both[] = {a, b};
    return maxima_->of(both);
  }
  /// Of 1/x nothing is known but that it is a function.
  [[nodiscard]] Value div(Value a, Value b) const { return mul(a, maxima_->of(LocalOp::div, b)); }
  [[nodiscard]] Value exp(Value a) const { return maxima_->of(LocalOp::exp, a); }
  [[nodiscard]] Value sqrt(Value a) const { return maxima_->of(LocalOp::sqrt, a); }
  [[nodiscard]] Value step(Value a) const { return maxima_->indicator(LocalOp::step, a); }
  [[nodiscard]] Value equal(Value a, Value b) const {
    return maxima_->indicator(LocalOp::equal, sub(a, b));
  }
  [[nodiscard]] Value most(const std::vector<Value>& all) const { return maxima_->of(all); }
  void begin_family(std::mt19937_64& /*random*/) const {}
  [[nodiscard]] Value drawn(std::mt19937_64& random) const { return field_.drawn(random); }

 private:
  Twofold field_;
  Maxima* maxima_;
};

}  // namespace retile::spmd
