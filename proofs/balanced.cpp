/// Every offset in the image of T[t] has exactly delta / prod N_i preimages ("balanced").
///
/// A point is determined by its offset and its coordinates on the axes outside axes(t), and every
/// such pair occurs. So the preimages of an offset correspond to the values of the free
/// coordinates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "arithmetic.h"
#include "spec/program/type_text.h"

namespace proofs::balanced {
namespace {

TEST(balanced, step_an_offset_determines_the_coordinates_of_its_axes) {
  Obligation o("bal.",
               "D[c{x,X}n](i) = D[c{x,X}n](j): i_x = j_x and D[(ck){X}n](i) = D[(ck){X}n](j)");
  const expr c = o.size("c"), k = o.size("k"), q = o.natural("q"), p = o.natural("p");
  const expr i_x = o.natural("i_x"), j_x = o.natural("j_x");
  const expr rest_i = o.natural("rest_i"), rest_j = o.natural("rest_j");
  o.unbounded("c, k, n, the number of axes");
  o.premise("i_x < k", i_x < k);
  o.premise("j_x < k", j_x < k);
  o.premise("Lemma 4.1: D[(c k){X}n] has multiples of c k",
            rest_i == (c * k) * q && rest_j == (c * k) * p);
  o.premise("the offsets are equal", c * i_x + rest_i == c * j_x + rest_j);
  o.use(product_cancels(i_x + k * q, j_x + k * p, c));
  o.use(division_is_unique(k, q, i_x, p, j_x));
  o.goal("i_x = j_x", i_x == j_x);
  o.goal("the rests agree", rest_i == rest_j);
  o.control(
      "j_x < k",
      [&](const Model& v) {
        const spec::Mesh H = {{"x", v(k)}, {"y", 1 + std::max(v(q), v(p))}};
        const spec::Dim d = {v(c), {"x", "y"}, v(c) * v(k) * H[1].k};
        return Counterexample{
            fmt::format("{{{}}}, {}: ({}, {}) and ({}, {}) have one offset", spec::to_text(H),
                        spec::to_text({d}), v(i_x), v(q), v(j_x), v(p)),
            spec::base_offset(H, d, {v(i_x), v(q)}) == spec::base_offset(H, d, {v(j_x), v(p)})};
      },
      {c == 1, k == 2, i_x == 0});
  o.check();
}

TEST(balanced, offset_and_free_coordinates_determine_the_point) {
  Obligation o("bal.", "T[t](i) = T[t](j) and i = j off axes(t): i = j");
  const z3::sort Axis = o.sort("Axis"), Offset = o.sort("Offset");
  const z3::sort Point = o.z().array_sort(Axis, o.z().int_sort());
  const expr i = o.constant("i", Point), j = o.constant("j", Point), a = o.constant("a", Axis);
  z3::func_decl in_t = o.function("in_t", {Axis}, o.z().bool_sort());
  z3::func_decl T = o.function("T", {Point}, Offset);
  o.unbounded("the type and the mesh");
  o.premise("i and j agree off axes(t)", in_t(a) || z3::select(i, a) == z3::select(j, a));
  o.premise("T[t](i) = T[t](j)", T(i) == T(j));
  o.premise("the step above, by induction, at the axis a",
            z3::implies(T(i) == T(j) && in_t(a), z3::select(i, a) == z3::select(j, a)));
  o.goal("i_a = j_a for any axis a", z3::select(i, a) == z3::select(j, a));
  o.control("i and j agree off axes(t)");
  o.check();
}

TEST(balanced, every_offset_occurs_with_all_free_coordinates) {
  Obligation o("bal.", "an offset of T[t] occurs with any coordinates off axes(t)");
  const z3::sort Axis = o.sort("Axis"), Offset = o.sort("Offset");
  const z3::sort Point = o.z().array_sort(Axis, o.z().int_sort());
  const expr i = o.constant("i", Point), v = o.constant("v", Point);
  const expr a = o.constant("a", Axis), b = o.constant("b", Axis);
  z3::func_decl in_t = o.function("in_t", {Axis}, o.z().bool_sort());
  z3::func_decl T = o.function("T", {Point}, Offset);
  const expr u = o.constant("u_offset", Offset);
  o.unbounded("the type and the mesh");
  o.premise("u in the image (Lemma 4.2)", T(i) == u);
  o.premise("b is free", !in_t(b));
  const expr m = o.let_at("m", Point, {a, b}, [&](const expr& at) {  // i on axes(t), v elsewhere
    return z3::ite(in_t(at), z3::select(i, at), z3::select(v, at));
  });
  o.premise("T[t] looks at its own axes only: else a is one where m and i differ",
            T(m) == T(i) || (in_t(a) && z3::select(m, a) != z3::select(i, a)));
  o.goal("T[t](m) = u", T(m) == u);
  o.goal("m_b = v_b", z3::select(m, b) == z3::select(v, b));
  o.control("b is free");
  o.check();
}

TEST(balanced, the_number_of_preimages_is_delta_over_the_number_of_tiles) {
  Obligation o("bal.", "the free coordinates have delta / prod N_i values");
  // Induction over the axes of the mesh: each is in axes(t) and multiplies N, or free and
  // multiplies F.
  const expr delta = o.size("delta"), N = o.size("N"), F = o.size("F"), k = o.size("k");
  const expr used = o.constant("used", o.z().bool_sort());
  const expr in_two = o.constant("in_two", o.z().bool_sort());
  o.unbounded("sizes, number of axes");
  o.premise("delta = N F (hypothesis)", delta == N * F);  // base 1 = 1 * 1
  o.premise("the axis occurs once", !in_two);
  const expr delta_1 = o.let("delta_1", k * delta);
  const expr N_1 = o.let("N_1", z3::ite(used, z3::ite(in_two, k * k * N, k * N), N));
  const expr F_1 = o.let("F_1", z3::ite(used, F, k * F));
  o.goal("delta' = N' F'", delta_1 == N_1 * F_1);
  o.control("the axis occurs once",
            [&](const Model& v) {
              const spec::Mesh H = {{"x", v(k)}};
              const spec::Type tau = {{1, {"x"}, v(k)}, {1, {"x"}, v(k)}};
              return Counterexample{
                  fmt::format("{{{}}}, {}: {} tiles on {} devices", spec::to_text(H),
                              spec::to_text(tau), v(N_1), v(delta_1)),
                  !spec::wf_type(H, tau) && v(N_1) == v(k) * v(k) && v(delta_1) == v(k)};
            },
            {delta == 1, used, k >= 2});
  o.check();
}

}  // namespace
}  // namespace proofs::balanced
