/// Lemma 4.6, the peak lemma, over several axes at once (Sec. 7.1), in its corrected form:
/// allgather(i) over ȳ, then dynslice(j) over x̄, is replaced by a part of D P A P G, all normal
/// forms. As printed it is false, see the errata.
///
/// Axes are prime, as in the paper. It is used in one place: where a divisor of the product of a
/// list is to be the product of a part of the list. Greatest common divisors are said by Bezout's
/// numbers. How much moves where is what lemma_6_5.cpp proves of weak sequences; here are the axes.
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "symbolic_lists.h"

namespace proofs::lemma_4_6_multi {
namespace {

constexpr const char* number = "4.6, 7.1";
constexpr const char* arbitrary = "tile sizes, axis sizes, lists of axes, other axes, rank";

TEST(lemma_4_6_multi, part_of_a_list_base) {
  Obligation o(number, "prime axes of product d e hold a part of product d: base, no axis");
  const expr K = o.size("K"), d = o.size("d"), e = o.size("e");
  o.unbounded("d, e");
  o.premise("the empty list has product 1", K == 1);
  o.premise("d divides it", K == d * e);
  o.goal("so has its part", d == 1);
  o.control("the empty list has product 1", {}, {});
  o.check();
}

TEST(lemma_4_6_multi, part_of_a_list_step) {
  Obligation o(number, "prime axes of product d e hold a part of product d: step, one more axis p");
  const expr K = o.size("K"), d = o.size("d"), e = o.size("e"), p = o.size("p");
  const expr d_1 = o.size("d_1"), u = o.integer("u"), v = o.integer("v");
  const expr divides = o.constant("p_divides_d", o.z().bool_sort());
  o.unbounded("d, e, p, the number of axes");
  o.premise("d divides p K", p * K == d * e);
  // Two obligations of lemma_4_6.cpp and arithmetic.cpp: a prime divides d or is coprime to it.
  o.premise("p is prime", z3::ite(divides, d == p * d_1, u * p + v * d == 1));
  const expr w = o.let("w", u * e + v * K);  // e / p
  o.use(euclid_quotient(v, d, u, p, e, K, w));
  o.fact(p * K == K * p && d * e == e * d);
  o.fact(!(divides && d == p * d_1) || d * e == (d_1 * e) * p);
  o.use(product_cancels(K, d_1 * e, p));
  o.goal("p divides d: d/p divides K, and p joins the part", z3::implies(divides, K == d_1 * e));
  o.goal("p does not: d divides K, and p does not join",
         z3::implies(!divides, e == p * w && K == w * d));
  o.control("p is prime",
            [&](const Model& at) {
              return Counterexample{
                  "an axis of size " + std::to_string(at(p)) + " has no part of product " +
                      std::to_string(at(d)),
                  at(K) == 1 && at(p) % at(d) == 0 && at(d) != 1 && at(d) != at(p)};
            },
            {K == 1, d > 1, d < p, !divides});
  o.check();
}

TEST(lemma_4_6_multi, one_dimension_has_the_axes) {
  Obligation o(number, "i = j, g = gcd(m,n): n/g divides the product of the axes of x̄ not in ȳ");
  const expr g = o.size("g"), m_1 = o.size("m_1"), n_1 = o.size("n_1");
  const expr k_both = o.size("k_both"), k_x = o.size("k_x"), k_y = o.size("k_y");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded("sizes, lists of axes");  // x̄ and ȳ exchanged: so does m/g that of ȳ's not in x̄
  o.premise("n is the product of x̄", g * n_1 == k_x * k_both);
  o.premise("m is the product of ȳ", g * m_1 == k_y * k_both);
  o.premise("gcd(m/g, n/g) = 1", u * m_1 + v * n_1 == 1);
  const expr w = o.let("w", u * k_y + v * k_x);  // k_x / (n/g)
  o.fact((k_x * m_1) * (g * k_both) == (k_x * k_both) * (g * m_1));
  o.fact((n_1 * k_y) * (g * k_both) == (g * n_1) * (k_y * k_both));
  o.fact(g * n_1 != k_x * k_both || (k_x * k_both) * (g * m_1) == (g * n_1) * (g * m_1));
  o.fact(g * m_1 != k_y * k_both || (g * n_1) * (k_y * k_both) == (g * n_1) * (g * m_1));
  o.use(product_cancels(k_x * m_1, n_1 * k_y, g * k_both));
  o.use(euclid_quotient(u, m_1, v, n_1, k_x, k_y, w));
  o.goal("n/g divides it", k_x == n_1 * w);
  o.control("gcd(m/g, n/g) = 1", {}, {u == 0, v == 0, n_1 == 2, k_x == 1});
  o.check();
}

TEST(lemma_4_6_multi, one_dimension_DPG) {
  Obligation o(number,
               "i = j, z̄ in x̄ of product n/g, t̄ in ȳ of product m/g: s_0 -D-> -P-> -G-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), y = lists.list("y"), z = lists.list("z"), t = lists.list("t");
  const List X = lists.list("X");
  const expr c = o.size("c"), s = o.size("s"), q = o.size("q"), g = o.size("g");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c, {y, X}, s}};
  o.premise("H |- s_0", lists.well_formed(s_0));
  const ListStep gather = lists.allgather(0, s_0);
  const ListStep slice = lists.dynslice(0, x, q, gather.to);
  o.premise("T-DYNSLICE", slice.applies);
  o.premise("n = g (n/g), m = g (m/g)", x.k == g * z.k && y.k == g * t.k);
  o.premise("gcd(m/g, n/g) = 1", u * t.k + v * z.k == 1);
  o.premise("z̄ is in x̄, not in ȳ", z3::implies(z.has, x.has && !y.has));
  o.premise("t̄ is in ȳ, not in x̄", z3::implies(t.has, y.has && !x.has));
  const expr w = o.let("w", u * q + v * c);  // c / (n/g), the tile in the valley
  o.fact(y.k != g * t.k || c * y.k == (c * t.k) * g);
  o.fact(x.k != g * z.k || x.k * q == (q * z.k) * g);
  o.use(product_cancels(c * t.k, q * z.k, g));
  o.fact(q * z.k == z.k * q);
  o.use(euclid_quotient(u, t.k, v, z.k, c, q, w));
  o.use(product_is_monotone(w, o.value(0), z.k));
  const ListStep d = lists.dynslice(0, z, w, s_0);
  const ListStep p = lists.allpermute(d.to, {{w, {t, x, X}, s}});
  const ListStep a = lists.allgather(0, p.to);
  o.goal("the tile c m/g = q n/g", c * t.k == z.k * q);
  o.goal("T-DYNSLICE at s_0", d.applies && w >= 1);
  o.fact(q != w * t.k || ((w * t.k) * x.k) * X.k == (x.k * q) * X.k);
  o.fact(c * y.k != x.k * q || (x.k * q) * X.k == (c * y.k) * X.k);
  o.fact((c * y.k) * X.k == c * y.k * X.k);
  o.goal("T-PERMUTE", p.applies);
  o.goal("it ends in s_2", lists.same(a.to, slice.to));
  o.use(product_is_monotone(o.value(1), t.k, w));
  o.use(product_is_monotone(o.value(1), z.k, w));
  o.goal("it is a valley", w <= c && w <= q);
  o.control("gcd(m/g, n/g) = 1", {}, {u == 0, v == 0, z.k == 2, c == 1});
  o.control("z̄ is in x̄, not in ȳ");
  o.check();
}

TEST(lemma_4_6_multi, two_dimensions_have_the_axes) {
  Obligation o(number,
               "i != j, a = gcd(n,F), b = n/a: a divides what is free in s_0, b divides m, "
               "m/b what is free in s_2");
  const expr a = o.size("a"), b = o.size("b"), m = o.size("m"), N = o.size("N");
  const expr F = o.size("F"), F_1 = o.size("F_1"), F_2 = o.size("F_2");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded("sizes, the mesh");
  // delta = (m N) F tiles and holders before, (n N) F_2 after: lemma 5.1 and "balanced"
  o.premise("(m N) F = delta = (n N) F_2", (m * N) * F == ((a * b) * N) * F_2);
  o.premise("a | F", F == a * F_1);
  o.premise("gcd(b, F/a) = 1", u * b + v * F_1 == 1);
  const expr w = o.let("w", v * F_2 + u * m);  // m / b
  o.fact(F != a * F_1 || (m * N) * F == (m * F_1) * (a * N));
  o.fact(((a * b) * N) * F_2 == (b * F_2) * (a * N));
  o.use(product_cancels(m * F_1, b * F_2, a * N));
  o.use(euclid_quotient(v, F_1, u, b, m, F_2, w));
  o.goal("b | m, so ȳ has a part of product b", m == b * w);
  o.goal("m/b | F_2, so free axes of s_2 have it", F_2 == w * F_1);
  o.control("gcd(b, F/a) = 1", {}, {u == 0, v == 0, b >= 2});
  o.check();
}

/// The peak over two dimensions, with the axes that its replacement takes.
struct Peak {
  Obligation& o;
  SymbolicLists lists{o};
  List z = lists.list("z"), v = lists.list("v"), y_1 = lists.list("y"), t = lists.list("t");
  List x = lists.list("x"), X_0 = lists.list("X_0"), X_1 = lists.list("X_1");
  List y = SymbolicLists::both("vy", v, y_1);
  expr c = o.size("c_i"), q = o.size("q"), s_i = o.size("s_i"), s_j = o.size("s_j");
  expr c_j = o.size("c_j");
  ListType s_0 = {{c, {y, X_0}, s_i}, {c_j, {X_1}, s_j}};
};

TEST(lemma_4_6_multi, two_dimensions_DPAPG) {
  Obligation o(number,
               "i != j, z̄ free in s_0, v̄ in ȳ, t̄ free in s_2, of products a, b, m/b: "
               "s_0 -D-> -P-> -A-> -P-> -G-> s_2");
  Peak at{o};
  SymbolicLists& lists = at.lists;
  o.unbounded(arbitrary);
  o.premise("H |- s_0", lists.well_formed(at.s_0) && lists.disjoint({at.v, at.y_1}));
  const ListStep gather = lists.allgather(0, at.s_0);
  const ListStep slice = lists.dynslice(1, at.x, at.q, gather.to);
  o.premise("T-DYNSLICE", slice.applies);
  o.premise("n = a b", at.x.k == at.z.k * at.v.k);
  o.premise("m/b is what t̄ has", at.t.k == at.y_1.k);
  o.premise("z̄ is free in s_0",
            z3::implies(at.z.has, lists.disjoint({at.z, at.y}) && lists.disjoint({at.z, at.X_0}) &&
                                      lists.disjoint({at.z, at.X_1})));
  o.premise("t̄ is free in s_2",
            z3::implies(at.t.has, lists.disjoint({at.t, at.x}) && lists.disjoint({at.t, at.X_0}) &&
                                      lists.disjoint({at.t, at.X_1})));
  const expr& q = at.q;
  o.fact(at.x.k != at.z.k * at.v.k || at.x.k * q == at.z.k * (at.v.k * q));
  const ListStep d = lists.dynslice(1, at.z, at.v.k * q, at.s_0);
  ListType first = d.to, last = slice.to;
  first[0].lists = {at.v, at.y_1, at.X_0};
  const ListStep p_1 = lists.allpermute(d.to, first);
  const ListStep a = lists.alltoall(0, 1, q, p_1.to);
  last[0] = {at.c * at.v.k, {at.t, at.X_0}, at.s_i};
  const ListStep p_2 = lists.allpermute(a.to, last);
  const ListStep g = lists.allgather(0, p_2.to);
  o.goal("T-DYNSLICE at s_0", d.applies);
  o.fact((at.v.k * q) * at.z.k * at.X_1.k == (at.z.k * (at.v.k * q)) * at.X_1.k);
  o.fact(at.c_j != at.z.k * (at.v.k * q) ||
         at.c_j * at.X_1.k == (at.z.k * (at.v.k * q)) * at.X_1.k);
  o.fact(at.c * at.v.k * at.y_1.k * at.X_0.k == at.c * (at.v.k * at.y_1.k) * at.X_0.k);
  o.goal("T-PERMUTE: v̄ first", p_1.applies);
  o.identity("T-ALLTOALL", a.applies);
  o.fact(at.c_j != at.x.k * q || q * at.x.k * at.X_1.k == at.c_j * at.X_1.k);
  o.fact(at.t.k != at.y_1.k ||
         (at.c * at.v.k) * at.t.k * at.X_0.k == at.c * (at.v.k * at.y_1.k) * at.X_0.k);
  o.goal("T-PERMUTE", p_2.applies);
  o.fact(at.t.k != at.y_1.k || (at.c * at.v.k) * at.t.k == at.c * (at.v.k * at.y_1.k));
  o.goal("it ends in s_2", lists.same(g.to, slice.to));
  o.use(product_is_monotone(o.value(1), at.z.k, at.c * (at.v.k * q)));
  o.use(product_is_monotone(o.value(1), at.y_1.k, at.c * (at.v.k * q)));
  o.fact(at.c_j != at.z.k * (at.v.k * q) || at.c * at.c_j == at.z.k * (at.c * (at.v.k * q)));
  o.fact((at.c * (at.v.k * at.y_1.k)) * q == at.y_1.k * (at.c * (at.v.k * q)));
  o.goal("it is a valley", lists.localsize(d.to) <= lists.localsize(at.s_0) &&
                               lists.localsize(d.to) <= lists.localsize(slice.to));
  o.control("z̄ is free in s_0");
  o.control("m/b is what t̄ has");
  // Another order of the axes, or other axes: without the last allpermute it is another type.
  o.control_goal(
      "D P A G alone ends in s_2", at.y_1.k == 1,
      [&](const Model& model) {
        return shown(lists, model, {at.s_0, gather.to, slice.to},
                     [&](const spec::Mesh& H, const std::vector<spec::Type>& t) {
                       const auto names = [&](const List& x) {
                         return SymbolicLists::names(model, x);
                       };
                       const auto sliced = spec::t_dynslice(H, 1, names(at.z), t[0]);
                       const auto moved = spec::t_alltoall(H, 0, 1, names(at.v), *sliced);
                       const auto gathered = spec::t_allgather(H, 0, names(at.y_1), *moved);
                       return gathered && *gathered != t[2] && spec::t_permute(*gathered, t[2]);
                     });
      },
      {at.v.k == 2, at.z.k == 2, at.y_1.k == 3, !at.x.has, at.X_0.k == 1, at.X_1.k == 1});
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_6_multi
