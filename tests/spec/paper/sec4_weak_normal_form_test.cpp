#include "spec/paper/sec4_weak_normal_form.h"

#include <gtest/gtest.h>

#include <map>

#include "normal_form_search.h"
#include "tests/spec/values.h"

namespace spec::sec4_weak_normal_form_test {
namespace {

Size devices(const Space& space) { return device_count(space.H).value(); }

Size cost_of(const std::vector<WeakCollective>& p, const std::vector<Sizes>& c) {
  return cost(ops(p), localsizes(c)).value();
}

/// The least number of steps of a weak normal form from c to each localtype that one reaches.
std::map<Sizes, Index> weak_normal_form_lengths(Size delta, const Sizes& g, const Sizes& c,
                                                bool one_axis) {
  std::map<Sizes, Index> out = {{c, 0}};
  std::set<std::pair<Sizes, int>> seen = {{c, 0}};
  std::vector<std::pair<Sizes, int>> now = {{c, 0}};
  for (Index length = 1; !now.empty(); ++length) {
    std::vector<std::pair<Sizes, int>> next;
    for (const auto& state : now) {
      for (const WeakCollective& p : weak_steps(delta, g, state.first, one_axis)) {
        const int phase = p.p == Op::dynslice ? 0 : p.p == Op::allgather ? 2 : 1;
        if (phase < state.second) continue;
        const Sizes to = *weak_step(delta, g, p, state.first);
        if (!seen.insert({to, phase}).second) continue;
        out.insert({to, length});
        next.push_back({to, phase});
      }
    }
    now = next;
  }
  return out;
}

const std::map<std::string, std::vector<std::string>>& shapes(bool one_axis) {
  static const std::map<std::string, std::vector<std::string>>
      one = {{"GD", {"", "A", "DG"}}, {"GA", {"G", "AG"}}, {"AD", {"D", "DA"}}},
      all = {{"GD", {"", "D", "A", "G", "DA", "DG", "AG", "DAG"}},
             {"GA", {"G", "AG", "GG", "AGG"}},
             {"AD", {"D", "DA", "DD", "DDA"}}};
  return one_axis ? one : all;
}

/// What is wrong with a replacement of c_0 ▶p c_1 ▶q c_2; empty when nothing is.
std::string flaw(Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
                 const WeakCollective& q, const std::optional<WeakReplacement>& r, bool one_axis) {
  if (!r) return "no case";
  const auto c = weak_sequence(delta, g, c_0, {p, q}), c_r = weak_sequence(delta, g, c_0, r->p);
  if (!c_r) return "a rule does not apply";
  if (c_r->back() != c->back()) return "another end";
  if (!is_normal_form(ops(r->p))) return "not a normal form";
  if (!is_memory_constrained(localsizes(*c_r))) return "above the bound";
  // Lemma 6.5, strictly: even with a permutation in the valley.
  const Size with_permute = cost_of(r->p, *c_r) + valley(localsizes(*c_r));
  if (with_permute > cost_of({p, q}, *c)) return "dearer";
  const auto& allowed = shapes(one_axis).at(letters(labels(std::vector<WeakCollective>{p, q})));
  const std::string shape = letters(labels(r->p));
  if (std::find(allowed.begin(), allowed.end(), shape) == allowed.end()) return "shape " + shape;
  return "";
}

struct Mutant {
  const char* name;
  WeakLemma lemma;
};
const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {"4.6 (1, 2): nothing cancels",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         if (r->lemma == "Lemma 4.6 (1, 2)") r->p = {q, p};
         return r;
       }},
      {"4.6 (3, 4): always commutes",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         if (r->lemma == "Lemma 4.6 (3, 4)") r->p = {q, p};
         return r;
       }},
      {"4.6 (3, 4): dynslice and alltoall take each other's factor",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         if (letters(labels(r->p)).substr(0, 2) == "DA") std::swap(r->p[0].n, r->p[1].n);
         return r;
       }},
      {"4.6 (1, 2): a detour by another dimension",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         for (Index k = 0; k < g.size() && r->p.empty(); ++k) {
           const WeakCollective there = {Op::alltoall, p.i, k, p.n};
           if (weak_step(delta, g, there, c_0)) r->p = {there, reversed(there)};
         }
         return r;
       }},
      {"4.7 (2): commutes",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         if (r->lemma.substr(0, 13) == "Lemma 4.7 (2)") r->p = {q, p};
         return r;
       }},
      {"4.7: the mirror image is the edge itself",
       [](Size delta, const Sizes& g, const Sizes& c_0, const WeakCollective& p,
          const WeakCollective& q) {
         auto r = weak_lemma_4(delta, g, c_0, p, q);
         if (p.p == Op::alltoall) r->p = reversed(r->p);
         return r;
       }},
  };
  return all;
}

/// Every peak and edge, with prime factors and with any; `shortest` counts the replacements that no
/// shorter normal form could stand for.
TEST(Lemmas_4_6_and_4_7_weak, replace_every_peak_and_edge) {
  for (const bool one_axis : {true, false}) {
    std::size_t shortest = 0;
    Counts redexes;
    std::map<std::string, std::size_t> found, needed;
    std::map<std::string, std::map<std::string, std::size_t>> caught;
    auto spaces = prime_spaces(3);
    for (const Sizes& g : {Sizes{12, 4}, Sizes{12, 6}}) {  // A G G needs 24 devices
      spaces.push_back({mesh("x:2,y:2,z:2,w:3"), g});
    }
    for (const Space& space : spaces) {
      const Size delta = devices(space);
      const Sizes& g = space.g;
      for (const Sizes& c_0 : all_localtypes(delta, g)) {
        const auto lengths = weak_normal_form_lengths(delta, g, c_0, one_axis);
        for (const WeakCollective& p : weak_steps(delta, g, c_0, one_axis)) {
          const Sizes c_1 = *weak_step(delta, g, p, c_0);
          for (const WeakCollective& q : weak_steps(delta, g, c_1, one_axis)) {
            const auto pq = labels(std::vector<WeakCollective>{p, q});
            if (spec::redexes(pq).empty()) continue;
            const auto r = weak_lemma_4(delta, g, c_0, p, q);
            ASSERT_EQ(flaw(delta, g, c_0, p, q, r, one_axis), "") << to_text(space.H);
            for (const WeakCollective& a : r->p) {
              ASSERT_TRUE(!one_axis || prime_factors(a.n).size() == 1);
            }
            ++redexes[to_text(space.H)];
            const std::string shape = letters(pq) + " -> " + letters(labels(r->p));
            ++found[shape];
            const auto length = lengths.find(weak_sequence(delta, g, c_0, {p, q})->back());
            ASSERT_NE(length, lengths.end());
            ASSERT_LE(length->second, r->p.size());
            if (length->second == r->p.size()) ++shortest, ++needed[shape];
            for (const auto& [name, lemma] : mutants()) {
              const auto wrong = lemma(delta, g, c_0, p, q);
              const std::string reason = flaw(delta, g, c_0, p, q, wrong, one_axis);
              if (reason != "") ++caught[name][reason];
            }
          }
        }
      }
    }
    expect_on_each(one_axis ? "peaks and edges, prime factors" : "peaks and edges, any factors",
                   redexes, 7, 200);
    std::cout << shortest << " replacements as short as possible\n";
    for (const auto& [shape, count] : found) {
      std::cout << "  " << count << " " << shape << ", " << needed[shape] << " shortest\n";
    }
    for (const auto& [name, reasons] : caught) {
      for (const auto& [reason, count] : reasons) {
        std::cout << "  " << count << " caught: " << name << ": " << reason << "\n";
      }
    }
    std::size_t allowed = 0;
    for (const auto& [pq, all] : shapes(one_axis)) allowed += all.size();
    EXPECT_EQ(found.size(), allowed);
    for (const auto& [shape, count] : found) EXPECT_GT(needed[shape], 0U) << shape;
    if (one_axis) continue;
    EXPECT_EQ(caught.size(), mutants().size());
    EXPECT_GT(caught["4.6 (1, 2): a detour by another dimension"]["dearer"], 0U);
  }
}

/// Of the two allgathers behind an edge, and of the two dynslices before one, the order is the
/// cheaper: exchanged they never cost less, and where the factors differ two allgathers cost more.
TEST(Lemmas_4_6_and_4_7_weak, of_two_allgathers_the_smaller_comes_first) {
  std::size_t pairs = 0, dearer = 0, sliced = 0;
  auto spaces = prime_spaces(3);
  for (const Sizes& g : {Sizes{12, 4}, Sizes{12, 6}})
    spaces.push_back({mesh("x:2,y:2,z:2,w:3"), g});
  for (const Space& space : spaces) {
    const Size delta = devices(space);
    for (const Sizes& c_0 : all_localtypes(delta, space.g)) {
      for (const WeakCollective& p : weak_steps(delta, space.g, c_0)) {
        for (const WeakCollective& q :
             weak_steps(delta, space.g, *weak_step(delta, space.g, p, c_0))) {
          if (redexes(labels(std::vector<WeakCollective>{p, q})).empty()) continue;
          const auto r = weak_lemma_4(delta, space.g, c_0, p, q);
          const std::string shape = letters(labels(r->p));
          const Index k = shape.find("GG") == std::string::npos ? 0 : shape.find("GG");
          if (shape.find("GG") == std::string::npos && shape.substr(0, 2) != "DD") continue;
          auto exchanged = r->p;
          std::swap(exchanged[k], exchanged[k + 1]);
          const auto c = weak_sequence(delta, space.g, c_0, r->p),
                     c_exchanged = weak_sequence(delta, space.g, c_0, exchanged);
          ASSERT_TRUE(c && c_exchanged && c->back() == c_exchanged->back());
          const Size less = cost_of(r->p, *c), more = cost_of(exchanged, *c_exchanged);
          ASSERT_LE(less, more);
          ASSERT_EQ(less < more, shape[k] == 'G' && r->p[k].n != r->p[k + 1].n);
          ++pairs;
          dearer += less < more ? 1U : 0U;
          sliced += shape[k] == 'D' ? 1U : 0U;
        }
      }
    }
  }
  std::cout << pairs << " replacements with two allgathers or dynslices, " << sliced
            << " of them dynslices, " << dearer << " cost more exchanged\n";
  EXPECT_GT(pairs, 100U);
  EXPECT_GT(dearer, 10U);
}

/// The statements as printed fail over several axes: no normal form of their length exists.
TEST(Lemmas_4_6_and_4_7_weak, several_axes_need_longer_replacements) {
  // rising edge, δ = 8: [1{x,y}4, 1{z}2] -allgather(0, 4)-> -alltoall(1, 0, 2)-> [2{z}4, 2]
  const auto edge =
      weak_lemma_4(8, {4, 2}, {1, 1}, {Op::allgather, 0, 0, 4}, {Op::alltoall, 1, 0, 2});
  ASSERT_TRUE(edge);
  EXPECT_EQ(letters(labels(edge->p)), "GG");
  EXPECT_EQ(weak_normal_form_lengths(8, {4, 2}, {1, 1}, false).at({2, 2}), 2U);
  // peak, δ = 12: [12, 3{x,y}12] -allgather(1, 4)-> -dynslice(0, 6)-> [2{z,y}12, 12]
  const auto peak =
      weak_lemma_4(12, {12, 12}, {12, 3}, {Op::allgather, 1, 0, 4}, {Op::dynslice, 0, 0, 6});
  ASSERT_TRUE(peak);
  EXPECT_EQ(letters(labels(peak->p)), "DAG");
}

struct WeakWalk {
  Size delta = 1;
  Sizes g, c;
  std::vector<WeakCollective> p;
};
WeakWalk random_walk(std::mt19937& random, const Space& space, bool one_axis) {
  const Size delta = devices(space);
  const auto all = all_localtypes(delta, space.g);
  WeakWalk out = {delta, space.g, all[draw(random, all.size())], {}};
  Sizes c = out.c;
  for (Index length = draw(random, 13); length > 0; --length) {
    const auto p = draw_step(random, weak_steps(delta, space.g, c, one_axis));
    if (!p) break;
    out.p.push_back(*p);
    c = *weak_step(delta, space.g, *p, c);
  }
  return out;
}

/// Theorem 4.8 for ▶ and Lemma 6.5. A sequence that is no normal form leaves room for a permutation
/// in the valley of its normal form.
TEST(Lemma_6_5, random_sequences_reach_a_normal_form_that_costs_no_more) {
  const std::size_t walks = 20000;  // of prime factors, and as many of any
  std::mt19937 random(65);
  const auto spaces = prime_spaces(3);
  std::size_t rewrites = 0, changed = 0, cheaper = 0, longest = 0;
  const Choose any = [&](const std::vector<Index>& ks) { return ks[draw(random, ks.size())]; };
  for (std::size_t walk = 0; walk < 2 * walks; ++walk) {
    const auto [delta, g, c, p] =
        random_walk(random, spaces[draw(random, spaces.size())], walk < walks);
    const auto s = weak_sequence(delta, g, c, p).value();
    const auto r = normalize(delta, g, c, p, any);  // throws when the measure does not fall
    ASSERT_TRUE(r);
    Measure before = r->measure;
    Size price = cost_of(p, s);
    for (const auto& rewrite : r->rewrites) {
      ASSERT_LT(rewrite.measure, before) << rewrite.lemma;
      before = rewrite.measure;
      const Size now = cost_of(rewrite.p, weak_sequence(delta, g, c, rewrite.p).value());
      ASSERT_LE(now, price) << rewrite.lemma;
      price = now;
      longest = std::max(longest, rewrite.p.size());
    }
    const auto nf = r->rewrites.empty() ? p : r->rewrites.back().p;
    const auto s_nf = weak_sequence(delta, g, c, nf).value();
    ASSERT_TRUE(is_normal_form(ops(nf)));
    ASSERT_EQ(s_nf.back(), s.back());
    ASSERT_TRUE(is_memory_constrained(localsizes(s_nf)));
    ASSERT_EQ(r->rewrites.empty(), is_normal_form(ops(p)));
    if (!r->rewrites.empty()) {
      ASSERT_LE(price + valley(localsizes(s_nf)), cost_of(p, s));
    }
    rewrites += r->rewrites.size();
    changed += r->rewrites.empty() ? 0U : 1U;
    cheaper += price < cost_of(p, s) ? 1U : 0U;
  }
  std::cout << 2 * walks << " weak sequences, " << changed << " not in normal form, " << rewrites
            << " rewritings, " << cheaper << " became cheaper, longest " << longest << "\n";
  EXPECT_GT(changed, walks);
}

/// The checks inside `normalize` fire: on wrong lemmas, and on measures that do not fall.
TEST(Theorem_4_8_weak, wrong_lemmas_and_wrong_measures_are_noticed) {
  std::map<std::string, std::size_t> caught;
  std::mt19937 random(650);
  const auto spaces = prime_spaces(3);
  for (int walk = 0; walk < 4000; ++walk) {
    const WeakWalk w = random_walk(random, spaces[draw(random, spaces.size())], false);
    const auto try_one = [&](const char* name, const WeakLemma& lemma, const MeasureOf& of) {
      try {
        (void)normalize(w.delta, w.g, w.c, w.p, first, lemma, of);
      } catch (const std::logic_error&) {
        ++caught[name];
      }
    };
    try_one("none", weak_lemma_4, measure);
    for (const auto& [name, of] : wrong_measures()) try_one(name.c_str(), weak_lemma_4, of);
    for (const auto& [name, lemma] : mutants()) try_one(name, lemma, measure);
  }
  for (const auto& [name, count] : caught) std::cout << count << " caught: " << name << "\n";
  EXPECT_EQ(caught["none"], 0U);
  // Without allpermutes the sum of the interior localsizes falls, too. The detour ends, and only costs.
  EXPECT_EQ(caught.count("the sum of the interior localsizes"), 0U);
  EXPECT_EQ(caught.count("4.6 (1, 2): a detour by another dimension"), 0U);
  EXPECT_EQ(caught.size(), (mutants().size() - 1) + (wrong_measures().size() - 1) + 1);
}

}  // namespace
}  // namespace spec::sec4_weak_normal_form_test
