/// Derivatives of formal polynomials: what a gradient must be, for all numbers at once.
#pragma once

#include "variables.h"

namespace spec::spmd {

/// ∂p/∂x by the product rule, and ∂exp(q)/∂x = exp(q) ∂q/∂x; nullopt where p has maxima, or other functions.
inline std::optional<Polynomial> derivative(const Polynomial& p, Variable x,
                                            const Variables& variables) {
  Polynomial out;
  for (const auto& [monomial, c] : p.terms()) {
    for (Index k = 0; k < monomial.size(); ++k) {
      Monomial rest = monomial;  // without this factor
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
      Polynomial others;
      others.add_term(rest, c);
      const Variable y = monomial[k];
      if (y == x) {
        out += others;
      } else if (variables.result(y)) {
        const auto& [function, q] = *variables.result(y);
        const auto inner = derivative(q, x, variables);
        if (function != Function::exponential || !inner) return std::nullopt;
        out += others * Polynomial::of(y) * *inner;
      } else if (!variables.is_of_inputs(Polynomial::of(y))) {
        return std::nullopt;
      }
    }
  }
  return out;
}

}  // namespace spec::spmd
