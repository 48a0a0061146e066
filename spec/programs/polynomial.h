/// Formal polynomials with integer coefficients: numbers that stand for all numbers at once.
///
/// A polynomial is a sum of terms, a term an integer times variables. Two are equal as functions of
/// integers iff they are the same sum.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "../layout/cuts.h"

namespace spec::spmd {

constexpr TooLarge too_many_terms = {"more than 2^22 terms of polynomials to add up"};
constexpr TooLarge too_large_coefficient = {"a coefficient that is not below 2^63"};
constexpr Size most_terms = Size{1} << 22;

using Variable = Index;
using Monomial = std::vector<Variable>;  // sorted; x² has x twice

class Polynomial {
 public:
  /// How many terms may still be added up, by all polynomials together.
  inline static Size terms_left = most_terms;

  Polynomial() = default;
  explicit Polynomial(Size constant) { add_term({}, constant); }
  static Polynomial of(Variable x) {
    Polynomial out;
    out.add_term({x}, 1);
    return out;
  }

  const std::map<Monomial, Size>& terms() const { return terms_; }
  bool is_constant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty());
  }
  Size constant() const { return terms_.empty() ? 0 : terms_.begin()->second; }

  void add_term(const Monomial& x, Size c) {
    if (--terms_left < 0) throw too_many_terms;
    Size& there = terms_[x];
    if (__builtin_add_overflow(there, c, &there)) throw too_large_coefficient;
    if (there == 0) terms_.erase(x);
  }
  Polynomial& operator+=(const Polynomial& q) {
    for (const auto& [x, c] : q.terms_) add_term(x, c);
    return *this;
  }
  friend Polynomial operator+(Polynomial p, const Polynomial& q) { return p += q; }
  friend Polynomial operator*(const Polynomial& p, const Polynomial& q) {
    Polynomial out;
    for (const auto& [x, a] : p.terms_) {
      for (const auto& [y, b] : q.terms_) {
        // Every eight variables of a term count as a term: it takes as much memory.
        terms_left -= static_cast<Size>(x.size() + y.size()) / 8;
        if (terms_left < 0) throw too_many_terms;
        Size c = 0;
        if (__builtin_mul_overflow(a, b, &c)) throw too_large_coefficient;
        Monomial xy;
        std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(xy));
        out.add_term(xy, c);
      }
    }
    return out;
  }
  friend Polynomial operator-(const Polynomial& p) { return Polynomial(-1) * p; }
  bool operator==(const Polynomial&) const = default;
  bool operator<(const Polynomial& q) const { return terms_ < q.terms_; }

 private:
  std::map<Monomial, Size> terms_;  // none has the coefficient 0
};

}  // namespace spec::spmd
