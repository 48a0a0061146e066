/// Lemma 4.6, the peak lemma: allgather(i) on y:m, then dynslice(j, x) with x:n, is replaced by one
/// of: nothing, P, A, DG, DPG, all normal forms. One obligation for each case of the paper's proof.
///
/// Sizes are prime in the paper. What the proof needs is said here: two primes are equal or have
/// Bezout numbers u m + v n = 1. Tile sizes, other axes and the rank are arbitrary. For several
/// axes at once the lemma as printed is false; what holds instead is in lemma_4_6_multi.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/program/type_text.h"
#include "symbolic_types.h"

namespace proofs::lemma_4_6 {
namespace {

constexpr const char* arbitrary = "tile sizes, axis sizes, other axes, rank";

/// A counterexample to a replacement: the peak is typed, its first replacing step is not.
Counterexample no_dynslice(const SymbolicTypes& types, const Model& v, const SymbolicType& s_0,
                           const SymbolicType& s_1, const SymbolicType& s_2, std::size_t j) {
  const spec::Mesh H = types.mesh(v);
  const spec::Type t_0 = types.type(v, s_0), t_1 = types.type(v, s_1), t_2 = types.type(v, s_2);
  const spec::Name x = t_2[j].xs.front();
  return {
      fmt::format("{{{}}}: {} -> {} -> {}, but no dynslice({}, {}) at the first", spec::to_text(H),
                  spec::to_text(t_0), spec::to_text(t_1), spec::to_text(t_2), j, x),
      spec::t_allgather(H, 0, t_0) == t_1 && spec::t_dynslice(H, j, x, t_1) == t_2 &&
          spec::wf_type(H, t_0) && !spec::t_dynslice(H, j, x, t_0)};
}

TEST(lemma_4_6, case_1_same_dimension_same_axis_nothing) {
  Obligation o("4.6", "case 1, i = j, x = y: s_2 = s_0");
  SymbolicTypes types(o, 1);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c = o.size("c"), s = o.size("s"), q = o.size("q");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c, {y}, 0, s}};
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep d = types.dynslice(0, x, q, g.to);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("x = y", x == y);
  o.use(product_cancels(q, c, types.k(x)));
  o.goal("s_2 = s_0", types.same(d.to, s_0));
  std::vector<expr> hints = types.no_rests();
  hints.push_back(types.well_formed(s_0));
  o.control(
      "x = y",
      [&](const Model& v) {
        const spec::Mesh H = types.mesh(v);
        const spec::Type t_0 = types.type(v, s_0), t_2 = types.type(v, d.to);
        return Counterexample{fmt::format("{{{}}}: {} -> {}", spec::to_text(H), spec::to_text(t_0),
                                          spec::to_text(t_2)),
                              t_0 != t_2 && spec::wf_type(H, t_0) && spec::wf_type(H, t_2)};
      },
      hints);
  o.check();
}

TEST(lemma_4_6, case_2_same_dimension_equal_sizes_one_allpermute) {
  Obligation o("4.6", "case 2, i = j, x != y, m = n: s_0 -P-> s_2");
  SymbolicTypes types(o, 1);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c = o.size("c"), s = o.size("s"), q = o.size("q");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c, {y}, 0, s}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep d = types.dynslice(0, x, q, g.to);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("m = n", types.k(x) == types.k(y));
  o.use(product_cancels(q, c, types.k(x)));
  const SymbolicStep p = types.allpermute(s_0, {{x}});
  o.goal("T-PERMUTE", p.applies);
  o.goal("it ends in s_2", types.same(p.to, d.to));
  o.goal("localtype(s_0) = localtype(s_2)", c == q);
  o.control(
      "m = n",
      [&](const Model& v) {
        const spec::Mesh H = types.mesh(v);
        const spec::Type t_0 = types.type(v, s_0), t_2 = types.type(v, d.to);
        return Counterexample{
            fmt::format("{{{}}}: {} -> {} is no allpermute", spec::to_text(H), spec::to_text(t_0),
                        spec::to_text(t_2)),
            spec::wf_type(H, t_0) && spec::wf_type(H, t_2) && !spec::t_permute(t_0, t_2)};
      },
      types.no_rests());
  o.check();
}

TEST(lemma_4_6, case_2_same_dimension_coprime_sizes_DPG) {
  Obligation o("4.6", "case 2, i = j, x != y, m and n coprime: s_0 -D-> -P-> -G-> s_2");
  SymbolicTypes types(o, 1);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c = o.size("c"), s = o.size("s"), q = o.size("q");
  const expr u = o.integer("u"), v = o.integer("v");
  const expr m = types.k(y), n = types.k(x);
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c, {y}, 0, s}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep d = types.dynslice(0, x, q, g.to);  // c m = n q
  o.premise("T-DYNSLICE", d.applies);
  o.premise("u m + v n = 1", u * m + v * n == 1);             // distinct primes
  o.fact(z3::implies(m == n, u * m + v * n == (u + v) * n));  // so x != y
  o.use(product_is_monotone(o.value(1), u + v, n));
  o.use(product_is_monotone(u + v, o.value(0), n));
  const expr w = o.let("w", u * q + v * c);  // c / n, by Euclid
  o.use(euclid_quotient(u, m, v, n, c, q, w));
  o.use(product_is_monotone(w, o.value(0), n));
  const SymbolicStep d_1 = types.dynslice(0, x, w, s_0);
  const SymbolicStep p_1 = types.allpermute(d_1.to, {{y, x}});
  const SymbolicStep g_1 = types.allgather(0, p_1.to);
  o.goal("T-DYNSLICE at s_0", d_1.applies && w >= 1);
  o.goal("q = w m", q == w * m);
  o.goal("T-PERMUTE", p_1.applies);
  o.goal("it ends in s_2", types.same(g_1.to, d.to));
  o.use(product_is_monotone(o.value(1), m, w));
  o.use(product_is_monotone(o.value(1), n, w));
  o.goal("it is a valley", w <= c && w <= q);
  std::vector<expr> hints = types.no_rests();
  o.control("u m + v n = 1",
            [&](const Model& at) { return no_dynslice(types, at, s_0, g.to, d.to, 0); },
            {hints[0], c == 1, x != y, u == 0, v == 0, m != n});
  o.check();
}

TEST(lemma_4_6, case_3_other_dimension_same_axis_alltoall) {
  Obligation o("4.6", "case 3, i != j, x = y: s_0 -A-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_j = o.size("c_j"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_j = o.size("s_j");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_i, {y}, 0, s_i}, {c_j, {}, 1, s_j}};
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep d = types.dynslice(1, x, q, g.to);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("x = y", x == y);
  const SymbolicStep a = types.alltoall(0, 1, q, s_0);
  o.goal("T-ALLTOALL", a.applies);
  o.goal("it ends in s_2", types.same(a.to, d.to));
  o.goal("it is flat", types.localsize(a.to) == types.localsize(s_0));
  std::vector<expr> hints = types.no_rests();
  hints.push_back(types.well_formed(s_0));
  o.control(
      "x = y",
      [&](const Model& v) {
        const spec::Mesh H = types.mesh(v);
        const spec::Type t_0 = types.type(v, s_0), t_2 = types.type(v, d.to);
        return Counterexample{fmt::format("{{{}}}: {} -> {} is no alltoall", spec::to_text(H),
                                          spec::to_text(t_0), spec::to_text(t_2)),
                              spec::wf_type(H, t_0) && spec::wf_type(H, t_2) &&
                                  spec::t_alltoall(H, 0, 1, t_0) != t_2};
      },
      hints);
  o.check();
}

TEST(lemma_4_6, case_4_other_dimension_other_axis_commute) {
  Obligation o("4.6", "case 4, i != j, x != y: s_0 -D-> -G-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_j = o.size("c_j"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_j = o.size("s_j");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_i, {y}, 0, s_i}, {c_j, {}, 1, s_j}};
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep d = types.dynslice(1, x, q, g.to);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("x != y", x != y);
  const SymbolicStep d_1 = types.dynslice(1, x, q, s_0);
  const SymbolicStep g_1 = types.allgather(0, d_1.to);
  o.unchanged("T-DYNSLICE at s_0", d_1.applies);
  o.identity("it ends in s_2", types.same(g_1.to, d.to));
  o.use(product_is_monotone(q, types.k(x) * q, c_i));
  o.use(product_is_monotone(o.value(1), types.k(x), q));
  o.goal("it is a valley", types.localsize(d_1.to) <= types.localsize(s_0));
  std::vector<expr> hints = types.no_rests();
  hints.push_back(types.well_formed(s_0));
  o.control(
      "x != y", [&](const Model& v) { return no_dynslice(types, v, s_0, g.to, d.to, 1); }, hints);
  o.check();
}

TEST(lemma_4_6, two_primes_are_equal_or_coprime) {
  Obligation o("4.6", "m, n prime, m != n: a divisor of both is 1 (Principle 1)");
  const expr m = o.size("m"), n = o.size("n"), g = o.size("g"), a = o.size("a"), b = o.size("b");
  o.unbounded("m, n");  // and then they have Bezout numbers: arithmetic.cpp
  o.premise("m != n", m != n);
  o.premise("m is prime", z3::implies(m == g * a, g == 1 || g == m));
  o.premise("n is prime", z3::implies(n == g * b, g == 1 || g == n));
  o.premise("g divides both", m == g * a && n == g * b && n >= 2 && m >= 2);
  o.goal("g = 1", g == 1);
  o.control("n is prime");
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_6
