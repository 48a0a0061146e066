/// Theorem 4.8: rewriting with Lemmas 4.6 and 4.7 ends, in any order, and what it ends in is a
/// normal form within the bound (4).
///
/// A sequence is a word over D (dynslice), F (alltoall or allpermute) and G (allgather). A rule
/// replaces L by R in u L v. Only the numbers of letters of u and v matter, so words are of any
/// length. The measure is lexicographic: (1) the number of pairs, a G before a D; (2) the sum over
/// all F of 3^(G left of it + D right of it). One w gives way to at most two w - 1, and 3^w > 2 *
/// 3^(w-1).
///
/// Over several axes an edge may leave two allgathers, so (1) can grow. There the measure is (1')
/// the cost without allpermutes, which 6.5 lowers at each peak and at each edge of an alltoall, and
/// (2') the pairs of a G before an allpermute P and of a P before a D.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "arithmetic.h"
#include "spec/paper/def4_sequences.h"

namespace proofs::theorem_4_8 {
namespace {

/// A rule u L v -> u R v. Letters: A and P are F.
struct Rule {
  std::string left, right;
};

/// Lemma 4.6's five shapes.
const std::vector<Rule> peaks = {{"GD", ""}, {"GD", "P"}, {"GD", "A"}, {"GD", "DG"}, {"GD", "DPG"}};

/// Lemma 4.7's shapes for an alltoall and for an allpermute, and the dual ones.
const std::vector<Rule> edges = {{"GA", "G"},   {"GA", "PG"},  {"GA", "AG"},  {"GA", "APG"},
                                 {"GA", "PAG"}, {"GP", "PG"},  {"AD", "D"},   {"AD", "DP"},
                                 {"AD", "DA"},  {"AD", "DAP"}, {"AD", "DPA"}, {"PD", "DP"}};

std::int64_t count(const std::string& word, char letter) {
  return std::count(word.begin(), word.end(), letter);
}

/// Pairs inside a word: a G before a D.
std::int64_t own_pairs(const std::string& word) {
  std::int64_t pairs = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == 'G') pairs += count(word.substr(at), 'D');
  }
  return pairs;
}

/// Of every F in a word: the G to the left of it and the D to the right of it, in the word.
std::vector<std::int64_t> own_weights(const std::string& word) {
  std::vector<std::int64_t> weights;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == 'A' || word[at] == 'P') {
      weights.push_back(count(word.substr(0, at), 'G') + count(word.substr(at), 'D'));
    }
  }
  return weights;
}

/// What is around the rule: u has the pairs in_u and G_u allgathers, v has in_v and D_v dynslices.
struct Around {
  explicit Around(Obligation& o)
      : in_u(o.natural("in_u")),
        in_v(o.natural("in_v")),
        G_u(o.natural("G_u")),
        D_v(o.natural("D_v")) {}

  /// Pairs in u w v: inside each, from u to w and v, from w to v.
  [[nodiscard]] expr pairs(const expr& own, const expr& G, const expr& D) const {
    return in_u + own + in_v + G_u * (D + D_v) + G * D_v;
  }
  [[nodiscard]] expr pairs(Obligation& o, const std::string& word) const {
    return pairs(o.value(own_pairs(word)), o.value(count(word, 'G')), o.value(count(word, 'D')));
  }

  expr in_u, in_v, G_u, D_v;
};

TEST(theorem_4_8, a_peak_rule_lowers_the_number_of_pairs) {
  Obligation o("4.8", "GD -> nothing, P, A, DG or DPG lowers the number of pairs");
  const Around around(o);
  const expr G = o.natural("G"), D = o.natural("D"), own = o.natural("own");
  o.unbounded("length of the sequence, where the peak is");
  o.premise("R has at most one G and one D", G <= 1 && D <= 1);
  o.premise("R is a normal form", own == 0);  // stronger than what the paper's lemma says
  const expr one = o.value(1);
  o.use(product_is_monotone(D, one, around.G_u));
  o.use(product_is_monotone(G, one, around.D_v));
  o.goal("(1) falls", around.pairs(own, G, D) < around.pairs(o, "GD"));
  for (const Rule& rule : peaks) {
    ASSERT_EQ(own_pairs(rule.right), 0) << rule.right;
    const expr falls = around.pairs(o, rule.right) < around.pairs(o, "GD");
    // With a D and a G on the right nothing else changes, and no range is needed.
    if (count(rule.right, 'G') == 1) {
      o.identity("(1) falls: GD -> " + rule.right, falls);
    } else {
      o.goal("(1) falls: GD -> " + rule.right, falls);
    }
  }
  o.control("R is a normal form",
            [&](const Model& v) {
              // "Some sequence of three steps" allows the peak itself.
              return Counterexample{
                  fmt::format("R with {} G, {} D and {} pair(s), for instance GD itself", v(G),
                              v(D), v(own)),
                  v(own) >= 1 && own_pairs("GD") == 1};
            },
            {own <= G * D});
  o.check();
}

TEST(theorem_4_8, an_edge_rule_keeps_pairs_and_lowers_the_weight) {
  Obligation o("4.8",
               "each edge rule G F -> F^r G, F D -> D F^r with r <= 2 keeps (1), lowers (2)");
  const Around around(o);
  const expr others = o.natural("others"), power = o.size("power"), r = o.natural("r");
  o.unbounded("length of the sequence, where the edge is");
  o.premise("r <= 2", r <= 2);
  // An F of weight w adds 3^w to (2). The F of L has w = G_u + 1 + D_v; power = 3^(w-1).
  const auto weight = [&](const std::string& word) {
    expr sum = others;
    for (const std::int64_t own : own_weights(word)) {
      sum = sum + power * o.value(own == 0 ? 1 : own == 1 ? 3 : 9);
    }
    return sum;
  };
  o.use(product_is_monotone(r, o.value(2), power));
  o.goal("(2) falls", others + r * power < weight("GA") && others + r * power >= 0);
  for (const Rule& rule : edges) {
    const std::string name = rule.left + " -> " + rule.right;
    // As many G and D as before, so every F of u and v keeps its weight.
    ASSERT_EQ(count(rule.right, 'G'), count(rule.left, 'G')) << name;
    ASSERT_EQ(count(rule.right, 'D'), count(rule.left, 'D')) << name;
    o.identity("(1) stays: " + name, around.pairs(o, rule.right) == around.pairs(o, rule.left));
    o.goal("(2) falls: " + name, weight(rule.right) < weight(rule.left));
  }
  o.control("r <= 2");
  // Letting an F stay behind the G is no progress.
  o.control_goal("GA -> AGA lowers (2)", weight("AGA") < weight("GA"));
  o.check();
}

/// A pair of allpermute and G or D that stands in the wrong order.
std::int64_t own_permute_pairs(const std::string& word) {
  std::int64_t pairs = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == 'G') pairs += count(word.substr(at), 'P');
    if (word[at] == 'P') pairs += count(word.substr(at), 'D');
  }
  return pairs;
}

TEST(theorem_4_8, over_several_axes_every_rule_lowers_cost_or_pairs) {
  Obligation o("4.8, 7.1", "several axes: each rule lowers (cost without P, pairs G..P and P..D)");
  // The rules over an allpermute move one P: GP -> PG and PD -> DP. All others are said by 6.5.
  const expr is_permute = o.constant("moves_P", o.z().bool_sort());
  const expr before = o.natural("before"), after = o.natural("after"), valley = o.natural("valley");
  const expr cost_L = o.natural("cost_L"), cost_R = o.natural("cost_R");
  const expr own_L = o.natural("own_L"), own_R = o.natural("own_R");
  // u and v have in_u and in_v pairs; u has G_u and P_u, v has P_v and D_v, L and R have G, P, D.
  const expr in_u = o.natural("in_u"), in_v = o.natural("in_v");
  const expr G_u = o.natural("G_u"), P_u = o.natural("P_u"), P_v = o.natural("P_v");
  const expr D_v = o.natural("D_v");
  const expr G = o.natural("G"), P = o.natural("P"), D = o.natural("D");
  const expr G_R = o.natural("G_R"), P_R = o.natural("P_R"), D_R = o.natural("D_R");
  const auto pairs = [&](const expr& own, const expr& g, const expr& p, const expr& d) {
    return in_u + own + in_v + G_u * (p + P_v) + P_u * (d + D_v) + g * P_v + p * D_v;
  };
  o.unbounded("length of the sequence, where the rule is applied, factors, sizes");
  o.premise("GD, GA, AD: cost(nf) + valley <= cost (6.5)", is_permute || cost_R + valley <= cost_L);
  o.premise("valley >= 1", valley >= 1);
  o.premise("GP -> PG, PD -> DP: G and D cost what they did",
            z3::implies(is_permute, cost_R == cost_L));
  o.premise("GP -> PG, PD -> DP: as many letters",
            z3::implies(is_permute, G_R == G && P_R == P && D_R == D));
  o.premise("GP -> PG, PD -> DP: one pair less", z3::implies(is_permute, own_R + 1 == own_L));
  for (const Rule& rule : {Rule{"GP", "PG"}, Rule{"PD", "DP"}}) {
    ASSERT_EQ(own_permute_pairs(rule.left), own_permute_pairs(rule.right) + 1) << rule.left;
    for (const char letter : {'G', 'P', 'D'}) {
      ASSERT_EQ(count(rule.left, letter), count(rule.right, letter)) << rule.left;
    }
  }
  const expr old_cost = before + cost_L + after, new_cost = before + cost_R + after;
  o.goal("the measure falls",
         new_cost < old_cost ||
             (new_cost == old_cost && pairs(own_R, G_R, P_R, D_R) < pairs(own_L, G, P, D)));
  o.control("GD, GA, AD: cost(nf) + valley <= cost (6.5)");
  o.control("valley >= 1");
  o.control("GP -> PG, PD -> DP: one pair less");
  // The measure for single axes does not do: two allgathers for one are more pairs G..D.
  const expr one = o.value(1), two = o.value(2);
  o.control_goal("GA -> AGG keeps the pairs G..D", two * D_v <= one * D_v);
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
}  // namespace proofs::theorem_4_8
