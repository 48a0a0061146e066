/// S5, zero cost: OPT = 0 iff each axis list of t1 is a suffix of the list of t2; otherwise OPT >=
/// L2. The same for W: W = 0 or W >= L2.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/fig10_low_level.h"
#include "spec/program/type_text.h"

namespace proofs::s5 {
namespace {

TEST(s5, the_last_step_that_moves_data_costs_at_least_the_target_tile) {
  Obligation o("S5", "a sequence that is not dynslices alone costs at least L2");
  const expr before = o.natural("before"), step = o.natural("step"), later = o.natural("later");
  const expr tile = o.size("tile"), slices = o.size("slices"), L2 = o.size("L2");
  o.unbounded("sizes, lengths");
  o.premise("the step costs the tile after it", step == tile);  // Fig. 11: all three
  o.premise("only dynslices follow", tile == slices * L2 && later == 0);
  o.use(product_is_monotone(o.value(1), slices, L2));
  o.goal("cost >= L2", before + step + later >= L2);
  o.control("only dynslices follow");
  o.check();
}

TEST(s5, fig_11_charges_the_tile_after_the_step) {
  Obligation o("S5",
               "allgather L2, alltoall and allpermute L1 = L2: never less than the tile after");
  const expr c_i = o.size("c_i"), c_j = o.size("c_j"), n = o.size("n"), q = o.size("q");
  o.unbounded("sizes");
  o.premise("c_j = n q", c_j == n * q);
  o.fact(c_i * (n * q) == (c_i * n) * q);
  o.goal("alltoall", c_i * c_j == (c_i * n) * q);
  o.control("c_j = n q");
  o.check();
}

TEST(s5, from_a_suffix_dynslices_suffice) {
  Obligation o("S5", "X1 a suffix of X2 = Y, X1: dynslices by the axes of Y lead from t1 to t2");
  // By induction over Y from its last axis: c1 = k c, where c{y, ..} is the next dimension.
  const expr k = o.size("k"), P = o.size("P"), Y = o.size("Y");
  const expr c_1 = o.size("c_1"), c_2 = o.size("c_2"), s = o.size("s");
  o.unbounded("sizes, number of axes");
  o.premise("H |- t1", c_1 * P == s);                        // P: product over X1
  o.premise("H |- t2, X2 = Y, X1", c_2 * (Y * k) * P == s);  // Y k: product over Y
  const expr c = o.let("c", c_2 * Y);
  o.fact(c_2 * (Y * k) * P == (k * (c_2 * Y)) * P);
  o.use(product_cancels(c_1, k * (c_2 * Y), P));
  o.goal("n | c1, with quotient c", c_1 == k * c);
  o.control("H |- t2, X2 = Y, X1");
  o.check();
}

TEST(s5, after_dynslices_the_source_is_a_quotient) {
  Obligation o("S5", "dynslices alone: f1 = f2 div n (step)");
  const expr f = o.natural("f"), g = o.natural("g"), n = o.size("n"), k = o.size("k");
  const expr x = o.natural("x"), e = o.natural("e");
  o.unbounded("f, n, length");
  o.premise("f2 = f1 n + x, x < n", g == f * n + x && x < n);
  o.premise("e < k", e < k);
  o.fact((f * n + x) * k + e == f * (n * k) + (x * k + e));
  o.use(digits_stay_below(e, k, x, n));
  o.goal("after one more: f1 = f2' div (n k)",
         g * k + e == f * (n * k) + (x * k + e) && 0 <= x * k + e && x * k + e < k * n);
  o.control("e < k");
  o.check();
}

TEST(s5, the_quotient_cuts_the_list_between_axes) {
  Obligation o("S5",
               "T[t1] = T[t2] div n: n is a product of the first axes of X2, not inside an axis");
  // Let the first axes of X2 have product P, the next one, x, size k, and P < n < P k. t1's tile
  // number is additive in the coordinates. At unit points of x and of the axes before it, T[t2] <
  // n, so T[t1] is 0 there; so T[t1] is 0 where all these coordinates are largest; but there T[t2]
  // = P k - 1 >= n.
  const expr P = o.size("P"), k = o.size("k"), n = o.size("n");
  const expr w = o.natural("w"), rest = o.natural("rest"), low = o.natural("low");
  const expr top = o.natural("top"), remainder = o.natural("remainder");
  o.unbounded("n, sizes, number of axes");
  o.premise("T[t1] = T[t2] div n at the unit point of x", P == w * n + rest && rest < n);
  o.premise("T[t1] is 0 on the axes before x", low == 0);  // the same, for smaller strides
  o.premise("T[t1] = T[t2] div n at the largest coordinates",
            P * k - 1 == top * n + remainder && remainder < n);
  o.premise("T[t1] is additive", top == low + w * (k - 1));  // Fig. 7
  o.use(product_is_monotone(o.value(1), w, n));
  o.use(product_is_monotone(top, o.value(0), n));
  o.fact(w != 0 || w * (k - 1) == 0);
  o.goal("n <= P or n >= P k", n <= P || n >= P * k);
  o.control("T[t1] is additive", [&](const Model& v) {
    // Popping half an axis is no type, see E16: {x:4}, n = 2.
    const spec::Mesh H = {{"x", 4}};
    const auto f = spec::base_offset_map(H, {{1, {"x"}, 4}}).value();
    std::vector<spec::Offset> halved;
    for (const spec::Offset& t : f) halved.push_back({t[0] / 2 * 2});
    bool is_a_type = false;
    for (const spec::Dim& d : {spec::Dim{4, {}, 4}, spec::Dim{1, {"x"}, 4}}) {
      is_a_type = is_a_type || spec::base_offset_map(H, {d}).value() == halved;
    }
    return Counterexample{
        fmt::format("P = {}, k = {}, n = {}; for instance {{x:4}}, T[[1{{x}}4]] div 2 is no T",
                    v(P), v(k), v(n)),
        !is_a_type};
  });
  o.check();
}

TEST(s5, what_is_left_is_the_suffix) {
  Obligation o("S5", "n the product of the first axes: T[t2] div n is T of the rest of X2");
  const expr n = o.size("n"), low = o.natural("low"), z = o.natural("z"), t_1 = o.natural("t_1");
  const expr x = o.natural("x");
  o.unbounded("n, sizes, number of axes");
  o.premise("low < n", low < n);  // Lemma 4.1 for the first axes
  o.premise("T[t2] = low + n z", t_1 * n + x == low + n * z && x < n);
  o.use(division_is_unique(n, t_1, x, z, low));
  o.goal("t1 = z, so X1 is the rest of X2 (T is injective)", t_1 == z);
  o.control("low < n");
  o.check();
}

}  // namespace
}  // namespace proofs::s5
