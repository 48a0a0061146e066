/// For one mesh with sizes >= 2 and one globaltype, T is injective on well-formed types (needed by
/// Def. 4.3; errata E2, E6).
///
/// Induction over two axis lists at once, dimension by dimension: let D[c{X}n] = D[e{Y}n] as
/// functions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/program/type_text.h"

namespace proofs::injectivity {
namespace {

bool same_base_offset_map(const spec::Mesh& H, const spec::Dim& d, const spec::Dim& e) {
  return spec::base_offset_map(H, {d}).value() == spec::base_offset_map(H, {e}).value();
}

TEST(injectivity, base_both_lists_empty) {
  Obligation o("T inj.", "D[c{}n] = D[e{}n']: c = e");
  const expr c = o.size("c"), e = o.size("e"), n = o.size("n"), n_1 = o.size("n_1");
  o.unbounded("c, e, n");
  o.bookkeeping();
  o.premise("c = n, e = n'", c == n && e == n_1);  // WF-DIM
  o.premise("n = n'", n == n_1);                   // one globaltype
  o.goal("c = e", c == e);
  o.control("n = n'", [&](const Model& v) {
    const spec::Dim d_1 = {v(c), {}, v(n)}, d_2 = {v(e), {}, v(n_1)};
    return Counterexample{fmt::format("T[{}] = T[{}]", spec::to_text({d_1}), spec::to_text({d_2})),
                          same_base_offset_map({}, d_1, d_2) && d_1 != d_2};
  });
  o.check();
}

TEST(injectivity, base_one_list_empty) {
  Obligation o("T inj.", "D[c{}n] and D[e{y,Y}n] differ at the unit point of y");
  const expr e = o.size("e"), k = o.size("k"), rest = o.integer("rest");
  o.unbounded("c, e, k, n, the number of axes");
  o.premise("1 < k_y", 1 < k);
  o.premise("Lemma 4.1: D[(e k){Y}n] >= 0", rest >= 0);
  const expr i_y = o.let("i_y", z3::ite(1 < k, o.value(1), o.value(0)));  // from size 2 on 1 exists
  const expr D_1 = o.value(0);                                            // D[c{}n] is 0 everywhere
  const expr D_2 = e * i_y + rest;
  o.goal("D[c{}n](i) != D[e{y,Y}n](i)", D_1 != D_2);
  o.control("1 < k_y",
            [&](const Model& v) {
              const spec::Mesh H = {{"u", v(k)}};
              const spec::Dim d_1 = {v(e), {}, v(e)}, d_2 = {v(e), {"u"}, v(e)};
              return Counterexample{fmt::format("{{{}}}: T[{}] = T[{}]", spec::to_text(H),
                                                spec::to_text({d_1}), spec::to_text({d_2})),
                                    same_base_offset_map(H, d_1, d_2) && d_1 != d_2};
            },
            {rest == 0});
  o.check();
}

TEST(injectivity, step_tile_sizes_agree) {
  Obligation o("T inj.", "D[c{x,X}n] = D[e{y,Y}n]: c = e");
  const expr c = o.size("c"), e = o.size("e"), a = o.natural("a"), b = o.natural("b");
  o.unbounded("c, e, the lists");
  // D[c{x,X}n] is c at the unit point of x, so c is in the image of the other, and conversely.
  o.premise("c in the image of D[e{y,Y}n]", c == e * b);
  o.premise("e in the image of D[c{x,X}n]", e == c * a);
  o.use(product_is_monotone(o.value(2), b, e));
  o.use(product_is_monotone(o.value(2), a, c));
  o.goal("c = e", c == e);
  o.control("e in the image of D[c{x,X}n]");
  o.check();
}

TEST(injectivity, step_first_axes_agree) {
  Obligation o("T inj.", "D[c{x,X}n] = D[c{y,Y}n]: x = y");
  const z3::sort Axis = o.sort("Axis");
  const z3::sort Point = o.z().array_sort(Axis, o.z().int_sort());
  const expr x = o.constant("x", Axis), y = o.constant("y", Axis);
  const expr c = o.size("c"), k_y = o.size("k_y"), w = o.natural("w");
  const expr rest_X = o.natural("rest_X"), rest_Y = o.natural("rest_Y");
  o.unbounded("c, k_y, n, the number of axes");
  o.premise("k_y >= 2", k_y >= 2);
  const expr u = o.let_at("u", Point, {x, y}, [&](const expr& at) {  // the unit point of x
    return z3::ite(at == x, o.value(1), o.value(0));
  });
  o.premise("x is not in X: D[(c k_x){X}n](u) = 0", rest_X == 0);
  o.premise("Lemma 4.1: D[(c k_y){Y}n] is a multiple of c k_y", rest_Y == (c * k_y) * w);
  const expr D_1 = c * z3::select(u, x) + rest_X, D_2 = c * z3::select(u, y) + rest_Y;
  o.premise("D[c{x,X}n](u) = D[c{y,Y}n](u)", D_1 == D_2);
  o.use(product_is_monotone(o.value(1), w, c * k_y));
  o.use(product_is_monotone(o.value(2), k_y, c));
  o.goal("x = y", x == y);
  o.control("k_y >= 2", [&](const Model& v) {
    const spec::Mesh H = {{"x", 2}, {"y", v(k_y)}};
    const spec::Dim d_1 = {v(c), {"x"}, 2 * v(c)}, d_2 = {v(c), {"y", "x"}, 2 * v(c)};
    return Counterexample{fmt::format("{{{}}}: T[{}] = T[{}]", spec::to_text(H),
                                      spec::to_text({d_1}), spec::to_text({d_2})),
                          v(k_y) == 1 && same_base_offset_map(H, d_1, d_2)};
  });
  o.check();
}

TEST(injectivity, step_the_rests_agree) {
  Obligation o("T inj.", "D[c{x,X}n] = D[c{x,Y}n]: D[(ck){X}n] = D[(ck){Y}n]");
  const expr c = o.size("c"), e = o.size("e"), i_x = o.natural("i_x");
  const expr rest_X = o.natural("rest_X"), rest_Y = o.natural("rest_Y");
  o.unbounded("c, k, n, the number of axes");
  o.premise("c = e", c == e);
  o.premise("D[c{x,X}n](i) = D[e{x,Y}n](i)", c * i_x + rest_X == e * i_x + rest_Y);
  o.goal("D[(c k){X}n](i) = D[(c k){Y}n](i)", rest_X == rest_Y);
  o.control("c = e");
  o.check();
}

}  // namespace
}  // namespace proofs::injectivity
