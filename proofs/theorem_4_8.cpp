/// Theorem 4.8: rewriting with Lemmas 4.6 and 4.7 ends, in any order, and what it ends in is a
/// normal form within the bound (4).
///
/// The measure is the multiset of the localsizes of the interior states, those that are no end. A
/// lemma takes one interior state away, the top of a peak or the upper end of an edge, and puts
/// others in its place, all of them smaller. So the multiset falls (Dershowitz and Manna). As a
/// number: a state of size s counts 5^s, and at most four new states do not count as much as one that
/// is larger. One axis at a time there are at most two, as Lemmas 4.6 and 4.7 say in print; over
/// several axes (Sec. 7.1) D P A P G, P A P G G and D D P A P have four.
///
/// That the sum over the whole sequence falls with its part is that the other states stay. That a
/// sum of natural numbers cannot fall for ever is induction, and not asked of a solver.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arithmetic.h"
#include "spec/paper/def4_sequences.h"
#include "spec/program/type_text.h"

namespace proofs::theorem_4_8 {
namespace {

/// {x:2}: [1{x}2] -> [2] -> [1{x}2], a peak, is higher than both ends: it does not replace itself.
bool bound_of_lemma_4_6_excludes_the_peak() {
  const spec::Mesh H = spec::parse_mesh("x:2").value();
  const spec::Type end = spec::parse_type(H, "[1{x}2]").value();
  const auto peak = spec::sequence(
      H, end, {{spec::Op::allgather, 0, 0, "", {}}, {spec::Op::dynslice, 0, 0, "x", {}}});
  return peak && spec::height(*peak) > spec::localsize(end);
}

TEST(theorem_4_8, what_replaces_a_peak_is_lower_than_the_peak) {
  Obligation o("4.8", "4.6: height <= max(s_0, s_2), so each new state x is smaller than s_1");
  const expr s_0 = o.size("s_0"), s_1 = o.size("s_1"), s_2 = o.size("s_2"), x = o.size("x");
  const expr m = o.size("m"), n = o.size("n");
  o.unbounded("sizes");
  o.premise("T-ALLGATHER", m >= 2 && s_1 == m * s_0);
  o.premise("T-DYNSLICE", n >= 2 && s_1 == n * s_2);
  o.premise("height <= max(ends) (4.6)", x <= s_0 || x <= s_2);
  o.use(product_is_monotone(o.value(2), m, s_0));
  o.use(product_is_monotone(o.value(2), n, s_2));
  o.goal("x < s_1", x < s_1);
  o.control("height <= max(ends) (4.6)",
            [&](const Model&) {
              return Counterexample{"the peak itself would do, and nothing would end",
                                    bound_of_lemma_4_6_excludes_the_peak()};
            },
            {x == s_1});
  o.check();
}

TEST(theorem_4_8, what_replaces_a_rising_edge_is_lower_than_its_upper_end) {
  Obligation o("4.8",
               "4.7: q_1 .. q_r keep the size of s_0, so each new state x is smaller than s_1");
  const expr s_0 = o.size("s_0"), s_1 = o.size("s_1"), x = o.size("x");
  const expr m = o.size("m"), g = o.size("g");
  o.unbounded("sizes");
  o.premise("T-ALLGATHER", m >= 2 && s_1 == m * s_0);
  o.premise("x = s_0; or g x = s_1, before a second allgather (7.1)",
            x == s_0 || (g >= 2 && s_1 == g * x));
  o.use(product_is_monotone(o.value(2), m, s_0));
  o.use(product_is_monotone(o.value(2), g, x));
  o.goal("x < s_1", x < s_1);
  o.check();
}

TEST(theorem_4_8, what_replaces_a_falling_edge_is_lower_than_its_upper_end) {
  Obligation o("4.8", "4.7, falling: each new state x is smaller than s_1");
  const expr s_1 = o.size("s_1"), s_2 = o.size("s_2"), x = o.size("x");
  const expr n = o.size("n"), d = o.size("d");
  o.unbounded("sizes");
  o.premise("T-DYNSLICE", n >= 2 && s_1 == n * s_2);
  o.premise("x = s_2; or d x = s_0 = s_1, behind the first of two dynslices (7.1)",
            x == s_2 || (d >= 2 && s_1 == d * x));
  o.use(product_is_monotone(o.value(2), n, s_2));
  o.use(product_is_monotone(o.value(2), d, x));
  o.goal("x < s_1", x < s_1);
  o.check();
}

TEST(theorem_4_8, powers_do_not_fall) {
  Obligation o("4.8", "5^x <= 5^y for x <= y (step: y + 1)");
  z3::func_decl power = o.function("power", {o.z().int_sort()}, o.z().int_sort());
  const expr x = o.natural("x"), y = o.natural("y");
  o.unbounded("x, y");
  o.premise("5^x <= 5^y (hypothesis)", power(x) <= power(y));
  o.premise("5^y >= 1 (hypothesis)", power(y) >= 1);
  o.premise("5^(y+1) = 5 5^y", power(y + 1) == 5 * power(y));
  o.goal("5^x <= 5^(y+1)", power(x) <= power(y + 1));
  o.goal("5^(y+1) >= 1", power(y + 1) >= 1);
  o.check();
}

TEST(theorem_4_8, the_measure_falls) {
  Obligation o("4.8",
               "a state of size s gives way to r <= 4 smaller ones: the sum of 5^size falls");
  z3::func_decl power = o.function("power", {o.z().int_sort()}, o.z().int_sort());
  const expr s = o.size("s"), r = o.natural("r"), others = o.natural("others");
  o.unbounded("length of the sequence, where the rule is applied, sizes");
  for (const std::string longest : {"DPAPG", "PAPGG", "DDPAP"}) ASSERT_LE(longest.size() - 1, 4U);
  o.premise("5^s = 5 5^(s-1)", power(s) == 5 * power(s - 1));
  o.premise("5^(s-1) >= 1", power(s - 1) >= 1);
  o.premise("r <= 4", r <= 4);
  expr smaller = o.z().bool_val(true), monotone = o.z().bool_val(true), after = others;
  for (int at = 0; at < 5; ++at) {  // one more than there may be
    const expr x = o.size("x_" + std::to_string(at));
    smaller = smaller && x < s;
    monotone = monotone && z3::implies(x <= s - 1, power(x) <= power(s - 1));
    after = after + z3::ite(r > at, power(x), o.value(0));
  }
  o.premise("each new state is smaller than s (4.6, 4.7)", smaller);
  o.premise("5^x <= 5^(s-1) for x <= s - 1", monotone);
  o.goal("the sum falls", after < others + power(s));
  o.check();
}

TEST(theorem_4_8, what_no_rule_applies_to_is_a_normal_form) {
  Obligation o("4.8", "a sequence without GD, GF, FD is D* F* G* (step: one more letter)");
  // 0 = D, 1 = F, 2 = G. A prefix in normal form that ends in a is followed by b.
  const expr a = o.digit("a", o.value(3)), b = o.digit("b", o.value(3));
  const expr first = o.digit("first", o.value(3));
  o.unbounded("length of the sequence");
  o.bookkeeping();
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
  o.premise("Fig. 8: what a letter does to the size",
            z3::implies(letter == 0, size == n * next) && z3::implies(letter == 1, size == next) &&
                z3::implies(letter == 2, next == n * size));
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
