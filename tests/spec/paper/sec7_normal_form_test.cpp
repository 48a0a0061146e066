#include "spec/paper/sec7_normal_form.h"

#include <gtest/gtest.h>

#include <map>

#include "normal_form_search.h"
#include "tests/spec/values.h"
#include "walks.h"

namespace spec::sec7_normal_form_test {
namespace {

/// What is wrong with a replacement of σ_0 -p-> σ_1 -q-> σ_2; empty when nothing is.
std::string flaw(const Mesh& H, const Type& sigma_0, const MultiCollective& p,
                 const MultiCollective& q, const std::optional<MultiReplacement>& r) {
  if (!r) return "no case";
  const auto s = sequence(H, sigma_0, std::vector<MultiCollective>{p, q});
  const auto s_r = sequence(H, sigma_0, r->p);
  if (!s_r) return "a rule does not apply";
  if (s_r->sigma.back() != s->sigma.back()) return "another end";
  if (!is_normal_form(s_r->p)) return "not a normal form";
  if (!is_memory_constrained(*s_r)) return "above the bound";
  // The corrected bounds: D P A P G for a peak, P A P G G for an edge, and its mirror image.
  const Index gathers = static_cast<Index>(std::count(s_r->p.begin(), s_r->p.end(), Op::allgather)),
              slices = static_cast<Index>(std::count(s_r->p.begin(), s_r->p.end(), Op::dynslice)),
              moves = static_cast<Index>(std::count(s_r->p.begin(), s_r->p.end(), Op::alltoall));
  const bool peak = p.p == Op::allgather && q.p == Op::dynslice, rises = p.p == Op::allgather;
  if (gathers > (peak ? 1U : rises ? 2U : 0U)) return "too many allgathers";
  if (slices > (peak ? 1U : rises ? 0U : 2U)) return "too many dynslices";
  if (moves > 1 || r->p.size() > gathers + slices + moves + (moves > 0 ? 2 : 1)) return "too long";
  return "";
}

struct Mutant {
  const char* name;
  MultiLemma lemma;
};
/// The lemmas as the paper has them: at most three steps, at most one final allgather.
const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {"no permutations",
       [](const Mesh& H, const Type& sigma_0, const MultiCollective& p, const MultiCollective& q) {
         auto r = multi_lemma_4(H, sigma_0, p, q);
         std::erase_if(r->p, [](const MultiCollective& a) { return a.p == Op::allpermute; });
         return r;
       }},
      {"the second of two allgathers is left out",
       [](const Mesh& H, const Type& sigma_0, const MultiCollective& p, const MultiCollective& q) {
         auto r = multi_lemma_4(H, sigma_0, p, q);
         const Index n = r->p.size();
         if (n > 1 && r->p[n - 2].p == Op::allgather) r->p.pop_back();
         return r;
       }},
      {"lists of axes are sets",
       [](const Mesh& H, const Type& sigma_0, const MultiCollective& p, const MultiCollective& q) {
         auto r = multi_lemma_4(H, sigma_0, p, q);
         for (MultiCollective& a : r->p) std::sort(a.x.begin(), a.x.end());
         return r;
       }},
  };
  return all;
}

/// Every peak and edge over lists of axes, allpermutes to every type. Each is held against the
/// shortest normal form between its ends, found by search.
TEST(Lemmas_4_6_and_4_7_over_several_axes, replace_every_peak_and_edge) {
  auto spaces = prime_spaces(2);
  for (const Sizes& g : {Sizes{4, 4, 4}, Sizes{2, 4, 4}}) spaces.push_back({mesh("x:2,y:2"), g});
  spaces.push_back({mesh("x:2,y:3"), {6, 6, 6}});
  spaces.push_back({mesh("x:3,y:3"), {9, 9, 9}});
  spaces.push_back({mesh("x:2,y:2,z:2"), {8, 8, 4}});
  spaces.push_back({mesh("x:2,y:2,z:3"), {12, 6, 2}});
  spaces.push_back({mesh("x:2,y:3,z:5"), {30, 6, 10}});
  spaces.push_back({mesh("x:2,y:2,z:2,w:3"), {12, 6}});  // A with two G needs four axes
  Counts redexes;
  std::map<std::string, std::map<std::string, std::size_t>> shapes;
  std::map<std::string, std::map<Index, std::size_t>> least, extra;
  std::map<std::string, std::map<std::string, std::size_t>> caught;
  for (const auto& [H, g] : spaces) {
    const auto types = all_types(H, g);
    for (const Type& sigma_0 : types) {
      const auto lengths = normal_form_lengths(H, sigma_0, false, types);
      for (const MultiCollective& p : steps_from(H, sigma_0, false, types)) {
        if (p.p == Op::dynslice) continue;
        const Type sigma_1 = *apply(H, p, sigma_0);
        for (const MultiCollective& q : steps_from(H, sigma_1, false, types)) {
          if (spec::redexes({p.p, q.p}).empty()) continue;
          const auto r = multi_lemma_4(H, sigma_0, p, q);
          ASSERT_EQ(flaw(H, sigma_0, p, q, r), "") << to_text(H) << " " << to_text(sigma_0);
          const std::string pq = letters({p.p, q.p});
          const Index shortest = lengths.at(axis_lists(*apply(H, q, sigma_1)));
          ASSERT_LE(shortest, r->p.size());
          ++redexes[to_text(H)];
          ++shapes[pq][letters(labels(r->p))];
          ++least[pq][shortest];
          ++extra[pq][r->p.size() - shortest];
          for (const auto& [name, lemma] : mutants()) {
            const std::string reason = flaw(H, sigma_0, p, q, lemma(H, sigma_0, p, q));
            if (reason != "") ++caught[name][reason];
          }
        }
      }
    }
  }
  expect_on_each("peaks and edges over several axes", redexes, 7, 500);
  for (const auto& [pq, counts] : shapes) {
    for (const auto& [shape, count] : counts) {
      std::cout << "  " << count << " " << pq << " -> " << shape << "\n";
    }
    for (const auto& [length, count] : least[pq]) {
      std::cout << "  " << count << " " << pq << " with a shortest normal form of " << length
                << "\n";
    }
    for (const auto& [length, count] : extra[pq]) {
      std::cout << "  " << count << " " << pq << " replaced by " << length << " steps more\n";
    }
  }
  for (const auto& [name, reasons] : caught) {
    for (const auto& [reason, count] : reasons) {
      std::cout << "  " << count << " caught: " << name << ": " << reason << "\n";
    }
  }
  EXPECT_EQ(caught.size(), mutants().size());
}

/// The fewest allpermutes of a sequence from σ_0 to σ_2 whose other steps are the weak steps p, in
/// that order, with allpermutes anywhere between.
Index fewest_permutes(const Mesh& H, const Steps<Type, MultiCollective>& steps, const Type& sigma_0,
                      const Type& sigma_2, const std::vector<WeakCollective>& p) {
  const auto number = [&](const Type& tau) {
    return static_cast<Index>(std::find(steps.states.begin(), steps.states.end(), tau) -
                              steps.states.begin());
  };
  using State = std::pair<Index, Index>;  // a type, and how many steps of p led there
  const State end = {number(sigma_2), p.size()};
  std::set<State> seen = {{number(sigma_0), 0}};
  std::vector<State> now(seen.begin(), seen.end());
  for (Index permutes = 0;; ++permutes) {
    std::vector<State> next;
    for (Index a = 0; a < now.size(); ++a) {
      const State state = now[a];
      if (state == end) return permutes;
      for (const auto& step : steps.from[state.first]) {
        const MultiCollective& q = step.first;
        if (q.p == Op::allpermute) {
          next.push_back({step.second, state.second});
        } else if (state.second < p.size()) {
          const WeakCollective w = weak(H, q), &w_p = p[state.second];
          const bool same = w.p == w_p.p && w.i == w_p.i && w.j == w_p.j && w.n == w_p.n;
          const State to = {step.second, state.second + 1};
          if (same && seen.insert(to).second) now.push_back(to);
        }
      }
    }
    now.clear();
    for (const State& state : next) {
      if (seen.insert(state).second) now.push_back(state);
    }
    if (now.empty()) return p.size() + 2;  // there is none
  }
}

/// The mutant of `realised`: it does not look for axes with which the two ends meet.
std::optional<std::vector<MultiCollective>> realised_by_the_first_axes(
    const Mesh& H, const Type& sigma_0, const Type& sigma_2, const std::vector<WeakCollective>& p) {
  std::vector<WeakCollective> before, gathers;
  for (const WeakCollective& q : p) (q.p == Op::allgather ? gathers : before).push_back(q);
  const auto down = continued(H, {{sigma_0, {}}}, before);
  const auto up = continued(H, {{sigma_2, {}}}, reversed(gathers));
  if (down.empty() || up.empty()) return std::nullopt;
  return met(down.front(), up.front());
}

/// Of all ways to realise its weak steps, a replacement has the fewest allpermutes: on every peak
/// and edge over the spaces of at most 34 types, on every k-th sequence of two steps over the
/// others.
TEST(Lemmas_4_6_and_4_7_over_several_axes, replacements_have_as_few_allpermutes_as_possible) {
  Counts redexes, caught;
  Coverage rows;
  std::size_t visited = 0;
  std::map<Index, std::size_t> permutes;
  for (const Space& space : prime_spaces(3)) {
    const Mesh& H = space.H;
    const auto steps = multi_steps(space);
    for_each_walk(
        space, steps, {2, 34, 300}, rows,
        [&](const Type& sigma_0, const auto& p, const Type& sigma_2) {
          ++visited;
          if (p.size() < 2 || spec::redexes(labels(p)).empty()) return;
          const auto r = multi_lemma_4(H, sigma_0, p[0], p[1]).value();
          EXPECT_EQ(flaw(H, sigma_0, p[0], p[1], r), "") << to_text(H) << " " << to_text(sigma_0);
          std::vector<WeakCollective> r_w;
          for (const MultiCollective& q : r.p) {
            if (q.p != Op::allpermute) r_w.push_back(weak(H, q));
          }
          const Index fewest = fewest_permutes(H, steps, sigma_0, sigma_2, r_w);
          EXPECT_EQ(r.p.size() - r_w.size(), fewest) << to_text(H) << " " << to_text(sigma_0);
          ++redexes[to_text(H)];
          ++permutes[fewest];
          const auto mutant = realised_by_the_first_axes(H, sigma_0, sigma_2, r_w);
          if (mutant && mutant->size() - r_w.size() > fewest) ++caught[to_text(H)];
        });
  }
  expect_rows("sequences of up to two steps", rows, 3, visited);
  expect_on_each("peaks and edges over several axes", redexes, 6, 1000);
  for (const auto& [n, count] : permutes) std::cout << count << " need " << n << " allpermutes\n";
  EXPECT_EQ(permutes.size(), 3U);
  expect_on_each("the first axes need more allpermutes", caught, 3,
                 100);  // a choice of axes: three
}

const Mesh& xyz() {
  static const Mesh H = mesh("x:2,y:2,z:3");
  return H;
}

/// The fewest steps from σ to τ, in normal form or not, with no localsize above the bound.
std::optional<Index> fewest_steps(const Mesh& H, const Type& sigma, const Type& tau, Size bound) {
  const auto types = all_types(H, globaltype(sigma));
  std::set<std::vector<Names>> seen = {axis_lists(sigma)};
  std::vector<Type> now = {sigma};
  for (Index length = 0; !now.empty(); ++length) {
    std::vector<Type> next;
    for (const Type& from : now) {
      if (from == tau) return length;
      for (const MultiCollective& p : steps_from(H, from, false, types)) {
        const Type to = *apply(H, p, from);
        if (localsize(to) <= bound && seen.insert(axis_lists(to)).second) next.push_back(to);
      }
    }
    now = next;
  }
  return std::nullopt;
}

/// 4.6 as printed has three steps at most. Here no sequence of three stays within (4), in normal
/// form or not. Control: with room for the peak itself two are enough.
TEST(Lemma_4_6_over_several_axes, the_counterexample_needs_four_steps) {
  const Type sigma_0 = type(xyz(), "[12, 3{x,y}12]"), sigma_2 = type(xyz(), "[2{z,y}12, 12]");
  const MultiCollective p = {Op::allgather, 1, 0, {"x", "y"}, {}};
  const MultiCollective q = {Op::dynslice, 0, 0, {"z", "y"}, {}};
  ASSERT_EQ(sequence(xyz(), sigma_0, std::vector<MultiCollective>{p, q})->sigma.back(), sigma_2);
  const Size bound = std::max(localsize(sigma_0), localsize(sigma_2));
  EXPECT_EQ(fewest_steps(xyz(), sigma_0, sigma_2, bound), 4U);
  EXPECT_EQ(fewest_steps(xyz(), sigma_0, sigma_2, 144), 2U);
  const auto types = all_types(xyz(), {12, 12});
  EXPECT_EQ(normal_form_lengths(xyz(), sigma_0, false, types).at(axis_lists(sigma_2)), 4U);
  const auto r = multi_lemma_4(xyz(), sigma_0, p, q);
  ASSERT_EQ(flaw(xyz(), sigma_0, p, q, r), "");
  EXPECT_EQ(letters(labels(r->p)), "DAPG");
}

/// A normal form of five steps and none shorter; four steps of another order, and not three.
/// Controls: with room for the peak itself two are enough, and without one of its allpermutes the
/// replacement is none.
TEST(Lemma_4_6_over_several_axes, a_peak_may_need_five_steps) {
  const Mesh H = mesh("x:2,y:3,z:5");
  const Type sigma_0 = type(H, "[1{y,x}6, 10]"), sigma_1 = type(H, "[6, 10]"),
             sigma_2 = type(H, "[6, 1{z,x}10]");
  const MultiCollective p = {Op::allgather, 0, 0, {"y", "x"}, {}};
  const MultiCollective q = {Op::dynslice, 1, 0, {"z", "x"}, {}};
  const auto s = sequence(H, sigma_0, std::vector<MultiCollective>{p, q});
  ASSERT_EQ(s->sigma, (std::vector<Type>{sigma_0, sigma_1, sigma_2}));
  const auto types = all_types(H, globaltype(sigma_0));
  const Size bound = std::max(localsize(sigma_0), localsize(sigma_2));
  std::cout << types.size() << " types, localsizes up to " << bound << "\n";
  EXPECT_EQ(normal_form_lengths(H, sigma_0, false, types).at(axis_lists(sigma_2)), 5U);
  EXPECT_EQ(fewest_steps(H, sigma_0, sigma_2, bound), 4U);
  EXPECT_EQ(fewest_steps(H, sigma_0, sigma_2, localsize(sigma_1)), 2U);
  const auto r = multi_lemma_4(H, sigma_0, p, q);
  ASSERT_EQ(flaw(H, sigma_0, p, q, r), "");
  EXPECT_EQ(letters(labels(r->p)), "DPAPG");
  for (const std::ptrdiff_t k : {1, 3}) {
    auto without = r;
    without->p.erase(without->p.begin() + k);
    EXPECT_NE(flaw(H, sigma_0, p, q, without), "");
  }
}

/// Every type that flat steps reach from σ.
std::vector<Type> flat_from(const Mesh& H, const Type& sigma) {
  const auto types = all_types(H, globaltype(sigma));
  std::vector<Type> out = {sigma};
  for (Index k = 0; k < out.size(); ++k) {
    const Type from = out[k];
    for (const MultiCollective& p : steps_from(H, from, false, types)) {
      if (p.p != Op::alltoall && p.p != Op::allpermute) continue;
      const Type to = *apply(H, p, from);
      if (std::find(out.begin(), out.end(), to) == out.end()) out.push_back(to);
    }
  }
  return out;
}

/// Whether flat steps and then one `last` lead from σ to τ, however many flat steps.
bool one_is_enough(const Mesh& H, const Type& sigma, const Type& tau, Op last) {
  for (const Type& from : flat_from(H, sigma)) {
    for (const MultiCollective& p : steps_from(H, from, false, {})) {
      if (p.p == last && apply(H, p, from) == tau) return true;
    }
  }
  return false;
}

/// 4.7 as printed, over several axes: one allgather at the end of a rising edge, or one dynslice at
/// the start of a falling one, is not enough.
TEST(Lemma_4_7_over_several_axes, the_counterexample_needs_two_final_allgathers) {
  const Mesh H = mesh("x:2,y:2,z:2");
  const Type sigma_0 = type(H, "[1{x,y}4, 1{z}2]"), sigma_2 = type(H, "[2{z}4, 2]");
  const MultiCollective gather = {Op::allgather, 0, 0, {"x", "y"}, {}};
  const MultiCollective slice = {Op::dynslice, 0, 0, {"x", "y"}, {}};
  const MultiCollective move = {Op::alltoall, 1, 0, {"z"}, {}},
                        back = {Op::alltoall, 0, 1, {"z"}, {}};
  const auto rising = multi_lemma_4(H, sigma_0, gather, move);
  const auto falling = multi_lemma_4(H, sigma_2, back, slice);
  ASSERT_EQ(flaw(H, sigma_0, gather, move, rising), "");
  ASSERT_EQ(flaw(H, sigma_2, back, slice, falling), "");
  EXPECT_EQ(letters(labels(rising->p)), "PGG");
  EXPECT_EQ(letters(labels(falling->p)), "DDP");
  EXPECT_FALSE(one_is_enough(H, sigma_0, sigma_2, Op::allgather));
  for (const Type& to : flat_from(H, sigma_0)) {  // σ_2 -dynslice-> to, then flat steps to σ_0
    for (const MultiCollective& p : steps_from(H, sigma_2, false, {})) {
      EXPECT_FALSE(p.p == Op::dynslice && apply(H, p, sigma_2) == to) << to_text(to);
    }
  }
  EXPECT_TRUE(one_is_enough(H, sigma_0, type(H, "[2{z}4, 1{y}2]"), Op::allgather));
}

Walk<MultiCollective> random_walk(std::mt19937& random, const Space& space,
                                  const std::vector<Type>& types) {
  return random_walk<MultiCollective>(random, space.H, types, [&](const Type& sigma) {
    return steps_from(space.H, sigma, false, types);
  });
}

/// Theorem 4.8 over several axes, whatever redex is chosen. The mutants of the measure and of the
/// lemmas are noticed inside `normalize`.
TEST(Theorem_4_8_over_several_axes, random_sequences_reach_a_normal_form) {
  const std::size_t walks = 5000;
  std::mt19937 random(71);
  const auto spaces = prime_spaces(2);
  std::size_t rewrites = 0, changed = 0, longest = 0;
  std::map<std::string, std::size_t> caught;
  const Choose any = [&](const std::vector<Index>& ks) { return ks[draw(random, ks.size())]; };
  for (std::size_t walk = 0; walk < walks; ++walk) {
    const Space& space = spaces[draw(random, spaces.size())];
    const Walk<MultiCollective> w = random_walk(random, space, all_types(space.H, space.g));
    const Sequence s = sequence(w.H, w.tau, w.p).value();
    const auto r = normalize(w.H, w.tau, w.p, any);  // throws when the measure does not fall
    ASSERT_TRUE(r);
    Measure before = r->measure;
    for (const auto& rewrite : r->rewrites) {
      ASSERT_LT(rewrite.measure, before) << rewrite.lemma;
      before = rewrite.measure;
      longest = std::max(longest, rewrite.p.size());
    }
    const auto& p = r->rewrites.empty() ? w.p : r->rewrites.back().p;
    const Sequence nf = sequence(w.H, w.tau, p).value();
    ASSERT_TRUE(is_normal_form(nf.p));
    ASSERT_EQ(nf.sigma.back(), s.sigma.back());
    ASSERT_TRUE(is_memory_constrained(nf));
    rewrites += r->rewrites.size();
    changed += r->rewrites.empty() ? 0U : 1U;
    const auto try_one = [&](const char* name, const MultiLemma& lemma, const MeasureOf& of) {
      try {
        (void)normalize(w.H, w.tau, w.p, first, lemma, of);
      } catch (const std::logic_error&) {
        ++caught[name];
      }
    };
    for (const auto& [name, of] : wrong_measures()) try_one(name.c_str(), multi_lemma_4, of);
    for (const auto& [name, lemma] : mutants()) try_one(name, lemma, measure);
  }
  std::cout << walks << " sequences, " << changed << " not in normal form, " << rewrites
            << " rewritings, longest sequence " << longest << "\n";
  for (const auto& [name, count] : caught) std::cout << count << " caught: " << name << "\n";
  EXPECT_GT(changed, walks / 2);
  EXPECT_EQ(caught.size(), mutants().size() + wrong_measures().size());
}

}  // namespace
}  // namespace spec::sec7_normal_form_test
