/// Equations (7) and (8): what a lowered sequence ends in differs from the target by one
/// permutation of the devices, and permutations before it can be moved there.
///
/// Points, devices and tiles are arbitrary sets; a bijection is a pair of functions that undo each
/// other.
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::equations_7_8 {
namespace {

TEST(equations_7_8, one_permutation_reaches_the_target) {
  Obligation o("(7)",
               "b' ~ T[t2]: T[t2] o phi^-1 = b' o phi'^-1 o pi for pi = phi' o rho^-1 o phi^-1");
  const z3::sort Point = o.sort("Point"), Device = o.sort("Device"), Tile = o.sort("Tile");
  z3::func_decl phi = o.function("phi", {Point}, Device),
                phi_inv = o.function("phi_inv", {Device}, Point);
  z3::func_decl phi_1 = o.function("phi_1", {Point}, Device);
  z3::func_decl phi_1_inv = o.function("phi_1_inv", {Device}, Point);
  z3::func_decl rho = o.function("rho", {Point}, Point),
                rho_inv = o.function("rho_inv", {Point}, Point);
  z3::func_decl T = o.function("T", {Point}, Tile), beta = o.function("beta", {Point}, Tile);
  const expr d = o.constant("d", Device);
  o.unbounded("points, devices, tiles");
  const auto pi = [&](const expr& at) { return phi_1(rho_inv(phi_inv(at))); };
  const auto pi_inv = [&](const expr& at) { return phi(rho(phi_1_inv(at))); };
  const expr i = phi_inv(d), j = rho_inv(i), i_1 = phi_1_inv(d), j_1 = rho(i_1);
  o.premise("b' = T[t2] o rho", beta(j) == T(rho(j)));  // Def. 5.2
  o.premise("rho is a bijection", rho(rho_inv(i)) == i && rho_inv(rho(i_1)) == i_1);
  o.premise("phi is a bijection", phi(phi_inv(d)) == d && phi_inv(phi(j_1)) == j_1);
  o.premise("phi' is a bijection", phi_1(phi_1_inv(d)) == d && phi_1_inv(phi_1(j)) == j);
  o.goal("(7)", T(phi_inv(d)) == beta(phi_1_inv(pi(d))));
  o.goal("pi^-1(pi(d)) = d", pi_inv(pi(d)) == d);
  o.goal("pi(pi^-1(d)) = d", pi(pi_inv(d)) == d);
  o.control("b' = T[t2] o rho");
  o.control("rho is a bijection");
  o.control("phi is a bijection");
  o.control("phi' is a bijection");
  o.check();
}

TEST(equations_7_8, permutations_compose) {
  Obligation o("(8)",
               "two allpermutes are one: (f o p) o q = f o (p o q), and p o q is a bijection");
  const z3::sort Device = o.sort("Device"), Tile = o.sort("Tile");
  z3::func_decl f = o.function("f", {Device}, Tile), f_1 = o.function("f_1", {Device}, Tile);
  z3::func_decl f_2 = o.function("f_2", {Device}, Tile);
  z3::func_decl p = o.function("p", {Device}, Device),
                p_inv = o.function("p_inv", {Device}, Device);
  z3::func_decl q = o.function("q", {Device}, Device),
                q_inv = o.function("q_inv", {Device}, Device);
  const expr d = o.constant("d", Device);
  o.unbounded("devices, tiles");
  o.premise("f' = f o p", f_1(q(d)) == f(p(q(d))));
  o.premise("f'' = f' o q", f_2(d) == f_1(q(d)));
  o.premise("p is a bijection", p_inv(p(q(d))) == q(d) && p(p_inv(d)) == d);
  o.premise("q is a bijection", q_inv(q(d)) == d && q(q_inv(p_inv(d))) == p_inv(d));
  o.goal("f'' = f o (p o q)", f_2(d) == f(p(q(d))));
  o.goal("it has an inverse", q_inv(p_inv(p(q(d)))) == d && p(q(q_inv(p_inv(d)))) == d);
  o.control("p is a bijection");
  o.control("f' = f o p");
  o.check();
}

TEST(equations_7_8, a_permutation_moves_past_every_collective) {
  Obligation o("(8)", "a step after an allpermute is an allpermute after that step");
  const z3::sort Device = o.sort("Device"), Int = o.z().int_sort();
  z3::func_decl f = o.function("f", {Device}, Int), p = o.function("p", {Device}, Device);
  z3::func_decl p_inv = o.function("p_inv", {Device}, Device);
  z3::func_decl permuted = o.function("permuted", {Device}, Int);  // f o p
  z3::func_decl act = o.function("act", {Int}, Int);
  z3::func_decl late = o.function("late", {Device}, Int);    // the step after the allpermute
  z3::func_decl early = o.function("early", {Device}, Int);  // the step without it
  z3::func_decl e = o.function("e", {Device}, Int);          // the digits of the late dynslice
  z3::func_decl sliced = o.function("sliced", {Device}, Int);
  z3::func_decl sliced_early = o.function("sliced_early", {Device}, Int);
  const expr d = o.constant("d", Device), n = o.size("n");
  o.unbounded("devices, tiles, n");
  o.premise("f' = f o p", permuted(d) == f(p(d)));
  o.premise("p is a bijection", p_inv(p(d)) == d);
  o.premise("S1: allgather and alltoall act on tiles",
            late(d) == act(permuted(d)) && early(p(d)) == act(f(p(d))));
  o.premise(
      "dynslice by e, and by e o p^-1 before the allpermute",
      sliced(d) == permuted(d) * n + e(d) && sliced_early(p(d)) == f(p(d)) * n + e(p_inv(p(d))));
  o.premise("0 <= e < n", 0 <= e(d) && e(d) < n);
  o.goal("allgather, alltoall: act o (f o p) = (act o f) o p", late(d) == early(p(d)));
  o.goal("dynslice: (f o p) n + e = (f n + e o p^-1) o p", sliced(d) == sliced_early(p(d)));
  o.goal("the digits are digits", 0 <= e(p_inv(p(d))) && e(p_inv(p(d))) < n);
  o.control("p is a bijection");
  o.control("f' = f o p");
  o.control("S1: allgather and alltoall act on tiles");
  o.check();
}

}  // namespace
}  // namespace proofs::equations_7_8
