/// Maxima and functions of formal polynomials, as variables.
///
/// max(p, q) is no polynomial. It becomes a variable of its own,
/// the same one for the same set of arguments. So polynomials that are the same are equal as
/// functions, but with maxima not always the other way round. Likewise exp(p), sqrt(p) and 1/p become
/// variables, of which only this is known: equal arguments have equal results. So do the numbers that are 1
/// where p > 0, or where p = 0, and else 0. Some variables stand for indices: whole numbers below an extent.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "enclosure.h"
#include "polynomial.h"

namespace spec::spmd {

/// Functions of one number of which no law is used, and indicators, which are known of constants.
enum class Function { exponential, square_root, reciprocal, above_zero, is_zero };

inline bool is_indicator(Function f) { return f == Function::above_zero || f == Function::is_zero; }
/// Of an integer.
inline Size indicator_value(Function f, Size x) {
  return (f == Function::above_zero ? x > 0 : x == 0) ? 1 : 0;
}

/// The variables: those that stand for inputs, those that are maxima, and those that are results of
/// functions.
class Variables {
 public:
  Polynomial fresh() { return made({}); }
  /// An index: 0, .., n - 1.
  Polynomial fresh_index(Size n) {
    const Polynomial out = made({});
    below_.back() = n;
    return out;
  }

  /// The same variable for the same argument.
  Polynomial function(Function f, const Polynomial& p) {
    const auto known = result_of_.emplace(std::pair(f, p), maximum_.size());
    if (known.second) made({}, std::pair(f, p));
    return Polynomial::of(known.first->second);
  }

  Polynomial indicator(Function f, const Polynomial& p) {
    return p.is_constant() ? Polynomial(indicator_value(f, p.constant())) : function(f, p);
  }

  /// max(p, q). The maximum of maxima is that of all their arguments.
  Polynomial max(const Polynomial& p, const Polynomial& q) {
    if (p.is_constant() && q.is_constant()) {
      return Polynomial(std::max(p.constant(), q.constant()));
    }
    std::set<Polynomial> all = arguments(p);
    all.merge(arguments(q));
    if (all.size() == 1) return *all.begin();
    const auto known = variable_of_.emplace(all, maximum_.size());
    if (known.second) made(all);
    return Polynomial::of(known.first->second);
  }

  /// What a variable is the result of; nullopt of an input or a maximum.
  const std::optional<std::pair<Function, Polynomial>>& result(Variable x) const {
    return function_[x];
  }
  /// Whether its variables stand for inputs: no maximum is in it, and no function.
  bool is_of_inputs(const Polynomial& p) const {
    for (const auto& [monomial, c] : p.terms()) {
      for (const Variable x : monomial) {
        if (!maximum_[x].empty() || function_[x]) return false;
      }
    }
    return true;
  }
  /// Likewise, and none of them is an index: two that are not the same differ for some numbers.
  bool is_of_numbers(const Polynomial& p) const {
    if (!is_of_inputs(p)) return false;
    for (const auto& [monomial, c] : p.terms()) {
      for (const Variable x : monomial) {
        if (below_[x]) return false;
      }
    }
    return true;
  }
  bool has_indices() const {
    return std::any_of(below_.begin(), below_.end(), [](const auto& n) { return n.has_value(); });
  }
  /// Others than indicators.
  bool has_functions() const {
    const auto is_one = [](const auto& known) { return !is_indicator(known.first.first); };
    return std::any_of(result_of_.begin(), result_of_.end(), is_one);
  }

  /// |c| of all coefficients that variables are made of.
  std::set<Size> magnitudes() const {
    std::set<Size> out;
    const auto look = [&](const Polynomial& p) {
      for (const auto& [monomial, c] : p.terms()) out.insert(c < 0 ? -c : c);
    };
    for (const std::set<Polynomial>& all : maximum_) {
      for (const Polynomial& p : all) look(p);
    }
    for (const auto& [result, x] : result_of_) look(result.second);
    return out;
  }

  /// Intervals around the values of all variables, where `input` gives those of inputs, and `index` those
  /// of indices, which are known exactly; nullopt where one has none.
  template <class Input, class OfIndex>
  std::optional<std::vector<Enclosure>> enclosures(const Input& input, const OfIndex& index) const {
    std::vector<Enclosure> out;
    std::vector<Size> indices;                        // 0 for others
    for (Variable x = 0; x < maximum_.size(); ++x) {  // arguments have smaller variables
      MaybeEnclosure value;
      indices.push_back(below_[x] ? index(*below_[x]) : 0);
      if (function_[x]) {
        const auto& [f, p] = *function_[x];
        const MaybeEnclosure argument = enclosure(p, out);
        const auto exact =
            is_indicator(f) && is_of_indices(p) ? Variables::value(p, indices) : std::nullopt;
        if (exact) {
          const auto known = static_cast<double>(indicator_value(f, *exact));
          value = Enclosure{known, known};
        } else if (argument) {
          value = applied(f, *argument);
        }
      } else if (below_[x]) {
        const auto known = static_cast<double>(indices[x]);
        value = known < 0x1p53 ? MaybeEnclosure(Enclosure{known, known}) : std::nullopt;
      } else if (maximum_[x].empty()) {
        value = input();
      }
      for (const Polynomial& p : maximum_[x]) {
        const MaybeEnclosure p_x = enclosure(p, out);
        if (!p_x) return std::nullopt;
        value = value ? maximum(*value, *p_x) : *p_x;
      }
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }
  static MaybeEnclosure enclosure(const Polynomial& p, const std::vector<Enclosure>& values) {
    MaybeEnclosure out = Enclosure{0, 0};
    for (const auto& [monomial, c] : p.terms()) {
      MaybeEnclosure term = enclosed(c);
      for (const Variable x : monomial) {
        if (term) term = multiplied(*term, values[x]);
      }
      if (!term || !out) return std::nullopt;
      out = added(*out, *term);
    }
    return out;
  }

  /// The values of all variables, where `input` gives those that are no maxima, and of indices any number that
  /// becomes one; nullopt where one of them is not below 2^63. None is the result of another function than an
  /// indicator.
  template <class Input>
  std::optional<std::vector<Size>> values(const Input& input) const {
    std::vector<Size> out;
    for (Variable x = 0; x < maximum_.size(); ++x) {  // arguments have smaller variables
      const std::set<Polynomial>& all = maximum_[x];
      if (function_[x]) {
        const auto argument = value(function_[x]->second, out);
        if (!argument) return std::nullopt;
        out.push_back(indicator_value(function_[x]->first, *argument));
        continue;
      }
      if (all.empty()) {
        const Size number = input();
        const Size rest = below_[x] ? number % *below_[x] : number;
        out.push_back(below_[x] && rest < 0 ? rest + *below_[x] : rest);
        continue;
      }
      std::optional<Size> most;
      for (const Polynomial& p : all) {
        const auto p_x = value(p, out);
        if (!p_x) return std::nullopt;
        most = std::max(*p_x, most.value_or(*p_x));
      }
      out.push_back(*most);
    }
    return out;
  }
  static std::optional<Size> value(const Polynomial& p, const std::vector<Size>& values) {
    Size out = 0;
    for (const auto& [monomial, c] : p.terms()) {
      Size term = c;
      for (const Variable x : monomial) {
        if (__builtin_mul_overflow(term, values[x], &term)) return std::nullopt;
      }
      if (__builtin_add_overflow(out, term, &out)) return std::nullopt;
    }
    return out;
  }

 private:
  using Result = std::pair<Function, Polynomial>;

  Polynomial made(const std::set<Polynomial>& maximum, std::optional<Result> function = {}) {
    maximum_.push_back(maximum);
    function_.push_back(std::move(function));
    below_.emplace_back();
    return Polynomial::of(maximum_.size() - 1);
  }
  /// Whether all its variables are indices.
  bool is_of_indices(const Polynomial& p) const {
    for (const auto& [monomial, c] : p.terms()) {
      for (const Variable x : monomial) {
        if (!below_[x]) return false;
      }
    }
    return true;
  }
  static MaybeEnclosure applied(Function f, const Enclosure& x) {
    return f == Function::exponential   ? exponential(x)
           : f == Function::square_root ? square_root(x)
           : f == Function::above_zero  ? above_zero(x)
           : f == Function::is_zero     ? is_zero(x)
                                        : reciprocal(x);
  }

  std::set<Polynomial> arguments(const Polynomial& p) const {
    if (p.terms().size() == 1 && p.terms().begin()->second == 1) {
      const Monomial& x = p.terms().begin()->first;
      if (x.size() == 1 && !maximum_[x[0]].empty()) return maximum_[x[0]];
    }
    return {p};
  }

  // Of each variable what it is the maximum of, or the result of; neither of an input.
  std::vector<std::set<Polynomial>> maximum_;
  std::vector<std::optional<Result>> function_;
  std::vector<std::optional<Size>> below_;  // of each index the extent
  std::map<std::set<Polynomial>, Variable> variable_of_;
  std::map<Result, Variable> result_of_;
};

}  // namespace spec::spmd
