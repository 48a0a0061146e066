/// Lemma 4.7, rising and falling edges, over several axes at once (Sec. 7.1), in its corrected
/// form: a rising edge is replaced by a part of P A P G G, a falling one by a part of D D P A P. As
/// printed it is false, see the errata.
///
/// One obligation for each case of the lemma and its mirror images. Axes are prime: so lists have
/// parts of the products that divide theirs (lemma_4_6_multi.cpp). How much moves where is what
/// lemma_6_5.cpp proves of weak sequences; here are the axes.
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "symbolic_lists.h"

namespace proofs::lemma_4_7_multi {
namespace {

constexpr const char* number = "4.7, 7.1";
constexpr const char* arbitrary = "tile sizes, axis sizes, lists of axes, other axes, rank";

using Types = std::vector<spec::Type>;

/// The list `named` cannot be sliced off dimension i of the sequence's last type.
auto not_sliced(std::size_t i, const std::string& named) {
  return [=](const spec::Mesh& H, const Types& t) {
    return !spec::t_dynslice(H, i, spec::Names{named}, t.back());
  };
}

// ---- Rising edges ----------------------------------------------------------------------------

TEST(lemma_4_7_multi, rising_1_same_source_dimension_PAG) {
  Obligation o(number, "G(i) A(i, l): s_0 -P-> -A-> -G-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), y = lists.list("y"), X_i = lists.list("X_i"),
             X_l = lists.list("X_l");
  const expr c_i = o.size("c_i"), c_l = o.size("c_l"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c_i, {y, x, X_i}, s_i}, {c_l, {X_l}, s_l}};
  o.premise("H |- s_0", lists.well_formed(s_0));
  const ListStep g = lists.allgather(0, s_0);
  const ListStep a = lists.alltoall(0, 1, q, g.to);
  o.premise("T-ALLTOALL: n | c_l", a.applies);
  ListType turned = s_0;
  turned[0].lists = {x, y, X_i};
  const ListStep p = lists.allpermute(s_0, turned);
  const ListStep a_1 = lists.alltoall(0, 1, q, p.to);
  const ListStep g_1 = lists.allgather(0, a_1.to);
  o.goal("T-PERMUTE", p.applies);
  o.unchanged("T-ALLTOALL", a_1.applies);
  o.identity("it ends in s_2", lists.same(g_1.to, a.to));
  o.goal("flat before the allgather", lists.localsize(a_1.to) == lists.localsize(s_0));
  o.control("T-ALLTOALL: n | c_l",
            [&](const Model& v) {
              return shown(lists, v, {s_0, g.to}, [](const spec::Mesh& H, const Types& t) {
                return !spec::t_alltoall(H, 0, 1, spec::Names{"x"}, t[1]);
              });
            },
            {x.k > 1});
  o.check();
}

TEST(lemma_4_7_multi, rising_2_into_the_gathered_dimension_PAPGG) {
  Obligation o(number,
               "G(i) A(k, i), v̄ in x̄, d̄ and w̄ in ȳ of products e, n/e, m e/n: "
               "s_0 -P-> -A-> -P-> -G(i)-> -G(k)-> s_2");
  SymbolicLists lists(o);
  const List v = lists.list("v"), x_1 = lists.list("x"), d = lists.list("d"), w = lists.list("w");
  const List X_i = lists.list("X_i"), X_k = lists.list("X_k");
  const List x = SymbolicLists::both("vx", v, x_1), y = SymbolicLists::both("dw", d, w);
  const expr c_1 = o.size("c_1"), c_k = o.size("c_k"), q = o.size("q"), c_i = o.size("c_i");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c_i, {y, X_i}, s_i}, {c_k, {x, X_k}, s_k}};
  o.premise("H |- s_0", lists.well_formed(s_0) && lists.disjoint({v, x_1, d, w}));
  const ListStep gather = lists.allgather(0, s_0);
  const ListStep move = lists.alltoall(1, 0, q, gather.to);
  o.premise("T-ALLTOALL: n | c_i m", move.applies);
  o.premise("e | c_i", c_i == v.k * c_1);
  o.premise("n/e is the product of d̄, a divisor of m (6.5)", d.k == x_1.k);
  // From here on the sizes are those of the parts.
  o.fact(c_i != v.k * c_1 || d.k != x_1.k || c_i * (d.k * w.k) == (c_1 * w.k) * (v.k * x_1.k));
  o.fact((v.k * x_1.k) * q == q * (v.k * x_1.k));
  o.use(product_cancels(c_1 * w.k, q, v.k * x_1.k));
  o.goal("the tile at the end, q = c_1 m/d", q == c_1 * w.k);
  ListType turned = s_0;
  turned[1].lists = {v, x_1, X_k};
  const ListStep p_1 = lists.allpermute(s_0, turned);
  const ListStep a = lists.alltoall(1, 0, c_1, p_1.to);
  const ListType before = {{c_1, {w, x, X_i}, s_i}, {c_k * v.k, {d, X_k}, s_k}};
  const ListStep p_2 = lists.allpermute(a.to, before);
  const ListStep g_i = lists.allgather(0, p_2.to);
  const ListStep g_k = lists.allgather(1, g_i.to);
  o.fact(c_k * v.k * x_1.k * X_k.k == c_k * (v.k * x_1.k) * X_k.k);
  o.goal("T-PERMUTE: v̄ first", p_1.applies);
  o.unchanged("T-ALLTOALL", a.applies);
  o.fact(c_i != v.k * c_1 || d.k != x_1.k ||
         c_1 * w.k * (v.k * x_1.k) * X_i.k == c_i * (d.k * w.k) * X_i.k);
  o.fact(d.k != x_1.k || (c_k * v.k) * d.k * X_k.k == c_k * (v.k * x_1.k) * X_k.k);
  o.goal("T-PERMUTE", p_2.applies);
  o.fact(d.k != x_1.k || (c_k * v.k) * d.k == c_k * (v.k * x_1.k));
  o.goal("it ends in s_2", lists.same(g_k.to, move.to));
  o.fact(c_i != v.k * c_1 || c_1 * (c_k * v.k) == c_i * c_k);
  o.goal("flat before the allgathers", lists.localsize(a.to) == lists.localsize(s_0));
  o.control("e | c_i", {}, {});
  o.control("n/e is the product of d̄, a divisor of m (6.5)");
  o.control_goal(
      "one allgather is enough", d.k == 1 || w.k == 1,
      [&](const Model& at) {
        return shown(lists, at, {s_0, gather.to, move.to}, [](const spec::Mesh& H, const Types& t) {
          return spec::t_allgather(H, 0, spec::Names{"d", "w"}, t[0]) == t[1] &&
                 spec::t_alltoall(H, 1, 0, spec::Names{"v", "x"}, t[1]) == t[2];
        });
      },
      {v.k == 2, x_1.k == 2, w.k == 3, X_i.k == 1, X_k.k == 1});
  o.check();
}

TEST(lemma_4_7_multi, rising_3_other_dimensions_commute_AG) {
  Obligation o(number, "G(i) A(k, l), i not in {k, l}: s_0 -A-> -G-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), y = lists.list("y");
  const List X_i = lists.list("X_i"), X_k = lists.list("X_k"), X_l = lists.list("X_l");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  o.bookkeeping();
  const ListType s_0 = {{c_i, {y, X_i}, s_i}, {c_k, {x, X_k}, s_k}, {c_l, {X_l}, s_l}};
  const ListStep g = lists.allgather(0, s_0);
  const ListStep a = lists.alltoall(1, 2, q, g.to);
  o.premise("T-ALLTOALL: n | c_l", a.applies);
  const ListStep a_1 = lists.alltoall(1, 2, q, s_0);
  const ListStep g_1 = lists.allgather(0, a_1.to);
  o.unchanged("T-ALLTOALL at s_0", a_1.applies);
  o.identity("it ends in s_2", lists.same(g_1.to, a.to));
  o.control("T-ALLTOALL: n | c_l",
            [&](const Model& v) {
              return shown(lists, v, {s_0, g.to}, [](const spec::Mesh& H, const Types& t) {
                return !spec::t_alltoall(H, 1, 2, spec::Names{"x"}, t[1]);
              });
            },
            {x.k > 1, lists.well_formed(s_0)});
  o.check();
}

TEST(lemma_4_7_multi, rising_4_allpermute_PG) {
  Obligation o(number, "G(i) P, z̄ free in s_2 of the product of ȳ: s_0 -P-> -G(i)-> s_2");
  SymbolicLists lists(o);
  const List y = lists.list("y"), z = lists.list("z"), X = lists.list("X"), Z = lists.list("Z");
  const expr c = o.size("c"), s = o.size("s");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c, {y, X}, s}}, s_2 = {{c * y.k, {Z}, s}};
  o.premise("H |- s_0, H |- s_2", lists.well_formed(s_0) && lists.well_formed(s_2));
  o.premise("the product of z̄ is that of ȳ", z.k == y.k);
  o.premise("z̄ is free in s_2", lists.disjoint({z, Z}));
  const ListStep p = lists.allpermute(s_0, {{c, {z, Z}, s}});
  const ListStep g = lists.allgather(0, p.to);
  o.fact(z.k != y.k || c * z.k * Z.k == c * y.k * Z.k);
  o.goal("T-PERMUTE", p.applies);
  o.goal("it ends in s_2", lists.same(g.to, s_2));
  o.control("the product of z̄ is that of ȳ",
            [&](const Model& v) {
              return shown(lists, v, {s_0, s_2}, [](const spec::Mesh& H, const Types& t) {
                const auto sliced = spec::t_dynslice(H, 0, spec::Names{"z"}, t[1]);
                return !sliced || !spec::t_permute(t[0], *sliced);
              });
            },
            {z.k > 1, y.k > 1, !y.has});
  o.check();
}

// ---- Falling edges ---------------------------------------------------------------------------

TEST(lemma_4_7_multi, falling_1_out_of_the_sliced_dimension_DDPAP) {
  Obligation o(number,
               "A(k, l) D(k), v̄ in ȳ, d̄ and w̄ in x̄ of products e, m/e, n e/m: "
               "s_0 -D(l)-> -D(k)-> -P-> -A-> -P-> s_2");
  SymbolicLists lists(o);
  const List v = lists.list("v"), y_1 = lists.list("y"), d = lists.list("d"), w = lists.list("w");
  const List X_k = lists.list("X_k"), X_l = lists.list("X_l");
  const List y = SymbolicLists::both("vy", v, y_1), x = SymbolicLists::both("dw", d, w);
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q"), r = o.size("r"),
             r_1 = o.size("r_1");
  const expr s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c_k, {y, X_k}, s_k}, {c_l, {X_l}, s_l}};
  o.premise("H |- s_0",
            lists.well_formed(s_0) && lists.disjoint({v, y_1}) && lists.disjoint({d, w}));
  const ListStep move = lists.alltoall(0, 1, q, s_0);
  const ListStep slice = lists.dynslice(0, x, r, move.to);  // c_k m = n r
  o.premise("T-ALLTOALL: m | c_l", move.applies);
  o.premise("T-DYNSLICE: n | c_k m", slice.applies);
  o.premise("e | r", r == v.k * r_1);
  o.premise("m/e is the product of d̄, a divisor of n (6.5)", d.k == y_1.k);
  o.fact(r != v.k * r_1 || d.k != y_1.k || (d.k * w.k) * r == (w.k * r_1) * (v.k * y_1.k));
  o.use(product_cancels(c_k, w.k * r_1, v.k * y_1.k));
  o.goal("the tile c_k = (n/d) r_1", c_k == w.k * r_1);
  const ListStep d_l = lists.dynslice(1, d, v.k * q, s_0);
  const ListStep d_k = lists.dynslice(0, w, r_1, d_l.to);
  const ListType before = {{r_1, {v, x, X_k}, s_k}, {v.k * q, {y_1, X_l}, s_l}};
  const ListStep p_1 = lists.allpermute(d_k.to, before);
  const ListStep a = lists.alltoall(0, 1, q, p_1.to);
  const ListStep p_2 = lists.allpermute(a.to, slice.to);
  o.fact(d.k != y_1.k || (v.k * y_1.k) * q == d.k * (v.k * q));
  o.goal("T-DYNSLICE(l) at s_0", d_l.applies);
  o.goal("T-DYNSLICE(k)", d_k.applies);
  o.fact(c_k != w.k * r_1 || d.k != y_1.k ||
         r_1 * v.k * (d.k * w.k) * X_k.k == c_k * (v.k * y_1.k) * X_k.k);
  o.fact(c_l != (v.k * y_1.k) * q || (v.k * q) * y_1.k * X_l.k == c_l * X_l.k);
  o.goal("T-PERMUTE", p_1.applies);
  o.identity("T-ALLTOALL", a.applies);
  o.fact(r_1 * v.k == v.k * r_1);
  o.fact(r != v.k * r_1 || r * (d.k * w.k) * X_k.k == r_1 * v.k * (d.k * w.k) * X_k.k);
  o.fact(c_l != (v.k * y_1.k) * q || q * (v.k * y_1.k) * X_l.k == c_l * X_l.k);
  o.goal("T-PERMUTE to s_2", p_2.applies);
  o.control("e | r");
  o.control("m/e is the product of d̄, a divisor of n (6.5)");
  o.control_goal(
      "one dynslice is enough", d.k == 1 || w.k == 1,
      [&](const Model& at) {
        return shown(lists, at, {s_0, move.to, slice.to}, [](const spec::Mesh& H, const Types& t) {
          return spec::t_alltoall(H, 0, 1, spec::Names{"v", "y"}, t[0]) == t[1] &&
                 spec::t_dynslice(H, 0, spec::Names{"d", "w"}, t[1]) == t[2];
        });
      },
      {v.k == 2, y_1.k == 2, w.k == 3, X_k.k == 1, X_l.k == 1});
  o.check();
}

TEST(lemma_4_7_multi, falling_2_target_dimension_DAP) {
  Obligation o(number, "A(k, l) D(l): s_0 -D-> -A-> -P-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), y = lists.list("y"), X_k = lists.list("X_k"),
             X_l = lists.list("X_l");
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q"), r = o.size("r");
  const expr s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c_k, {y, X_k}, s_k}, {c_l, {X_l}, s_l}};
  o.premise("H |- s_0", lists.well_formed(s_0));
  const ListStep a = lists.alltoall(0, 1, q, s_0);
  const ListStep d = lists.dynslice(1, x, r, a.to);  // c_l = m n r
  o.premise("T-ALLTOALL", a.applies);
  o.premise("T-DYNSLICE", d.applies);
  o.fact(q != x.k * r || y.k * q == x.k * (y.k * r));
  const ListStep d_1 = lists.dynslice(1, x, y.k * r, s_0);
  const ListStep a_1 = lists.alltoall(0, 1, r, d_1.to);
  const ListStep p_1 = lists.allpermute(a_1.to, d.to);
  o.goal("T-DYNSLICE at s_0", d_1.applies);
  o.identity("T-ALLTOALL", a_1.applies);
  o.fact(c_l != x.k * (y.k * r) || r * x.k * y.k * X_l.k == c_l * X_l.k);
  o.fact(q != x.k * r || c_l != y.k * q || r * x.k * y.k * X_l.k == c_l * X_l.k);
  o.goal("T-PERMUTE to s_2", p_1.applies);
  o.control("T-DYNSLICE",
            [&](const Model& v) {
              return shown(lists, v, {s_0, a.to}, not_sliced(1, "x"));
            },
            {x.k > 1, y.k > 1, !x.has});
  o.check();
}

TEST(lemma_4_7_multi, falling_3_other_dimensions_commute_DA) {
  Obligation o(number, "A(k, l) D(i), i not in {k, l}: s_0 -D-> -A-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), y = lists.list("y");
  const List X_i = lists.list("X_i"), X_k = lists.list("X_k"), X_l = lists.list("X_l");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), c_l = o.size("c_l");
  const expr q = o.size("q"), r = o.size("r");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  o.bookkeeping();
  const ListType s_0 = {{c_k, {y, X_k}, s_k}, {c_l, {X_l}, s_l}, {c_i, {X_i}, s_i}};
  const ListStep a = lists.alltoall(0, 1, q, s_0);
  const ListStep d = lists.dynslice(2, x, r, a.to);
  o.premise("T-ALLTOALL", a.applies);
  o.premise("T-DYNSLICE", d.applies);
  const ListStep d_1 = lists.dynslice(2, x, r, s_0);
  const ListStep a_1 = lists.alltoall(0, 1, q, d_1.to);
  o.unchanged("T-DYNSLICE at s_0", d_1.applies);
  o.unchanged("T-ALLTOALL", a_1.applies);
  o.identity("it ends in s_2", lists.same(a_1.to, d.to));
  o.control("T-DYNSLICE",
            [&](const Model& v) {
              return shown(lists, v, {s_0, a.to}, not_sliced(2, "x"));
            },
            {x.k > 1, y.k > 1, !x.has, lists.well_formed(s_0)});
  o.check();
}

TEST(lemma_4_7_multi, falling_4_allpermute_DP) {
  Obligation o(number, "P D(i), z̄ free in s_0 of the product of x̄: s_0 -D(i)-> -P-> s_2");
  SymbolicLists lists(o);
  const List x = lists.list("x"), z = lists.list("z"), X = lists.list("X"), Z = lists.list("Z");
  const expr c = o.size("c"), s = o.size("s"), q = o.size("q");
  o.unbounded(arbitrary);
  const ListType s_0 = {{c, {X}, s}}, s_1 = {{c, {Z}, s}};
  o.premise("H |- s_0, H |- s_1", lists.well_formed(s_0) && lists.well_formed(s_1));
  const ListStep d = lists.dynslice(0, x, q, s_1);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("the product of z̄ is that of x̄", z.k == x.k);
  o.premise("z̄ is free in s_0", lists.disjoint({z, X}));
  const ListStep d_1 = lists.dynslice(0, z, q, s_0);
  const ListStep p = lists.allpermute(d_1.to, d.to);
  o.fact(z.k != x.k || z.k * q == x.k * q);
  o.goal("T-DYNSLICE at s_0", d_1.applies);
  o.fact(c != x.k * q || q * x.k * Z.k == c * Z.k);
  o.goal("T-PERMUTE to s_2", p.applies);
  o.control("the product of z̄ is that of x̄",
            [&](const Model& v) {
              return shown(lists, v, {s_0, d.to}, [](const spec::Mesh& H, const Types& t) {
                const auto sliced = spec::t_dynslice(H, 0, spec::Names{"z"}, t[0]);
                return !sliced || !spec::t_permute(*sliced, t[1]);
              });
            },
            {z.k > 1, x.k > 1});
  o.control("z̄ is free in s_0");
  o.check();
}

// ---- The axes --------------------------------------------------------------------------------

TEST(lemma_4_7_multi, an_allpermute_keeps_what_is_free) {
  Obligation o(number, "G(i) P: the product m of ȳ divides what is free in s_2 (P D: likewise)");
  const expr m = o.size("m"), N = o.size("N"), F = o.size("F"), F_1 = o.size("F_1"),
             F_2 = o.size("F_2");
  o.unbounded("sizes, the mesh");
  o.premise("N F_1 = delta = N F_2: an allpermute keeps the tiles", N * F_1 == N * F_2);
  o.premise("ȳ is free in s_1", F_1 == m * F);
  o.fact(N * F_1 == F_1 * N && N * F_2 == F_2 * N);
  o.use(product_cancels(F_1, F_2, N));
  o.goal("m | F_2", F_2 == m * F);  // a part of the free axes has this product: lemma_4_6_multi.cpp
  o.control("N F_1 = delta = N F_2: an allpermute keeps the tiles");
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_7_multi
