/// Theorem 4.8: rewriting with Lemmas 4.6 and 4.7 ends, in any order, and what it ends in is a
/// normal form within the bound (4).
///
/// A sequence is a word over D (dynslice), F (alltoall or allpermute) and G (allgather). A rule
/// replaces L by R in u L v. Only the numbers of letters of u and v matter, so words are of any
/// length. The measure is lexicographic: (1) the number of pairs, a G before a D; (2) the sum over
/// all F of 3^(G left of it + D right of it). One w gives way to at most two w - 1, and 3^w > 2 *
/// 3^(w-1).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/def4_sequences.h"

namespace proofs {
namespace {

/// Pairs in u w v, when w has the pairs `own`, G allgathers and D dynslices.
expr pairs(const expr& in_u, const expr& in_v, const expr& G_u, const expr& D_v, const expr& own,
           const expr& G, const expr& D) {
  return in_u + own + in_v + G_u * (D + D_v) + G * D_v;
}

TEST(theorem_4_8, a_peak_rule_lowers_the_number_of_pairs) {
  Obligation o("4.8", "GD -> nothing, P, A, DG or DPG lowers the number of pairs");
  const expr in_u = o.natural("in_u"), in_v = o.natural("in_v");
  const expr G_u = o.natural("G_u"), D_v = o.natural("D_v");
  const expr G = o.natural("G"), D = o.natural("D"), own = o.natural("own");
  o.unbounded("length of the sequence, where the peak is");
  o.premise("R has at most one G and one D", G <= 1 && D <= 1);
  o.premise("R is a normal form", own == 0);  // stronger than what the paper's lemma says
  const expr one = o.value(1);
  o.use(product_is_monotone(D, one, G_u));
  o.use(product_is_monotone(G, one, D_v));
  o.goal("(1) falls",
         pairs(in_u, in_v, G_u, D_v, own, G, D) < pairs(in_u, in_v, G_u, D_v, one, one, one));
  o.control("R is a normal form",
            [&](const Model& v) {
              // "Some sequence of three steps" allows the peak itself.
              return Counterexample{
                  fmt::format("R with {} G, {} D and {} pair(s), for instance GD itself", v(G),
                              v(D), v(own)),
                  v(own) >= 1};
            },
            {own <= G * D});
  o.check();
}

TEST(theorem_4_8, an_edge_rule_keeps_pairs_and_lowers_the_weight) {
  Obligation o("4.8", "GF -> F^r G and FD -> D F^r with r <= 2 keep (1) and lower (2)");
  const expr in_u = o.natural("in_u"), in_v = o.natural("in_v");
  const expr G_u = o.natural("G_u"), D_v = o.natural("D_v");
  const expr others = o.natural("others"), power = o.size("power"), r = o.natural("r");
  o.unbounded("length of the sequence, where the edge is");
  o.premise("r <= 2", r <= 2);
  // The F has weight w = G_u + 1 + D_v before, each of the new ones w - 1; power = 3^(w-1).
  const expr before = others + 3 * power, after = others + r * power;
  o.use(product_is_monotone(r, o.value(2), power));
  const expr zero = o.value(0), one = o.value(1);
  o.goal("GF: (1) stays", pairs(in_u, in_v, G_u, D_v, zero, one, zero) ==
                              pairs(in_u, in_v, G_u, D_v, zero, one, zero));
  o.goal("GF: as many G and D stay for the other F", one + zero == one);
  o.goal("FD: (1) stays", pairs(in_u, in_v, G_u, D_v, zero, zero, one) ==
                              pairs(in_u, in_v, G_u, D_v, zero, zero, one));
  o.goal("(2) falls", after < before && after >= 0);
  o.control("r <= 2");
  o.check();
}

TEST(theorem_4_8, what_no_rule_applies_to_is_a_normal_form) {
  Obligation o("4.8", "a sequence without GD, GF, FD is D* F* G* (step: one more letter)");
  // 0 = D, 1 = F, 2 = G. A prefix in normal form that ends in a is followed by b.
  const expr a = o.natural("a"), b = o.natural("b"), first = o.natural("first");
  o.unbounded("length of the sequence");
  o.let(a <= 2 && b <= 2 && first <= 2);
  o.premise("the prefix is a normal form", first <= a);
  o.premise("no GD", !(a == 2 && b == 0));
  o.premise("no GF", !(a == 2 && b == 1));
  o.premise("no FD", !(a == 1 && b == 0));
  o.goal("letters do not fall", a <= b && first <= b);
  for (const char* dropped : {"no GD", "no GF", "no FD"}) {
    o.control(dropped, [&](const Model& v) {
      const std::vector<spec::Op> ops = {spec::Op::dynslice, spec::Op::alltoall,
                                         spec::Op::allgather};
      const spec::Op p = ops[static_cast<std::size_t>(v(a))],
                     q = ops[static_cast<std::size_t>(v(b))];
      return Counterexample{fmt::format("{}{}", "DFG"[v(a)], "DFG"[v(b)]),
                            !spec::is_normal_form({p, q})};
    });
  }
  o.check();
}

TEST(theorem_4_8, a_normal_form_satisfies_the_bound) {
  Obligation o("4.8", "a normal form satisfies (4): sizes fall from L1, stay, rise to L2");
  // An invariant of the run: `size` after the D and F so far, and, read from the end, before the G
  // left.
  const expr L1 = o.size("L1"), L2 = o.size("L2"), n = o.size("n");
  const expr size = o.size("size"), next = o.size("next");
  const expr letter = o.digit("letter", o.value(3));
  o.unbounded("sizes, length");
  o.premise("D and F: size <= L1 so far", letter == 2 || size <= L1);
  o.premise("G: what follows is <= L2", letter != 2 || next <= L2);
  o.let(z3::implies(letter == 0, size == n * next));
  o.let(z3::implies(letter == 1, size == next));
  o.let(z3::implies(letter == 2, next == n * size));
  o.use(product_is_monotone(o.value(1), n, next));
  o.use(product_is_monotone(o.value(1), n, size));
  const expr bound = z3::ite(L1 > L2, L1, L2);
  o.goal("D and F: next <= L1", letter == 2 || next <= L1);
  o.goal("G: size <= L2", letter != 2 || size <= L2);
  o.goal("(4)", size <= bound && next <= bound);
  o.control("G: what follows is <= L2");
  o.check();
}

}  // namespace
}  // namespace proofs
