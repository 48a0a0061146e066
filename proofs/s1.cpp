/// S1, determinism: modulo Def. 6.2, allgather(i, n) and alltoall(i, j, n) are functions of the
/// tile map f.
///
/// f may be written <phi, T[t]> in several ways, and several axes of size n may stand in dimension
/// i. By Lemma 6.3 each choice brings a digit x to the front: f_i = q n + x, 0 <= x < n.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::s1 {
namespace {

TEST(s1, allgather_and_alltoall_do_not_depend_on_the_representation) {
  Obligation o("S1", "two choices of phi, t and axis of one f give the same tiles");
  const expr f_i = o.natural("f_i"), f_j = o.natural("f_j"), n = o.size("n"), n_1 = o.size("n_1");
  const expr q = o.natural("q"), x = o.natural("x"), q_1 = o.natural("q_1"), x_1 = o.natural("x_1");
  o.unbounded("f, n, mesh, rank");
  o.premise("x < n, x' < n'", x < n && x_1 < n_1);
  o.premise("f_i = q n + x = q' n' + x'", f_i == q * n + x && f_i == q_1 * n_1 + x_1);
  o.premise("n = n'", n == n_1);
  o.use(division_is_unique(n, q, x, q_1, x_1));
  o.fact(n != n_1 || (q_1 * n_1 == q_1 * n && f_j * n_1 == f_j * n));
  o.goal("allgather: f_i div n", q == q_1);
  o.goal("alltoall: f_j n + f_i mod n", f_j * n + x == f_j * n_1 + x_1);
  o.control("n = n'", [&](const Model& v) {
    return Counterexample{fmt::format("f_i = {}: n = {} leaves {}, n' = {} leaves {}", v(f_i), v(n),
                                      v(q), v(n_1), v(q_1)),
                          v(f_i) / v(n) == v(q) && v(f_i) / v(n_1) == v(q_1)};
  });
  o.control("x < n, x' < n'");
  o.check();
}

TEST(s1, a_dynslice_is_a_choice) {
  Obligation o("S1", "a dynslice keeps f_i in f_i' div n, whatever its digit; the digit is free");
  const expr f = o.natural("f"), n = o.size("n"), e = o.natural("e"), e_1 = o.natural("e_1");
  o.unbounded("f, n");
  o.premise("0 <= e < n", e < n && e_1 < n);
  const auto [q, x] = o.divide("q", "x", f * n + e, n);
  o.use(division_is_unique(n, f, e, q, x));
  o.goal("f' div n = f", q == f);
  o.control("0 <= e < n");
  o.control_goal("f' is determined", f * n + e == f * n + e_1);
  o.check();
}

}  // namespace
}  // namespace proofs::s1
