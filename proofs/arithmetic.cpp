/// The lemmas of arithmetic.h, for all integers.
#include "arithmetic.h"

#include <gtest/gtest.h>

namespace proofs::arithmetic {
namespace {

TEST(arithmetic, product_is_monotone) {
  Obligation o("arith", "a <= b and c >= 0: a c <= b c");
  const expr a = o.integer("a"), b = o.integer("b"), c = o.integer("c");
  o.unbounded("a, b, c");
  o.premise("a <= b", a <= b);
  o.premise("c >= 0", c >= 0);
  o.identity("the lemma", product_is_monotone(a, b, c).formula);
  o.goal("a c <= b c", a * c <= b * c);
  o.control("c >= 0");
  o.check();
}

TEST(arithmetic, product_cancels) {
  Obligation o("arith", "c >= 1: a c = b c iff a = b, a c <= b c iff a <= b, a c < b c iff a < b");
  const expr a = o.integer("a"), b = o.integer("b"), c = o.integer("c");
  o.unbounded("a, b, c");
  o.premise("c >= 1", c >= 1);
  o.use(product_is_monotone(a + 1, b, c));
  o.use(product_is_monotone(b + 1, a, c));
  o.use(product_is_monotone(a, b, c));
  o.use(product_is_monotone(b, a, c));
  o.identity("the lemma", product_cancels(a, b, c).formula);
  o.goal("=", (a * c == b * c) == (a == b));
  o.goal("<=", (a * c <= b * c) == (a <= b));
  o.goal("<", (a * c < b * c) == (a < b));
  o.control("c >= 1");
  o.check();
}

TEST(arithmetic, division_is_unique) {
  Obligation o("arith", "q n + r = q' n + r' and 0 <= r, r' < n: q = q', r = r'");
  const expr n = o.integer("n"), q = o.integer("q"), r = o.integer("r"), q_1 = o.integer("q_1"),
             r_1 = o.integer("r_1");
  o.unbounded("n, q, r, q', r'");
  o.premise("0 <= r < n", 0 <= r && r < n);
  o.premise("0 <= r' < n", 0 <= r_1 && r_1 < n);
  o.premise("q n + r = q' n + r'", q * n + r == q_1 * n + r_1);
  o.use(product_is_monotone(q + 1, q_1, n));
  o.use(product_is_monotone(q_1 + 1, q, n));
  o.identity("the lemma", division_is_unique(n, q, r, q_1, r_1).formula);
  o.goal("q = q', r = r'", q == q_1 && r == r_1);
  o.control("0 <= r' < n");
  o.check();
}

TEST(arithmetic, digits_stay_below_their_product) {
  Obligation o("arith", "0 <= r < k and 0 <= q < m: 0 <= r + k q < k m");
  const expr k = o.integer("k"), m = o.integer("m"), q = o.integer("q"), r = o.integer("r");
  o.unbounded("k, m, q, r");
  o.premise("0 <= r < k", 0 <= r && r < k);
  o.premise("0 <= q < m", 0 <= q && q < m);
  o.use(product_is_monotone(q + 1, m, k));
  o.use(product_is_monotone(o.value(0), q, k));
  o.identity("the lemma", digits_stay_below(r, k, q, m).formula);
  o.goal("0 <= r + k q < k m", 0 <= r + k * q && r + k * q < k * m);
  o.control("0 <= r < k");
  o.check();
}

TEST(arithmetic, euclid) {
  Obligation o("arith", "Euclid: u m + v n = 1 and n | c m: n | c");
  const expr u = o.integer("u"), m = o.integer("m"), v = o.integer("v"), n = o.integer("n"),
             c = o.integer("c"), w = o.integer("w");
  o.unbounded("m, n, c");
  o.premise("u m + v n = 1", u * m + v * n == 1);
  o.premise("c m = n w", c * m == n * w);
  const expr one = u * m + v * n;
  o.fact(z3::implies(one == 1, c * one == c));
  o.fact(z3::implies(c * m == n * w, u * (c * m) == u * (n * w)));
  o.fact(c * one == u * (c * m) + v * n * c);
  o.identity("the lemma", euclid(u, m, v, n, c, w).formula);
  o.goal("n | c", c == n * (u * w + v * c));
  o.control("u m + v n = 1", {}, {m > 1, n > 1, c > 0});
  o.check();
}

TEST(arithmetic, euclid_quotient) {
  Obligation o("arith", "Euclid: u m + v n = 1, c m = n q, w = u q + v c: c = n w and q = w m");
  const expr u = o.integer("u"), m = o.integer("m"), v = o.integer("v"), n = o.integer("n");
  const expr c = o.integer("c"), q = o.integer("q"), w = o.integer("w");
  o.unbounded("m, n, c");
  o.premise("u m + v n = 1", u * m + v * n == 1);
  o.premise("c m = n q", c * m == n * q);
  o.premise("w = u q + v c", w == u * q + v * c);
  const expr one = u * m + v * n, e = u * q + v * c;
  o.fact(n * e == u * (n * q) + v * n * c && e * m == u * m * q + v * (c * m));
  o.fact(c * one == u * (c * m) + v * n * c && q * one == u * m * q + v * (n * q));
  o.fact(z3::implies(one == 1, c * one == c && q * one == q));
  o.fact(z3::implies(c * m == n * q, u * (c * m) == u * (n * q) && v * (c * m) == v * (n * q)));
  o.fact(z3::implies(w == e, n * w == n * e && w * m == e * m));
  o.goal("the lemma", euclid_quotient(u, m, v, n, c, q, w).formula);
  o.goal("c = n w", c == n * w);
  o.goal("q = w m", q == w * m);
  o.control("u m + v n = 1", {}, {m > 1, n > 1, c > 0});
  o.control("c m = n q");
  o.check();
}

TEST(arithmetic, bezout_base) {
  Obligation o("arith", "Bezout, base: g = 1 g + 0 0, and g divides g and 0");
  const expr g = o.size("g"), a = o.integer("a"), b = o.integer("b");
  o.unbounded("g");
  o.bookkeeping();
  o.premise("a = g", a == g);
  o.premise("b = 0", b == 0);
  o.goal("u a + v b = g", 1 * a + 0 * b == g);
  o.goal("g divides both", a == g * 1 && b == g * 0);
  o.control("b = 0");
  o.check();
}

TEST(arithmetic, bezout_step) {
  Obligation o("arith",
               "Bezout, step: from g of (b, a - q b) to g of (a, b), a step of Euclid's algorithm");
  const expr g = o.size("g"), a = o.integer("a"), b = o.integer("b"), q = o.integer("q");
  const expr u = o.integer("u"), v = o.integer("v"), r = o.integer("r");
  const expr s = o.integer("s"), t = o.integer("t");
  o.unbounded("a, b");
  o.premise("a = q b + r", a == q * b + r);
  o.premise("u b + v r = g", u * b + v * r == g);
  o.premise("g divides b and r", b == g * s && r == g * t);
  o.fact(v * (q * b + r) + (u - v * q) * b == u * b + v * r);
  o.fact(z3::implies(a == q * b + r, v * a == v * (q * b + r)));
  o.goal("v a + (u - v q) b = g", v * a + (u - v * q) * b == g);
  o.goal("g divides a and b", a == g * (q * s + t) && b == g * s);
  o.control("u b + v r = g");
  o.check();
}

}  // namespace
}  // namespace proofs::arithmetic
