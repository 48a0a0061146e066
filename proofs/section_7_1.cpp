/// Sec. 7.1, merging: neighbouring collectives of one kind and on the same dimensions merge
/// (erratum E21), as a weak equality; for alltoall not as a strong one. On uneven sizes merging
/// needs divisibility.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/sec7_multi_axis.h"
#include "spec/program/type_text.h"

namespace proofs::section_7_1 {
namespace {

TEST(section_7_1, allgathers_merge) {
  Obligation o("7.1", "allgather(i,m) allgather(i,n) = allgather(i,mn): t div m div n = t div mn");
  const expr m = o.size("m"), n = o.size("n"), t = o.natural("t"), c = o.size("c");
  const expr q = o.natural("q"), x = o.natural("x"), q_1 = o.natural("q_1"), y = o.natural("y");
  o.unbounded("m, n, t, tile size");
  o.premise("x < m", x < m);
  o.premise("t = q m + x", t == q * m + x);              // div m
  o.premise("q = q' n + y", q == q_1 * n + y && y < n);  // div n
  const auto [q_2, z] = o.divide("q_2", "z", t, m * n);  // div m n
  o.fact((q_1 * n + y) * m + x == q_1 * (m * n) + (x + m * y));
  o.fact(q != q_1 * n + y || q * m == (q_1 * n + y) * m);
  o.use(digits_stay_below(x, m, y, n));
  o.use(division_is_unique(m * n, q_1, x + m * y, q_2, z));
  o.use(product_is_monotone(o.value(0), m, c));
  o.goal("the same tile", q_1 == q_2);
  o.goal("cost c m n <= c m + c m n", c * (m * n) <= c * m + c * (m * n));
  o.control("x < m");
  o.control("q = q' n + y");
  o.check();
}

TEST(section_7_1, dynslices_merge) {
  Obligation o("7.1", "dynslice(i,m) dynslice(i,n) = dynslice(i,mn) with the digit e n + e'");
  const expr m = o.size("m"), n = o.size("n"), t = o.natural("t");
  const expr e = o.natural("e"), e_1 = o.natural("e_1"), d = o.natural("d"), d_1 = o.natural("d_1");
  o.unbounded("m, n, t");
  o.premise("e < m", e < m && d < m);
  o.premise("e' < n", e_1 < n && d_1 < n);
  o.fact((t * m + e) * n + e_1 == t * (m * n) + (e * n + e_1));
  o.use(digits_stay_below(e_1, n, e, m));
  o.use(division_is_unique(n, e, e_1, d, d_1));
  o.identity("the same tile", (t * m + e) * n + e_1 == t * (m * n) + (e * n + e_1));
  o.goal("it is a digit below m n", e * n + e_1 < n * m);
  o.goal("and determines both", z3::implies(e * n + e_1 == d * n + d_1, e == d && e_1 == d_1));
  o.control("e' < n");
  o.check();
}

TEST(section_7_1, alltoalls_merge_up_to_a_permutation) {
  Obligation o("7.1",
               "alltoall(i,j,m) alltoall(i,j,n) ~ alltoall(i,j,mn): digits in another order");
  const expr m = o.size("m"), n = o.size("n"), t_j = o.natural("t_j"), N_j = o.size("N_j");
  const expr x = o.natural("x"), y = o.natural("y"), u = o.natural("u"), v = o.natural("v");
  const expr L = o.size("L");
  o.unbounded("m, n, t, tile size");
  o.premise("x < m", x < m && u < m);
  o.premise("y < n", y < n && v < n);
  const expr two = (t_j * m + x) * n + y;        // pops x, then y
  const expr one = t_j * (m * n) + (x + m * y);  // pops x + m y at once
  o.fact((t_j * m + x) * n + y == t_j * (m * n) + (x * n + y));
  o.fact(t_j * (m * n) == t_j * (n * m) && N_j * (m * n) == (N_j * m) * n);
  o.use(digits_stay_below(x, m, y, n));
  o.use(digits_stay_below(y, n, x, m));
  o.use(division_is_unique(m, y, x, v, u));
  o.use(division_is_unique(n, x, y, u, v));
  o.goal("both fill the block of t_j", t_j * (m * n) <= two && two < t_j * (m * n) + n * m &&
                                           t_j * (m * n) <= one && one < t_j * (m * n) + m * n);
  o.goal("x n + y -> x + m y is a bijection", (x * n + y == u * n + v) == (x + m * y == u + m * v));
  o.identity("the class is one: N_j m n tiles", N_j * (m * n) == (N_j * m) * n);
  o.goal("cost L <= L + L", L <= L + L);
  o.control("x < m", {}, {n >= 2});
  o.control_goal("the tiles are equal", two == one,
                 [&](const Model& at) {
                   const spec::Mesh H = {{"x", at(m)}, {"y", at(n)}};
                   const spec::Size k = at(m) * at(n);
                   const spec::Type from = {{1, {"x", "y"}, k}, {k, {}, k}};
                   const auto merged = spec::t_alltoall(H, 0, 1, spec::Names{"x", "y"}, from);
                   const auto single = spec::t_alltoall(H, 0, 1, from);
                   const auto singles = single ? spec::t_alltoall(H, 0, 1, *single) : std::nullopt;
                   return Counterexample{
                       fmt::format("{{{}}}, {}: at once {}, one by one {}", spec::to_text(H),
                                   spec::to_text(from), merged ? spec::to_text(*merged) : "none",
                                   singles ? spec::to_text(*singles) : "none"),
                       merged && singles && merged != singles};
                 },
                 {m >= 2, n >= 2});
  o.check();
}

TEST(section_7_1, only_the_same_dimension_merges) {
  Obligation o("7.1", "allgather(i,m) allgather(k,n) is one allgather(i,mn) only if i = k");
  const expr i = o.digit("i", o.value(2)), k = o.digit("k", o.value(2));
  const expr m = o.size("m"), n = o.size("n"), c_0 = o.size("c_0"), c_1 = o.size("c_1");
  o.unbounded("m, n, tile sizes");
  o.bounded("two dimensions: the others do not change");
  o.premise("i = k", i == k);
  const auto grown = [&](const expr& at, const expr& dim, const expr& c, const expr& by) {
    return z3::ite(at == dim, c * by, c);
  };
  const expr zero = o.value(0), one = o.value(1);
  o.fact((c_0 * m) * n == c_0 * (m * n) && (c_1 * m) * n == c_1 * (m * n));
  o.goal("the same localtype",
         grown(k, zero, grown(i, zero, c_0, m), n) == grown(i, zero, c_0, m * n) &&
             grown(k, one, grown(i, one, c_1, m), n) == grown(i, one, c_1, m * n));
  o.control("i = k", [&](const Model& v) {
    return Counterexample{fmt::format("[{}, {}], allgather({}, {}), allgather({}, {})", v(c_0),
                                      v(c_1), v(i), v(m), v(k), v(n)),
                          v(i) != v(k)};
  });
  o.check();
}

TEST(section_7_1, nested_tile_sizes_agree_even_on_uneven_sizes) {
  Obligation o("7.1", "ceil(ceil(s/m)/n) = ceil(s/mn): the largest tile is the same");
  const expr s = o.size("s"), m = o.size("m"), n = o.size("n");
  const expr h = o.size("h"), nested = o.size("nested"), flat = o.size("flat");
  o.unbounded("s, m, n");
  o.premise("h = ceil(s/m)", m * (h - 1) < s && s <= m * h);
  o.premise("nested = ceil(h/n)", n * (nested - 1) < h && h <= n * nested);
  o.premise("flat = ceil(s/mn)", (m * n) * (flat - 1) < s && s <= (m * n) * flat);
  o.use(product_is_monotone(n * (nested - 1), h - 1, m));
  o.use(product_is_monotone(h, n * nested, m));
  o.fact(n * (nested - 1) * m == (m * n) * (nested - 1) && n * nested * m == (m * n) * nested);
  o.fact((h - 1) * m == m * (h - 1) && h * m == m * h);
  o.use(product_is_monotone(nested, flat - 1, m * n));
  o.use(product_is_monotone(flat, nested - 1, m * n));
  o.fact(nested * (m * n) == (m * n) * nested && (flat - 1) * (m * n) == (m * n) * (flat - 1));
  o.fact(flat * (m * n) == (m * n) * flat && (nested - 1) * (m * n) == (m * n) * (nested - 1));
  o.goal("nested = flat", nested == flat);
  o.control("nested = ceil(h/n)");
  o.check();
}

/// Sizes of the pieces of 0..s-1 over m x n devices, device (a, b) at m-major position a n + b.
std::vector<std::int64_t> pieces(std::int64_t s, std::int64_t m, std::int64_t n, bool is_nested) {
  const auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto piece = [](std::int64_t whole, std::int64_t tile, std::int64_t at) {
    return std::max(std::int64_t{0}, std::min(tile, whole - at * tile));
  };
  std::vector<std::int64_t> out;
  for (std::int64_t a = 0; a < m; ++a) {
    for (std::int64_t b = 0; b < n; ++b) {
      const std::int64_t outer = ceil(s, m);
      out.push_back(is_nested ? piece(piece(s, outer, a), ceil(outer, n), b)
                              : piece(s, ceil(s, m * n), a * n + b));
    }
  }
  return out;
}

TEST(section_7_1, nested_pieces_are_flat_pieces_where_the_size_divides) {
  Obligation o("7.1", "mn | s: cutting by m and then by n is cutting by mn, piece by piece");
  const expr s = o.size("s"), m = o.size("m"), n = o.size("n");
  const expr a = o.natural("a"), b = o.natural("b"), q = o.size("q");
  o.unbounded("s, m, n, the device");
  o.premise("m n | s", s == (m * n) * q);
  o.premise("a < m, b < n", a < m && b < n);
  const expr h = o.ceil("h", s, m), h_2 = o.ceil("h_2", h, n);
  const expr h_flat = o.ceil("h_flat", s, m * n);
  const auto piece = [&](const expr& whole, const expr& tile, const expr& begin) {
    const expr left = whole - begin;
    const expr most = z3::ite(left < tile, left, tile);
    return z3::ite(most < 0, o.value(0), most);
  };
  const expr outer = piece(s, h, a * h), nested = piece(outer, h_2, b * h_2);
  const expr flat = piece(s, h_flat, (a * n + b) * h_flat);
  // With divisibility all three quotients are exact.
  o.fact((m * n) * q == m * (n * q) && (n * q) * m == m * (n * q) && h * m == m * h &&
         (h - 1) * m == m * (h - 1));
  o.use(product_cancels(n * q, h, m));
  o.use(product_cancels(h - 1, n * q, m));
  o.fact(q * n == n * q && h_2 * n == n * h_2 && (h_2 - 1) * n == n * (h_2 - 1));
  o.use(product_cancels(q, h_2, n));
  o.use(product_cancels(h_2 - 1, q, n));
  o.fact(q * (m * n) == (m * n) * q && h_flat * (m * n) == (m * n) * h_flat &&
         (h_flat - 1) * (m * n) == (m * n) * (h_flat - 1));
  o.use(product_cancels(q, h_flat, m * n));
  o.use(product_cancels(h_flat - 1, q, m * n));
  o.goal("h = n q", h == n * q);
  o.goal("h_2 = q", z3::implies(h == n * q, h_2 == q));
  o.goal("h_flat = q", h_flat == q);
  // Then every piece has q elements: the block a is full, and so is the piece b in it.
  o.use(product_is_monotone(a + 1, m, n * q));
  o.fact((a + 1) * (n * q) == a * (n * q) + n * q);
  o.use(product_is_monotone(b + 1, n, q));
  o.fact((b + 1) * q == b * q + q);
  o.use(digits_stay_below(b, n, a, m));
  o.use(product_is_monotone(a * n + b + 1, m * n, q));
  o.fact((a * n + b + 1) * q == (a * n + b) * q + q && m * n == n * m && a * n == n * a);
  const expr exact = h == n * q && h_2 == q && h_flat == q;
  o.fact(h != n * q || a * h == a * (n * q));
  o.fact(h_2 != q || b * h_2 == b * q);
  o.fact(h_flat != q || (a * n + b) * h_flat == (a * n + b) * q);
  o.goal("nested piece = q", z3::implies(exact, nested == q));
  o.goal("flat piece = q", z3::implies(exact, flat == q));
  o.identity("and it begins at the same place",
             z3::implies(exact, a * h + b * h_2 == (a * n + b) * h_flat));
  o.control("m n | s",
            [&](const Model& v) {
              const auto x = pieces(v(s), v(m), v(n), true), y = pieces(v(s), v(m), v(n), false);
              return Counterexample{fmt::format("size {} on {}x{}: nested {}, flat {}", v(s), v(m),
                                                v(n), fmt::join(x, ","), fmt::join(y, ",")),
                                    x == std::vector<std::int64_t>{1, 1, 0, 1, 1, 0} &&
                                        y == std::vector<std::int64_t>{1, 1, 1, 1, 0, 0}};
            },
            {s == 4, m == 2, n == 3, nested != flat});
  o.check();
}

}  // namespace
}  // namespace proofs::section_7_1
