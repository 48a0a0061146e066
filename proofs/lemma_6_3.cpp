/// Lemma 6.3 on tile maps (as repaired, see errata E12 and E14 and the note on Lemma 6.3): every
/// weak step from the class of f is taken by a low-level step.
///
/// Fig. 10 asks for phi' with b' o phi'^-1 = b o phi^-1, where b has {Y,x,X} and b' has {x,Y,X} in
/// dimension i. phi' = phi o rho does it, rho being the reindexing of the digits of Y and x that
/// makes b o rho = b'. Y as a whole is one digit y below K = product of its sizes (Lemma 4.1), X
/// one number z.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/fig10_low_level.h"
#include "spec/program/type_text.h"

namespace proofs::lemma_6_3 {
namespace {

constexpr const char* arbitrary = "tile size, n, Y, X, rank, mesh";

TEST(lemma_6_3, reindexing_exists) {
  Obligation o("6.3", "b o rho = b': y' + K x' = x + n y has digits y' < K, x' < n");
  const expr n = o.size("n"), K = o.size("K"), c = o.size("c");
  const expr x = o.natural("x"), y = o.natural("y"), z = o.natural("z");
  o.unbounded(arbitrary);
  o.premise("x < n", x < n);
  o.premise("y < K", y < K);
  const auto [x_1, y_1] = o.divide("x_1", "y_1", x + n * y, K);
  o.use(digits_stay_below(x, n, y, K));
  o.use(product_is_monotone(n, x_1, K));
  const expr t = y_1 + K * x_1, t_1 = x + n * y;
  o.fact(c * (y_1 + K * x_1) + (c * K * n) * z == c * (y_1 + K * x_1 + K * n * z));
  o.goal("x' < n", x_1 < n);
  o.goal("b(rho(i)) = b'(i)", c * (t + K * n * z) == c * (t_1 + K * n * z));
  o.control("x < n");
  // The digits themselves do not stay: rho is not the identity.
  o.control_goal(
      "x' = x", x_1 == x,
      [&](const Model& v) {
        const spec::Mesh H = {{"y", v(K)}, {"x", v(n)}};
        const spec::Type b = {{1, {"y", "x"}, v(K) * v(n)}}, b_1 = {{1, {"x", "y"}, v(K) * v(n)}};
        return Counterexample{
            fmt::format("{{{}}}: T[{}] and T[{}] differ at y = {}, x = {}", spec::to_text(H),
                        spec::to_text(b), spec::to_text(b_1), v(y), v(x)),
            spec::base_offset(H, b[0], {v(y), v(x)}) != spec::base_offset(H, b_1[0], {v(y), v(x)})};
      },
      {n >= 2, K >= 2});
  o.check();
}

TEST(lemma_6_3, reindexing_is_injective) {
  Obligation o("6.3", "rho is injective: equal (y', x') come from equal (y, x)");
  const expr n = o.size("n"), K = o.size("K");
  const expr x = o.natural("x"), y = o.natural("y"), p = o.natural("p"), q = o.natural("q");
  const expr x_1 = o.natural("x_1"), y_1 = o.natural("y_1");
  o.unbounded(arbitrary);
  o.premise("x < n", x < n && p < n);
  o.premise("rho(y, x) = (y', x')", x + n * y == y_1 + K * x_1);
  o.premise("rho(q, p) = (y', x')", p + n * q == y_1 + K * x_1);
  o.use(division_is_unique(n, y, x, q, p));
  o.goal("(y, x) = (q, p)", x == p && y == q);
  o.control("x < n");
  o.check();
}

TEST(lemma_6_3, reindexing_is_surjective) {
  Obligation o("6.3", "rho is surjective: each (y', x') has a (y, x)");
  const expr n = o.size("n"), K = o.size("K");
  const expr x_1 = o.natural("x_1"), y_1 = o.natural("y_1");
  o.unbounded(arbitrary);
  o.premise("y' < K", y_1 < K);
  o.premise("x' < n", x_1 < n);
  const auto [y, x] = o.divide("y", "x", y_1 + K * x_1, n);
  o.use(digits_stay_below(y_1, K, x_1, n));
  o.use(product_is_monotone(K, y, n));
  o.goal("y < K", y < K);
  o.control("x' < n");
  o.check();
}

TEST(lemma_6_3, allgather_divides_the_tile_number) {
  Obligation o("6.3", "allgather: b'' o phi'^-1 is t div n, where t = b' o phi'^-1 in tiles");
  const expr n = o.size("n"), K = o.size("K"), c = o.size("c");
  const expr x = o.natural("x"), y = o.natural("y"), z = o.natural("z");
  o.unbounded(arbitrary);
  o.premise("x < n", x < n);
  const expr t = x + n * y + n * K * z;  // b' = c{x, Y, X}
  const expr t_2 = y + K * z;            // b'' = (c n){Y, X}
  const auto [quotient, remainder] = o.divide("quotient", "remainder", t, n);
  o.fact(x + n * y + n * K * z == (y + K * z) * n + x);
  o.fact((c * n) * (y + K * z) == c * ((x + n * y + n * K * z) - x));
  o.use(division_is_unique(n, quotient, remainder, t_2, x));
  o.goal("t'' = t div n", t_2 == quotient);
  o.goal("x = t mod n", x == remainder);
  o.identity("the offset falls to the block's", (c * n) * t_2 == c * (t - x));
  o.control("x < n");
  o.check();
}

TEST(lemma_6_3, alltoall_moves_the_digit) {
  Obligation o("6.3", "alltoall: t_i div n and t_j n + (t_i mod n)");
  const expr n = o.size("n"), K = o.size("K"), q = o.size("q");
  const expr x = o.natural("x"), y = o.natural("y"), z = o.natural("z"), t_j = o.natural("t_j");
  const expr c_j = o.size("c_j");
  o.unbounded(arbitrary);
  o.premise("x < n", x < n);
  o.premise("c_j = n q", c_j == n * q);  // c_j mod n = 0
  const expr t_i = x + n * y + n * K * z;
  const auto [quotient, remainder] = o.divide("quotient", "remainder", t_i, n);
  o.fact(x + n * y + n * K * z == (y + K * z) * n + x);
  o.fact((n * q) * t_j + q * x == q * (t_j * n + x));
  o.use(division_is_unique(n, quotient, remainder, y + K * z, x));
  o.goal("t_i'' = t_i div n", y + K * z == quotient);
  // b'' has (c_j div n){x, Z}: offset (c_j div n) x + D[c_j{Z}s_j](i)
  o.goal("t_j'' = t_j n + t_i mod n", c_j * t_j + q * x == q * (t_j * n + remainder));
  o.control("c_j = n q");
  o.check();
}

TEST(lemma_6_3, dynslice_digits_exist_for_every_balanced_map) {
  Obligation o("6.3",
               "dynslice: the r holders of a tile, numbered nu = e + n w, get digits e evenly");
  const expr n = o.size("n"), r = o.size("r"), N = o.size("N"), delta = o.size("delta");
  const expr r_1 = o.size("r_1"), nu = o.natural("nu");
  const expr e_1 = o.natural("e_1"), w_1 = o.natural("w_1");
  o.unbounded("n, mesh, type, f");
  o.premise("r N = delta", r * N == delta);        // f is balanced
  o.premise("n N | delta", delta == n * N * r_1);  // the weak step exists
  o.premise("nu < r", nu < r);
  const auto [w, e] = o.divide("w", "e", nu, n);
  o.use(product_cancels(r, n * r_1, N));
  o.fact(n * N * r_1 == (n * r_1) * N);
  o.use(product_is_monotone(r_1, w, n));
  o.use(division_is_unique(n, w, e, w_1, e_1));
  o.use(digits_stay_below(e_1, n, w_1, r_1));
  o.goal("r = n r'", r == n * r_1);
  o.goal("(e, w) is in {0..n-1} x {0..r'-1}", e < n && w < r_1);
  o.goal("different holders differ in (e, w)",
         z3::implies(e_1 < n && nu == e_1 + n * w_1, e == e_1 && w == w_1));
  o.goal("each (e, w) occurs", z3::implies(e_1 < n && w_1 < r_1, e_1 + n * w_1 < r));
  o.control("n N | delta", {}, {n >= 2});
  o.check();
}

TEST(lemma_6_3, allgather_keeps_the_map_balanced) {
  Obligation o("6.3", "allgather: the holders of u are those of u n + x for x < n; r' = n r");
  const expr n = o.size("n"), r = o.size("r"), N = o.size("N"), N_1 = o.size("N_1");
  const expr delta = o.size("delta"), x = o.natural("x"), nu = o.natural("nu"),
             x_1 = o.natural("x_1");
  const expr nu_1 = o.natural("nu_1");
  o.unbounded("n, mesh, type, f");
  o.premise("r N = delta", r * N == delta);
  o.premise("n | N", N == n * N_1);
  o.premise("nu < r", nu < r && nu_1 < r && x < n && x_1 < n);
  o.fact((n * r) * N_1 == r * (n * N_1));
  o.use(digits_stay_below(nu, r, x, n));
  o.use(division_is_unique(r, x, nu, x_1, nu_1));
  o.fact(n * r == r * n);
  o.goal("r' N' = delta", (n * r) * N_1 == delta);
  o.goal("number nu + r x is below n r", nu + r * x < n * r);
  o.goal("different (x, nu) have different numbers",
         z3::implies(nu + r * x == nu_1 + r * x_1, x == x_1 && nu == nu_1));
  o.control("n | N");
  o.check();
}

TEST(lemma_6_3, alltoall_permutes_the_tiles) {
  Obligation o("6.3",
               "alltoall: (t_i, t_j) -> (t_i div n, t_j n + t_i mod n) is a bijection of tiles");
  const expr n = o.size("n"), N_i = o.size("N_i"), N_j = o.size("N_j"), M = o.size("M");
  const expr a = o.natural("a"), x = o.natural("x"), t_j = o.natural("t_j");
  const expr b = o.natural("b"), y = o.natural("y"), s_j = o.natural("s_j");
  o.unbounded("n, type, f");
  o.premise("n | N_i", N_i == n * M);
  o.premise("t_i < N_i, t_j < N_j", x < n && a * n + x < N_i && t_j < N_j);  // t_i = a n + x
  o.premise("y < n", y < n);
  o.use(division_is_unique(n, t_j, x, s_j, y));
  o.use(digits_stay_below(x, n, t_j, N_j));
  o.use(product_is_monotone(M, a, n));
  o.use(digits_stay_below(y, n, b, M));
  o.goal("t_i' < N_i / n", a < M);
  o.goal("t_j' < N_j n", t_j * n + x < N_j * n);
  o.goal("injective",
         z3::implies(a == b && t_j * n + x == s_j * n + y, a * n + x == b * n + y && t_j == s_j));
  o.goal("surjective: (b, s n + y) comes from (b n + y, s)", z3::implies(b < M, b * n + y < N_i));
  o.control("n | N_i");
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_6_3
