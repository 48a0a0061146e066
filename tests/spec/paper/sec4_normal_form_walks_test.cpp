/// Theorem 4.8 on short sequences, exhaustively over small spaces and on every k-th over the
/// others, and from every type to every other.
#include <gtest/gtest.h>

#include "spec/paper/sec4_easy.h"
#include "spec/paper/sec4_normal_form.h"
#include "walks.h"

namespace spec::sec4_normal_form_walks_test {
namespace {

Index last(const std::vector<Index>& redexes) { return redexes.back(); }

/// Lemmas that always commute; and that forget their allpermutes.
std::optional<StrongReplacement> commuting(const Mesh& H, const Type& sigma_0, const Collective& p,
                                           const Collective& q) {
  auto r = lemma_4(H, sigma_0, p, q);
  r->p = {q, p};
  return r;
}
std::optional<StrongReplacement> without_permutes(const Mesh& H, const Type& sigma_0,
                                                  const Collective& p, const Collective& q) {
  auto r = lemma_4(H, sigma_0, p, q);
  std::erase_if(r->p, [](const Collective& a) { return a.p == Op::allpermute; });
  return r;
}

/// How much was seen; by mesh the sequences, those that are no normal forms, and those on which
/// each mutant fails.
struct Seen {
  Coverage rows;
  Counts sequences, rewritten, commuting_fails, without_permutes_fails;
};
void see(const Space& space, const Type& tau_1, const std::vector<Collective>& p, const Type& tau_2,
         const Choose& choose, bool mutants, Seen& seen) {
  const Mesh& H = space.H;
  const std::string text = to_text(H);
  ++seen.sequences[text];
  if (redexes(labels(p)).empty()) return;
  ++seen.rewritten[text];
  ASSERT_EQ(normal_form_flaw(H, tau_1, p, tau_2, choose, lemma_4), "")
      << text << " " << to_text(tau_1);
  if (!mutants) return;
  const auto fails = [&](const StrongLemma& lemma) {
    return normal_form_flaw(H, tau_1, p, tau_2, choose, lemma) != "" ? 1U : 0U;
  };
  seen.commuting_fails[text] += fails(commuting);
  seen.without_permutes_fails[text] += fails(without_permutes);
}
void expect(const Seen& seen, Size least_of_row, std::size_t least) {
  expect_rows("sequences", seen.rows, least_of_row, sum(seen.sequences));
  expect_on_each("not in normal form", seen.rewritten, 6, least);
  expect_on_each("the mutant that always commutes fails", seen.commuting_fails, 6, 10);
  expect_on_each("the mutant without allpermutes fails", seen.without_permutes_fails, 6, 10);
}

/// From the easy redistribution (2) between all types.
TEST(Theorem_4_8, from_every_type_to_every_other_there_is_a_normal_form) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const bool mutants = all_types(space.H, space.g).size() < 20;
    for_each_pair_of_types(space, {106, 106 * 106}, seen.rows,
                           [&](const Type& tau_1, const Type& tau_2) {
                             if (HasFatalFailure()) return;
                             const auto p = easy_redistribution(space.H, tau_1, tau_2).value();
                             see(space, tau_1, p, tau_2, first, mutants, seen);
                           });
    if (HasFatalFailure()) return;
    ASSERT_EQ(seen.rows.at(row_of(space)).largest_k, 1);
  }
  expect(seen, 3, 2500);
}

/// Sequences of up to three steps, whether the first redex is rewritten or the last.
TEST(Theorem_4_8, three_steps_exhaustively_up_to_20_types_and_every_kth_beyond) {
  for (const Choose& choose : {Choose(first), Choose(last)}) {
    Seen seen;
    for (const Space& space : prime_spaces(3)) {
      const Bound bound = {3, ordinary_or_slow<Index>(20, 106), 1000};
      for_each_walk(space, strong_steps(space), bound, seen.rows,
                    [&](const auto& tau_1, const auto& p, const auto& tau_2) {
                      if (HasFatalFailure()) return;
                      see(space, tau_1, p, tau_2, choose, space.g.size() < 3, seen);
                    });
      if (HasFatalFailure()) return;
    }
    expect(seen, 3, 10000);
  }
}

}  // namespace
}  // namespace spec::sec4_normal_form_walks_test
