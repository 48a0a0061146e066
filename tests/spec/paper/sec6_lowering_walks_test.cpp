/// Theorem 6.4, Lemma 6.6, Theorem 6.7 and (8) on short sequences of ⇒ between tile maps, and on
/// the easy one from types to types: exhaustively over small spaces, on every k-th over the others.
#include <gtest/gtest.h>

#include "spec/paper/sec4_easy.h"
#include "spec/paper/sec6_lowering.h"
#include "walks.h"

namespace spec::sec6_lowering_walks_test {
namespace {

Size cost_of(const TileMap& f, const std::vector<PhysicalStep>& p) {
  return cost(ops(p), localsizes(physical_sequence(f, p).value())).value();
}
Size cost_of(const TileMap& f, const std::vector<WeakCollective>& p) {
  const auto c = weak_sequence(static_cast<Size>(f.t.size()), f.g, f.c, p).value();
  return cost(ops(p), localsizes(c)).value();
}

/// Lemma 6.6: the q_i are precisely those p_j that are not allpermute; s_w leads from the class of
/// f_1 to that of f_2 and costs no more than s.
bool is_lifting(const TileMap& f_1, const TileMap& f_2, std::vector<PhysicalStep> s,
                const std::vector<WeakCollective>& s_w) {
  const Size cost_s = cost_of(f_1, s);
  std::erase_if(s, [](const PhysicalStep& p) { return p.p == Op::allpermute; });
  const auto same = [](const PhysicalStep& p, const WeakCollective& q) {
    return p.p == q.p && p.i == q.i && p.j == q.j && p.n == q.n;
  };
  if (!std::equal(s.begin(), s.end(), s_w.begin(), s_w.end(), same)) return false;
  const auto c = weak_sequence(static_cast<Size>(f_1.t.size()), f_1.g, f_1.c, s_w);
  return c && c->back() == f_2.c && cost_of(f_1, s_w) <= cost_s;
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
/// One that cancels or merges neighbours, and is never dearer.
std::vector<WeakCollective> lifted_and_merged(const std::vector<PhysicalStep>& s) {
  std::vector<WeakCollective> out;
  for (const WeakCollective& q : lifted(s)) {
    const bool behind = !out.empty() && out.back().i == q.i && out.back().n == q.n;
    if (behind && out.back().p == Op::dynslice && q.p == Op::allgather) {
      out.pop_back();
    } else if (behind && out.back().p == q.p && out.back().j == q.j) {
      out.back().n *= q.n;
    } else {
      out.push_back(q);
    }
  }
  return out;
}
/// A lowering whose dynslices take the coordinates of axes for digits, as Fig. 10 does. It fails
/// only where the tile map is semantic no longer.
std::optional<std::vector<PhysicalStep>> lowered_by_axes(const Mesh& H, TileMap f,
                                                         const std::vector<WeakCollective>& s_w) {
  std::vector<PhysicalStep> out;
  for (const WeakCollective& q : s_w) {
    PhysicalStep p = lowered(f, q);
    if (p.p == Op::dynslice) p.e.clear();
    for (const Names& x : lists_of_axes(H, false)) {
      if (p.p != Op::dynslice || !p.e.empty() || lookup(H, x) != p.n) continue;
      for (const Sizes& t : tiles_of(H, {{1, x, p.n}}).t) p.e.push_back(t[0]);
      if (!apply(p, f)) p.e.clear();
    }
    const auto next = apply(p, f);
    if (!next) return std::nullopt;
    out.push_back(p);
    f = *next;
  }
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

/// How much was seen; by mesh the sequences, the placements of the permutation of (8), and how
/// often each mutant fails.
struct Seen {
  Coverage rows;
  Counts sequences, placements, lifting_fails, merging_fails, lowering_fails, axes_fail,
      realisation_fails, itself_fails;
};
void see(const Space& space, const TileMap& f_1, const std::vector<PhysicalStep>& s,
         const TileMap& f_2, Seen& seen) {
  const std::string text = to_text(space.H);
  ++seen.sequences[text];
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
  const auto fails = [](bool holds) { return holds ? 0U : 1U; };
  seen.lifting_fails[text] += fails(is_lifting(f_1, f_2, s, lifted_without_moves(s)));
  seen.merging_fails[text] += fails(is_lifting(f_1, f_2, s, lifted_and_merged(s)));
  seen.lowering_fails[text] += fails(is_lowering(f_1, s_w, lowered_by_device(f_1, s_w)));
  const auto by_axes = lowered_by_axes(space.H, f_1, s_w);
  if (!is_lowering(f_1, s_w, by_axes)) ++seen.axes_fail[text];
  seen.itself_fails[text] += fails(is_nearly_optimal(f_1, f_2, s, s));
}
void expect(const char* what, const Seen& seen, Size least_of_row, std::size_t least) {
  expect_rows(what, seen.rows, least_of_row, sum(seen.sequences));
  expect_on_each(what, seen.sequences, 6, least);
  expect_on_each("placements of the permutation", seen.placements, 6, least);
  expect_on_each("the lowering by the number of the device fails", seen.lowering_fails, 6, 50);
  expect_on_each("(8) without its permutation fails", seen.realisation_fails, 6, 50);
}

/// From the easy redistribution (2). Here every tile map is semantic, every axis in front, and so
/// the lowering by coordinates never fails.
TEST(Theorem_6_7, easy_redistributions_exhaustively_up_to_34_types_and_every_kth_beyond) {
  Seen seen;
  for (const Space& space : prime_spaces(3)) {
    const Mesh& H = space.H;
    std::map<std::vector<Names>, TileMap> map_of;
    for (const Type& tau : all_types(H, space.g)) map_of[axis_lists(tau)] = tiles_of(H, tau);
    const PairBound bound = {ordinary_or_slow<Index>(34, 106), 100};
    for_each_pair_of_types(space, bound, seen.rows, [&](const Type& tau_1, const Type& tau_2) {
      if (HasFatalFailure()) return;
      std::vector<PhysicalStep> s;
      const auto p = easy_redistribution(H, tau_1, tau_2).value();
      const auto sigma = sequence(H, tau_1, p)->sigma;
      for (Index k = 0; k < p.size(); ++k) {
        const TileMap &f = map_of.at(axis_lists(sigma[k])),
                      &f_1 = map_of.at(axis_lists(sigma[k + 1]));
        s.push_back(low_level(H, p[k], f, f_1));
      }
      see(space, map_of.at(axis_lists(tau_1)), s, map_of.at(axis_lists(tau_2)), seen);
    });
    if (HasFatalFailure()) return;
  }
  expect("easy low-level sequences", seen, 3, 1000);
  expect_on_each("what is to be rewritten is no solution itself", seen.itself_fails, 6, 50);
  EXPECT_EQ(sum(seen.axes_fail), 0U);
}

/// Sequences of ⇒ on tile maps: allgathers and alltoalls of every factor of any number of axes,
/// wherever they stand; for dynslices and allpermutes, and for where the sequences begin, see
/// `LowLevelBound`. The lowering by coordinates fails here, because of sequences that begin at, or
/// lead to, tile maps of no type; over 2x2 some axes suit every tile map.
void see_low_level_walks(const char* what, const Bound& bound, Seen& seen) {
  for (const Space& space : prime_spaces(3)) {
    for_each_walk(space, LowLevel(space, LowLevelBound()), bound, seen.rows,
                  [&](const auto& f_1, const auto& s, const auto& f_2) {
                    if (!::testing::Test::HasFatalFailure()) see(space, f_1, s, f_2, seen);
                  });
    if (::testing::Test::HasFatalFailure()) return;
  }
  expect(what, seen, 70, 2000);
  expect_on_each("the lifting without alltoalls fails", seen.lifting_fails, 6, 50);
  expect_on_each("the lowering by coordinates of axes fails", seen.axes_fail, 5, 50);
}
TEST(Theorem_6_7, single_steps_of_tile_maps_exhaustively_up_to_400_and_every_kth_beyond) {
  Seen seen;
  const Bound bound = {1, 0, ordinary_or_slow<Size>(400, 100000)};
  see_low_level_walks("single low-level steps", bound, seen);
  EXPECT_EQ(sum(seen.merging_fails), 0U);  // one step has no neighbour,
  EXPECT_EQ(sum(seen.itself_fails), 0U);   // and is in normal form
}
TEST(Theorem_6_7, every_kth_sequence_of_up_to_three_steps_of_tile_maps) {
  Seen seen;
  see_low_level_walks("low-level sequences", {3, 0, ordinary_or_slow<Size>(250, 4000)}, seen);
  expect_on_each("what is to be rewritten is no solution itself", seen.itself_fails, 6, 50);
  expect_on_each("the lifting that merges fails", seen.merging_fails, 6, 50);
}

}  // namespace
}  // namespace spec::sec6_lowering_walks_test
