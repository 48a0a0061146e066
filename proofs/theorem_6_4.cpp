/// Theorem 6.4: a weak sequence is lowered step by step (as repaired, see Lemma 6.3).
///
/// Induction over the sequence. What is carried along: f is balanced of the class of the current
/// type, phi is a bijection, cost and height of both sequences agree.
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::theorem_6_4 {
namespace {

TEST(theorem_6_4, the_new_device_map_is_a_bijection) {
  Obligation o("6.4", "phi' = phi o rho is a bijection with b' o phi'^-1 = b o phi^-1");
  const z3::sort Point = o.sort("Point"), Device = o.sort("Device"), Tile = o.sort("Tile");
  z3::func_decl phi = o.function("phi", {Point}, Device),
                phi_inv = o.function("phi_inv", {Device}, Point);
  z3::func_decl rho = o.function("rho", {Point}, Point),
                rho_inv = o.function("rho_inv", {Point}, Point);
  z3::func_decl b = o.function("b", {Point}, Tile), b_1 = o.function("b_1", {Point}, Tile);
  const expr d = o.constant("d", Device), i = o.constant("i", Point);
  o.unbounded("points, devices, tiles");
  const auto phi_1 = [&](const expr& at) { return phi(rho(at)); };
  const auto phi_1_inv = [&](const expr& at) { return rho_inv(phi_inv(at)); };
  o.premise("phi is a bijection", phi(phi_inv(d)) == d && phi_inv(phi(rho(i))) == rho(i));
  o.premise("rho is a bijection",  // Lemma 6.3
            rho(rho_inv(phi_inv(d))) == phi_inv(d) && rho_inv(rho(i)) == i);
  o.premise("b o rho = b'", b_1(phi_1_inv(d)) == b(rho(phi_1_inv(d))));  // Lemma 6.3
  o.goal("phi'(phi'^-1(d)) = d", phi_1(phi_1_inv(d)) == d);
  o.goal("phi'^-1(phi'(i)) = i", phi_1_inv(phi_1(i)) == i);
  o.goal("b' o phi'^-1 = b o phi^-1", b_1(phi_1_inv(d)) == b(phi_inv(d)));
  o.control("rho is a bijection");
  o.control("phi is a bijection");
  o.control("b o rho = b'");
  o.check();
}

TEST(theorem_6_4, step_the_class_is_carried_along) {
  Obligation o("6.4", "c_i N_i = s_i and r prod N = delta hold after each weak step");
  const expr c_i = o.size("c_i"), c_j = o.size("c_j"), N_i = o.size("N_i"), N_j = o.size("N_j");
  const expr s_i = o.size("s_i"), s_j = o.size("s_j"), N_R = o.size("N_R");
  const expr r = o.size("r"), delta = o.size("delta"), n = o.size("n");
  const expr M = o.size("M"), q_i = o.size("q_i"), q_j = o.size("q_j"), r_1 = o.size("r_1");
  const expr p = o.digit("p", o.value(3));  // 0 allgather(i), 1 dynslice(i), 2 alltoall(i, j)
  o.unbounded("sizes, rank, length of the sequence");
  o.premise("c_i N_i = s_i, c_j N_j = s_j", c_i * N_i == s_i && c_j * N_j == s_j);
  o.premise("r N_i N_j N_R = delta", r * (N_i * N_j * N_R) == delta);
  o.premise("n | N_i", p == 1 || N_i == n * M);
  o.premise("n | c_i, n | r", p != 1 || (c_i == n * q_i && r == n * r_1));  // r: Lemma 6.3
  o.premise("n | c_j", p != 2 || c_j == n * q_j);
  o.fact((c_i * n) * M == c_i * (n * M));
  o.fact(q_i * (n * N_i) == (n * q_i) * N_i);
  o.fact(q_j * (n * N_j) == (n * q_j) * N_j);
  o.fact((n * r) * (M * N_j * N_R) == r * ((n * M) * N_j * N_R));
  o.fact(r_1 * ((n * N_i) * N_j * N_R) == (n * r_1) * (N_i * N_j * N_R));
  o.fact(r * (M * (n * N_j) * N_R) == r * ((n * M) * N_j * N_R));
  o.goal("allgather", p != 0 || ((c_i * n) * M == s_i && (n * r) * (M * N_j * N_R) == delta));
  o.goal("dynslice", p != 1 || (q_i * (n * N_i) == s_i && r_1 * ((n * N_i) * N_j * N_R) == delta));
  o.goal("alltoall", p != 2 || ((c_i * n) * M == s_i && q_j * (n * N_j) == s_j &&
                                r * (M * (n * N_j) * N_R) == delta));
  o.control("n | N_i");
  o.control("n | c_i, n | r");
  o.control("n | c_j");
  o.check();
}

}  // namespace
}  // namespace proofs::theorem_6_4
