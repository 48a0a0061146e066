/// Theorem 4.8 over several axes on short sequences, and from types to types: exhaustively over
/// small spaces, on every k-th over the others.
#include <gtest/gtest.h>

#include "spec/paper/sec7_normal_form.h"
#include "walks.h"

namespace spec::sec7_normal_form_walks_test {
namespace {

/// Lemmas that always commute; and that forget their allpermutes.
std::optional<MultiReplacement> commuting(const Mesh& H, const Type& sigma_0,
                                          const MultiCollective& p, const MultiCollective& q) {
  auto r = multi_lemma_4(H, sigma_0, p, q);
  r->p = {q, p};
  return r;
}
std::optional<MultiReplacement> without_permutes(const Mesh& H, const Type& sigma_0,
                                                 const MultiCollective& p,
                                                 const MultiCollective& q) {
  auto r = multi_lemma_4(H, sigma_0, p, q);
  std::erase_if(r->p, [](const MultiCollective& a) { return a.p == Op::allpermute; });
  return r;
}

/// How much was seen; by mesh the sequences, those that are no normal forms, and those on which
/// each mutant fails.
struct Seen {
  Coverage rows;
  Counts sequences, rewritten, commuting_fails, without_permutes_fails;
};
void see(const Space& space, const Type& tau_1, const std::vector<MultiCollective>& p,
         const Type& tau_2, Seen& seen) {
  const std::string text = to_text(space.H);
  ++seen.sequences[text];
  if (redexes(labels(p)).empty()) return;
  ++seen.rewritten[text];
  ASSERT_EQ(normal_form_flaw(space.H, tau_1, p, tau_2, first, multi_lemma_4), "")
      << text << " " << to_text(tau_1);
  if (space.g.size() > 2) return;
  const auto fails = [&](const MultiLemma& lemma) {
    return normal_form_flaw(space.H, tau_1, p, tau_2, first, lemma) != "" ? 1U : 0U;
  };
  seen.commuting_fails[text] += fails(commuting);
  seen.without_permutes_fails[text] += fails(without_permutes);
}
void expect(const Seen& seen, Size least_of_row, std::size_t least) {
  expect_rows("sequences over lists of axes", seen.rows, least_of_row, sum(seen.sequences));
  expect_on_each("not in normal form", seen.rewritten, 6, least);
  expect_on_each("the mutant that always commutes fails", seen.commuting_fails, 6, 10);
  expect_on_each("the mutant without allpermutes fails", seen.without_permutes_fails, 6, 10);
}

/// (2), whole dimensions at once.
std::vector<MultiCollective> easy(const Type& tau_1, const Type& tau_2) {
  std::vector<MultiCollective> out;
  for (Index i = 0; i < rank(tau_1); ++i) {
    if (!tau_1[i].xs.empty()) out.push_back({Op::allgather, i, 0, tau_1[i].xs, {}});
  }
  for (Index i = 0; i < rank(tau_2); ++i) {
    if (!tau_2[i].xs.empty()) out.push_back({Op::dynslice, i, 0, tau_2[i].xs, {}});
  }
  return out;
}

TEST(Theorem_4_8_over_several_axes,
     from_types_to_types_exhaustively_up_to_34_types_and_every_kth_beyond) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const PairBound bound = {ordinary_or_slow<Index>(34, 106), 1000};
    for_each_pair_of_types(space, bound, seen.rows, [&](const Type& tau_1, const Type& tau_2) {
      if (!HasFatalFailure()) see(space, tau_1, easy(tau_1, tau_2), tau_2, seen);
    });
    if (HasFatalFailure()) return;
  }
  expect(seen, 3, 1000);
}

/// Sequences of up to three steps, allpermutes included.
TEST(Theorem_4_8_over_several_axes, three_steps_exhaustively_up_to_11_types_and_every_kth_beyond) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const Bound bound = {3, ordinary_or_slow<Index>(11, 106), 1000};
    for_each_walk(space, multi_steps(space), bound, seen.rows,
                  [&](const auto& tau_1, const auto& p, const auto& tau_2) {
                    if (!HasFatalFailure()) see(space, tau_1, p, tau_2, seen);
                  });
    if (HasFatalFailure()) return;
  }
  expect(seen, 3, 500);
}

}  // namespace
}  // namespace spec::sec7_normal_form_walks_test
