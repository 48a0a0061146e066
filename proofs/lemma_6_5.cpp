/// Lemma 6.5, sharpened, for single- and multi-axes rules: each pattern of two weak steps that is
/// no normal form is replaced by a normal form nf with cost(nf) + valley(nf) <= cost(pattern), no
/// higher than the higher end. So cost falls with every replacement, and replacing ends.
///
/// These are also the corrected forms of Lemmas 4.6 and 4.7 for several axes at once (Sec. 7.1).
/// Factors are any numbers >= 2; a factor 1 in a replacement means that the step is left out. A
/// greatest common divisor g of m and n is said by m = g m', n = g n', u m' + v n' = 1
/// (arithmetic.cpp: it exists). F is the number of holders of a tile: delta = N F, N the number of
/// tiles. Costs are divided by the tiles of the dimensions that do not change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/def5_weak.h"
#include "spec/paper/fig11_cost.h"

namespace proofs::lemma_6_5 {
namespace {

constexpr const char* arbitrary = "factors, tile sizes, rank, mesh";

/// cost of a step that is left out when its factor is 1.
expr if_any(const expr& factor, const expr& cost) { return z3::ite(factor > 1, cost, factor * 0); }

TEST(lemma_6_5, peak_in_one_dimension_fits) {
  Obligation o(
      "6.5", "G(i,m) D(i,n), g = gcd(m,n): D(i,n/g) G(i,m/g) is a weak sequence to the same tile");
  const expr c = o.size("c"), q = o.size("q"), g = o.size("g"), m_1 = o.size("m_1"),
             n_1 = o.size("n_1");
  const expr F = o.size("F"), M = o.size("M"), F_2 = o.size("F_2");
  const expr u = o.integer("u"), v = o.integer("v");
  const expr m = g * m_1, n = g * n_1;
  o.unbounded(arbitrary);
  o.premise("gcd(m/g, n/g) = 1", u * m_1 + v * n_1 == 1);
  o.premise("n | c m", c * m == n * q);  // q: the tile at the end
  // delta = N F with N = m M tiles before, as m | N; and n N / m | delta
  o.premise("n N / m | delta", (m * M) * F == n * M * F_2);
  const expr w = u * q + v * c, w_F = u * F_2 + v * F;
  o.use(product_cancels(c * m_1, n_1 * q, g));
  o.use(product_cancels(F * m_1, n_1 * F_2, g * M));
  o.use(euclid(u, m_1, v, n_1, c, q));    // c = n' w
  o.use(euclid(u, m_1, v, n_1, F, F_2));  // F = n' w_F
  o.goal("c m/g = q n/g", c * m_1 == n_1 * q);
  o.goal("n/g | c", c == n_1 * w);
  o.goal("F m/g = F_2 n/g", F * m_1 == n_1 * F_2);
  o.goal("(n/g) N | delta = N F", F == n_1 * w_F);
  o.control("gcd(m/g, n/g) = 1",
            [&](const Model& at) {
              // With another g the slice by n/g need not be possible.
              return Counterexample{
                  fmt::format("c = {}, m = {}, n = {}, g = {}: no dynslice by {}", at(c), at(m),
                              at(n), at(g), at(n_1)),
                  (at(c) * at(m)) % at(n) == 0 && (at(c) % at(n_1) != 0 || at(F) % at(n_1) != 0)};
            },
            {u == 0, v == 0, c == 1, n_1 >= 2});
  o.control("n N / m | delta", {}, {F == 1, n_1 >= 2});
  o.check();
}

TEST(lemma_6_5, peak_in_one_dimension_ends_there) {
  Obligation o("6.5", "c m = n q and c = (n/g) w: D(i,n/g) G(i,m/g) ends in the tile q");
  const expr q = o.size("q"), g = o.size("g"), m_1 = o.size("m_1"), n_1 = o.size("n_1");
  const expr w = o.integer("w"), c = o.size("c");
  o.unbounded(arbitrary);
  o.premise("c m/g = q n/g", c * m_1 == n_1 * q);  // the obligation above
  o.premise("c = (n/g) w", c == n_1 * w);          // the obligation above
  o.fact(z3::implies(c == n_1 * w, c * m_1 == (n_1 * w) * m_1));
  o.use(product_cancels(w * m_1, q, n_1));
  o.goal("w (m/g) = q", w * m_1 == q);
  o.control("c = (n/g) w");
  o.check();
}

TEST(lemma_6_5, peak_in_one_dimension_descends) {
  Obligation o("6.5", "G(i,m) D(i,n) against D(i,n/g) G(i,m/g): cost(nf) + valley(nf) <= cost");
  const expr w = o.size("w"), g = o.size("g"), m_1 = o.size("m_1"), n_1 = o.size("n_1");
  o.unbounded(arbitrary);
  o.premise("n >= 2", g * n_1 >= 2);
  // c = n' w, the tile at the top is c m, at the bottom w, at the end w m'.
  const expr pattern = (n_1 * w) * (g * m_1), nf = if_any(m_1, w * m_1);
  o.fact((n_1 * w) * (g * m_1) == w * ((n_1 * g) * m_1));
  o.fact(w * m_1 + w == w * (m_1 + 1));
  o.use(product_is_monotone(o.value(2), n_1 * g, m_1));
  o.use(product_is_monotone(o.value(1), m_1, w));
  o.use(product_is_monotone(m_1 + 1, (n_1 * g) * m_1, w));
  o.use(product_is_monotone(o.value(1), (n_1 * g) * m_1, w));
  o.use(product_is_monotone(o.value(1), n_1, w));
  o.fact(m_1 != 1 || w * ((n_1 * g) * m_1) == w * (n_1 * g));
  o.fact(g * n_1 == n_1 * g);
  o.goal("cost(nf) + valley(nf) <= cost", nf + w <= pattern);
  o.goal("the valley is below both ends", w <= n_1 * w && w <= w * m_1);
  o.control("n >= 2");
  o.check();
}

TEST(lemma_6_5, peak_across_dimensions_fits) {
  Obligation o("6.5", "G(i,m) D(j,n), n = a b, a = gcd(n,F): D(j,a) A(i,j,b) G(i,m/b)");
  const expr a = o.size("a"), b = o.size("b"), m = o.size("m"), q = o.size("q"),
             c_j = o.size("c_j");
  const expr M = o.size("M"), F = o.size("F"), F_1 = o.size("F_1"), F_2 = o.size("F_2");
  const expr N_R = o.size("N_R"), delta = o.size("delta"), N_i = o.size("N_i");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("a | F", F == a * F_1);
  o.premise("gcd(b, F/a) = 1", u * b + v * F_1 == 1);
  o.premise("n | c_j", c_j == (a * b) * q);
  o.premise("m | N_i", N_i == m * M && delta == (N_i * N_R) * F);
  o.premise("n N / m | delta", delta == (a * b) * (M * N_R) * F_2);
  const expr w = o.let("w", v * F_2 + u * m);  // m / b
  o.fact(z3::implies(N_i == m * M && F == a * F_1, (N_i * N_R) * F == ((m * M) * N_R) * (a * F_1)));
  o.fact(((m * M) * N_R) * (a * F_1) == (m * F_1) * (a * (M * N_R)));
  o.fact((a * b) * (M * N_R) * F_2 == (b * F_2) * (a * (M * N_R)));
  o.use(product_cancels(m * F_1, b * F_2, a * (M * N_R)));
  o.use(euclid_quotient(v, F_1, u, b, m, F_2, w));
  o.fact((a * b) * q == a * (b * q));
  o.goal("a | c_j, then b", c_j == a * (b * q));
  o.goal("b | m, so b | N_i", m == b * w);
  o.fact(m != b * w || m * M == b * (w * M));
  o.goal("and m/b divides what is left", N_i == b * (w * M));
  o.control("gcd(b, F/a) = 1", {}, {u == 0, v == 0, b >= 2});
  o.check();
}

TEST(lemma_6_5, peak_across_dimensions_descends) {
  Obligation o("6.5",
               "G(i,m) D(j,n) against D(j,a) A(i,j,b) G(i,m/b): cost(nf) + valley(nf) <= cost");
  const expr a = o.size("a"), b = o.size("b"), w = o.size("w"), Q = o.size("Q");  // Q = c_i q
  o.unbounded(arbitrary);
  o.premise("n >= 2", a * b >= 2);
  // Tiles: c_i c_j = a b Q before, b Q in the valley, b w Q at the end, a b b w Q at the top.
  const expr units = z3::ite(b > 1, o.value(1), o.value(0)) + z3::ite(w > 1, w, o.value(0)) + 1;
  o.use(product_is_monotone(o.value(2), a * b, w));
  o.use(product_is_monotone(units, (a * b) * w, b * Q));
  o.goal("in units of the valley", units <= (a * b) * w);
  o.fact((if_any(b, b * Q) + if_any(w, (b * w) * Q)) + b * Q == units * (b * Q));
  o.fact((a * b) * w * (b * Q) == ((a * b) * (b * w)) * Q);
  o.goal("cost(nf) + valley(nf) <= cost",
         (if_any(b, b * Q) + if_any(w, (b * w) * Q)) + b * Q <= ((a * b) * (b * w)) * Q);
  o.use(product_is_monotone(o.value(1), a, b * Q));
  o.use(product_is_monotone(o.value(1), w, b * Q));
  o.fact((a * b) * Q == a * (b * Q) && (b * w) * Q == w * (b * Q));
  o.goal("the valley is below both ends", b * Q <= (a * b) * Q && b * Q <= (b * w) * Q);
  o.control("n >= 2");
  o.check();
}

TEST(lemma_6_5, rising_edge_into_the_gathered_dimension_fits) {
  Obligation o("6.5", "G(i,m) A(k,i,n), e = gcd(n,c_i), d = n/e: A(k,i,e) G(i,m/d) G(k,d)");
  const expr e = o.size("e"), d = o.size("d"), c_1 = o.size("c_1"), c_i = o.size("c_i");
  const expr m = o.size("m"), q = o.size("q"), N_k = o.size("N_k"), M_k = o.size("M_k");
  const expr N_i = o.size("N_i"), M_i = o.size("M_i"), c_k = o.size("c_k");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("e | c_i", c_i == e * c_1);
  o.premise("gcd(d, c_i/e) = 1", u * d + v * c_1 == 1);
  o.premise("n | c_i m", c_i * m == (e * d) * q);
  o.premise("n | N_k", N_k == (e * d) * M_k);
  o.premise("m | N_i", N_i == m * M_i);
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
  o.fact((e * d) * M_k == e * (d * M_k));
  o.fact((c_k * e) * d == c_k * (e * d));
  o.goal("e | N_k, then d", N_k == e * (d * M_k));
  o.identity("dimension k ends in c_k n", (c_k * e) * d == c_k * (e * d));
  o.fact(m != d * w || m * M_i == w * (d * M_i));
  o.goal("m/d | N_i", N_i == w * (d * M_i));
  o.control("gcd(d, c_i/e) = 1",
            [&](const Model& at) {
              return Counterexample{fmt::format("c_i = {}, m = {}, n = {}, e = {}", at(c_i), at(m),
                                                at(e) * at(d), at(e)),
                                    at(m) % at(d) != 0};
            },
            {u == 0, v == 0, d >= 2, m % d != 0});
  o.check();
}

TEST(lemma_6_5, rising_edge_into_the_gathered_dimension_descends) {
  Obligation o("6.5",
               "G(i,m) A(k,i,n) against A(k,i,e) G(i,m/d) G(k,d): cost(nf) + valley(nf) <= cost");
  const expr e = o.size("e"), d = o.size("d"), w = o.size("w"), L = o.size("L");  // L = c_i c_k
  const expr m = o.size("m");
  o.unbounded(arbitrary);
  o.premise("m = d (m/d)", m == d * w);  // the obligation above
  o.fact(z3::implies(m == d * w, m * L == (d * w) * L));
  const expr zero = o.value(0), one = o.value(1);
  const expr units =
      z3::ite(e > 1, one, zero) + z3::ite(w > 1, w, zero) + z3::ite(d > 1, d * w, zero) + 1;
  o.use(product_is_monotone(o.value(2), d, w));
  o.use(product_is_monotone(o.value(2), w, d));
  o.goal("in units of L", units <= 2 * (d * w));
  o.use(product_is_monotone(units, 2 * (d * w), L));
  const expr nf = if_any(e, L) + if_any(w, w * L) + if_any(d, (d * w) * L);
  o.fact(nf + L == units * L);
  o.goal("cost(nf) + valley(nf) <= cost", nf + L <= m * L + m * L);
  o.control("m = d (m/d)");
  o.check();
}

TEST(lemma_6_5, other_rising_edges) {
  Obligation o("6.5", "G(i,m) A(k,l,n), l != i: A(k,l,n) G(i,m), at L + m L + L <= 2 m L");
  const expr m = o.size("m"), n = o.size("n"), L = o.size("L"), N_i = o.size("N_i"),
             M = o.size("M");
  const expr same = o.constant("k_is_i", o.z().bool_sort());
  const expr N_k = o.size("N_k"), M_k = o.size("M_k"), q = o.size("q"), c_l = o.size("c_l");
  o.unbounded(arbitrary);
  o.premise("m >= 2", m >= 2);
  o.premise("m | N_i", N_i == m * M);
  o.premise("n | N_k after the allgather", z3::ite(same, M, N_k) == n * M_k);
  o.premise("n | c_l", c_l == n * q);
  o.fact(m * (n * M_k) == n * (m * M_k));
  o.fact(M != n * M_k || m * M == m * (n * M_k));
  o.goal("n | N_k before it", z3::ite(same, N_i, N_k) == n * z3::ite(same, m * M_k, M_k));
  o.goal("then m | N_i", z3::ite(same, m * M_k, N_i) == m * z3::ite(same, M_k, M));
  o.unchanged("n | c_l before it", c_l == n * q);  // l != i: the allgather does not change c_l
  o.use(product_is_monotone(o.value(2), m, L));
  o.goal("cost(nf) + valley(nf) <= cost", (L + m * L) + L <= m * L + m * L);
  o.control("m >= 2");
  o.control("n | N_k after the allgather");
  o.check();
}

TEST(lemma_6_5, falling_edge_out_of_the_sliced_dimension_fits) {
  Obligation o("6.5", "A(k,l,m) D(k,n), e = gcd(m,q), d = m/e: D(l,d) D(k,n/d) A(k,l,e)");
  const expr e = o.size("e"), d = o.size("d"), q = o.size("q"), q_1 = o.size("q_1"),
             n = o.size("n");
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q_l = o.size("q_l");
  const expr N_k = o.size("N_k"), M_k = o.size("M_k"), N = o.size("N"), F_2 = o.size("F_2");
  const expr delta = o.size("delta");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  o.premise("e | q", q == e * q_1);  // q = c_k m / n: the tile of k at the end
  o.premise("gcd(d, q/e) = 1", u * d + v * q_1 == 1);
  o.premise("n | c_k m", c_k * (e * d) == n * q);
  o.premise("m | c_l", c_l == (e * d) * q_l);
  o.premise("m | N_k", N_k == (e * d) * M_k);
  o.premise("n N | delta", delta == n * N * F_2);
  const expr w = o.let("w", v * c_k + u * n);  // n / d
  o.fact(z3::implies(q == e * q_1, n * q == n * (e * q_1)));
  o.fact(c_k * (e * d) == (d * c_k) * e);
  o.fact(n * (e * q_1) == (n * q_1) * e);
  o.use(product_cancels(n * q_1, d * c_k, e));
  o.use(euclid_quotient(v, q_1, u, d, n, c_k, w));
  o.goal("d | n", n == d * w);
  o.fact((e * d) * q_l == d * (e * q_l));
  o.goal("d | c_l, then e", c_l == d * (e * q_l));
  o.fact((w * q_1) * d == (d * w) * q_1 && c_k * d == d * c_k);
  o.fact(n != d * w || n * q_1 == (d * w) * q_1);
  o.use(product_cancels(w * q_1, c_k, d));
  o.goal("n/d | c_k", c_k == w * q_1);
  o.fact(q_1 * e == e * q_1);
  o.goal("dimension k ends in q", q_1 * e == q);
  o.fact(n != d * w || n * N * F_2 == d * (w * (N * F_2)));
  o.goal("d N | delta, then n/d", delta == d * (w * (N * F_2)));
  o.fact((e * d) * M_k == e * (d * M_k));
  o.goal("e | N_k, which dynslices only raise", N_k == e * (d * M_k));
  o.control("gcd(d, q/e) = 1", {}, {u == 0, v == 0, d >= 2, n % d != 0});
  o.check();
}

TEST(lemma_6_5, other_falling_edges_fit) {
  Obligation o("6.5", "A(k,l,m) D(i,n), i != k: D(i,n) A(k,l,m)");
  const expr m = o.size("m"), n = o.size("n"), c_l = o.size("c_l"), q_l = o.size("q_l"),
             q = o.size("q");
  const expr c_i = o.size("c_i"), N = o.size("N"), F_2 = o.size("F_2"), delta = o.size("delta");
  const expr same = o.constant("i_is_l", o.z().bool_sort());
  o.unbounded(arbitrary);
  o.premise("m | c_l", c_l == m * q_l);
  o.premise("n | c_i after the alltoall", z3::ite(same, q_l, c_i) == n * q);
  o.premise("n N | delta", delta == n * N * F_2);  // an alltoall keeps N
  o.fact(m * (n * q) == n * (m * q));
  o.fact(q_l != n * q || m * q_l == m * (n * q));
  o.goal("n | c_i before it", z3::ite(same, c_l, c_i) == n * z3::ite(same, m * q, q));
  o.goal("then m | c_l", z3::ite(same, m * q, c_l) == m * z3::ite(same, q, q_l));
  o.unchanged("n N | delta before it", delta == n * N * F_2);
  o.control("n | c_i after the alltoall");
  o.check();
}

TEST(lemma_6_5, falling_edges_descend) {
  Obligation o("6.5", "A D against D .. D A: the alltoall is paid at L/n, so L/n + L/n <= L");
  const expr n = o.size("n"), V = o.size("V"), e = o.size("e");  // L = n V
  o.unbounded(arbitrary);
  o.premise("n >= 2", n >= 2);
  o.use(product_is_monotone(o.value(2), n, V));
  o.goal("cost(nf) + valley(nf) <= cost", if_any(e, V) + V <= n * V);
  o.control("n >= 2");
  o.check();
}

TEST(lemma_6_5, replacing_ends_and_keeps_the_bound) {
  Obligation o("6.5", "cost(nf) + valley <= cost(pattern): the whole gets cheaper, and no higher");
  const expr before = o.natural("before"), after = o.natural("after");
  const expr nf = o.natural("nf"), pattern = o.natural("pattern"), valley = o.natural("valley");
  const expr s_0 = o.size("s_0"), s_1 = o.size("s_1"), s_2 = o.size("s_2"), x = o.size("x");
  const expr bound = o.size("bound");
  o.unbounded("length of the sequence");
  o.bookkeeping();
  o.premise("valley >= 1", valley >= 1);
  o.premise("cost(nf) + valley <= cost(pattern)", nf + valley <= pattern);
  o.premise("the sequence was within the bound", s_0 <= bound && s_1 <= bound && s_2 <= bound);
  o.premise("x, a tile of nf, is at most an end",
            x <= s_0 || x <= s_2);  // Theorem 4.8, normal forms
  o.goal("the whole gets cheaper", before + nf + after < before + pattern + after);
  o.goal("cost stays a natural number, so it ends", before + nf + after >= 0);
  o.goal("within the bound", x <= bound);
  o.control("valley >= 1");
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_6_5
