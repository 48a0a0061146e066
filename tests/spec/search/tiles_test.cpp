// The search over tile maps against a search that has none of its ideas: all tile maps of all
// localtypes as nodes, all digits and all permutations as edges, listed one by one.
#include "spec/search/tiles.h"

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

#include "optima.h"
#include "spec/paper/examples.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "spec/search/program.h"

namespace spec::tiles_test {
namespace {

/// All tile maps and all steps. As a control, one digit map per dynslice instead of all.
struct NaiveGraph {
  struct Edge {
    Op p;
    Size n;
    Index from;
    Size cost;
  };
  std::vector<TileMap> nodes;
  std::vector<std::vector<Edge>> into;
  std::map<std::pair<Sizes, std::vector<Sizes>>, Index> number;

  NaiveGraph(Size delta, const Sizes& g, bool one_digit = false, bool permutes = true) {
    add({g, g, std::vector<Sizes>(static_cast<Index>(delta), Sizes(g.size(), 0))});
    for (Index a = 0; a < nodes.size(); ++a) edges_from(a, one_digit, permutes);
  }

  Index add(const TileMap& f) {
    const auto [at, is_new] = number.emplace(std::pair(f.c, f.t), nodes.size());
    if (is_new) {
      nodes.push_back(f);
      into.emplace_back();
    }
    return at->second;
  }

  void edge(Index a, Op p, Size n, const TileMap& to) {
    const Size price = cost(p, size_of(nodes[a].c), size_of(to.c));
    into[add(to)].push_back({p, n, a, price});
  }

  void edges_from(Index a, bool one_digit, bool permutes) {
    const TileMap f = nodes[a];
    const Size delta = static_cast<Size>(f.t.size());
    for (Size n = 2; n <= delta; ++n) {
      for (Index i = 0; i < f.g.size(); ++i) {
        if (const auto to = allgather(f, i, n)) edge(a, Op::allgather, n, *to);
        for (Index j = 0; j < f.g.size(); ++j) {
          if (const auto to = alltoall(f, i, j, n)) edge(a, Op::alltoall, n, *to);
        }
        if (f.c[i] % n != 0) continue;
        Sizes e(f.t.size(), 0);
        while (true) {  // every e : D → {0..n-1}, in lexicographic order
          const auto to = dynslice(f, i, n, e);
          if (to) edge(a, Op::dynslice, n, *to);
          if (to && one_digit) break;
          Index d = 0;
          while (d < e.size() && ++e[d] == n) e[d++] = 0;
          if (d == e.size()) break;
        }
      }
    }
    if (!permutes) return;
    Sizes pi(f.t.size());
    std::iota(pi.begin(), pi.end(), Size{0});
    do edge(a, Op::allpermute, 1, *allpermute(f, pi));
    while (std::next_permutation(pi.begin(), pi.end()));
  }

  /// The cost from every node to f_2 through localsizes from `least` to `most`.
  std::vector<std::optional<Size>> costs(const TileMap& f_2, Size least, Size most,
                                         const TileSearch& search) const {
    std::vector<std::vector<std::optional<Size>>> best(
        3, std::vector<std::optional<Size>>(nodes.size()));
    std::set<std::tuple<Size, Index, Index>> open = {{0, 2, number.at({f_2.c, f_2.t})}};
    best[2][number.at({f_2.c, f_2.t})] = 0;
    while (!open.empty()) {
      const auto [spent, q, b] = *open.begin();
      open.erase(open.begin());
      if (best[q][b] != spent) continue;
      for (const Edge& e : into[b]) {
        const Size size = size_of(nodes[e.from].c);
        if (size < least || size > most) continue;
        if (e.p == Op::allpermute && !search.permute) continue;
        if (search.one_axis && e.p != Op::allpermute && prime_factors(e.n).size() != 1) continue;
        const Index own = e.p == Op::dynslice ? 0 : e.p == Op::allgather ? 2 : 1;
        if (search.normal_form && own > q) continue;
        const Index before = search.normal_form ? own : 2;
        auto& known = best[before][e.from];
        if (known && *known <= spent + e.cost) continue;
        known = spent + e.cost;
        open.insert({*known, before, e.from});
      }
    }
    for (Index a = 0; a < nodes.size(); ++a) {
      for (const Index q : {Index{0}, Index{1}}) {
        if (best[q][a] && (!best[2][a] || *best[2][a] > *best[q][a])) best[2][a] = best[q][a];
      }
    }
    return best[2];
  }
};

/// How often the two searches disagree, over every tile map as source and every type as target.
struct Comparison {
  Counts pairs;
  std::size_t differ = 0;
};

void compare(const Mesh& H, const NaiveGraph& naive, const Sizes& g, const TileSearch& naive_search,
             const TileSearch& search, const std::vector<Type>& targets, Comparison& out) {
  const Size delta = device_count(H).value();
  const std::string text = to_text(H) + " over " + ::testing::PrintToString(g);
  std::set<Sizes> classes;
  for (const TileMap& f : naive.nodes) classes.insert(f.c);
  for (const Type& tau_2 : targets) {
    const TileMap f_2 = tiles(H, tau_2).value();
    const Size L_2 = size_of(f_2.c);
    for (const Sizes& c_1 : classes) {
      const Size L_1 = size_of(c_1);
      const Size most = naive_search.bounded ? std::max(L_1, L_2) : size_of(g);
      const Size least = naive_search.over_partition ? 1 : std::min(L_1, L_2);
      const auto want = naive.costs(f_2, least, most, naive_search);
      TileDistances distances(delta, g, f_2.c, L_1, search);
      for (Index a = 0; a < naive.nodes.size(); ++a) {
        if (naive.nodes[a].c != c_1) continue;
        ++out.pairs[text];
        out.differ += want[a] != distances.cost(naive.nodes[a], f_2) ? 1U : 0U;
      }
    }
  }
}

std::vector<TileSearch> all_searches() {
  std::vector<TileSearch> out;
  for (int bits = 0; bits < 32; ++bits) {
    out.push_back({.one_axis = (bits & 1) != 0,
                   .bounded = (bits & 2) == 0,
                   .over_partition = (bits & 4) == 0,
                   .permute = (bits & 8) == 0,
                   .normal_form = (bits & 16) != 0});
  }
  return out;
}

TEST(SearchTiles, agrees_with_the_naive_search_on_four_devices) {
  Comparison sum;
  const Mesh H = mesh("x:2,y:2");
  for (const Sizes& g : {Sizes{4}, Sizes{2, 2}, Sizes{6, 4}, Sizes{4, 4}, Sizes{2, 2, 2}}) {
    const NaiveGraph naive(4, g);
    for (const TileSearch& search : all_searches())
      compare(H, naive, g, search, search, all_types(H, g), sum);
  }
  EXPECT_EQ(sum.differ, 0U);
  expect_on_each("sources and targets", sum.pairs, 5, 1000);
}

TEST(SearchTiles, agrees_with_the_naive_search_on_five_and_six_devices) {
  Comparison sum;
  const auto both = [&](std::string_view text, const Sizes& g,
                        const std::vector<TileSearch>& searches) {
    const Mesh H = mesh(text);
    const NaiveGraph naive(device_count(H).value(), g);
    for (const TileSearch& search : searches)
      compare(H, naive, g, search, search, all_types(H, g), sum);
  };
  both("x:5", {5, 5}, {{}});
  both("x:2,y:3", {6}, all_searches());
  both("x:2,y:3", {4, 3}, all_searches());
  both("x:2,y:3", {6, 2}, {{}, {false, true, true, false}});
  EXPECT_EQ(sum.differ, 0U);
  expect_on_each("sources and targets", sum.pairs, 4, 500);
}

/// Eight devices have too many permutations to list, but not too many digits.
TEST(SearchTiles, agrees_with_the_naive_search_without_permutations_on_eight_devices) {
  Comparison sum;
  const Mesh H = mesh("x:2,y:2,z:2");
  const Sizes g = {2, 2, 2};
  const NaiveGraph naive(8, g, false, false);
  TileSearch search;
  search.permute = false;
  const std::vector<Type> targets = {type(H, "[1{x}2, 1{y}2, 1{z}2]"), type(H, "[2, 1{y}2, 2]"),
                                     type(H, "[1{z}2, 2, 1{x}2]")};
  compare(H, naive, g, search, search, targets, sum);
  EXPECT_EQ(sum.differ, 0U);
  expect_on_each("sources and targets", sum.pairs, 1, 100000);
}

/// Controls: the comparison notices a search that forgets something.
TEST(SearchTilesControl, a_search_that_forgets_something_is_noticed) {
  const Mesh H = mesh("x:2,y:2");
  const Sizes g = {4, 4};
  const NaiveGraph naive(4, g);
  const auto differ = [&](const TileSearch& truth, const TileSearch& mutant) {
    Comparison out;
    compare(H, naive, g, truth, mutant, all_types(H, g), out);
    return out.differ;
  };
  TileSearch no_permute;
  no_permute.permute = false;
  EXPECT_GT(differ({}, no_permute), 0U);
  TileSearch no_over_partition;
  no_over_partition.over_partition = false;
  EXPECT_GT(differ({}, no_over_partition), 0U);
  TileSearch one_axis;
  one_axis.one_axis = true;
  EXPECT_GT(differ({}, one_axis), 0U);
  // The bound lowers no cost (S3) but where there is no permutation; there it is noticed.
  TileSearch no_bound = no_permute;
  no_bound.bounded = false;
  EXPECT_GT(differ(no_permute, no_bound), 0U);
  EXPECT_EQ(differ({}, {}), 0U);
}
TEST(SearchTilesControl, one_digit_map_for_all_dynslices_is_noticed) {
  Comparison out;
  const Mesh H = mesh("x:2,y:2");
  compare(H, NaiveGraph(4, {4, 4}, true), {4, 4}, {}, {}, all_types(H, {4, 4}), out);
  EXPECT_GT(out.differ, 0U);
}
/// Merging all tile maps of a localtype, not only those that f_2 cannot tell apart, gives W.
TEST(SearchTilesControl, merging_by_localtype_alone_is_noticed) {
  const Mesh H = mesh("x:2,y:2");
  std::size_t differ = 0;
  const NaiveGraph naive(4, {4, 4});
  for (const Type& tau : all_types(H, {4, 4})) {
    const auto want = naive.costs(tiles(H, tau).value(), 1, 16, {});
    for (Index a = 0; a < naive.nodes.size(); ++a) {
      const auto w = cheapest_weak(4, {4, 4}, naive.nodes[a].c, localtype(tau), {false, false});
      differ += w->cost != want[a] ? 1U : 0U;
    }
  }
  EXPECT_GT(differ, 0U);
}

TEST(Pairs, say_what_holders_of_a_tile_hold) {
  const Mesh H = mesh("x:2,y:2");
  const auto f = [&](std::string_view text) { return tiles(H, type(H, text)).value(); };
  EXPECT_EQ(pairs(f("[2{x}4]"), f("[2{x}4]")), Pairs({0, 0, 1, 1}));
  EXPECT_EQ(pairs(f("[2{x}4]"), f("[2{y}4]")), Pairs({0, 1, 0, 1}));
  EXPECT_EQ(pairs(f("[1{x,y}4]"), f("[1{y,x}4]")), Pairs({0, 2, 1, 3}));
  EXPECT_EQ(pairs(f("[4]"), f("[1{y,x}4]")), Pairs({0, 1, 2, 3}));
}
TEST(Refinements, are_counted_by_hand) {
  const auto count = [](const Pairs& f, Index holders, const OfTiles& coarse) {
    std::set<Pairs> seen;
    std::size_t calls = 0;
    for_each_refinement(f, holders, coarse, [&](const Pairs& g) {
      seen.insert(g);
      ++calls;
    });
    EXPECT_EQ(seen.size(), calls);
    return calls;
  };
  // Four devices that all hold the one tile, cut in two: six ways, or one if they are alike.
  EXPECT_EQ(count(Pairs(4, 0), 1, OfTiles({0, 0})), 6U);
  EXPECT_EQ(count(Pairs(4, 0), 4, OfTiles({0, 0})), 1U);
  EXPECT_EQ(count(Pairs(4, 0), 2, OfTiles({0, 0})), 3U);
  EXPECT_EQ(count(Pairs({0, 0, 1, 1}), 1, OfTiles({0, 0, 1, 1})), 4U);
  EXPECT_EQ(count(Pairs({0, 1, 0, 1}), 2, OfTiles({0, 0, 1, 1})), 4U);
  EXPECT_EQ(count(Pairs({0, 0, 1, 1}), 2, OfTiles({0, 0, 1, 1})), 1U);
  // 60 devices: one way if all are alike, and 31 to divide 30 of each finer tile between two
  // halves.
  EXPECT_EQ(count(Pairs(60, 0), 60, OfTiles(60, 0)), 1U);
  EXPECT_EQ(count(Pairs(60, 0), 30, OfTiles({0, 0})), 31U);
}

/// Whether every step of the path is one of fig10_low_level.h, and the end is f_2.
void is_a_path(const TilePath& path, const TileMap& f_2) {
  TileMap f = path.from;
  std::vector<Op> p;
  Sizes sizes = {size_of(f.c)};
  for (const TileStep& step : path.steps) {
    std::optional<TileMap> next;
    if (step.p == Op::allgather) next = allgather(f, step.i, step.n);
    if (step.p == Op::alltoall) next = alltoall(f, step.i, step.j, step.n);
    if (step.p == Op::allpermute) next = allpermute(f, source(f, step.f));
    if (step.p == Op::dynslice) {
      Sizes e;
      for (const Sizes& t : step.f.t) e.push_back(t[step.i] % step.n);
      next = dynslice(f, step.i, step.n, e);
    }
    ASSERT_TRUE(next == step.f);
    f = step.f;
    p.push_back(step.p);
    sizes.push_back(size_of(f.c));
  }
  ASSERT_TRUE(f == f_2);
  ASSERT_EQ(cost(p, sizes), path.cost);
  ASSERT_TRUE(is_memory_constrained(sizes));
  ASSERT_LE(std::count(p.begin(), p.end(), Op::allpermute), 1);
}

/// Every optimal sequence of types on small meshes: its steps, its Program, and what `check` says.
TEST(Optimum, paths_are_programs_that_are_right_and_cost_the_optimum) {
  Counts problems, permuted;
  std::size_t not_normal = 0;
  for (const auto& [H, g] : spaces(2, 9)) {
    if (size_of(g) > 36) continue;
    for (const Type& tau_1 : all_types(H, g)) {
      for (const Type& tau_2 : all_types(H, g)) {
        const auto path = optimum(H, tau_1, tau_2);
        ASSERT_TRUE(path);
        is_a_path(*path, tiles(H, tau_2).value());
        const std::string text = to_text(H, tau_1, tau_2, *path);
        const Programs parsed = parse_programs(text);
        ASSERT_EQ(parsed.programs.size(), 1U) << text;
        const Verdict verdict = check(parsed.programs.front());
        ASSERT_TRUE(verdict.decided && verdict.right && verdict.within_bound) << text;
        ASSERT_EQ(verdict.cost, path->cost) << text;
        ++problems[to_text(H)];
        permuted[to_text(H)] += text.find("allpermute") != std::string::npos ? 1U : 0U;
        std::vector<Op> p;
        for (const TileStep& step : path->steps) p.push_back(step.p);
        not_normal += is_normal_form(p) ? 0U : 1U;
      }
    }
  }
  expect_on_each("problems", problems, 4, 200);
  expect_on_each("with an allpermute", permuted, 4, 50);
  std::cout << not_normal << " not in normal form\n";
}
TEST(Optimum, a_program_in_full) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau_1 = type(H, "[2{x}4, 4]"), tau_2 = type(H, "[4, 2{y}4]");
  const TilePath path = optimum(H, tau_1, tau_2).value();
  EXPECT_EQ(path.cost, 8);
  EXPECT_EQ(to_text(H, tau_1, tau_2, path),
            "retile.program/1\nmesh x:2,y:2\nfrom [2{x}4, 4]\nto [4, 2{y}4]\n"
            "dynslice dim=1 parts=2 part=[0,1,0,1] tile=[2,2]\n"
            "allgather dim=0 groups=[[0,2],[1,3]] tile=[4,2]\n");
  const TilePath nothing = optimum({}, {{4, {}, 4}}, {{4, {}, 4}}).value();
  EXPECT_EQ(to_text({}, {{4, {}, 4}}, {{4, {}, 4}}, nothing),
            "retile.program/1\ndevices 1\nfrom [4]\nto [4]\n");
}
/// Control: a Program that lacks a step, or permutes otherwise, is not right.
TEST(OptimumControl, a_program_without_its_permutation_is_wrong) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau_1 = type(H, "[1{x,y}4]"), tau_2 = type(H, "[1{y,x}4]");
  TilePath path = optimum(H, tau_1, tau_2).value();
  ASSERT_EQ(path.steps.size(), 1U);
  EXPECT_TRUE(check(parse_programs(to_text(H, tau_1, tau_2, path)).programs.front()).right);
  std::swap(path.steps.front().f.t[0], path.steps.front().f.t[1]);
  EXPECT_FALSE(check(parse_programs(to_text(H, tau_1, tau_2, path)).programs.front()).right);
  path.steps.clear();
  EXPECT_FALSE(check(parse_programs(to_text(H, tau_1, tau_2, path)).programs.front()).right);
}

/// A node that was being looked at when the search was given up is lost, and what lies behind it.
TEST(SearchTiles, a_search_that_was_given_up_stays_given_up) {
  std::size_t answers = 0, given_up = 0, none = 0;
  const Mesh H = mesh("x:2,y:2,z:2");
  const TileMap f_2 = tiles(H, type(H, "[1{x,y}4, 2{z}4]")).value();
  TileSearch no_permute;
  no_permute.permute = false;
  for (auto [search, L_1] :
       {std::pair(TileSearch(), Size{16}), {no_permute, 16}, {no_permute, 2}}) {
    std::vector<Type> types;
    std::vector<std::optional<Size>> truth;
    TileDistances unlimited(8, {4, 4}, f_2.c, L_1, search);
    for (const Type& tau_1 : all_types(H, {4, 4})) {
      if (localsize(tau_1) > L_1) continue;
      types.push_back(tau_1);
      truth.push_back(unlimited.cost(tiles(H, tau_1).value(), f_2));
    }
    for (search.limit = 1; search.limit < 400; ++search.limit) {
      TileDistances distances(8, {4, 4}, f_2.c, L_1, search);
      bool has_thrown = false;
      for (int again = 0; again < 2; ++again) {
        for (Index a = 0; a < types.size(); ++a) {
          try {
            const auto cost = distances.cost(tiles(H, types[a]).value(), f_2);
            ASSERT_EQ(cost, truth[a]) << to_text(types[a]) << ", limit " << search.limit;
            ASSERT_FALSE(has_thrown) << to_text(types[a]) << ", limit " << search.limit;
            ++answers;
            none += cost ? 0U : 1U;
          } catch (const SearchLimit&) {
            has_thrown = true;
            ++given_up;
          }
        }
      }
    }
  }
  std::cout << answers << " answers, " << none << " of them none, " << given_up << " given up\n";
  EXPECT_GT(answers, 1000U);
  EXPECT_GT(none, 0U);
  EXPECT_GT(given_up, 1000U);
}
TEST(SearchTiles, questions_that_a_search_cannot_answer_are_refused) {
  const Mesh H = mesh("x:2,y:2");
  const auto f = [&](std::string_view text) { return tiles(H, type(H, text)).value(); };
  const auto refuses = [&](const TileMap& f_1, const TileMap& f_2) {
    TileDistances distances(4, {4, 4}, {2, 4}, 8, {});
    EXPECT_THROW(static_cast<void>(distances.cost(f_1, f_2)), std::invalid_argument);
  };
  const TileMap f_1 = f("[4, 2{x}4]"), f_2 = f("[2{y}4, 4]");
  EXPECT_EQ(TileDistances(4, {4, 4}, {2, 4}, 8, {}).cost(f_1, f_2), 8);
  refuses(f_1, f("[4, 2{y}4]"));  // not of the localtype that was searched from
  refuses(f_1, f("[2{x}4, 2{y}4]"));
  refuses(f("[4, 4]"), f_2);      // above the localsizes that were said
  refuses(f("[4, 4{x}8]"), f_2);  // of another globaltype
  refuses(f_1, f("[2{y}4, 4, 1]"));
  TileMap wrong = f_2;
  wrong.t[0] = wrong.t[1] = wrong.t[2];  // not balanced
  refuses(f_1, wrong);
  wrong = f_1;
  wrong.t.insert(wrong.t.end(), f_1.t.begin(), f_1.t.end());  // more devices
  refuses(wrong, f_2);
  wrong = f_1;
  wrong.t[0].pop_back();
  refuses(wrong, f_2);
  EXPECT_THROW(TileDistances(4, {4, 4}, {2, 3}, 8, {}), std::invalid_argument);
  EXPECT_THROW(TileDistances(4, {4, 4}, {1, 1}, 8, {}), std::invalid_argument);
  EXPECT_THROW(TileDistances(4, {4, 4}, {4}, 8, {}), std::invalid_argument);
}
/// Over so many devices neither the localtypes nor a tile map could be listed.
TEST(SearchTiles, too_many_devices_are_refused_before_anything_is_listed) {
  const Size delta = Size{1} << 40;
  const Sizes g(30, 4);
  EXPECT_THROW(TileDistances(delta, g, g, size_of(g), {}), SearchLimit);
  const Type unsplit = {{delta, {}, delta}}, split = {{1, {"x"}, delta}};
  EXPECT_THROW(static_cast<void>(optimum({{"x", delta}}, unsplit, split)), SearchLimit);
  EXPECT_FALSE(optimum({{"x", delta}}, unsplit, {{1, {}, 1}}));
  const Type all = {{127, {}, 127}}, one = {{1, {"x"}, 127}};
  EXPECT_EQ(optimum({{"x", 127}}, one, all)->cost, 127);
  EXPECT_EQ(optimum({{"x", 127}}, all, one)->cost, 0);
}

TEST(Optimum, is_not_to_be_had_as_a_normal_form) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau = type(H, "[2{x}4]");
  TileSearch search;
  search.normal_form = true;
  EXPECT_THROW(static_cast<void>(optimum(H, tau, tau, search)), std::invalid_argument);
  const TileMap f = tiles(H, tau).value();
  EXPECT_THROW(static_cast<void>(optimum(f, f, search)), std::invalid_argument);
  EXPECT_EQ(TileDistances(4, {4}, {2}, 2, search).cost(f, f), 0);
}
TEST(Optimum, tells_no_problem_from_no_answer) {
  const Mesh H = mesh("x:2,y:2");
  const Type tau_1 = type(H, "[2{x}4]"), tau_2 = type(H, "[2{y}4]");
  EXPECT_FALSE(optimum(H, tau_1, type(H, "[2{x}4, 1]")));
  EXPECT_FALSE(optimum(H, tau_1, type(H, "[1{x}4]")));
  EXPECT_FALSE(optimum(H, tau_1, type(H, "[2{z}4]")));
  TileSearch search;
  search.permute = false;
  EXPECT_FALSE(optimum(H, tau_1, tau_2, search));  // within the bound there is no other way
  search.bounded = false;
  EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, 4);
  search.limit = 3;
  EXPECT_THROW(static_cast<void>(optimum(H, tau_1, tau_2, search)), SearchLimit);
  EXPECT_THROW(static_cast<void>(optimum(mesh("x:128"), {{128, {}, 128}}, {{128, {}, 128}})),
               SearchLimit);
}

/// All examples of the paper, up to 32 devices, with and without the bound.
TEST(Examples, have_the_optima_that_they_are_said_to_have) {
  std::size_t known = 0;
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const Mesh H = mesh(example.mesh);
    const Type tau_1 = type(H, example.from), tau_2 = type(H, example.to);
    for (const bool bounded : {true, false}) {
      TileSearch search;
      search.bounded = bounded;
      const auto path = optimum(H, tau_1, tau_2, search);
      ASSERT_TRUE(path);
      is_a_path(*path, tiles(H, tau_2).value());
      EXPECT_EQ(path->cost, example.optimum.value_or(path->cost));
      known += example.optimum ? 1U : 0U;
      const Verdict verdict = check(parse_programs(to_text(H, tau_1, tau_2, *path)).programs[0]);
      EXPECT_TRUE(verdict.decided && verdict.right);
      EXPECT_EQ(verdict.cost, path->cost);
      if (example.permutes == Size{0}) {
        search.permute = false;
        EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, path->cost);
      }
      if (!example.optimum) std::cout << example.name << ": optimum " << path->cost << "\n";
    }
  }
  EXPECT_GT(known, 40U);
}

}  // namespace
}  // namespace spec::tiles_test
