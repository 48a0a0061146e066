/// Lemma 6.5 for addends, and what follows from it: PS1, PS2 and PS5 (docs/ledger/statements.md).
///
/// A weak state says the tile sizes and K, of how many addends a device holds one. N is the number of
/// tiles, F that of the devices that hold the same addend of the same tile: delta = N K F. RS(i,n)
/// adds n addends and cuts dimension i: n | K, n | c_i; it costs the tile before. AR(n) adds n
/// addends: n | K; it costs twice the tile. D(j,n) needs n N K | delta. A and G are what they were.
///
/// Patterns without RS and AR are those of lemma_6_5.cpp, where N is N K: no step of theirs changes K.
/// Each other pattern of two steps that a normal form D* RS* (A, AR)* G* does not have is replaced by
/// a normal form nf. All but one have cost(nf) + valley(nf) <= cost(pattern). As there a factor 1 in
/// a replacement means that the step is left out, and costs are divided by what does not change.
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::addends {
namespace {

constexpr const char* arbitrary = "factors, tile sizes, rank, addends, mesh";

/// cost of a step that is left out when its factor is 1.
expr if_any(const expr& factor, const expr& cost) { return z3::ite(factor > 1, cost, factor * 0); }

// ---- G RS and G AR

TEST(addends, gathers_before_reducescatters_elsewhere) {
  Obligation o("PS1", "G(i,m) RS(k,n), k != i: RS(k,n) G(i,m), at L + m L/n + L/n <= 2 m L");
  const expr m = o.size("m"), n = o.size("n"), V = o.size("V");  // L = n V
  o.unbounded(arbitrary);
  o.premise("m >= 2", m >= 2);
  o.use(product_is_monotone(o.value(2), m, n));
  o.use(product_is_monotone(o.value(1), n, m));
  o.use(product_is_monotone(n + m + 1, 2 * (m * n), V));
  o.fact(m * n == n * m && (n * V + m * V) + V == (n + m + 1) * V);
  o.fact(m * (n * V) + m * (n * V) == (2 * (m * n)) * V);
  o.goal("cost(nf) + valley(nf) <= cost", (n * V + m * V) + V <= m * (n * V) + m * (n * V));
  o.control("m >= 2");
  o.check();
}

TEST(addends, gathers_before_reducescatters_of_one_dimension_fit) {
  Obligation o("PS1", "G(i,m) RS(i,n), e = gcd(n,c_i), d = n/e: RS(i,e) AR(d) G(i,m/d)");
  const expr e = o.size("e"), d = o.size("d"), c_1 = o.size("c_1"), c_i = o.size("c_i");
  const expr m = o.size("m"), q = o.size("q"), N_i = o.size("N_i"), M = o.size("M");
  const expr K = o.size("K"), K_1 = o.size("K_1");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("e | c_i", c_i == e * c_1);
  o.premise("gcd(d, c_i/e) = 1", u * d + v * c_1 == 1);
  o.premise("n | c_i m", c_i * m == (e * d) * q);
  o.premise("n | K", K == (e * d) * K_1);
  o.premise("m | N_i", N_i == m * M);
  const expr w = o.let("w", v * q + u * m);  // m / d
  o.fact((e * c_1) * m == e * (m * c_1));
  o.fact((e * d) * q == e * (d * q));
  o.use(product_cancels(m * c_1, d * q, e));
  o.use(euclid_quotient(v, c_1, u, d, m, q, w));
  o.goal("d | m", m == d * w);
  o.fact(c_1 * w * d == c_1 * (d * w) && q * d == d * q && c_1 * m == m * c_1);
  o.fact(m != d * w || c_1 * (d * w) == c_1 * m);
  o.use(product_cancels(c_1 * w, q, d));
  o.goal("dimension i ends in q", c_1 * w == q);
  o.fact((e * d) * K_1 == e * (d * K_1));
  o.goal("e | K, then d", K == e * (d * K_1));
  o.fact(m != d * w || e * (m * M) == w * (d * (e * M)));
  o.fact(N_i != m * M || e * N_i == e * (m * M));
  o.goal("m/d | e N_i", e * N_i == w * (d * (e * M)));
  o.control("gcd(d, c_i/e) = 1", {}, {u == 0, v == 0, d >= 2, m % d != 0});
  o.check();
}

TEST(addends, gathers_before_reducescatters_of_one_dimension_descend) {
  Obligation o("PS1",
               "G(i,m) RS(i,n) against RS(i,e) AR(d) G(i,m/d): cost(nf) + valley(nf) <= cost");
  const expr e = o.size("e"), d = o.size("d"), w = o.size("w"), V = o.size("V");  // L = e V
  const expr m = o.size("m");
  o.unbounded(arbitrary);
  o.premise("m = d (m/d)", m == d * w);  // the obligation above
  const expr zero = o.value(0);
  const expr units =
      z3::ite(e > 1, e, zero) + z3::ite(d > 1, o.value(2), zero) + z3::ite(w > 1, w, zero) + 1;
  const expr p = w * e;
  for (const int k : {1, 2}) {
    o.use(product_is_monotone(o.value(k), d, p));
    o.use(product_is_monotone(o.value(k), w, e));
    o.use(product_is_monotone(o.value(k), e, w));
  }
  o.fact(w * e == e * w);
  o.use(product_is_monotone(units, 2 * (d * p), V));
  const expr nf = if_any(e, e * V) + if_any(d, 2 * V) + if_any(w, w * V);
  o.fact(nf + V == units * V);
  o.fact(m != d * w || m * (e * V) == (d * (w * e)) * V);
  o.fact((2 * (d * p)) * V == 2 * ((d * p) * V));
  o.goal("cost(nf) + valley(nf) <= cost", nf + V <= m * (e * V) + m * (e * V));
  o.control("m = d (m/d)");
  o.check();
}

TEST(addends, gathers_before_allreduces) {
  Obligation o("PS1", "G(i,m) AR(n): AR(n) G(i,m), at 2 L + m L + L <= m L + 2 m L");
  const expr m = o.size("m"), L = o.size("L");
  o.unbounded(arbitrary);
  o.premise("m >= 2", m >= 2);
  o.use(product_is_monotone(o.value(2), m, L));
  o.goal("cost(nf) + valley(nf) <= cost", (2 * L + m * L) + L <= m * L + 2 * (m * L));
  o.control("m >= 2");
  o.check();
}

// ---- RS D and AR D

TEST(addends, reducescatters_before_slices_fit) {
  Obligation o("PS1", "RS(i,n) D(j,p): D(j,p) RS(i,n)");
  const expr n = o.size("n"), p = o.size("p"), c_i = o.size("c_i"), q_i = o.size("q_i");
  const expr c_j = o.size("c_j"), q = o.size("q"), N = o.size("N"), K = o.size("K");
  const expr K_1 = o.size("K_1"), F = o.size("F"), delta = o.size("delta");
  const expr same = o.constant("i_is_j", o.z().bool_sort());
  o.unbounded(arbitrary);
  o.premise("n | c_i", c_i == n * q_i);
  o.premise("n | K", K == n * K_1);
  o.premise("p | c_j after it", z3::ite(same, q_i, c_j) == p * q);
  o.premise("p (n N) (K/n) | delta", delta == p * ((n * N) * K_1) * F);
  o.fact(n * (p * q) == p * (n * q));
  o.fact(q_i != p * q || n * q_i == n * (p * q));
  o.goal("p | c_j before it", z3::ite(same, c_i, c_j) == p * z3::ite(same, n * q, q));
  o.goal("then n | c_i", z3::ite(same, n * q, c_i) == n * z3::ite(same, q, q_i));
  o.fact(p * ((n * N) * K_1) * F == p * (N * (n * K_1)) * F);
  o.fact(K != n * K_1 || p * (N * (n * K_1)) * F == p * (N * K) * F);
  o.goal("p N K | delta", delta == p * (N * K) * F);
  o.control("p (n N) (K/n) | delta");
  o.check();
}

TEST(addends, reducescatters_before_slices_descend) {
  Obligation o("PS1", "RS(i,n) D(j,p) against D(j,p) RS(i,n): L/p + L/(p n) <= L");
  const expr n = o.size("n"), p = o.size("p"), V = o.size("V");  // L = p n V
  o.unbounded(arbitrary);
  o.premise("p >= 2", p >= 2);
  o.use(product_is_monotone(o.value(2), p, n * V));
  o.use(product_is_monotone(o.value(1), n, V));
  o.goal("cost(nf) + valley(nf) <= cost", n * V + V <= p * (n * V));
  o.control("p >= 2");
  o.check();
}

TEST(addends, allreduces_before_slices_fit) {
  Obligation o("PS1", "AR(n) D(j,p), p = a b, a = gcd(p,F): D(j,a) RS(j,b) AR(n/b)");
  const expr a = o.size("a"), b = o.size("b"), n = o.size("n"), c_j = o.size("c_j");
  const expr q = o.size("q"), N = o.size("N"), K = o.size("K"), K_1 = o.size("K_1");
  const expr F = o.size("F"), F_1 = o.size("F_1"), F_2 = o.size("F_2"), delta = o.size("delta");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("a | F", F == a * F_1);
  o.premise("gcd(b, F/a) = 1", u * b + v * F_1 == 1);
  o.premise("p | c_j", c_j == (a * b) * q);
  o.premise("n | K", K == n * K_1);
  o.premise("delta = N K F", delta == (N * K) * F);
  o.premise("p N (K/n) | delta", delta == (a * b) * (N * K_1) * F_2);
  const expr w = o.let("w", v * F_2 + u * n);  // n / b
  o.fact(z3::implies(K == n * K_1 && F == a * F_1, (N * K) * F == (n * F_1) * (a * (N * K_1))));
  o.fact((a * b) * (N * K_1) * F_2 == (b * F_2) * (a * (N * K_1)));
  o.use(product_cancels(n * F_1, b * F_2, a * (N * K_1)));
  o.use(euclid_quotient(v, F_1, u, b, n, F_2, w));
  o.fact((a * b) * q == a * (b * q));
  o.goal("a | c_j, then b", c_j == a * (b * q));
  o.fact(F != a * F_1 || (N * K) * F == a * (N * K) * F_1);
  o.goal("a N K | delta", delta == a * (N * K) * F_1);
  o.goal("b | n", n == b * w);
  o.fact(n != b * w || n * K_1 == b * (w * K_1));
  o.goal("b | K, then n/b", K == b * (w * K_1));
  o.control("gcd(b, F/a) = 1", {}, {u == 0, v == 0, b >= 2, n % b != 0});
  o.check();
}

TEST(addends, allreduces_before_slices_cost_no_less) {
  Obligation o("PS1", "AR(n) D(j,p) against D(j,a) RS(j,b) AR(n/b): cost(nf) <= cost, lower tiles");
  const expr a = o.size("a"), b = o.size("b"), w = o.size("w"), V = o.size("V");  // L = a b V
  o.unbounded(arbitrary);
  o.premise("p >= 2", a * b >= 2);
  const expr zero = o.value(0);
  const expr units = z3::ite(b > 1, b, zero) + z3::ite(w > 1, o.value(2), zero);
  o.use(product_is_monotone(o.value(1), a, b));
  o.fact(b != 1 || a * b == a);
  o.use(product_is_monotone(units, 2 * (a * b), V));
  const expr nf = if_any(b, b * V) + if_any(w, 2 * V);
  o.fact(nf == units * V);
  o.fact((2 * (a * b)) * V == 2 * ((a * b) * V));
  o.goal("cost(nf) <= cost", nf <= 2 * ((a * b) * V));
  o.use(product_is_monotone(o.value(2), a * b, V));
  o.goal("the tile at which it adds all is lower", V < (a * b) * V);
  o.control("p >= 2");
  o.check();
}

TEST(addends, allreduces_before_slices_mostly_descend) {
  Obligation o("PS1",
               "AR(n) D(j,p) unless F is odd, p = 2 and n > 2: cost(nf) + valley(nf) <= cost");
  const expr a = o.size("a"), b = o.size("b"), w = o.size("w"), V = o.size("V");  // L = a b V
  o.unbounded(arbitrary);
  o.premise("a > 1 or b > 2 or n = b", a > 1 || b > 2 || w == 1);
  const expr zero = o.value(0);
  const expr units = z3::ite(b > 1, b, zero) + z3::ite(w > 1, o.value(2), zero) + 1;
  o.use(product_is_monotone(o.value(1), a, b));
  o.use(product_is_monotone(o.value(2), a, b));
  o.fact(b != 1 || a * b == a);
  o.use(product_is_monotone(units, 2 * (a * b), V));
  const expr nf = if_any(b, b * V) + if_any(w, 2 * V);
  o.fact(nf + V == units * V);
  o.fact((2 * (a * b)) * V == 2 * ((a * b) * V));
  o.goal("cost(nf) + valley(nf) <= cost", nf + V <= 2 * ((a * b) * V));
  o.control("a > 1 or b > 2 or n = b", {}, {a == 1, b == 2, w == 2});
  o.check();
}

// ---- A RS, AR RS, AR AR

TEST(addends, alltoalls_before_reducescatters_elsewhere_fit) {
  Obligation o("PS1", "A(k,l,m) RS(i,n), i != k: RS(i,n) A(k,l,m)");
  const expr m = o.size("m"), n = o.size("n"), c_l = o.size("c_l"), q_l = o.size("q_l");
  const expr c_i = o.size("c_i"), q = o.size("q");
  const expr same = o.constant("i_is_l", o.z().bool_sort());
  o.unbounded(arbitrary);
  o.premise("m | c_l", c_l == m * q_l);
  o.premise("n | c_i after it", z3::ite(same, q_l, c_i) == n * q);
  o.fact(m * (n * q) == n * (m * q));
  o.fact(q_l != n * q || m * q_l == m * (n * q));
  o.goal("n | c_i before it", z3::ite(same, c_l, c_i) == n * z3::ite(same, m * q, q));
  o.goal("then m | c_l", z3::ite(same, m * q, c_l) == m * z3::ite(same, q, q_l));
  o.control("n | c_i after it");
  o.check();
}

TEST(addends, alltoalls_before_reducescatters_of_one_dimension_fit) {
  Obligation o("PS1", "A(k,l,m) RS(k,n), e = gcd(n,c_k), d = n/e: RS(l,d) RS(k,e) A(k,l,m/d)");
  const expr e = o.size("e"), d = o.size("d"), c_1 = o.size("c_1"), c_k = o.size("c_k");
  const expr m = o.size("m"), q = o.size("q"), N_k = o.size("N_k"), M = o.size("M");
  const expr c_l = o.size("c_l"), q_l = o.size("q_l"), K = o.size("K"), K_1 = o.size("K_1");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("e | c_k", c_k == e * c_1);
  o.premise("gcd(d, c_k/e) = 1", u * d + v * c_1 == 1);
  o.premise("n | c_k m", c_k * m == (e * d) * q);
  o.premise("m | c_l", c_l == m * q_l);
  o.premise("n | K", K == (e * d) * K_1);
  o.premise("m | N_k", N_k == m * M);
  const expr w = o.let("w", v * q + u * m);  // m / d
  o.fact((e * c_1) * m == e * (m * c_1));
  o.fact((e * d) * q == e * (d * q));
  o.use(product_cancels(m * c_1, d * q, e));
  o.use(euclid_quotient(v, c_1, u, d, m, q, w));
  o.goal("d | m", m == d * w);
  o.fact(c_1 * w * d == c_1 * (d * w) && q * d == d * q && c_1 * m == m * c_1);
  o.fact(m != d * w || c_1 * (d * w) == c_1 * m);
  o.use(product_cancels(c_1 * w, q, d));
  o.goal("dimension k ends in q", c_1 * w == q);
  o.fact(m != d * w || m * q_l == d * (w * q_l));
  o.goal("d | c_l, then m/d, and it ends in c_l/m", c_l == d * (w * q_l));
  o.fact((e * d) * K_1 == d * (e * K_1));
  o.goal("d | K, then e", K == d * (e * K_1));
  o.fact(m != d * w || e * (m * M) == w * (d * (e * M)));
  o.fact(N_k != m * M || e * N_k == e * (m * M));
  o.goal("m/d | e N_k", e * N_k == w * (d * (e * M)));
  o.control("gcd(d, c_k/e) = 1", {}, {u == 0, v == 0, d >= 2, m % d != 0});
  o.check();
}

TEST(addends, alltoalls_before_reducescatters_descend) {
  Obligation o("PS1",
               "A RS against RS(l,d) RS(k,e) A(k,l,m/d), or RS A (d = 1): cost(nf) + valley(nf) <= "
               "cost");
  const expr e = o.size("e"), d = o.size("d"), w = o.size("w"), V = o.size("V");
  const expr L = o.size("L");
  o.unbounded(arbitrary);
  o.premise("L = n (L/n)", L == (d * e) * V);
  const expr zero = o.value(0), one = o.value(1);
  const expr units =
      z3::ite(d > 1, d * e, zero) + z3::ite(e > 1, e, zero) + z3::ite(w > 1, one, zero) + 1;
  o.use(product_is_monotone(one, d, e));
  o.use(product_is_monotone(o.value(2), d, e));
  o.fact(e != 1 || d * e == d);
  o.fact(d != 1 || d * e == e);
  o.use(product_is_monotone(units, 2 * (d * e), V));
  const expr nf = if_any(d, (d * e) * V) + if_any(e, e * V) + if_any(w, V);
  o.fact(nf + V == units * V);
  o.fact((2 * (d * e)) * V == (d * e) * V + (d * e) * V);
  o.goal("cost(nf) + valley(nf) <= cost", nf + V <= L + L);
  o.control("L = n (L/n)");
  o.check();
}

TEST(addends, allreduces_before_reducescatters) {
  Obligation o("PS1", "AR(m) RS(i,n): RS(i,n) AR(m), at L + 2 L/n + L/n <= 3 L");
  const expr n = o.size("n"), V = o.size("V");  // L = n V
  o.unbounded(arbitrary);
  o.premise("n >= 2", n >= 2);
  o.use(product_is_monotone(o.value(2), n, V));
  o.goal("cost(nf) + valley(nf) <= cost", (n * V + 2 * V) + V <= 2 * (n * V) + n * V);
  o.control("n >= 2");
  o.check();
}

TEST(addends, allreduces_are_one_allreduce_or_two_other_steps) {
  Obligation o("PS1",
               "AR(m) AR(n): AR(m n), at 2 L + L <= 4 L; AR(n) costs what RS(i,n) G(i,n) does");
  const expr L = o.size("L"), n = o.size("n"), V = o.size("V"), m = o.size("m"), K = o.size("K");
  const expr K_1 = o.size("K_1"), K_2 = o.size("K_2");
  o.unbounded(arbitrary);
  o.premise("m | K", K == m * K_1);
  o.premise("n | K/m", K_1 == n * K_2);
  o.premise("n | c_i", L == n * V);
  o.fact(K_1 != n * K_2 || m * K_1 == (m * n) * K_2);
  o.goal("m n | K", K == (m * n) * K_2);
  o.identity("cost(nf) + valley(nf) <= cost", 2 * L + L <= 2 * L + 2 * L || L < 1);
  o.goal("2 L = L + n (L/n)", 2 * L == L + n * V);
  o.control("n | K/m");
  o.check();
}

// ---- PS2 and PS5

TEST(addends, a_reducescatter_keeps_the_holders) {
  Obligation o("PS2", "reducescatter: t' = t n + (s mod n), s' = s div n, and back");
  const expr n = o.size("n"), t = o.natural("t"), s_1 = o.natural("s_1"), x = o.natural("x");
  const expr N = o.size("N"), K_1 = o.size("K_1");
  o.unbounded("factors, tiles, addends");
  o.premise("s = s' n + x, x < n", x < n);
  o.premise("t < N, s' < K/n", t < N && s_1 < K_1);
  const auto [q, p] = o.divide("q", "p", t * n + x, n);
  o.use(division_is_unique(n, t, x, q, p));
  o.use(digits_stay_below(x, n, t, N));
  o.use(digits_stay_below(x, n, s_1, K_1));
  o.goal("t and the digit come back", q == t && p == x);
  o.goal("t' < n N", t * n + x < n * N);
  o.goal("s < K", s_1 * n + x < n * K_1);
  o.control("s = s' n + x, x < n");
  o.check();
}

TEST(addends, an_allreduce_joins_the_holders) {
  Obligation o("PS2", "allreduce: s' = s div n; each addend of a tile gets n F holders");
  const expr n = o.size("n"), N = o.size("N"), K = o.size("K"), K_1 = o.size("K_1");
  const expr F = o.size("F"), F_1 = o.size("F_1"), delta = o.size("delta");
  o.unbounded("factors, tiles, addends, mesh");
  o.premise("n | K", K == n * K_1);
  o.premise("delta = N K F", delta == (N * K) * F);
  o.premise("delta = N (K/n) F'", delta == (N * K_1) * F_1);
  o.fact(K != n * K_1 || (N * K) * F == (N * K_1) * (n * F));
  o.fact((N * K_1) * (n * F) == (n * F) * (N * K_1) && (N * K_1) * F_1 == F_1 * (N * K_1));
  o.use(product_cancels(n * F, F_1, N * K_1));
  o.goal("F' = n F", F_1 == n * F);
  o.control("n | K");
  o.check();
}

TEST(addends, the_permutation_costs_at_most_the_smaller_end) {
  Obligation o("PS2", "a permutation before the gathers costs V <= min(L1, L2)");
  const expr V = o.size("V"), cut = o.size("cut"), gathered = o.size("gathered");
  const expr L1 = o.size("L1"), L2 = o.size("L2"), W = o.natural("W"), OPT = o.natural("OPT");
  o.unbounded("tile sizes, lengths");
  o.premise("only slices and what adds or moves before it", L1 == cut * V);
  o.premise("only gathers after it", L2 == gathered * V);
  o.premise("OPT is least", OPT <= W + V);
  o.use(product_is_monotone(o.value(1), cut, V));
  o.use(product_is_monotone(o.value(1), gathered, V));
  o.goal("OPT <= W + min(L1, L2)", OPT <= W + z3::ite(L1 < L2, L1, L2));
  o.goal("no tile before it is higher than L1", V <= L1);
  o.control("only gathers after it");
  o.check();
}

TEST(addends, each_step_that_moves_costs_at_least_the_target_tile) {
  Obligation o("PS5", "a sequence that is not dynslices alone costs at least L2");
  const expr before = o.natural("before"), later = o.natural("later"), n = o.size("n");
  const expr tile = o.size("tile"), slices = o.size("slices"), L2 = o.size("L2");
  const expr step = o.natural("step");
  const expr adds = o.constant("allreduce", o.z().bool_sort());
  o.unbounded("sizes, lengths");
  // The last step that moves: AR at 2 L, RS at n L, others at L, L the tile after it.
  o.premise("it costs 2 L or n L", step == z3::ite(adds, 2 * tile, n * tile));
  o.premise("only dynslices follow", tile == slices * L2 && later == 0);
  o.use(product_is_monotone(o.value(1), slices, L2));
  o.use(product_is_monotone(o.value(1), n, tile));
  o.goal("cost >= L2", before + step + later >= L2);
  o.control("only dynslices follow");
  o.check();
}

}  // namespace
}  // namespace proofs::addends
