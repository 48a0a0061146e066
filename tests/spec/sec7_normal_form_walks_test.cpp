/// Theorem 4.8 over several axes on every short sequence, and from every type to every other.
#include <gtest/gtest.h>

#include "spec/sec7_normal_form.h"
#include "walks.h"

namespace spec {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t most_types = 106, types_for_three_steps = 31;  // every space
#else
constexpr std::size_t most_types = 34, types_for_three_steps = 11;
#endif

/// What is wrong with the normal form of τ_1 -p-> τ_2; empty when nothing is.
std::string flaw(const Mesh& H, const Type& tau_1, const std::vector<MultiCollective>& p,
                 const Type& tau_2, const MultiLemma& lemma) {
  std::vector<MultiCollective> nf = p;
  try {
    const auto r = normalize(H, tau_1, p, first, lemma);
    if (!r) return "not well-typed";
    if (!r->rewrites.empty()) nf = r->rewrites.back().p;
  } catch (const std::logic_error& error) {
    return error.what();
  }
  const auto s = sequence(H, tau_1, nf);
  if (!s || s->sigma.back() != tau_2) return "another end";
  if (!is_normal_form(s->p)) return "not a normal form";
  if (!is_memory_constrained(*s)) return "above the bound";
  return "";
}

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

/// Sequences by mesh and rank; by mesh those that are no normal forms, and those on which each
/// mutant fails.
struct Seen {
  Counts sequences, rewritten, commuting_fails, without_permutes_fails;
};
void see(const Space& space, const Type& tau_1, const std::vector<MultiCollective>& p,
         const Type& tau_2, Seen& seen) {
  const std::string text = to_text(space.H);
  ++seen.sequences[mesh_and_rank(space)];
  if (redexes(labels(p)).empty()) return;
  ++seen.rewritten[text];
  ASSERT_EQ(flaw(space.H, tau_1, p, tau_2, multi_lemma_4), "") << text << " " << to_text(tau_1);
  if (space.g.size() > 2) return;
  const auto fails = [&](const MultiLemma& lemma) {
    return flaw(space.H, tau_1, p, tau_2, lemma) != "" ? 1U : 0U;
  };
  seen.commuting_fails[text] += fails(commuting);
  seen.without_permutes_fails[text] += fails(without_permutes);
}
void expect(const Seen& seen, std::size_t least) {
  expect_on_each("sequences over lists of axes", seen.sequences, 18, 30);
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

TEST(Theorem_4_8_over_several_axes, from_every_type_to_every_other_there_is_a_normal_form) {
  Seen seen;
  for (const Space& space : with_types(prime_spaces(3), most_types)) {
    const auto types = all_types(space.H, space.g);
    for (const Type& tau_1 : types) {
      for (const Type& tau_2 : types) {
        see(space, tau_1, easy(tau_1, tau_2), tau_2, seen);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect(seen, 1000);
}

/// Every sequence of two steps, allpermutes included; of three where there are not too many types.
TEST(Theorem_4_8_over_several_axes, every_short_sequence_has_a_normal_form) {
  Seen seen;
  for (const Space& space : with_types(prime_spaces(3), most_types)) {
    const auto steps = multi_steps(space);
    const Index length = steps.states.size() <= types_for_three_steps ? 3 : 2;
    for_each_walk(steps, length, [&](const auto& tau_1, const auto& p, const auto& tau_2) {
      if (!HasFatalFailure()) see(space, tau_1, p, tau_2, seen);
    });
    if (HasFatalFailure()) return;
  }
  expect(seen, 500);
}

}  // namespace
}  // namespace spec
