/// Tiles that need not be alike: blocks of c elements along a dimension of n, cut off at the end.
///
/// Blocks are numbered from 0; block t holds the indices from min(c t, n) to min(c (t + 1), n) - 1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::uneven {
namespace {

expr least(const expr& a, const expr& b) { return z3::ite(a <= b, a, b); }

/// Whether block t of blocks of c holds index i.
expr holds(const expr& i, const expr& c, const expr& t, const expr& n) {
  return least(c * t, n) <= i && i < least(c * (t + 1), n);
}

TEST(uneven, one_tile_size_makes_so_many_tiles) {
  Obligation o("WF-DIM-CEIL", "at most one c makes N tiles of n elements");
  const expr n = o.size("n"), tiles = o.size("N"), c = o.size("c"), d = o.size("d");
  o.unbounded("n, N");
  o.premise("(c - 1) N < n", (c - 1) * tiles < n);
  o.premise("n <= c N", n <= c * tiles);
  o.premise("(d - 1) N < n", (d - 1) * tiles < n);
  o.premise("n <= d N", n <= d * tiles);
  o.use(product_cancels(c - 1, d, tiles));
  o.use(product_cancels(d - 1, c, tiles));
  o.goal("c = d", c == d);
  o.control_goal("blocks are all full", c * tiles == n, [&](const Model& v) {
    return Counterexample{fmt::format("{} elements in {} tiles of {}", v(n), v(tiles), v(c)),
                          (v(c) - 1) * v(tiles) < v(n) && v(n) < v(c) * v(tiles)};
  });
  o.check();
}

TEST(uneven, cut_twice_is_cut_once_as_to_the_tile_size) {
  Obligation o("WF-DIM-CEIL", "ceil(ceil(n / a) / b) = ceil(n / (a b))");
  const expr n = o.size("n"), a = o.size("a"), b = o.size("b");
  const expr outer = o.size("C"), inner = o.size("c");
  o.unbounded("n, a, b");
  o.premise("(C - 1) a < n", (outer - 1) * a < n);
  o.premise("n <= C a", n <= outer * a);
  o.premise("(c - 1) b < C", (inner - 1) * b < outer);
  o.premise("C <= c b", outer <= inner * b);
  o.use(product_is_monotone(outer, inner * b, a));
  o.use(product_is_monotone((inner - 1) * b, outer - 1, a));
  o.goal("(c - 1) a b < n", (inner - 1) * b * a < n);
  o.goal("n <= c a b", n <= inner * b * a);
  o.check();
}

TEST(uneven, every_index_is_in_one_block) {
  Obligation o("Blocks", "every index is held by the block i div c, and by no other");
  const expr i = o.natural("i"), n = o.size("n"), c = o.size("c"), tiles = o.size("N");
  const expr other = o.natural("t'");
  o.unbounded("n, c, N, i");
  o.premise("i < n", i < n);
  o.premise("n <= c N", n <= c * tiles);
  const auto [t, rest] = o.divide("t", "r", i, c);
  const expr rest_of_other = o.let("r'", i - c * other);
  o.use(product_cancels(t, tiles, c));
  o.use(division_is_unique(c, t, rest, other, rest_of_other));
  o.goal("there is such a block", t < tiles);
  o.goal("it holds the index", holds(i, c, t, n));
  o.goal("no other does", z3::implies(holds(i, c, other, n), other == t));
  o.control_goal("the block is full", least(c * (t + 1), n) == c * (t + 1));
  o.check();
}

TEST(uneven, empty_blocks_are_the_last_ones) {
  Obligation o("Blocks", "behind an empty block all are empty");
  const expr n = o.size("n"), c = o.size("c"), t = o.natural("t"), later = o.natural("t'");
  o.unbounded("n, c, t");
  o.premise("block t is empty", least(c * t, n) == least(c * (t + 1), n));
  o.premise("t <= t'", t <= later);
  o.use(product_is_monotone(t, later, c));
  o.fact(c * (t + 1) == c * t + c);
  o.fact(c * (later + 1) == c * later + c);
  o.goal("block t' is empty", least(c * later, n) == least(c * (later + 1), n));
  o.check();
}

TEST(uneven, blocks_gathered_are_blocks) {
  Obligation o("Blocks", "what an allgather puts together of blocks of c is a block of k c");
  const expr i = o.natural("i"), n = o.size("n"), c = o.size("c"), k = o.size("k");
  const expr member = o.digit("q", k), t = o.natural("t"), whole = o.natural("T");
  o.unbounded("n, c, k, t");
  o.premise("block t k + q holds i", holds(i, c, t * k + member, n));
  o.premise("block T of k c holds i", holds(i, c * k, whole, n));
  const expr rest = o.let("r", i - c * (t * k + member));
  const expr place = o.let("p", i - c * k * whole);
  o.use(digits_stay_below(rest, c, member, k));
  o.use(division_is_unique(c * k, t, rest + c * member, whole, place));
  o.goal("T = t", whole == t);
  o.goal("at the place of its member", place == c * member + rest);
  o.check();
}

TEST(uneven, a_plan_of_tiles_filled_up_moves_what_lies_in_the_array) {
  Obligation o("U1", "an index of the array lies in a block as it does in the tile filled up");
  const expr i = o.natural("i"), n = o.size("n"), c = o.size("c"), t = o.natural("t");
  o.unbounded("n, c, t, i");
  o.premise("i < n", i < n);
  o.goal("in the block, and in the tile", holds(i, c, t, n) == (c * t <= i && i < c * (t + 1)));
  o.check();
}

TEST(uneven, a_device_sends_a_device_one_box) {
  Obligation o("U2", "the indices in block m of S and block q of T are one stretch");
  const expr i = o.natural("i"), n = o.size("n"), s = o.size("S"), t = o.size("T");
  const expr m = o.natural("m"), q = o.natural("q");
  o.unbounded("n, S, T, m, q");
  o.premise("i < n", i < n);
  const auto [of_s, rest_s] = o.divide("i div S", "i mod S", i, s);
  const auto [of_t, rest_t] = o.divide("i div T", "i mod T", i, t);
  o.use(division_is_unique(s, of_s, rest_s, m, o.let("r", i - s * m)));
  o.use(division_is_unique(t, of_t, rest_t, q, o.let("r'", i - t * q)));
  const expr begin = z3::ite(s * m <= t * q, t * q, s * m);
  const expr end = least(least(s * (m + 1), t * (q + 1)), n);
  o.goal("from the later begin to the earlier end",
         (of_s == m && of_t == q) == (begin <= i && i < end));
  o.control_goal("the stretch is not empty", begin < end);
  o.check();
}

}  // namespace
}  // namespace proofs::uneven
