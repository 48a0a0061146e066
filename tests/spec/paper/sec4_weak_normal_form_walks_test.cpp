/// Theorem 4.8 for ▶ and Lemma 6.5 on short sequences, exhaustively over small spaces and on every
/// k-th over the others, and from every class to every other.
#include <gtest/gtest.h>

#include "spec/paper/sec4_weak_normal_form.h"
#include "walks.h"

namespace spec::sec4_weak_normal_form_walks_test {
namespace {

Size cost_of(const std::vector<WeakCollective>& p, const std::vector<Sizes>& c) {
  return cost(ops(p), localsizes(c)).value();
}

/// What is wrong with the normal form of c_1 ▶p c_2; empty when nothing is. Lemma 6.5, strictly:
/// no rewriting makes p dearer, and all together pay for a permutation in the valley.
std::string flaw(Size delta, const Sizes& g, const Sizes& c_1, const std::vector<WeakCollective>& p,
                 const Sizes& c_2, const WeakLemma& lemma) {
  Rewriting<WeakCollective> r;
  try {
    const auto rewriting = normalize(delta, g, c_1, p, first, lemma);
    if (!rewriting) return "not well-typed";
    r = *rewriting;
  } catch (const std::logic_error& error) {
    return error.what();
  }
  const Size cost_p = cost_of(p, weak_sequence(delta, g, c_1, p).value());
  Size price = cost_p;
  for (const auto& rewrite : r.rewrites) {
    const auto c = weak_sequence(delta, g, c_1, rewrite.p);
    if (!c) return "a rule does not apply";
    if (cost_of(rewrite.p, *c) > price) return "dearer";
    price = cost_of(rewrite.p, *c);
  }
  const auto& nf = r.rewrites.empty() ? p : r.rewrites.back().p;
  const auto c = weak_sequence(delta, g, c_1, nf).value();
  if (c.back() != c_2) return "another end";
  if (!is_normal_form(ops(nf))) return "not a normal form";
  if (!is_memory_constrained(localsizes(c))) return "above the bound";
  if (!r.rewrites.empty() && price + valley(localsizes(c)) > cost_p) return "no room for P";
  return "";
}

/// Lemmas that always commute; and that go from a peak that ends where it began to another
/// dimension and back, twice.
std::optional<WeakReplacement> commuting(Size delta, const Sizes& g, const Sizes& c_0,
                                         const WeakCollective& p, const WeakCollective& q) {
  auto r = weak_lemma_4(delta, g, c_0, p, q);
  r->p = {q, p};
  return r;
}
std::optional<WeakReplacement> with_detours(Size delta, const Sizes& g, const Sizes& c_0,
                                            const WeakCollective& p, const WeakCollective& q) {
  auto r = weak_lemma_4(delta, g, c_0, p, q);
  for (Index k = 0; k < g.size() && r->p.empty(); ++k) {
    const WeakCollective there = {Op::alltoall, p.i, k, p.n};
    if (weak_step(delta, g, there, c_0)) r->p = {there, reversed(there), there, reversed(there)};
  }
  return r;
}

/// How much was seen; by mesh the sequences, those that are no normal forms, and those on which
/// each mutant fails.
struct Seen {
  Coverage rows;
  Counts sequences, rewritten, commuting_fails, detours_fail;
};
void see(const Space& space, const Sizes& c_1, const std::vector<WeakCollective>& p,
         const Sizes& c_2, bool mutants, Seen& seen) {
  const auto& [H, g] = space;
  const Size delta = device_count(H).value();
  const std::string text = to_text(H);
  ++seen.sequences[text];
  if (redexes(labels(p)).empty()) return;
  ++seen.rewritten[text];
  ASSERT_EQ(flaw(delta, g, c_1, p, c_2, weak_lemma_4), "") << text;
  if (!mutants) return;
  seen.commuting_fails[text] += flaw(delta, g, c_1, p, c_2, commuting) != "" ? 1U : 0U;
  const std::string dearer = flaw(delta, g, c_1, p, c_2, with_detours);
  seen.detours_fail[text] += dearer == "dearer" || dearer == "no room for P" ? 1U : 0U;
}
void expect(const Seen& seen, Size least_of_row, std::size_t least) {
  expect_rows("weak sequences", seen.rows, least_of_row, sum(seen.sequences));
  expect_on_each("not in normal form", seen.rewritten, 6, least);
  expect_on_each("the mutant that always commutes fails", seen.commuting_fails, 6, 10);
  expect_on_each("the mutant with detours is dearer", seen.detours_fail, 6, 10);
}

/// c_1 ▶allgather ... ▶dynslice ... c_2 as in (2): whole dimensions at once, or prime by prime.
std::vector<WeakCollective> easy(const Sizes& g, const Sizes& c_1, const Sizes& c_2,
                                 bool one_axis) {
  std::vector<WeakCollective> out;
  for (const Op op : {Op::allgather, Op::dynslice}) {
    for (Index i = 0; i < g.size(); ++i) {
      const Size N_i = g[i] / (op == Op::allgather ? c_1 : c_2)[i];
      for (const Size n : one_axis ? prime_factors(N_i) : Sizes{N_i}) {
        if (n > 1) out.push_back({op, i, 0, n});
      }
    }
  }
  return out;
}

TEST(Theorem_4_8_weak, from_every_class_to_every_other_there_is_a_normal_form_no_dearer) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const auto classes = all_localtypes(device_count(space.H).value(), space.g);
    note(seen.rows, space, static_cast<Size>(2 * classes.size() * classes.size()), 1);
    for (const Sizes& c_1 : classes) {
      for (const Sizes& c_2 : classes) {
        for (const bool one_axis : {true, false}) {
          see(space, c_1, easy(space.g, c_1, c_2, one_axis), c_2, true, seen);
        }
        if (HasFatalFailure()) return;
      }
    }
  }
  expect(seen, 3, 1000);
}

/// Sequences of up to three steps of any factors.
TEST(Lemma_6_5, three_steps_exhaustively_up_to_20_types_and_every_kth_beyond) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const Bound bound = {3, ordinary_or_slow<Index>(20, 106), 2000};
    for_each_walk(space, weak_steps(space, false), bound, seen.rows,
                  [&](const auto& c_1, const auto& p, const auto& c_2) {
                    if (!HasFatalFailure()) see(space, c_1, p, c_2, space.g.size() < 3, seen);
                  });
    if (HasFatalFailure()) return;
  }
  expect(seen, 3, 10000);
}

}  // namespace
}  // namespace spec::sec4_weak_normal_form_walks_test
