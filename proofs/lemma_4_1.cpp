/// Lemma 4.1: if H |- c{X}n, the image of D[c{X}n] is all multiples of c below n.
///
/// Induction over X. The axis list is arbitrary: `rest` is D[(ck){X}n] as any function of the
/// point, known by the induction hypothesis only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "arithmetic.h"
#include "spec/program/type_text.h"

namespace proofs::lemma_4_1 {
namespace {

/// The offsets of one dimension over all points of the mesh.
std::set<spec::Size> image(const spec::Mesh& H, const spec::Dim& d) {
  std::set<spec::Size> out;
  for (const spec::Point& i : spec::points(H)) out.insert(spec::base_offset(H, d, i).value());
  return out;
}

TEST(lemma_4_1, base_empty_axis_list) {
  Obligation o("4.1", "base: the image of D[c{}n] is {0}, the multiples of c below n");
  const expr c = o.size("c"), n = o.size("n"), t = o.integer("t"), q = o.integer("q");
  const expr D = o.value(0);  // D[c{}n](i) = 0
  o.unbounded("c, n");
  o.premise("c = n", c == n);  // WF-DIM
  o.premise("t = c q, 0 <= t < n", t == c * q && 0 <= t && t < n);
  o.use(product_is_monotone(o.value(1), q, c));
  o.goal("D is a multiple of c below n", D == c * 0 && D < n);
  o.goal("every multiple of c below n is D", t == D);
  o.control("c = n", [&](const Model& m) {
    const spec::Dim d = {m(c), {}, m(n)};
    return Counterexample{
        fmt::format("{} has offset 0 only, not {}", spec::to_text({d}), m(t)),
        !spec::wf_dim({}, d) && image({}, d).count(m(t)) == 0 && m(t) % m(c) == 0 && m(t) < m(n)};
  });
  o.check();
}

TEST(lemma_4_1, step_every_offset_is_a_multiple_of_c_below_n) {
  Obligation o("4.1", "step: every offset of c{x,X}n is a multiple of c below n");
  const expr c = o.size("c"), k = o.size("k"), m = o.size("m"), n = o.size("n");
  const expr i_x = o.natural("i_x"), q = o.natural("q"), rest = o.integer("rest");
  const expr D = c * i_x + rest;  // D[c{x,X}n](i) = c i_x + D[(c k){X}n](i)
  o.unbounded("c, k, n, the number of axes");
  o.premise("c k m = n", c * k * m == n);  // WF-DIM; m = product of the sizes of X
  o.premise("i_x < k", i_x < k);           // i in |H|
  o.premise("D[(c k){X}n](i) = c k q < n", rest == c * k * q && rest < n);  // hypothesis
  o.use(product_cancels(q, m, c * k));
  o.use(digits_stay_below(i_x, k, q, m));
  o.use(product_is_monotone(i_x + k * q + 1, k * m, c));
  o.goal("multiple of c", D == c * (i_x + k * q));
  o.goal("0 <= D < n", 0 <= D && D < n);
  o.control("i_x < k",
            [&](const Model& v) {
              const spec::Mesh H = {{"x", v(k)}};
              const spec::Dim d = {v(c), {"x"}, v(n)};
              const auto offset = spec::base_offset(H, d, {v(i_x)});
              return Counterexample{
                  fmt::format("{{{}}}, {} at i_x = {}: offset {}", spec::to_text(H),
                              spec::to_text({d}), v(i_x), offset.value_or(-1)),
                  spec::wf_dim(H, d) && offset >= v(n)};
            },
            {m == 1, q == 0, k >= 2});
  o.check();
}

TEST(lemma_4_1, step_every_multiple_of_c_below_n_is_an_offset) {
  Obligation o("4.1", "step: every multiple of c below n is an offset of c{x,X}n");
  const z3::sort Axis = o.sort("Axis"), Int = o.z().int_sort(), Bool = o.z().bool_sort();
  const z3::sort Point = o.z().array_sort(Axis, Int);
  const expr x = o.constant("x", Axis), a = o.constant("a", Axis);
  const expr i = o.constant("i", Point);
  z3::func_decl in_X = o.function("in_X", {Axis}, Bool);
  z3::func_decl rest = o.function("rest", {Point}, Int);  // D[(c k){X}n]
  const expr c = o.size("c"), k = o.size("k"), m = o.size("m"), n = o.size("n");
  const expr t = o.natural("t"), p = o.natural("p");
  o.unbounded("c, k, n, the number of axes");
  o.premise("t = c p < n", t == c * p && t < n);
  o.premise("x not in X", !in_X(x));              // E3: axes are pairwise distinct
  const auto [q, r] = o.divide("q", "r", p, k);   // the digit of x and what remains
  const expr j = o.let("j", z3::store(i, x, r));  // the point i with coordinate r at x
  o.premise("D[(c k){X}n](i) = c k q, if that is below n (hypothesis)",
            z3::implies(c * k * q < n, rest(i) == c * k * q));
  o.premise("D looks at its own axes only: else a is one where i and j differ",
            rest(i) == rest(j) || (in_X(a) && z3::select(i, a) != z3::select(j, a)));
  o.goal("j is a point: 0 <= j_x < k", 0 <= z3::select(j, x) && z3::select(j, x) < k);
  o.goal("D[c{x,X}n](j) = t", c * z3::select(j, x) + rest(j) == t);
  o.control("x not in X",
            [&](const Model& v) {
              const spec::Mesh H = {{"x", v(k)}};
              const spec::Dim d = {v(c), {"x", "x"}, v(n)};
              return Counterexample{
                  fmt::format("{{{}}}, {} never has offset {}", spec::to_text(H),
                              spec::to_text({d}), v(t)),
                  image(H, d).count(v(t)) == 0 && v(t) % v(c) == 0 && v(t) < v(n)};
            },
            {k >= 2, m == k, c * k * m == n, in_X(a) == (a == x), in_X(x),
             rest(i) == c * k * z3::select(i, x), rest(j) == c * k * z3::select(j, x),
             z3::select(i, x) == q});
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_1
