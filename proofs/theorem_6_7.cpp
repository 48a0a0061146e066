/// Theorem 6.7: a cheapest sequence is matched, up to one tile, by a normal form with one
/// allpermute. With the permutation in the valley the difference is the smallest tile of the
/// sequence, not localsize(t2).
#include <gtest/gtest.h>

#include "arithmetic.h"

namespace proofs::theorem_6_7 {
namespace {

TEST(theorem_6_7, lifting_costs_nothing) {
  Obligation o("6.7", "leaving out the allpermutes does not raise the cost (Lemma 6.6; step)");
  const expr cost = o.natural("cost"), weak = o.natural("weak"), step = o.natural("step");
  const expr is_permute = o.constant("is_permute", o.z().bool_sort());
  o.unbounded("length of the sequence, sizes");
  o.bookkeeping();
  o.premise("cost(s_w) <= cost(s) so far", weak <= cost);
  o.goal("after one more step", weak + z3::ite(is_permute, o.value(0), step) <= cost + step);
  o.control("cost(s_w) <= cost(s) so far");
  o.check();
}

TEST(theorem_6_7, the_chain_of_the_paper) {
  Obligation o("6.7", "cost(s') <= cost(s) + localsize(t2)");
  const expr s = o.natural("s"), s_w = o.natural("s_w"), s_nf = o.natural("s_nf");
  const expr s_2 = o.natural("s_2"), s_1 = o.natural("s_1"), L2 = o.size("L2");
  const expr permutes = o.constant("permutes", o.z().bool_sort());
  o.unbounded("sizes, lengths");
  o.bookkeeping();
  o.premise("cost(s_w) <= cost(s)", s_w <= s);        // Lemma 6.6
  o.premise("cost(s_nf) <= cost(s_w)", s_nf <= s_w);  // Lemma 6.5
  o.premise("cost(s'') = cost(s_nf)", s_2 == s_nf);   // Theorem 6.4
  o.premise("at most one allpermute more", s_1 == s_2 + z3::ite(permutes, L2, o.value(0)));  // (8)
  o.goal("cost(s') <= cost(s) + localsize(t2)", s_1 <= s + L2);
  o.control("cost(s_nf) <= cost(s_w)");
  o.control("cost(s'') = cost(s_nf)");
  o.check();
}

TEST(theorem_6_7, the_valley_is_no_larger_than_either_end) {
  Obligation o("6.7",
               "in the valley the permutation costs V <= localsize(t2), so OPT + V bounds it");
  const expr V = o.size("V"), L1 = o.size("L1"), L2 = o.size("L2");
  const expr down = o.size("down"), up = o.size("up"), s = o.natural("s"), s_nf = o.natural("s_nf");
  o.unbounded("sizes, lengths");
  o.premise("dynslices go down, allgathers up", L1 == down * V && L2 == up * V);
  o.premise("cost(s_nf) <= cost(s)", s_nf <= s);
  o.use(product_is_monotone(o.value(1), down, V));
  o.use(product_is_monotone(o.value(1), up, V));
  o.goal("V <= L1, V <= L2", V <= L1 && V <= L2);
  o.goal("cost(s') <= cost(s) + V <= cost(s) + localsize(t2)",
         s_nf + V <= s + V && s + V <= s + L2);
  o.control("dynslices go down, allgathers up");
  o.check();
}

}  // namespace
}  // namespace proofs::theorem_6_7
