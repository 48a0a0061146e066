/// Theorem 6.4, Lemma 6.6, Theorem 6.7 and (8) on every short low-level sequence between the base
/// offset maps of types, and on the easy one from every type to every other.
#include <gtest/gtest.h>

#include "spec/sec4_easy.h"
#include "spec/sec6_lowering.h"
#include "walks.h"

namespace spec {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t most_types = 106, types_for_three_steps = 31;  // every space
#else
constexpr std::size_t most_types = 34, types_for_three_steps = 13;
#endif

Size cost_of(const TileMap& f, const std::vector<PhysicalStep>& p) {
  return cost(ops(p), localsizes(physical_sequence(f, p).value())).value();
}
Size cost_of(const TileMap& f, const std::vector<WeakCollective>& p) {
  const auto c = weak_sequence(static_cast<Size>(f.t.size()), f.g, f.c, p).value();
  return cost(ops(p), localsizes(c)).value();
}

/// Lemma 6.6: s_w leads from the class of f_1 to that of f_2 and costs no more than s.
bool is_lifting(const TileMap& f_1, const TileMap& f_2, const std::vector<PhysicalStep>& s,
                const std::vector<WeakCollective>& s_w) {
  const auto c = weak_sequence(static_cast<Size>(f_1.t.size()), f_1.g, f_1.c, s_w);
  return c && c->back() == f_2.c && cost_of(f_1, s_w) <= cost_of(f_1, s);
}

/// Theorem 6.4: s has the labels and localtypes of s_w, and so its cost.
bool is_lowering(const TileMap& f_1, const std::vector<WeakCollective>& s_w,
                 const std::optional<std::vector<PhysicalStep>>& s) {
  const auto f = s ? physical_sequence(f_1, *s) : std::nullopt;
  if (!f || ops(*s) != ops(s_w)) return false;
  const auto c = weak_sequence(static_cast<Size>(f_1.t.size()), f_1.g, f_1.c, s_w).value();
  for (Index k = 0; k < c.size(); ++k) {
    if ((*f)[k].c != c[k]) return false;
  }
  return cost_of(f_1, *s) == cost_of(f_1, s_w);
}

/// (8) with the permutation after k steps: from f_1 to f_2, at the cost of s_w and of the
/// permutation, if there is one.
bool is_realisation(const TileMap& f_1, const TileMap& f_2, const std::vector<WeakCollective>& s_w,
                    Index k, const std::optional<std::vector<PhysicalStep>>& s) {
  const auto f = s ? physical_sequence(f_1, *s) : std::nullopt;
  if (!f || f->back() != f_2) return false;
  const bool permute = s->size() > s_w.size();
  if (permute && (*s)[k].p != Op::allpermute) return false;
  return cost_of(f_1, *s) == cost_of(f_1, s_w) + (permute ? size_of((*f)[k].c) : 0);
}

/// Theorem 6.7: from f_1 to f_2 in normal form, but for one allpermute at the end, within (4), for
/// at most localsize(f_2) more than s.
bool is_nearly_optimal(const TileMap& f_1, const TileMap& f_2, const std::vector<PhysicalStep>& s,
                       const std::optional<std::vector<PhysicalStep>>& s_1) {
  const auto f = s_1 ? physical_sequence(f_1, *s_1) : std::nullopt;
  if (!f || f->back() != f_2 || !is_memory_constrained(localsizes(*f))) return false;
  auto labels = ops(*s_1);
  if (!labels.empty() && labels.back() == Op::allpermute) labels.pop_back();
  const bool permutes = std::count(labels.begin(), labels.end(), Op::allpermute) > 0;
  return is_normal_form(labels) && !permutes &&
         cost_of(f_1, *s_1) <= cost_of(f_1, s) + size_of(f_2.c);
}

/// Mutants. A lifting that loses the alltoalls, too.
std::vector<WeakCollective> lifted_without_moves(const std::vector<PhysicalStep>& s) {
  auto out = lifted(s);
  std::erase_if(out, [](const WeakCollective& p) { return p.p == Op::alltoall; });
  return out;
}
/// A lowering whose dynslices number the devices instead of the holders of each tile.
std::optional<std::vector<PhysicalStep>> lowered_by_device(const TileMap& f_1,
                                                           const std::vector<WeakCollective>& s_w) {
  auto out = lowered(f_1, s_w);
  for (PhysicalStep& p : *out) {
    for (Index d = 0; d < p.e.size(); ++d)
      p.e[d] = static_cast<Size>(d) * p.n / static_cast<Size>(p.e.size());
  }
  return out;
}
/// (8) without its permutation.
std::optional<std::vector<PhysicalStep>> without_permutes(std::vector<PhysicalStep> s) {
  std::erase_if(s, [](const PhysicalStep& p) { return p.p == Op::allpermute; });
  return s;
}

/// Sequences by mesh and rank; by mesh the placements of the permutation of (8), and how often each
/// mutant fails.
struct Seen {
  Counts sequences, placements, lifting_fails, lowering_fails, realisation_fails, itself_fails;
};
void see(const Space& space, const TileMap& f_1, const std::vector<PhysicalStep>& s,
         const TileMap& f_2, Seen& seen) {
  const std::string text = to_text(space.H);
  ++seen.sequences[mesh_and_rank(space)];
  const auto s_w = lifted(s);
  ASSERT_TRUE(is_lifting(f_1, f_2, s, s_w)) << text;              // 6.6
  ASSERT_TRUE(is_lowering(f_1, s_w, lowered(f_1, s_w))) << text;  // 6.4
  const auto s_1 = nearly_optimal(f_1, f_2, s);
  ASSERT_TRUE(is_nearly_optimal(f_1, f_2, s, s_1)) << text;  // 6.7
  const auto nf = lifted(*s_1);
  for (Index k = 0; k <= nf.size(); ++k) {
    const auto s_k = realised(f_1, f_2, nf, k);
    ASSERT_TRUE(is_realisation(f_1, f_2, nf, k, s_k)) << text;  // (8)
    ++seen.placements[text];
    const bool holds = is_realisation(f_1, f_2, nf, k, without_permutes(*s_k));
    seen.realisation_fails[text] += holds ? 0U : 1U;
  }
  seen.lifting_fails[text] += is_lifting(f_1, f_2, s, lifted_without_moves(s)) ? 0U : 1U;
  seen.lowering_fails[text] += is_lowering(f_1, s_w, lowered_by_device(f_1, s_w)) ? 0U : 1U;
  seen.itself_fails[text] += is_nearly_optimal(f_1, f_2, s, s) ? 0U : 1U;
}
void expect(const Seen& seen, std::size_t least) {
  expect_on_each("low-level sequences", seen.sequences, 18, 20);
  expect_on_each("placements of the permutation", seen.placements, 6, least);
  expect_on_each("the lowering by the number of the device fails", seen.lowering_fails, 6, 50);
  expect_on_each("(8) without its permutation fails", seen.realisation_fails, 6, 50);
  expect_on_each("what is to be rewritten is no solution itself", seen.itself_fails, 6, 50);
}

/// From the easy redistribution (2) between all types.
TEST(Theorem_6_7, from_every_type_to_every_other_there_is_a_nearly_optimal_sequence) {
  Seen seen;
  for (const Space& space : with_types(prime_spaces(3), most_types)) {
    const auto& [H, g] = space;
    const auto types = all_types(H, g);
    std::map<std::vector<Names>, TileMap> map_of;
    for (const Type& tau : types) map_of[axis_lists(tau)] = tiles(H, tau);
    for (const Type& tau_1 : types) {
      for (const Type& tau_2 : types) {
        std::vector<PhysicalStep> s;
        const auto p = easy_redistribution(H, tau_1, tau_2).value();
        const auto sigma = sequence(H, tau_1, p)->sigma;
        for (Index k = 0; k < p.size(); ++k) {
          const TileMap &f = map_of.at(axis_lists(sigma[k])),
                        &f_1 = map_of.at(axis_lists(sigma[k + 1]));
          s.push_back(low_level(H, p[k], f, f_1));
        }
        see(space, map_of.at(axis_lists(tau_1)), s, map_of.at(axis_lists(tau_2)), seen);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect(seen, 1000);
}

/// Every sequence of two steps, permutations included; of three where there are not too many types.
TEST(Theorem_6_7, every_short_sequence_has_a_nearly_optimal_one) {
  Seen seen;
  for (const Space& space : with_types(prime_spaces(3), most_types)) {
    const auto steps = low_level_steps(space);
    const Index length = steps.states.size() <= types_for_three_steps ? 3 : 2;
    for_each_walk(steps, length, [&](const auto& f_1, const auto& s, const auto& f_2) {
      if (!HasFatalFailure()) see(space, f_1, s, f_2, seen);
    });
    if (HasFatalFailure()) return;
  }
  expect(seen, 1000);
  expect_on_each("the lifting without alltoalls fails", seen.lifting_fails, 6, 50);
}

}  // namespace
}  // namespace spec
