/// The facts about numbers that solvers do not find by themselves inside larger goals.
///
/// A lemma here is a formula over its arguments. arithmetic.cpp proves it for arbitrary arguments;
/// an obligation that uses it adds the instance that it needs. Divisibility "n | c" is written with
/// a quotient, c = n * q, and coprimality with Bezout's numbers, u * m + v * n = 1.
#pragma once

#include "obligation.h"

namespace proofs {

/// q n + r = q' n + r' with 0 <= r, r' < n has q = q' and r = r'.
inline Lemma division_is_unique(const expr& n, const expr& q, const expr& r, const expr& q_1,
                                const expr& r_1) {
  return {"division is unique",
          z3::implies(0 <= r && r < n && 0 <= r_1 && r_1 < n && q * n + r == q_1 * n + r_1,
                      q == q_1 && r == r_1)};
}

/// a <= b and c >= 0: a c <= b c.
inline Lemma product_is_monotone(const expr& a, const expr& b, const expr& c) {
  return {"product is monotone", z3::implies(a <= b && c >= 0, a * c <= b * c)};
}

/// c >= 1 and a c <= b c: a <= b. And a c < b c: a < b.
inline Lemma product_cancels(const expr& a, const expr& b, const expr& c) {
  return {"product cancels",
          z3::implies(c >= 1, (a * c == b * c) == (a == b) && (a * c <= b * c) == (a <= b) &&
                                  (a * c < b * c) == (a < b))};
}

/// 0 <= r < k and 0 <= q < m: 0 <= r + k q < k m.
inline Lemma digits_stay_below(const expr& r, const expr& k, const expr& q, const expr& m) {
  return {"digits stay below their product",
          z3::implies(0 <= r && r < k && 0 <= q && q < m, 0 <= r + k * q && r + k * q < k * m)};
}

/// Euclid: u m + v n = 1 and c m = n w: c = n (u w + v c), so n divides c.
inline Lemma euclid(const expr& u, const expr& m, const expr& v, const expr& n, const expr& c,
                    const expr& w) {
  return {"Euclid", z3::implies(u * m + v * n == 1 && c * m == n * w, c == n * (u * w + v * c))};
}

/// Euclid with a name for the quotient: w = u q + v c.
inline Lemma euclid_quotient(const expr& u, const expr& m, const expr& v, const expr& n,
                             const expr& c, const expr& q, const expr& w) {
  return {"Euclid", z3::implies(u * m + v * n == 1 && c * m == n * q && w == u * q + v * c,
                                c == n * w && q == w * m)};
}

}  // namespace proofs
