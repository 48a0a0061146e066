/// S2, placement: a lowered weak sequence with one allpermute at any place reaches t2 exactly. So
/// OPT <= cost(s) + valley(s) for every weak s, and W <= OPT.
///
/// The part before the place is lowered forwards from t1 (Theorem 6.4), the part after it backwards
/// from t2; at the place both tile maps are balanced of one class, and Lemma 5.1's permutation
/// joins them. Here are the backward steps: for each balanced g of the class after a step there is
/// a balanced f before it.
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::s2 {
namespace {

TEST(s2, backwards_through_an_allgather) {
  Obligation o("S2", "allgather backwards: holder nu of tile u had u n + (nu mod n)");
  const expr n = o.size("n"), r = o.size("r"), u = o.natural("u"), nu = o.natural("nu");
  const expr N = o.size("N"), N_1 = o.size("N_1"), delta = o.size("delta"), r_1 = o.size("r_1");
  o.unbounded("n, mesh, type, g");
  o.premise("n | N", N == n * N_1);  // N tiles before, N / n after
  o.premise("g is balanced", r_1 * N_1 == delta);
  o.premise("prod N | delta", delta == r * N);  // the class before is one
  o.premise("nu < r'", nu < r_1);
  const auto [w, x] = o.divide("w", "x", nu, n);  // x: the digit that it had
  const auto [q, p] = o.divide("q", "p", u * n + x, n);
  o.fact(r * (n * N_1) == (n * r) * N_1);
  o.use(product_cancels(r_1, n * r, N_1));
  o.use(product_is_monotone(r, w, n));
  o.use(division_is_unique(n, u, x, q, p));
  o.goal("r' = n r: each of the n tiles gets r holders", r_1 == n * r);
  o.goal("w numbers them", w < r);
  o.goal("f div n = g", q == u);
  o.control("prod N | delta");
  o.control("n | N");
  o.check();
}

TEST(s2, backwards_through_an_alltoall) {
  Obligation o("S2", "alltoall backwards: t_i = t_i' n + (t_j' mod n), t_j = t_j' div n");
  const expr n = o.size("n"), a = o.natural("a"), s = o.natural("s"), x = o.natural("x");
  const expr M = o.size("M"), N_j = o.size("N_j");
  o.unbounded("n, mesh, type, g");
  o.premise("t_j' = s n + x, x < n", x < n);
  o.premise("t_i' < N_i / n, t_j' < N_j n", a < M && s * n + x < N_j * n);
  const auto [q, p] = o.divide("q", "p", a * n + x, n);  // the alltoall, forwards again
  o.use(division_is_unique(n, a, x, q, p));
  o.use(digits_stay_below(x, n, a, M));
  o.use(product_is_monotone(N_j, s, n));
  o.goal("t_i' comes back", q == a);
  o.goal("t_j' comes back", s * n + p == s * n + x);
  o.goal("t_i < N_i, t_j < N_j", a * n + x < n * M && s < N_j);
  o.control("t_j' = s n + x, x < n");
  o.check();
}

TEST(s2, backwards_through_a_dynslice) {
  Obligation o("S2",
               "dynslice backwards, f = g div n: the digits g mod n are even on each tile of f");
  const expr n = o.size("n"), r = o.size("r"), r_1 = o.size("r_1"), N = o.size("N");
  const expr delta = o.size("delta");
  o.unbounded("n, mesh, type, g");
  o.premise("g is balanced", r_1 * (n * N) == delta);
  o.premise("r N = delta", r * N == delta);
  o.fact(r_1 * (n * N) == (n * r_1) * N);
  o.use(product_cancels(r, n * r_1, N));
  o.goal("f's tile has n r' holders, r' for each digit", r == n * r_1);
  o.control("g is balanced");
  o.check();
}

TEST(s2, the_cost_of_the_two_halves_and_the_permutation) {
  Obligation o("S2", "W <= OPT <= cost(s) + valley(s)");
  const expr before = o.natural("before"), after = o.natural("after"), cost = o.natural("cost");
  const expr V = o.size("V"), tile = o.size("tile"), OPT = o.natural("OPT"), W = o.natural("W");
  const expr opt_weak = o.natural("opt_weak"), opt_permutes = o.natural("opt_permutes");
  o.unbounded("sizes, lengths");
  o.bookkeeping();
  o.premise("the place is in the valley", tile == V);
  o.premise("cost of the lowered sequence", cost == before + tile + after);  // Fig. 11: allpermute
  o.premise("OPT is least", OPT <= cost);
  o.premise("W is least", W <= opt_weak);  // the optimum without its allpermutes is a weak sequence
  o.premise("Lemma 6.6", OPT == opt_weak + opt_permutes);
  o.goal("OPT <= cost(s) + valley(s)", OPT <= (before + after) + V);
  o.goal("W <= OPT", W <= OPT);
  o.control("the place is in the valley");
  o.control("W is least");
  o.check();
}

}  // namespace
}  // namespace proofs::s2
