/// Lemma 4.7, rising and falling edges: allgather then F becomes PG, AG, APG or PAG; F then
/// dynslice becomes DP, DA, DAP or DPA, where F is an alltoall (A) or an allpermute (P).
///
/// One obligation for each case of the paper's proof, and the dual ones that it leaves to the
/// reader. Sizes are prime in the paper; here two sizes are equal or have Bezout numbers. For
/// several axes at once the lemma as printed is false; what holds instead is in
/// lemma_4_7_multi.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/program/type_text.h"
#include "symbolic_types.h"

namespace proofs::lemma_4_7 {
namespace {

constexpr const char* arbitrary = "tile sizes, axis sizes, other axes, rank";

/// "{x:2}: t_0 -> t_1 -> ..", where the model's steps are typed and `denied` holds.
Counterexample shown(
    const SymbolicTypes& types, const Model& v, const std::vector<SymbolicType>& sequence,
    const std::function<bool(const spec::Mesh&, const std::vector<spec::Type>&)>& denied) {
  const spec::Mesh H = types.mesh(v);
  std::string text = fmt::format("{{{}}}: ", spec::to_text(H));
  std::vector<spec::Type> taus;
  bool well_formed = true;
  for (const SymbolicType& sigma : sequence) {
    taus.push_back(types.type(v, sigma));
    well_formed = well_formed && spec::wf_type(H, taus.back());
    text += (taus.size() > 1 ? " -> " : "") + spec::to_text(taus.back());
  }
  return {text, well_formed && denied(H, taus)};
}

// ---- Rising edges ----------------------------------------------------------------------------

TEST(lemma_4_7, rising_1_same_source_dimension_PAG) {
  Obligation o("4.7", "G(i) A(i, l): s_0 -P-> -A-> -G-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_l = o.size("c_l"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_i, {x, y}, 0, s_i}, {c_l, {}, 1, s_l}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep a = types.alltoall(0, 1, q, g.to);
  o.premise("T-ALLTOALL: c_l mod n = 0", a.applies);
  const SymbolicStep p = types.allpermute(s_0, {{y, x}, {}});
  const SymbolicStep a_1 = types.alltoall(0, 1, q, p.to);
  const SymbolicStep g_1 = types.allgather(0, a_1.to);
  o.goal("T-PERMUTE", p.applies);
  o.unchanged("T-ALLTOALL", a_1.applies);
  o.identity("it ends in s_2", types.same(g_1.to, a.to));
  o.goal("flat before the allgather", types.localsize(a_1.to) == types.localsize(s_0));
  std::vector<expr> hints = types.no_rests();
  o.control("T-ALLTOALL: c_l mod n = 0",
            [&](const Model& v) {
              return shown(types, v, {s_0, g.to}, [&](const spec::Mesh& H, const auto& t) {
                return !spec::t_alltoall(H, 0, 1, t[1]);
              });
            },
            {hints[0], hints[1], c_l == 1});
  o.check();
}

TEST(lemma_4_7, rising_2_target_dimension_equal_sizes_PG) {
  Obligation o("4.7", "G(i) A(k, i), m = n: s_0 -P-> -G(k)-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_i, {x}, 0, s_i}, {c_k, {y}, 1, s_k}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep a = types.alltoall(1, 0, q, g.to);
  o.premise("T-ALLTOALL: c_i m mod n = 0", a.applies);
  o.premise("m = n", types.k(x) == types.k(y));
  o.use(product_cancels(c_i, q, types.k(y)));
  const SymbolicStep p = types.allpermute(s_0, {{y}, {x}});
  const SymbolicStep g_1 = types.allgather(1, p.to);
  o.goal("T-PERMUTE", p.applies);
  o.goal("it ends in s_2", types.same(g_1.to, a.to));
  o.control(
      "m = n",
      [&](const Model& v) {
        return shown(types, v, {s_0, g.to, a.to}, [&](const spec::Mesh& H, const auto& t) {
          const spec::Type swapped = {{t[0][0].c, t[0][1].xs, t[0][0].s},
                                      {t[0][1].c, t[0][0].xs, t[0][1].s}};
          return spec::t_alltoall(H, 1, 0, t[1]) == t[2] && !spec::wf_type(H, swapped);
        });
      },
      types.no_rests());
  o.check();
}

TEST(lemma_4_7, rising_2_target_dimension_coprime_sizes_APG) {
  Obligation o("4.7", "G(i) A(k, i), m and n coprime: s_0 -A-> -P-> -G-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k");
  const expr u = o.integer("u"), v = o.integer("v");
  const expr m = types.k(x), n = types.k(y);
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_i, {x}, 0, s_i}, {c_k, {y}, 1, s_k}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep a = types.alltoall(1, 0, q, g.to);
  o.premise("T-ALLTOALL: c_i m mod n = 0", a.applies);
  o.premise("u m + v n = 1", u * m + v * n == 1);
  const expr w = o.let("w", u * q + v * c_i);  // c_i / n, by Euclid
  o.use(euclid_quotient(u, m, v, n, c_i, q, w));
  o.use(product_is_monotone(w, o.value(0), n));
  const SymbolicStep a_1 = types.alltoall(1, 0, w, s_0);
  const SymbolicStep p_1 = types.allpermute(a_1.to, {{x, y}, {}});
  const SymbolicStep g_1 = types.allgather(0, p_1.to);
  o.goal("T-ALLTOALL at s_0", a_1.applies && w >= 1);
  o.goal("q = w m", q == w * m);
  o.goal("T-PERMUTE", p_1.applies);
  o.goal("it ends in s_2", types.same(g_1.to, a.to));
  std::vector<expr> hints = types.no_rests();
  o.control("u m + v n = 1",
            [&](const Model& at) {
              return shown(types, at, {s_0, g.to, a.to}, [&](const spec::Mesh& H, const auto& t) {
                return spec::t_alltoall(H, 1, 0, t[1]) == t[2] && !spec::t_alltoall(H, 1, 0, t[0]);
              });
            },
            {hints[0], hints[1], u == 0, v == 0, m != n, c_i == 1});
  o.check();
}

TEST(lemma_4_7, rising_3_other_dimensions_commute_AG) {
  Obligation o("4.7", "G(i) A(k, l), i not in {k, l}: s_0 -A-> -G-> s_2");
  SymbolicTypes types(o, 3);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  o.bookkeeping();
  const SymbolicType s_0 = {{c_i, {x}, 0, s_i}, {c_k, {y}, 1, s_k}, {c_l, {}, 2, s_l}};
  const SymbolicStep g = types.allgather(0, s_0);
  const SymbolicStep a = types.alltoall(1, 2, q, g.to);
  o.premise("T-ALLTOALL: c_l mod n = 0", a.applies);
  const SymbolicStep a_1 = types.alltoall(1, 2, q, s_0);
  const SymbolicStep g_1 = types.allgather(0, a_1.to);
  o.unchanged("T-ALLTOALL at s_0", a_1.applies);
  o.identity("it ends in s_2", types.same(g_1.to, a.to));
  std::vector<expr> hints = types.no_rests();
  hints.push_back(c_l == 1);
  hints.push_back(types.well_formed(s_0));
  o.control(
      "T-ALLTOALL: c_l mod n = 0",
      [&](const Model& v) {
        return shown(types, v, {s_0, g.to}, [&](const spec::Mesh& H, const auto& t) {
          return !spec::t_alltoall(H, 1, 2, t[1]);
        });
      },
      hints);
  o.check();
}

// ---- Allpermute: an axis of the right size is free -------------------------------------------

TEST(lemma_4_7, localtype_determines_the_axes_in_use_step) {
  Obligation o("4.7",
               "the power of m in N counts the axes of size m: step over an axis of prime size k");
  const expr m = o.size("m"), k = o.size("k"), N = o.size("N"), E = o.size("E"), R = o.size("R");
  const expr u = o.integer("u"), v = o.integer("v"), u_1 = o.integer("u_1"), v_1 = o.integer("v_1");
  o.unbounded("m, k, number of axes");
  o.premise("N = E R", N == E * R);                // E a power of m
  o.premise("u m + v R = 1", u * m + v * R == 1);  // m does not divide R
  o.premise("k = m, or u' m + v' k = 1", k == m || u_1 * m + v_1 * k == 1);
  const expr product = (u * u_1 * m + u * v_1 * k + u_1 * v * R) * m + (v * v_1) * (k * R);
  const expr p = u * m + v * R, p_1 = u_1 * m + v_1 * k;
  o.fact(p * p_1 == product);
  o.fact(z3::implies(p == 1 && p_1 == 1, p * p_1 == 1));
  o.goal("k = m: k N = (m E) R, and R stays", z3::implies(k == m, k * N == (m * E) * R));
  o.goal("k != m: k N = E (k R)", k * N == E * (k * R));
  o.goal("k != m: m does not divide k R", k == m || product == 1);
  o.control("k = m, or u' m + v' k = 1");
  o.check();
}

TEST(lemma_4_7, localtype_determines_the_axes_in_use_uniqueness) {
  Obligation o("4.7", "m^a R = m^b S with R, S prime to m: a = b");
  // Common factors m cancel; what remains is m^0 R = m m^(b-1) S.
  const expr m = o.size("m"), R = o.size("R"), S = o.size("S"), E = o.size("E");
  const expr u = o.integer("u"), v = o.integer("v");
  o.unbounded("m, a, b, R, S");
  o.premise("m >= 2", m >= 2);
  o.premise("u m + v R = 1", u * m + v * R == 1);
  o.fact(z3::implies(R == m * (E * S), u * m + v * R == m * (u + v * (E * S))));
  o.use(product_is_monotone(o.value(1), u + v * (E * S), m));
  o.use(product_is_monotone(u + v * (E * S), o.value(0), m));
  o.goal("R != m E S", R != m * (E * S));
  o.control("u m + v R = 1");
  o.check();
}

TEST(lemma_4_7, an_axis_of_the_right_size_is_free) {
  Obligation o("4.7", "localtype(s_1) = localtype(s_2), x:m free in s_1: some z:m is free in s_2");
  const expr total = o.natural("total"), used_1 = o.natural("used_1"), used_2 = o.natural("used_2");
  o.unbounded("number of axes");
  o.bookkeeping();
  o.premise("as many axes of size m in use", used_1 == used_2);  // the two obligations above
  o.premise("x:m is free in s_1", used_1 < total);
  o.goal("an axis of size m is free in s_2", used_2 < total);
  o.control("as many axes of size m in use");
  o.check();
}

TEST(lemma_4_7, rising_4_allpermute_PG) {
  Obligation o("4.7", "G(i) P: s_0 -P-> -G(i)-> s_2, with z of the size of x free in s_2");
  SymbolicTypes types(o, 2);  // rest 0 before, rest 1 after the allpermute
  const expr x = types.axis("x"), z = types.axis("z");
  const expr c = o.size("c"), s = o.size("s");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c, {x}, 0, s}};
  const SymbolicType s_2 = {{c * types.k(x), {}, 1, s}};  // localtype(s_2) = localtype(s_1)
  const SymbolicType before = {{c, {z}, 1, s}};
  o.premise("H |- s_0, H |- s_2", types.well_formed(s_0) && types.well_formed(s_2));
  o.premise("k(z) = m", types.k(z) == types.k(x));
  o.premise("z is free in s_2", types.free_of_rests(z));
  o.goal("T-PERMUTE: the type before is well-formed", types.well_formed(before));
  o.goal("it ends in s_2", types.same(types.allgather(0, before).to, s_2));
  o.control(
      "k(z) = m",
      [&](const Model& v) {
        const spec::Mesh H = types.mesh(v);
        const spec::Type t = types.type(v, before);
        return Counterexample{
            fmt::format("{{{}}}: {} is ill-formed", spec::to_text(H), spec::to_text(t)),
            !spec::wf_type(H, t)};
      },
      types.no_rests());
  o.check();
}

// ---- Falling edges ---------------------------------------------------------------------------

TEST(lemma_4_7, falling_1_source_dimension_equal_sizes_DP) {
  Obligation o("4.7", "A(k, l) D(k), m = n: s_0 -D(l)-> -P-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q"), r = o.size("r");
  const expr s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_k, {y}, 0, s_k}, {c_l, {}, 1, s_l}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep a = types.alltoall(0, 1, q, s_0);
  const SymbolicStep d = types.dynslice(0, x, r, a.to);
  o.premise("T-ALLTOALL, T-DYNSLICE", a.applies && d.applies);
  o.premise("m = n", types.k(x) == types.k(y));
  o.use(product_cancels(c_k, r, types.k(x)));
  const SymbolicStep d_1 = types.dynslice(1, x, q, s_0);
  const SymbolicStep p_1 = types.allpermute(d_1.to, {{x}, {y}});
  o.goal("T-DYNSLICE at s_0", d_1.applies);
  o.goal("T-PERMUTE", p_1.applies);
  o.goal("it ends in s_2", types.same(p_1.to, d.to));
  o.control(
      "m = n",
      [&](const Model& v) {
        return shown(types, v, {s_0, a.to, d.to}, [&](const spec::Mesh& H, const auto& t) {
          const auto sliced = spec::t_dynslice(H, 1, t[2][0].xs.front(), t[0]);
          return !sliced || !spec::t_permute(*sliced, t[2]);
        });
      },
      types.no_rests());
  o.check();
}

TEST(lemma_4_7, falling_1_source_dimension_coprime_sizes_DPA) {
  Obligation o("4.7", "A(k, l) D(k), m and n coprime: s_0 -D-> -P-> -A-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q"), r = o.size("r");
  const expr s_k = o.size("s_k"), s_l = o.size("s_l");
  const expr u = o.integer("u"), v = o.integer("v");
  const expr m = types.k(y), n = types.k(x);
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_k, {y}, 0, s_k}, {c_l, {}, 1, s_l}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep a = types.alltoall(0, 1, q, s_0);
  const SymbolicStep d = types.dynslice(0, x, r, a.to);  // c_k m = n r
  o.premise("T-ALLTOALL, T-DYNSLICE", a.applies && d.applies);
  o.premise("u m + v n = 1", u * m + v * n == 1);
  const expr w = o.let("w", u * r + v * c_k);  // c_k / n
  o.use(euclid_quotient(u, m, v, n, c_k, r, w));
  o.use(product_is_monotone(w, o.value(0), n));
  const SymbolicStep d_1 = types.dynslice(0, x, w, s_0);
  const SymbolicStep p_1 = types.allpermute(d_1.to, {{y, x}, {}});
  const SymbolicStep a_1 = types.alltoall(0, 1, q, p_1.to);
  o.goal("T-DYNSLICE at s_0", d_1.applies && w >= 1);
  o.goal("r = w m", r == w * m);
  o.goal("T-PERMUTE", p_1.applies);
  o.unchanged("T-ALLTOALL", a_1.applies);
  o.goal("it ends in s_2", types.same(a_1.to, d.to));
  std::vector<expr> hints = types.no_rests();
  o.control("u m + v n = 1",
            [&](const Model& at) {
              return shown(types, at, {s_0, a.to, d.to}, [&](const spec::Mesh& H, const auto& t) {
                return !spec::t_dynslice(H, 0, t[2][0].xs.front(), t[0]);
              });
            },
            {hints[0], hints[1], u == 0, v == 0, m != n, c_k == 1});
  o.check();
}

TEST(lemma_4_7, falling_2_target_dimension_DAP) {
  Obligation o("4.7", "A(k, l) D(l): s_0 -D-> -A-> -P-> s_2");
  SymbolicTypes types(o, 2);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_k = o.size("c_k"), c_l = o.size("c_l"), q = o.size("q"), r = o.size("r");
  const expr s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c_k, {y}, 0, s_k}, {c_l, {}, 1, s_l}};
  o.premise("H |- s_0", types.well_formed(s_0));
  const SymbolicStep a = types.alltoall(0, 1, q, s_0);
  const SymbolicStep d = types.dynslice(1, x, r, a.to);  // c_l = m n r
  o.premise("T-ALLTOALL, T-DYNSLICE", a.applies && d.applies);
  const SymbolicStep d_1 = types.dynslice(1, x, types.k(y) * r, s_0);
  const SymbolicStep a_1 = types.alltoall(0, 1, r, d_1.to);
  const SymbolicStep p_1 = types.allpermute(a_1.to, {{}, {x, y}});
  o.goal("T-DYNSLICE at s_0", d_1.applies);
  o.identity("T-ALLTOALL", a_1.applies);
  o.goal("T-PERMUTE", p_1.applies);
  o.identity("it ends in s_2", types.same(p_1.to, d.to));
  // Without the allpermute the axes stand the other way round.
  o.control_goal(
      "DA alone ends in s_2", types.same(a_1.to, d.to),
      [&](const Model& v) {
        return shown(types, v, {s_0, a.to, d.to}, [&](const spec::Mesh& H, const auto& t) {
          const auto sliced = spec::t_dynslice(H, 1, t[2][1].xs.front(), t[0]);
          return sliced && spec::t_alltoall(H, 0, 1, *sliced) != t[2];
        });
      },
      types.no_rests());
  std::vector<expr> hints = types.no_rests();
  hints.push_back(q == 1);
  o.control(
      "T-ALLTOALL, T-DYNSLICE",
      [&](const Model& v) {
        return shown(types, v, {s_0}, [&](const spec::Mesh& H, const auto& t) {
          const auto moved = spec::t_alltoall(H, 0, 1, t[0]);
          const spec::Name other = t[0][0].xs.front() == "x" ? "y" : "x";
          return !moved || !spec::t_dynslice(H, 1, other, *moved);
        });
      },
      hints);
  o.check();
}

TEST(lemma_4_7, falling_3_other_dimensions_commute_DA) {
  Obligation o("4.7", "A(k, l) D(i), i not in {k, l}: s_0 -D-> -A-> s_2");
  SymbolicTypes types(o, 3);
  const expr x = types.axis("x"), y = types.axis("y");
  const expr c_i = o.size("c_i"), c_k = o.size("c_k"), c_l = o.size("c_l");
  const expr q = o.size("q"), r = o.size("r");
  const expr s_i = o.size("s_i"), s_k = o.size("s_k"), s_l = o.size("s_l");
  o.unbounded(arbitrary);
  o.bookkeeping();
  const SymbolicType s_0 = {{c_k, {y}, 0, s_k}, {c_l, {}, 1, s_l}, {c_i, {}, 2, s_i}};
  const SymbolicStep a = types.alltoall(0, 1, q, s_0);
  const SymbolicStep d = types.dynslice(2, x, r, a.to);
  o.premise("T-ALLTOALL", a.applies);
  o.premise("T-DYNSLICE", d.applies);
  const SymbolicStep d_1 = types.dynslice(2, x, r, s_0);
  const SymbolicStep a_1 = types.alltoall(0, 1, q, d_1.to);
  o.unchanged("T-DYNSLICE at s_0", d_1.applies);
  o.unchanged("T-ALLTOALL", a_1.applies);
  o.identity("it ends in s_2", types.same(a_1.to, d.to));
  std::vector<expr> hints = types.no_rests();
  hints.push_back(x == y);
  hints.push_back(types.well_formed(s_0));
  o.control(
      "T-DYNSLICE",
      [&](const Model& v) {
        return shown(types, v, {s_0, a.to}, [&](const spec::Mesh& H, const auto& t) {
          return !spec::t_dynslice(H, 2, t[0][0].xs.front(), t[0]);
        });
      },
      hints);
  o.check();
}

TEST(lemma_4_7, falling_4_allpermute_DP) {
  Obligation o("4.7", "P D(i): s_0 -D(i)-> -P-> s_2, with z of the size of x free in s_0");
  SymbolicTypes types(o, 2);  // rest 0 before, rest 1 after the allpermute
  const expr x = types.axis("x"), z = types.axis("z");
  const expr q = o.size("q"), c = o.size("c"), s = o.size("s");
  o.unbounded(arbitrary);
  const SymbolicType s_0 = {{c, {}, 0, s}}, s_1 = {{c, {}, 1, s}};
  o.premise("H |- s_0, H |- s_1", types.well_formed(s_0) && types.well_formed(s_1));
  const SymbolicStep d = types.dynslice(0, x, q, s_1);
  o.premise("T-DYNSLICE", d.applies);
  o.premise("k(z) = n", types.k(z) == types.k(x));
  o.premise("z is free in s_0", types.free_of_rests(z));
  o.premise("x is free in s_1", types.free_of_rests(x));
  const SymbolicStep d_1 = types.dynslice(0, z, q, s_0);
  o.goal("T-DYNSLICE at s_0", d_1.applies);
  o.identity("localtypes agree", d_1.to[0].c == d.to[0].c);
  o.goal("both are well-formed", types.well_formed(d_1.to) && types.well_formed(d.to));
  o.control(
      "k(z) = n",
      [&](const Model& v) {
        return shown(types, v, {s_0, d.to}, [&](const spec::Mesh& H, const auto& t) {
          const auto sliced = spec::t_dynslice(H, 0, "z", t[0]);
          return !sliced || !spec::t_permute(*sliced, t[1]);
        });
      },
      types.no_rests());
  o.check();
}

}  // namespace
}  // namespace proofs::lemma_4_7
