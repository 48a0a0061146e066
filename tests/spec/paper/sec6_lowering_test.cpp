#include "spec/paper/sec6_lowering.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "normal_form_search.h"
#include "tests/spec/values.h"
#include "walks.h"

namespace spec::sec6_lowering_test {
namespace {

Size devices(const Space& space) { return device_count(space.H).value(); }

/// For each device, the tiles before and after a step, in no order of the devices: the same pairs
/// as for some t -p-> t' means f = T⟦t⟧ ∘ φ⁻¹ and f' = T⟦t'⟧ ∘ φ⁻¹ for some φ.
using Pairs = std::vector<std::pair<Sizes, Sizes>>;
Pairs pairs_of(const TileMap& f, const TileMap& f_1) {
  Pairs out;
  for (Index d = 0; d < f.t.size(); ++d) out.push_back({f.t[d], f_1.t[d]});
  std::sort(out.begin(), out.end());
  return out;
}

/// What every strong step of a mesh and globaltype, over several axes, does to tiles.
using Arrow = std::tuple<Sizes, Op, Index, Index, Size>;
std::map<Arrow, std::set<Pairs>> strong_pairs(const Mesh& H, const Sizes& g) {
  std::map<Arrow, std::set<Pairs>> out;
  for (const Type& tau : all_types(H, g)) {
    const TileMap f = tiles_of(H, tau);
    for (const MultiCollective& p : steps_from(H, tau, false, {})) {
      const Arrow arrow = {f.c, p.p, p.i, p.j, lookup(H, p.x).value()};
      out[arrow].insert(pairs_of(f, tiles_of(H, *apply(H, p, tau))));
    }
  }
  return out;
}

/// Every weak step, from every tile map of the classes that have at most 800 of them in rank 3 and
/// 2600 below; of the other classes from every T⟦τ⟧ and from 20 tile maps at random. What results
/// is what some strong step does. All tile maps of a class are one, up to the names of the devices.
/// The mutant takes the device's number as digit.
TEST(Lemma_6_3, every_weak_step_lowers_from_every_tile_map) {
  Counts steps, whole_classes, maps, caught;
  std::mt19937 random(63);
  for (const Space& space : prime_spaces(3)) {
    const Mesh& H = space.H;
    const Sizes& g = space.g;
    const std::string text = to_text(H);
    const Size delta = devices(space);
    const auto strong = strong_pairs(H, g);
    std::map<Sizes, std::vector<TileMap>> of_types;
    for (const Type& tau : all_types(H, g)) of_types[localtype(tau)].push_back(tiles_of(H, tau));
    for (const Sizes& c : all_localtypes(delta, g)) {
      const auto weak = weak_steps(delta, g, c);
      const auto lower = [&](const TileMap& f) {
        ++maps[text];
        for (const WeakCollective& p : weak) {
          PhysicalStep q = lowered(f, p);
          const auto f_1 = apply(q, f);
          ASSERT_TRUE(f_1);
          ASSERT_TRUE(is_balanced(*f_1));
          ASSERT_EQ(f_1->c, weak_step(delta, g, p, c));
          ASSERT_EQ(strong.at({c, p.p, p.i, p.j, p.n}).count(pairs_of(f, *f_1)), 1U);
          ++steps[text];
          for (Index d = 0; d < q.e.size(); ++d) q.e[d] = static_cast<Size>(d) % p.n;
          caught[text] += apply(q, f) ? 0U : 1U;
        }
      };
      TileMap f = some_map(delta, g, c);
      if (maps_of_class(f) <= (g.size() == 3 ? 800 : 2600)) {
        ++whole_classes[text];
        do {
          lower(f);
        } while (std::next_permutation(f.t.begin(), f.t.end()));
      } else {
        for (const TileMap& f_tau : of_types.at(c)) lower(f_tau);
        for (int count = 0; count < 20; ++count) {
          std::shuffle(f.t.begin(), f.t.end(), random);
          lower(f);
        }
      }
      if (HasFatalFailure()) return;
    }
  }
  expect_on_each("classes with all their tile maps", whole_classes, 6, 5);
  expect_on_each("tile maps", maps, 6, 1000);
  expect_on_each("steps lowered", steps, 6, 5000);
  expect_on_each("the mutant fails", caught, 6, 400);
}

/// 6.3 as printed, (a), wants a step from every β of the class. Fig. 10 has steps only from β =
/// T⟦σ⟧: of the 24 base offset maps with the offsets of [1{x,y}4] two are that of a type, and from
/// 22 no rule applies. Counted are maps that are semantic, not steps.
TEST(Lemma_6_3, as_printed_a_needs_a_semantic_type) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[1{x,y}4]");
  BaseOffsetMap beta = base_offset_map(H, tau).value();
  std::sort(beta.begin(), beta.end());
  std::size_t maps = 0, semantic = 0;
  do {
    ++maps;
    for (const Type& sigma : all_types(H, {4})) {
      semantic += base_offset_map(H, sigma) == beta ? 1U : 0U;
    }
  } while (std::next_permutation(beta.begin(), beta.end()));
  EXPECT_EQ(maps, 24U);
  EXPECT_EQ(semantic, 2U);
}

/// 6.3 as printed, (b): the axis of a dynslice may be in use in β though it is free in τ_1.
TEST(Lemma_6_3, as_printed_b_needs_a_free_axis) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau_1 = type(H, "[2{x}4]"), tau_2 = type(H, "[1{y,x}4]"), beta = type(H, "[2{y}4]");
  ASSERT_EQ(t_dynslice(H, 0, "y", tau_1), tau_2);
  ASSERT_TRUE(equivalent(*base_offset_map(H, tau_1), *base_offset_map(H, beta)));
  std::size_t by_y = 0, by_x = 0;
  DeviceMap phi = identity(H);
  do {
    for (const Type& to : all_types(H, {4})) {
      by_y += low_level_dynslice(H, 0, "y", {identity(H), beta}, {phi, to}) ? 1U : 0U;
      by_x += low_level_dynslice(H, 0, "x", {identity(H), beta}, {phi, to}) ? 1U : 0U;
    }
  } while (std::next_permutation(phi.begin(), phi.end()));
  EXPECT_EQ(by_y, 0U);
  EXPECT_EQ(by_x, 1U);
  EXPECT_TRUE(apply(lowered(tiles_of(H, beta), {Op::dynslice, 0, 0, 2}), tiles_of(H, beta)));
}

/// (7) between all types. The mutant takes π the other way round.
TEST(Eq_7, types_of_one_localtype_are_a_permutation_apart) {
  Counts pairs, permutations, caught;
  for (const auto& [H, g] : prime_spaces(3)) {
    const std::string text = to_text(H);
    std::vector<TileMap> maps;
    for (const Type& tau : all_types(H, g)) maps.push_back(tiles_of(H, tau));
    for (const TileMap& f_1 : maps) {
      for (const TileMap& f_2 : maps) {
        ++pairs[text];
        const auto pi = permutation(f_1, f_2);
        ASSERT_EQ(pi.has_value(), f_1.c == f_2.c);
        if (!pi) continue;
        ASSERT_EQ(allpermute(f_1, *pi), f_2);
        ASSERT_EQ(permuted(f_1, f_2)->size(), f_1 == f_2 ? 0U : 1U);
        ++permutations[text];
        if (allpermute(f_2, *pi) != f_1) ++caught[text];
      }
    }
  }
  expect_on_each("pairs", pairs, 6, 1000);
  expect_on_each("of one localtype", permutations, 6, 300);
  expect_on_each("the mutant fails", caught, 4, 50);  // over 2x2 and 3x3 each π is its own inverse
}

struct Walk {
  TileMap f_1, f_2;
  std::vector<PhysicalStep> p;
};

/// From T⟦τ_1⟧ to T⟦τ_2⟧ by up to 12 steps with random digits and permutations.
Walk random_walk(std::mt19937& random, const Space& space, bool one_axis) {
  const auto types = all_types(space.H, space.g);
  const Size delta = devices(space);
  Walk out = {tiles_of(space.H, types[draw(random, types.size())]), {}, {}};
  TileMap f = out.f_1;
  for (Index length = draw(random, 12); length > 0; --length) {
    std::map<Op, std::vector<WeakCollective>> by_label;
    for (const auto& p : weak_steps(delta, space.g, f.c, one_axis)) by_label[p.p].push_back(p);
    const Op op = static_cast<Op>(draw(random, 4));
    PhysicalStep step = {Op::allpermute, 0, 0, 1, {}, identity(space.H)};
    std::shuffle(step.pi.begin(), step.pi.end(), random);
    if (op != Op::allpermute) {
      if (by_label[op].empty()) continue;
      const TileMap moved = allpermute(f, step.pi).value();  // numbers the holders in random order
      const Sizes pi = step.pi;
      step = lowered(moved, by_label[op][draw(random, by_label[op].size())]);
      Sizes e(step.e.size());
      for (Index d = 0; d < e.size(); ++d) e[static_cast<Index>(pi[d])] = step.e[d];
      step.e = e;
    }
    out.p.push_back(step);
    f = apply(step, f).value();
  }
  std::vector<Type> ends;
  for (const Type& tau : types) {
    if (localtype(tau) == f.c) ends.push_back(tau);
  }
  out.f_2 = tiles_of(space.H, ends[draw(random, ends.size())]);
  out.p = joined(out.p, permuted(f, out.f_2).value());
  return out;
}

Size cost_of(const TileMap& f, const std::vector<PhysicalStep>& p) {
  return cost(ops(p), localsizes(physical_sequence(f, p).value())).value();
}

/// Theorem 6.4, Lemma 6.6, (8), Theorem 6.7 and S2 along random sequences of one axis and of
/// several. The mutants of (8): no permutation; the part after it realised forwards, too. That
/// of 6.6 cancels a dynslice with an allgather behind it.
TEST(Theorem_6_7, random_sequences_become_normal_forms_with_one_permutation) {
  const std::size_t walks = 4000;  // of prime factors, and as many of any
  std::mt19937 random(67);
  const auto spaces = prime_spaces(3);
  std::size_t placements = 0, permutes = 0, cheaper = 0, without = 0, forwards = 0, cancelling = 0;
  for (std::size_t walk = 0; walk < 2 * walks; ++walk) {
    const auto [f_1, f_2, s] =
        random_walk(random, spaces[draw(random, spaces.size())], walk < walks);
    const Size delta = static_cast<Size>(f_1.t.size());
    const Size cost_s = cost_of(f_1, s), localsize_2 = size_of(f_2.c);

    const auto s_w = lifted(s);  // 6.6: the steps that are no allpermutes, between the same classes
    const auto c_w = weak_sequence(delta, f_1.g, f_1.c, s_w);
    ASSERT_TRUE(c_w);
    std::vector<Op> others = ops(s);
    std::erase(others, Op::allpermute);
    ASSERT_EQ(ops(s_w), others);
    std::vector<Op> cancelled;  // the mutant: neighbours that undo each other vanish
    for (const Op p : others) {
      const bool undone =
          p == Op::allgather && !cancelled.empty() && cancelled.back() == Op::dynslice;
      undone ? cancelled.pop_back() : cancelled.push_back(p);
    }
    cancelling += cancelled == ops(s_w) ? 0U : 1U;
    ASSERT_EQ(c_w->back(), f_2.c);
    const Size cost_w = cost(ops(s_w), localsizes(*c_w)).value();
    ASSERT_LE(cost_w, cost_s);

    const auto down = lowered(f_1, s_w);  // 6.4: the same labels, classes and cost
    ASSERT_TRUE(down);
    const auto f = physical_sequence(f_1, *down).value();
    ASSERT_EQ(ops(*down), ops(s_w));
    for (Index k = 0; k < f.size(); ++k) ASSERT_EQ(f[k].c, (*c_w)[k]);
    ASSERT_EQ(cost_of(f_1, *down), cost_w);
    without += f.back() == f_2 ? 0U : 1U;

    const auto s_1 = nearly_optimal(f_1, f_2, s);  // 6.7
    ASSERT_TRUE(s_1);
    const auto f_s = physical_sequence(f_1, *s_1);
    ASSERT_TRUE(f_s);
    ASSERT_EQ(f_s->back(), f_2);
    ASSERT_LE(cost_of(f_1, *s_1), cost_s + localsize_2);
    ASSERT_TRUE(is_memory_constrained(localsizes(*f_s)));
    auto labels = ops(*s_1);
    if (!labels.empty() && labels.back() == Op::allpermute) labels.pop_back();
    ASSERT_TRUE(is_normal_form(labels));
    ASSERT_EQ(std::count(labels.begin(), labels.end(), Op::allpermute), 0);
    permutes += labels.size() < s_1->size() ? 1U : 0U;

    const auto nf = lifted(*s_1);  // S2, also for the sequence that is no normal form
    for (const auto& p : {nf, s_w}) {
      const auto c = weak_sequence(delta, f_1.g, f_1.c, p).value();
      const Size cost_p = cost(ops(p), localsizes(c)).value();
      for (Index k = 0; k <= p.size(); ++k) {
        const auto at_k = realised(f_1, f_2, p, k);
        ASSERT_TRUE(at_k);
        const auto f_k = physical_sequence(f_1, *at_k);
        ASSERT_TRUE(f_k);
        ASSERT_EQ(f_k->back(), f_2);
        const bool permute = at_k->size() > p.size();
        ASSERT_EQ(cost_of(f_1, *at_k), cost_p + (permute ? size_of(c[k]) : 0));
        ASSERT_TRUE(!permute || (*at_k)[k].p == Op::allpermute);
        ++placements;
        cheaper += permute && size_of(c[k]) < localsize_2 ? 1U : 0U;
        const auto rest = lowered(f_k->at(k + (permute ? 1U : 0U)), part(p, k, p.size())).value();
        forwards +=
            physical_sequence(f_k->at(k + (permute ? 1U : 0U)), rest)->back() == f_2 ? 0U : 1U;
      }
      ASSERT_FALSE(realised(f_1, f_2, p, p.size() + 1));
    }
  }
  std::cout << 2 * walks << " sequences, " << permutes << " normal forms end in a permutation, "
            << placements << " placements, " << cheaper
            << " cheaper than at the end; mutants fail on " << without << ", " << forwards
            << " and " << cancelling << "\n";
  EXPECT_GT(permutes, walks / 10);
  EXPECT_GT(cheaper, walks / 10);
  EXPECT_GT(without, walks / 10);
  EXPECT_GT(forwards, walks / 10);
  EXPECT_GT(cancelling, walks / 10);
}

/// Examples 6.8 and 7.1 (E19, E20).
TEST(Theorem_6_7, example_6_8) {
  const Mesh H = mesh("a0:2,a1:2,a2:2");
  const TileMap f_1 = tiles_of(H, type(H, "[1{a0,a1,a2}8, 8]"));
  const std::vector<WeakCollective> three(3, {Op::alltoall, 0, 1, 2}),
      one = {{Op::alltoall, 0, 1, 8}};
  const auto steps = [&](const char* tau_2, const std::vector<WeakCollective>& p) {
    return realised(f_1, tiles_of(H, type(H, tau_2)), p, p.size()).value().size();
  };
  EXPECT_EQ(steps("[8, 1{a0,a1,a2}8]", three), 4U);  // (9): the permutation is needed
  EXPECT_EQ(steps("[8, 1{a2,a1,a0}8]", three), 3U);
  EXPECT_EQ(steps("[8, 1{a0,a1,a2}8]", one), 1U);
}

TEST(Theorem_6_7, rejects_what_does_not_lead_there) {
  const Mesh H = mesh("x:2,y:2");
  const TileMap f_1 = tiles_of(H, type(H, "[2{x}4]")), f_2 = tiles_of(H, type(H, "[4]"));
  const std::vector<PhysicalStep> gather = {{Op::allgather, 0, 0, 2, {}, {}}};
  EXPECT_TRUE(nearly_optimal(f_1, f_2, gather));
  EXPECT_FALSE(nearly_optimal(f_1, f_1, gather));
  EXPECT_FALSE(nearly_optimal(f_2, f_1, gather));
  EXPECT_FALSE(realised(f_1, f_1, {{Op::allgather, 0, 0, 2}}, 1));
  EXPECT_EQ(permutation(f_1, f_2), std::nullopt);
}

}  // namespace
}  // namespace spec::sec6_lowering_test
