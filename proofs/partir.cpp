/// The rewrite rules of PartIR, for all shapes and all widths, those that do not divide among them.
///
/// A range<n,w> has the values [w k, min(w (k + 1), n)) for k below ceil(n / w). tile d (\r -> e) has at
/// index i what e has at i - w k for the k whose interval holds i; slice d x[r] has at a what x has at
/// w k + a. A product has dot(row, column) at a row and a column. What a rule does not touch, rows of
/// other dimensions among them, is one value here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::partir {
namespace {

const char* const arbitrary = "all extents, widths and values";

expr least(const expr& a, const expr& b) { return z3::ite(a <= b, a, b); }

/// Values of the elements, rows and columns, and what a product makes of a row and a column.
struct Values {
  explicit Values(Obligation& o)
      : element(o.sort("Element")),
        row(o.sort("Row")),
        column(o.sort("Column")),
        dot(o.function("dot", {row, column}, element)) {}
  z3::sort element, row, column;
  z3::func_decl dot;
};

/// Width of interval k.
expr width(const expr& n, const expr& w, const expr& k) { return least(w * (k + 1), n) - w * k; }

TEST(partir, dumb_tiling) {
  Obligation o("PartIR tile", "x = tile d (\\r -> slice d x[r]), as to every index of d");
  const Values v(o);
  const z3::func_decl x = o.function("x", {o.z().int_sort()}, v.element);
  const expr i = o.natural("i"), n = o.size("n"), w = o.size("w"), count = o.size("K");
  o.unbounded(arbitrary);
  o.premise("i < n", i < n);
  o.premise("n <= w K", n <= w * count);
  const auto [k, a] = o.divide("k", "a", i, w);
  o.use(product_cancels(k, count, w));
  o.fact(w * (k + 1) == w * k + w);
  o.goal("some interval holds i", k < count);
  o.goal("the slice of that interval reaches so far", a < width(n, w, k));
  o.identity("and has there what x has", x(w * k + (i - w * k)) == x(i));
  o.control_goal("the slice is full", width(n, w, k) == w);
  o.check();
}

TEST(partir, matmul_tile_0) {
  Obligation o("PartIR tile", "matmul(x, y) = tile 0 (\\r -> matmul(slice 0 x[r], y))");
  const Values v(o);
  const z3::func_decl x = o.function("x", {o.z().int_sort()}, v.row);
  const z3::func_decl y = o.function("y", {o.z().int_sort()}, v.column);
  const z3::func_decl slice = o.function("slice", {o.z().int_sort(), o.z().int_sort()}, v.row);
  const expr i = o.natural("i"), j = o.natural("j"), w = o.size("w");
  o.unbounded(arbitrary);
  const auto [k, a] = o.divide("k", "a", i, w);
  o.premise("slice 0 x[r]", slice(k, a) == x(w * k + a));
  o.goal("the same at (i, j)", v.dot(slice(k, a), y(j)) == v.dot(x(i), y(j)));
  o.check();
}

TEST(partir, matmul_tile_1) {
  Obligation o("PartIR tile", "matmul(x, y) = tile 1 (\\r -> matmul(x, slice 1 y[r]))");
  const Values v(o);
  const z3::func_decl x = o.function("x", {o.z().int_sort()}, v.row);
  const z3::func_decl y = o.function("y", {o.z().int_sort()}, v.column);
  const z3::func_decl slice = o.function("slice", {o.z().int_sort(), o.z().int_sort()}, v.column);
  const expr i = o.natural("i"), j = o.natural("j"), w = o.size("w");
  o.unbounded(arbitrary);
  const auto [k, a] = o.divide("k", "a", j, w);
  o.premise("slice 1 y[r]", slice(k, a) == y(w * k + a));
  o.goal("the same at (i, j)", v.dot(x(i), slice(k, a)) == v.dot(x(i), y(j)));
  o.check();
}

TEST(partir, products_of_slices_are_parts_of_the_sum) {
  Obligation o("PartIR sum", "matmul(slice 1 x[r], slice 0 y[r]) adds the terms of interval k");
  const z3::sort number = o.z().int_sort();
  // The sum of the first l terms, and of the first l terms of the slices' product.
  const z3::func_decl sum = o.function("P", {number}, number);
  const z3::func_decl part = o.function("Q", {number}, number);
  const z3::func_decl term = o.function("term", {number}, number);
  const expr begin = o.natural("b"), l = o.natural("l");
  o.unbounded(arbitrary);
  o.premise("P(b + l + 1) = P(b + l) + term",
            sum(begin + l + 1) == sum(begin + l) + term(begin + l));
  o.premise("Q(l + 1) = Q(l) + term", part(l + 1) == part(l) + term(begin + l));
  o.premise("Q(l) = P(b + l) - P(b)", part(l) == sum(begin + l) - sum(begin));  // the induction's
  o.goal("Q(l + 1) = P(b + l + 1) - P(b)", part(l + 1) == sum(begin + l + 1) - sum(begin));
  o.check();
}

TEST(partir, matmul_sum_goes_on) {
  Obligation o("PartIR sum",
               "the parts of k + 1 intervals add up to the terms before the next one");
  const z3::sort number = o.z().int_sort();
  const z3::func_decl sum = o.function("P", {number}, number);
  const z3::func_decl parts = o.function("S", {number}, number);
  const expr k = o.natural("k"), n = o.size("n"), w = o.size("w");
  o.unbounded(arbitrary);
  const expr begin = w * k, end = least(w * (k + 1), n);
  o.premise("w k < n", begin < n);
  o.premise("S(k + 1) = S(k) + part k", parts(k + 1) == parts(k) + (sum(end) - sum(begin)));
  o.premise("S(k) = P(min(w k, n))", parts(k) == sum(least(begin, n)));  // the induction's
  o.goal("S(k + 1) = P(min(w (k + 1), n))", parts(k + 1) == sum(end));
  o.check();
}

TEST(partir, matmul_sum_ends) {
  Obligation o("PartIR sum", "matmul(x, y) = sum (\\r -> matmul(slice 1 x[r], slice 0 y[r]))");
  const z3::sort number = o.z().int_sort();
  const z3::func_decl sum = o.function("P", {number}, number);
  const z3::func_decl parts = o.function("S", {number}, number);
  const expr n = o.size("n"), w = o.size("w"), count = o.size("K");
  o.unbounded(arbitrary);
  o.premise("n <= w K", n <= w * count);
  o.premise("S(K) = P(min(w K, n))", parts(count) == sum(least(w * count, n)));
  o.goal("S(K) = P(n)", parts(count) == sum(n));
  o.control_goal("one interval less would do", parts(count - 1) == sum(n));
  o.check();
}

TEST(partir, fuse) {
  Obligation o("PartIR fuse", "slice d (tile d (\\r -> e))[s] = e{s/r}, with s : range<n,w>");
  const Values v(o);
  const z3::func_decl body = o.function("e", {o.z().int_sort(), o.z().int_sort()}, v.element);
  const expr a = o.natural("a"), n = o.size("n"), w = o.size("w"), of_s = o.size("w'");
  const expr s = o.natural("s");
  o.unbounded(arbitrary);
  o.premise("s has the width of r", of_s == w);  // R4
  o.premise("a lies in interval s", a < width(n, of_s, s));
  const expr i = of_s * s + a;
  const auto [k, rest] = o.divide("k", "i - w k", i, w);
  o.fact(of_s * (s + 1) == of_s * s + of_s);
  o.use(division_is_unique(w, k, rest, s, a));
  o.goal("the tile takes it from interval s", k == s);
  o.goal("at a", rest == a);
  o.goal("so it is e's at s and a", body(k, rest) == body(s, a));
  o.control("s has the width of r");
  o.check();
}

TEST(partir, pushing_slicing_in) {
  Obligation o("PartIR push", "slice d (matmul(x, y))[r] = the product of one of them sliced");
  const Values v(o);
  const z3::func_decl x = o.function("x", {o.z().int_sort()}, v.row);
  const z3::func_decl y = o.function("y", {o.z().int_sort()}, v.column);
  const z3::func_decl rows = o.function("slice0", {o.z().int_sort()}, v.row);
  const z3::func_decl columns = o.function("slice1", {o.z().int_sort()}, v.column);
  const expr a = o.natural("a"), j = o.natural("j"), k = o.natural("k"), w = o.size("w");
  o.unbounded(arbitrary);
  o.premise("slice 0 x[r]", rows(a) == x(w * k + a));
  o.premise("slice 1 y[r]", columns(a) == y(w * k + a));
  o.goal("matmul(slice 0 x[r], y)", v.dot(x(w * k + a), y(j)) == v.dot(rows(a), y(j)));
  o.goal("matmul(x, slice 1 y[r])", v.dot(x(j), y(w * k + a)) == v.dot(x(j), columns(a)));
  o.check();
}

TEST(partir, pulling_tiling_out) {
  Obligation o("PartIR pull", "matmul(tile 0 (\\r -> e), y) = tile 0 (\\r -> matmul(e, y))");
  const Values v(o);
  const z3::sort number = o.z().int_sort();
  const z3::func_decl body = o.function("e", {number, number}, v.row);
  const z3::func_decl tiled = o.function("tile", {number}, v.row);
  // y may mention r: the column on the right side is that of interval k.
  const z3::func_decl y = o.function("y", {number, number}, v.column);
  const expr i = o.natural("i"), j = o.natural("j"), w = o.size("w"), outside = o.natural("k'");
  o.unbounded(arbitrary);
  const auto [k, a] = o.divide("k", "a", i, w);
  o.premise("tile 0", tiled(i) == body(k, a));
  o.premise("y does not mention r", y(k, j) == y(outside, j));  // R3
  o.goal("the same at (i, j)", v.dot(tiled(i), y(outside, j)) == v.dot(body(k, a), y(k, j)));
  o.control("y does not mention r");
  o.check();
}

}  // namespace
}  // namespace proofs::partir
