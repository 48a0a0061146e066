/// Lemma 5.1: E[t1] = E[t2] iff localtype(t1) = localtype(t2), for one globaltype.
///
/// The permutation is pi(i) = the point to which t1 gives the tile T[t2](i) and the replica number
/// that i has under t2. That (tile, replica) is a bijection is "balanced", in balanced.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/def5_weak.h"
#include "spec/program/type_text.h"

namespace proofs::lemma_5_1 {
namespace {

TEST(lemma_5_1, both_types_have_as_many_replicas) {
  Obligation o("5.1", "r1 N = delta = r2 N: r1 = r2");
  const expr r_1 = o.size("r_1"), r_2 = o.size("r_2"), N_1 = o.size("N_1"), N_2 = o.size("N_2");
  const expr delta = o.size("delta");
  o.unbounded("sizes");
  o.premise("localtypes agree: N1 = N2", N_1 == N_2);
  o.premise("balanced", r_1 * N_1 == delta && r_2 * N_2 == delta);
  o.use(product_cancels(r_1, r_2, N_1));
  o.goal("r1 = r2", r_1 == r_2);
  o.control("localtypes agree: N1 = N2");
  o.check();
}

TEST(lemma_5_1, the_permutation_is_a_bijection_and_carries_one_map_to_the_other) {
  Obligation o("5.1", "localtypes agree: pi = decode1 o code2 is a bijection, T[t2] = T[t1] o pi");
  const z3::sort Point = o.sort("Point"), Tile = o.sort("Tile"), Int = o.z().int_sort();
  const expr r_1 = o.size("r_1"), r_2 = o.size("r_2");
  z3::func_decl T_1 = o.function("T_1", {Point}, Tile), T_2 = o.function("T_2", {Point}, Tile);
  z3::func_decl rep_1 = o.function("rep_1", {Point}, Int),
                rep_2 = o.function("rep_2", {Point}, Int);
  z3::func_decl point_1 = o.function("point_1", {Tile, Int}, Point);
  z3::func_decl point_2 = o.function("point_2", {Tile, Int}, Point);
  z3::func_decl tile_1 = o.function("tile_1", {Tile}, o.z().bool_sort());  // images
  z3::func_decl tile_2 = o.function("tile_2", {Tile}, o.z().bool_sort());
  const expr i = o.constant("i", Point);
  o.unbounded("mesh, types, number of devices");
  const auto encoded = [&](const expr& j) {  // balanced, at the point j
    return point_1(T_1(j), rep_1(j)) == j && point_2(T_2(j), rep_2(j)) == j && tile_1(T_1(j)) &&
           tile_2(T_2(j)) && 0 <= rep_1(j) && rep_1(j) < r_1 && 0 <= rep_2(j) && rep_2(j) < r_2;
  };
  const auto decoded = [&](const expr& t, const expr& rho) {  // balanced, at a tile and a number
    return z3::implies(tile_1(t) && 0 <= rho && rho < r_1,
                       T_1(point_1(t, rho)) == t && rep_1(point_1(t, rho)) == rho) &&
           z3::implies(tile_2(t) && 0 <= rho && rho < r_2,
                       T_2(point_2(t, rho)) == t && rep_2(point_2(t, rho)) == rho);
  };
  const auto pi = [&](const expr& j) { return point_1(T_2(j), rep_2(j)); };
  const auto inverse = [&](const expr& j) { return point_2(T_1(j), rep_1(j)); };
  o.premise("balanced: (tile, number) determines the point, at i, pi(i), pi^-1(i)",
            encoded(i) && encoded(pi(i)) && encoded(inverse(i)));
  o.premise("balanced: each (tile, number) occurs, at those of i",
            decoded(T_2(i), rep_2(i)) && decoded(T_1(i), rep_1(i)));
  o.premise("the images agree (Lemma 4.2)",
            tile_1(T_2(i)) == tile_2(T_2(i)) && tile_1(T_1(i)) == tile_2(T_1(i)));
  o.premise("r1 = r2", r_1 == r_2);
  o.goal("T[t1](pi(i)) = T[t2](i)", T_1(pi(i)) == T_2(i));
  o.goal("pi^-1(pi(i)) = i", inverse(pi(i)) == i);
  o.goal("pi(pi^-1(i)) = i", pi(inverse(i)) == i);
  const Reader reader = [&](const Model&) {
    const spec::Mesh H = spec::parse_mesh("x:2,y:2").value();
    const spec::Type t_1 = spec::parse_type(H, "[2{x}4]").value();
    const spec::Type t_2 = spec::parse_type(H, "[1{x,y}4]").value();
    return Counterexample{
        fmt::format("for instance {{x:2,y:2}}, {} and {}", spec::to_text(t_1), spec::to_text(t_2)),
        !spec::equivalent(spec::base_offset_map(H, t_1).value(),
                          spec::base_offset_map(H, t_2).value())};
  };
  o.control("the images agree (Lemma 4.2)", reader);
  o.control("r1 = r2", reader);
  o.check();
}

TEST(lemma_5_1, equal_images_have_equal_tiles) {
  Obligation o("5.1", "E[t1] = E[t2]: the images agree, so c1 = c2 in each dimension");
  const expr c = o.size("c"), e = o.size("e"), N_1 = o.size("N_1"), N_2 = o.size("N_2");
  const expr n = o.size("n"), a = o.natural("a"), b = o.natural("b");
  o.unbounded("sizes");
  o.premise("c N1 = n = e N2", c * N_1 == n && e * N_2 == n);
  o.premise("c, when an offset, is an offset of t2", z3::implies(N_1 > 1, c == e * b));
  o.premise("e, when an offset, is an offset of t1", z3::implies(N_2 > 1, e == c * a && a < N_1));
  o.use(product_is_monotone(o.value(2), b, e));
  o.use(product_is_monotone(o.value(2), a, c));
  o.goal("c = e", c == e);
  o.control("c, when an offset, is an offset of t2", [&](const Model& v) {
    return Counterexample{fmt::format("[{}{{..}}{}] has offset {}, [{}{{..}}{}] has not", v(c),
                                      v(n), v(c), v(e), v(n)),
                          v(N_1) > 1 && v(c) % v(e) != 0};
  });
  o.check();
}

TEST(lemma_5_1, a_prime_of_delta_over_N_is_a_free_axis) {
  Obligation o("5.1",
               "p | k F, k != p both prime: p | F; so a vector with prod N | delta is a localtype");
  // Giving each prime of N_i an axis: the product of the free axes is delta / (what is used), p
  // divides it, and by this step p is the size of one of them. An empty product 1 has no divisor p
  // >= 2.
  const expr p = o.size("p"), k = o.size("k"), F = o.size("F"), w = o.size("w");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded("p, k, number of axes");
  o.premise("p | k F", F * k == p * w);
  o.premise("u k + v p = 1", u * k + v * p == 1);
  o.use(euclid(u, k, v, p, F, w));
  o.goal("p | F", F == p * (u * w + v * F));
  o.use(product_is_monotone(o.value(2), p, w));
  o.identity("p >= 2 does not divide 1", z3::implies(p >= 2, p * w != 1));
  o.control("u k + v p = 1", {}, {p >= 2, k >= 2});
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_5_1
