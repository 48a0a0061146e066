/// Lemma 4.2: if H |- t, the image of T[t] is the product of the images of its dimensions: all
/// offsets componentwise below globaltype(t) that are multiples of localtype(t) (erratum E7).
///
/// Induction over the dimensions. Dimension 0 and the remaining ones are arbitrary functions of the
/// point that look at their own axes only. Base: rank 0 has the one offset (), as |H| is not empty.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/program/type_text.h"

namespace proofs::lemma_4_2 {
namespace {

TEST(lemma_4_2, step_dimensions_are_independent) {
  Obligation o("4.2", "step: any offset of dimension 0 occurs with any offset of the others");
  const z3::sort Axis = o.sort("Axis"), Int = o.z().int_sort(), Bool = o.z().bool_sort();
  const z3::sort Offset = o.sort("Offset");
  const z3::sort Point = o.z().array_sort(Axis, Int);
  const expr i = o.constant("i", Point), j = o.constant("j", Point);
  const expr a = o.constant("a", Axis), b = o.constant("b", Axis);
  z3::func_decl in_0 = o.function("in_0", {Axis}, Bool);  // axes of dimension 0
  z3::func_decl in_R = o.function("in_R", {Axis}, Bool);  // axes of the remaining dimensions
  z3::func_decl D_0 = o.function("D_0", {Point}, Int);
  z3::func_decl T_R = o.function("T_R", {Point}, Offset);
  const expr t = o.natural("t"), u = o.constant("u", Offset);
  o.unbounded("sizes, rank, number of axes");
  o.premise("X_0 and X_R are disjoint", !(in_0(a) && in_R(a)) && !(in_0(b) && in_R(b)));  // E3
  o.premise("t in the image of D[d_0] (Lemma 4.1)", D_0(j) == t);
  o.premise("u in the image of T[d_1, ..] (hypothesis)", T_R(i) == u);
  const expr m = o.let_at("m", Point, {a, b}, [&](const expr& at) {  // j on X_0, i elsewhere
    return z3::ite(in_0(at), z3::select(j, at), z3::select(i, at));
  });
  o.premise("D[d_0] looks at its own axes only: else a is one where m and j differ",
            D_0(m) == D_0(j) || (in_0(a) && z3::select(m, a) != z3::select(j, a)));
  o.premise("T[d_1, ..] looks at its own axes only: else b is one where m and i differ",
            T_R(m) == T_R(i) || (in_R(b) && z3::select(m, b) != z3::select(i, b)));
  o.goal("T[t](m) = (t, u)", D_0(m) == t && T_R(m) == u);
  // [1{x}2, 1{x}2]: both dimensions read the one coordinate of x.
  const expr f = z3::select(m, b);
  z3::func_decl number = o.function("number", {Offset}, Int);
  o.control(
      "X_0 and X_R are disjoint",
      [&](const Model& v) {
        const spec::Mesh H = spec::parse_mesh("x:2").value();
        const spec::Type tau = {{1, {"x"}, 2}, {1, {"x"}, 2}};
        const spec::Offset wanted = {v(t), v(number(u))};
        const auto beta = spec::base_offset_map(H, tau).value();
        return Counterexample{
            fmt::format("{{{}}}, {} never has offset ({}, {})", spec::to_text(H),
                        spec::to_text(tau), wanted[0], wanted[1]),
            !spec::wf_type(H, tau) && std::find(beta.begin(), beta.end(), wanted) == beta.end()};
      },
      {a == b, in_0(a), in_R(a), D_0(m) == f, D_0(j) == z3::select(j, a), number(T_R(m)) == f,
       number(T_R(i)) == z3::select(i, a), z3::select(i, a) >= 0, z3::select(i, a) < 2,
       z3::select(j, a) >= 0, z3::select(j, a) < 2});
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_2
