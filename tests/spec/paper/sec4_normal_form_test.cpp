#include "spec/paper/sec4_normal_form.h"

#include <gtest/gtest.h>

#include <map>

#include "normal_form_search.h"
#include "spec/paper/sec4_easy.h"
#include "tests/spec/values.h"

namespace spec::sec4_normal_form_test {
namespace {

/// Peaks and edges of one mesh and globaltype, each once.
template <class Visit>
void for_each_redex(const Space& space, const Visit& visit) {
  const auto types = all_types(space.H, space.g);
  std::map<Sizes, std::vector<Type>> classes;
  for (const Type& tau : types) classes[localtype(tau)].push_back(tau);
  for (const Type& sigma_0 : types) {
    auto ps = collectives_from(space.H, sigma_0, classes[localtype(sigma_0)]);
    ps.push_back({Op::allpermute, 0, 0, "", sigma_0});  // one that changes nothing
    for (const Collective& p : ps) {
      if (p.p == Op::dynslice) continue;
      const Type sigma_1 = *apply(space.H, p, sigma_0);
      auto qs = collectives_from(space.H, sigma_1, classes[localtype(sigma_1)]);
      qs.push_back({Op::allpermute, 0, 0, "", sigma_1});
      for (const Collective& q : qs) {
        if (!redexes({p.p, q.p}).empty()) visit(sigma_0, p, q);
      }
    }
  }
}

/// What is wrong with a replacement of σ_0 -p-> σ_1 -q-> σ_2; empty when nothing is.
std::string flaw(const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q,
                 const std::optional<StrongReplacement>& r) {
  static const std::map<std::string, std::vector<std::string>> shapes = {
      {"GD", {"", "P", "A", "DG", "DPG"}},
      {"GA", {"PG", "AG", "APG", "PAG"}},
      {"GP", {"G", "PG"}},
      {"AD", {"DP", "DA", "DPA", "DAP"}},
      {"PD", {"D", "DP"}}};
  if (!r) return "no case";
  const auto s = sequence(H, sigma_0, {p, q}), s_r = sequence(H, sigma_0, r->p);
  if (!s_r) return "a rule does not apply";
  if (s_r->sigma.back() != s->sigma.back()) return "another end";
  if (!is_normal_form(s_r->p)) return "not a normal form";
  if (!is_memory_constrained(*s_r)) return "above the bound";
  const auto& allowed = shapes.at(letters(labels(std::vector<Collective>{p, q})));
  const std::string shape = letters(labels(r->p));
  if (std::find(allowed.begin(), allowed.end(), shape) == allowed.end()) return "shape " + shape;
  return "";
}

/// Lemmas that are wrong in one place.
struct Mutant {
  const char* name;
  StrongLemma lemma;
};
const std::vector<Mutant>& mutants() {
  static const auto without_permutes = [](std::optional<StrongReplacement> r) {
    std::erase_if(r->p, [](const Collective& p) { return p.p == Op::allpermute; });
    return r;
  };
  static const auto in = [](const StrongReplacement& r, const char* name) {
    return r.lemma.find(name) != std::string::npos;
  };
  static const std::vector<Mutant> all = {
      {"4.6 (2): m = n and m != n exchanged",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         const Type sigma_2 = sequence(H, sigma_0, {p, q})->sigma[2];
         if (in(*r, "4.6 (2), m != n")) r->p = {{Op::allpermute, 0, 0, "", sigma_2}};
         if (in(*r, "4.6 (2), m = n")) r->p = {q, p};
         return r;
       }},
      {"4.6 (3): treated as (4)",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         if (in(*r, "4.6 (3)")) r->p = {q, p};
         return r;
       }},
      {"4.6 (2): no permutation",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         return in(*r, "4.6 (2), m != n") ? without_permutes(r) : r;
       }},
      {"4.7 (1): no permutation",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         return in(*r, "4.7 (1)") ? without_permutes(r) : r;
       }},
      {"4.7 (2): m = n not told apart",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         if (r->lemma == "Lemma 4.7 (2), m = n") r->p = {q, p};
         return r;
       }},
      {"4.7, allpermute: the gathered axis instead of an unused one",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         if (r->lemma != "Lemma 4.7, allpermute") return r;
         Type sigma = q.to;
         sigma[p.i].c = sigma_0[p.i].c;
         sigma[p.i].xs = cons(sigma_0[p.i].xs.front(), sigma[p.i].xs);
         r->p[0].to = sigma;
         return r;
       }},
      {"4.7, mirrored: the permutation forgotten",
       [](const Mesh& H, const Type& sigma_0, const Collective& p, const Collective& q) {
         auto r = lemma_4(H, sigma_0, p, q);
         return in(*r, "mirrored") ? without_permutes(r) : r;
       }},
  };
  return all;
}

/// All collectives, all types; an allpermute to every type. Every case of the lemmas occurs.
TEST(Lemmas_4_6_and_4_7, replace_every_peak_and_edge) {
  std::map<std::string, std::size_t> cases, shapes, caught;
  Counts redexes;
  for (const Space& space : prime_spaces(3)) {
    for_each_redex(space, [&](const Type& sigma_0, const Collective& p, const Collective& q) {
      const auto r = lemma_4(space.H, sigma_0, p, q);
      ASSERT_EQ(flaw(space.H, sigma_0, p, q, r), "") << to_text(space.H) << to_text(sigma_0);
      ++redexes[to_text(space.H)];
      ++cases[r->lemma];
      ++shapes[letters(labels(std::vector<Collective>{p, q})) + " -> " + letters(labels(r->p))];
      if (space.g.size() > 2) return;
      for (const auto& [name, lemma] : mutants()) {
        caught[name] += flaw(space.H, sigma_0, p, q, lemma(space.H, sigma_0, p, q)) != "" ? 1U : 0U;
      }
    });
    if (HasFatalFailure()) return;
  }
  expect_on_each("peaks and edges", redexes, 6, 1000);
  for (const auto& [name, count] : cases) std::cout << "  " << count << " " << name << "\n";
  for (const auto& [shape, count] : shapes) std::cout << "  " << count << " " << shape << "\n";
  for (const auto& [name, count] : caught)
    std::cout << "  " << count << " caught: " << name << "\n";
  EXPECT_EQ(cases.size(), 17U);
  EXPECT_EQ(shapes.size(), 17U) << "each shape is needed";
  EXPECT_EQ(caught.size(), mutants().size());
  for (const auto& [name, count] : caught) EXPECT_GT(count, 0U) << name;
}

/// Every type that σ reaches without leaving the bound.
std::vector<Type> reached_within(const Mesh& H, const Type& sigma, Size bound) {
  const auto types = all_types(H, globaltype(sigma));
  std::vector<Type> out = {sigma};
  for (Index k = 0; k < out.size(); ++k) {
    const Type from = out[k];
    for (const Collective& p : collectives_from(H, from, types)) {
      const Type to = *apply(H, p, from);
      if (localsize(to) > bound || std::find(out.begin(), out.end(), to) != out.end()) continue;
      out.push_back(to);
    }
  }
  return out;
}

/// Counterexamples to 4.6 on a mesh that is not prime. In the first nothing at all stays within the
/// bound. In the second something does, by the second dimension, but no normal form exists.
TEST(Lemma_4_6, needs_prime_axes) {
  const Mesh H = mesh("x:4,y:2"), primes = mesh("x1:2,x2:2,y:2");
  const Collective p = {Op::allgather, 0, 0, "", {}}, q = {Op::dynslice, 0, 0, "y", {}};
  for (const auto& [from, to, from_primes, within] :
       {std::tuple("[1{x}4]", "[2{y}4]", "[1{x1,x2}4]", 0),
        std::tuple("[1{x}4, 2]", "[2{y}4, 2]", "[1{x1,x2}4, 2]", 1)}) {
    const Type sigma_0 = type(H, from), sigma_2 = type(H, to);
    ASSERT_EQ(sequence(H, sigma_0, {p, q})->sigma.back(), sigma_2);
    EXPECT_FALSE(lemma_4_6(H, sigma_0, p, q));
    const auto reached =
        reached_within(H, sigma_0, std::max(localsize(sigma_0), localsize(sigma_2)));
    EXPECT_EQ(std::count(reached.begin(), reached.end(), sigma_2), within) << from;
    const auto types = all_types(H, globaltype(sigma_0));
    EXPECT_EQ(normal_form_lengths(H, sigma_0, true, types).count(axis_lists(sigma_2)), 0U);
    const Type sigma = type(primes, from_primes);
    const auto lengths =
        normal_form_lengths(primes, sigma, true, all_types(primes, globaltype(sigma)));
    EXPECT_EQ(lengths.count(axis_lists(sigma_2)), 1U) << "over prime axes there is one";
  }
}

TEST(Theorem_4_8, a_sequence_in_normal_form_is_left_alone) {
  const Mesh H = mesh("x:2,y:2");
  const std::vector<Collective> p = {{Op::alltoall, 0, 1, "", {}}, {Op::allgather, 1, 0, "", {}}};
  const auto r = normalize(H, type(H, "[2{x}4, 4]"), p);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->rewrites.empty());
  EXPECT_EQ(r->measure, (Measure{8}));
  EXPECT_FALSE(normalize(H, type(H, "[4, 4]"), p));
  const Mesh not_prime = mesh("x:4");
  EXPECT_FALSE(normalize(not_prime, type(not_prime, "[1{x}4, 4]"), p));
}

TEST(Theorem_4_8, the_easy_solution_loses_its_peak) {
  const Mesh H = mesh("x:2,y:3");
  const std::vector<Collective> p = {{Op::allgather, 0, 0, "", {}},
                                     {Op::allgather, 1, 0, "", {}},
                                     {Op::dynslice, 0, 0, "y", {}},
                                     {Op::dynslice, 1, 0, "x", {}}};
  const auto r = normalize(H, type(H, "[3{x}6, 2{y}6]"), p);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->measure, (Measure{36, 12, 12}));
  ASSERT_EQ(r->rewrites.size(), 3U);
  EXPECT_EQ(r->rewrites[0].lemma, "Lemma 4.6 (3)");
  EXPECT_EQ(r->rewrites[0].at, 1U);
  EXPECT_EQ(r->rewrites[0].measure, (Measure{12, 12}));
  EXPECT_EQ(letters(labels(r->rewrites.back().p)), "APA");
}

/// Example 4.9: from (2) the rewriting finds a solution within the bound, but not alltoall(0, 1).
TEST(Theorem_4_8, example_4_9) {
  const Mesh H = mesh("a0:2,a1:2,a2:2");
  const Type tau_1 = type(H, "[1{a0,a1,a2}8, 8]"), tau_2 = type(H, "[8, 1{a0,a1,a2}8]");
  const auto r = normalize(H, tau_1, easy_redistribution(H, tau_1, tau_2).value());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->measure, (Measure{64, 32, 32, 16, 16}));
  const Sequence nf = sequence(H, tau_1, r->rewrites.back().p).value();
  EXPECT_EQ(nf.sigma.back(), tau_2);
  EXPECT_TRUE(is_normal_form(nf.p));
  EXPECT_EQ(std::count(nf.p.begin(), nf.p.end(), Op::alltoall), 3);
  EXPECT_GT(std::count(nf.p.begin(), nf.p.end(), Op::allpermute), 1);
  EXPECT_EQ(cost(nf), 48);  // as the paper's (5)
}

Walk<Collective> random_walk(std::mt19937& random, const Space& space,
                             const std::vector<Type>& types) {
  return random_walk<Collective>(random, space.H, types, [&](const Type& sigma) {
    return collectives_from(space.H, sigma, types);
  });
}

TEST(Theorem_4_8, random_sequences_reach_a_normal_form_whatever_redex_is_chosen) {
  const std::size_t walks = 20000;
  std::mt19937 random(48);
  std::vector<Space> spaces = prime_spaces(3);
  std::map<std::size_t, std::vector<Type>> types;
  std::size_t rewrites = 0, most = 0, longest = 0, changed = 0;
  std::map<std::string, std::size_t> cases;
  const Choose any = [&](const std::vector<Index>& ks) { return ks[draw(random, ks.size())]; };
  for (std::size_t walk = 0; walk < walks; ++walk) {
    const std::size_t at = draw(random, spaces.size());
    if (types[at].empty()) types[at] = all_types(spaces[at].H, spaces[at].g);
    const auto [H, tau, p] = random_walk(random, spaces[at], types[at]);
    const Sequence s = sequence(H, tau, p).value();
    const auto r = normalize(H, tau, p, any);  // throws when the measure does not fall
    ASSERT_TRUE(r);
    Measure before = r->measure;
    for (const auto& rewrite : r->rewrites) {
      ASSERT_LT(rewrite.measure, before) << rewrite.lemma;
      before = rewrite.measure;
      ++cases[rewrite.lemma];
      longest = std::max(longest, rewrite.p.size());
    }
    const Sequence nf = sequence(H, tau, r->rewrites.empty() ? p : r->rewrites.back().p).value();
    ASSERT_TRUE(is_normal_form(nf.p)) << to_text(tau);
    ASSERT_EQ(nf.sigma.back(), s.sigma.back());
    ASSERT_TRUE(is_memory_constrained(nf));
    ASSERT_EQ(r->rewrites.empty(), is_normal_form(s.p));
    rewrites += r->rewrites.size();
    most = std::max(most, r->rewrites.size());
    changed += r->rewrites.empty() ? 0U : 1U;
  }
  std::cout << walks << " sequences, " << changed << " not in normal form, " << rewrites
            << " rewritings, at most " << most << " in one, longest sequence " << longest << "\n";
  EXPECT_GT(changed, walks / 2);
  EXPECT_GE(cases.size(), 15U);  // all but the two identities
}

/// The checks inside `normalize` fire: on wrong lemmas, and on measures that do not fall.
TEST(Theorem_4_8, wrong_lemmas_and_wrong_measures_are_noticed) {
  const StrongLemma swaps_nothing = [](const Mesh&, const Type&, const Collective& p,
                                       const Collective& q) {
    return std::optional(StrongReplacement{"nothing", {p, q}});
  };
  std::map<std::string, std::size_t> caught;
  std::mt19937 random(480);
  const auto spaces = prime_spaces(2);
  for (int walk = 0; walk < 1000; ++walk) {
    const Space& space = spaces[draw(random, spaces.size())];
    const Walk<Collective> w = random_walk(random, space, all_types(space.H, space.g));
    const auto try_one = [&](const char* name, const StrongLemma& lemma, const MeasureOf& of) {
      try {
        (void)normalize(w.H, w.tau, w.p, first, lemma, of);
      } catch (const std::logic_error&) {
        ++caught[name];
      }
    };
    try_one("none", lemma_4, measure);
    for (const auto& [name, of] : wrong_measures()) try_one(name.c_str(), lemma_4, of);
    try_one("nothing", swaps_nothing, measure);
    for (const auto& [name, lemma] : mutants()) try_one(name, lemma, measure);
  }
  for (const auto& [name, count] : caught) std::cout << count << " caught: " << name << "\n";
  EXPECT_EQ(caught["none"], 0U);
  EXPECT_EQ(caught.size(), mutants().size() + wrong_measures().size() + 2);
}

}  // namespace
}  // namespace spec::sec4_normal_form_test
