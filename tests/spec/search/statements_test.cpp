// S1-S10 of our list of stronger statements, by enumeration of all pairs of types on small meshes.
// What each says stands above its test; the list is in docs/ledger/statements.md.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <numeric>

#include "by_counting.h"
#include "optima.h"
#include "spec/paper/def4_sequences.h"
#include "spec/paper/examples.h"
#include "spec/search/types.h"

namespace spec::statements_test {
namespace {

/// A mesh with the global shapes over it: all of rank 1 to `most_rank` with these sizes.
struct Row {
  const char* mesh;
  Sizes sizes;
  Index most_rank;
};
void PrintTo(const Row& row, std::ostream* os) {
  *os << row.mesh << ", sizes";
  for (const Size s : row.sizes) *os << " " << s;
  *os << ", rank 1 to " << row.most_rank;
}

/// Whether the axis list of each dimension of τ_1 ends that of τ_2.
bool is_suffix(const Type& tau_1, const Type& tau_2) {
  for (Index i = 0; i < rank(tau_1); ++i) {
    const Names &xs = tau_1[i].xs, &ys = tau_2[i].xs;
    if (xs.size() > ys.size() || !std::equal(xs.rbegin(), xs.rend(), ys.rbegin())) return false;
  }
  return true;
}

/// Everything that is known of one pair, for S2, S3, S5 and S6.
struct Pair {
  Size OPT = 0, W = 0, L_1 = 0, L_2 = 0;
  Size with_permute = 0;          // least cost + valley over all weak sequences
  Size with_permute_at_best = 0;  // the same over those of cost W
  // Least cost of a normal form without an allpermute; over twelve devices and more only if that is
  // below with_permute.
  std::optional<Size> no_permute;
  Size unbounded = 0;  // OPT without (4)
  Size normal = 0;     // OPT over normal forms
  bool is_suffix = false;
};

/// The statements, by name; each is one line, so that the controls can break them one by one.
using Statement = std::function<bool(const Pair&)>;
const std::vector<std::pair<std::string, Statement>>& statements() {
  static const std::vector<std::pair<std::string, Statement>> all = {
      {"S2: W <= OPT", [](const Pair& p) { return p.W <= p.OPT; }},
      {"S2: OPT <= cost + valley for every weak sequence",
       [](const Pair& p) { return p.OPT <= p.with_permute; }},
      {"S2: OPT <= W + least valley",
       [](const Pair& p) { return p.OPT <= p.with_permute_at_best; }},
      {"S3: OPT is the same with and without the bound",
       [](const Pair& p) { return p.OPT == p.unbounded; }},
      {"S3: OPT is reached by a normal form with at most one allpermute",
       [](const Pair& p) { return p.OPT == p.normal; }},
      {"S3: OPT is least cost, or least cost + valley",
       [](const Pair& p) {
         return p.OPT == std::min(p.no_permute.value_or(p.with_permute), p.with_permute);
       }},
      {"S5: OPT = 0 iff suffixes", [](const Pair& p) { return (p.OPT == 0) == p.is_suffix; }},
      {"S5: OPT = 0 or OPT >= L2", [](const Pair& p) { return p.OPT == 0 || p.OPT >= p.L_2; }},
      {"S5: W = 0 or W >= L2", [](const Pair& p) { return p.W == 0 || p.W >= p.L_2; }},
      // The valley of no sequence is above the smaller end, so this is more than S6 says.
      {"S6: OPT = 0 or W + min(L1, L2) <= 2 OPT",
       [](const Pair& p) { return p.OPT == 0 || p.W + std::min(p.L_1, p.L_2) <= 2 * p.OPT; }},
  };
  return all;
}

/// Calls visit for every pair of types over every shape of the row.
template <class Visit>
std::size_t for_each_pair(const Row& row, const Visit& visit) {
  const Mesh H = mesh(row.mesh);
  const Size delta = device_count(H).value();
  std::size_t seen = 0;
  for (const Sizes& g : shapes(row.sizes, row.most_rank)) {
    const std::vector<Sizes> c = all_localtypes(delta, g);
    const auto W = weak_costs(delta, g, c);
    const auto at = [&](const Sizes& localtype) {
      return static_cast<Index>(std::lower_bound(c.begin(), c.end(), localtype) - c.begin());
    };
    Sizes size;
    for (const Sizes& c_m : c) size.push_back(size_of(c_m));
    // W through every localtype, and what a permutation at that localtype adds.
    std::vector<std::vector<Pair>> by_localtype(c.size(), std::vector<Pair>(c.size()));
    for (Index a = 0; a < c.size(); ++a) {
      for (Index b = 0; b < c.size(); ++b) {
        Pair& p = by_localtype[a][b];
        p.W = W[a][b];
        p.L_1 = size[a];
        p.L_2 = size[b];
        p.with_permute = p.with_permute_at_best = W[a][b] + size[b];
        for (Index m = 0; m < c.size(); ++m) {
          const Size sum = W[a][m] + W[m][b] + size[m];
          p.with_permute = std::min(p.with_permute, sum);
          if (sum - size[m] != p.W) continue;
          p.with_permute_at_best = std::min(p.with_permute_at_best, sum);
        }
      }
    }
    TileSearch unbounded, normal, no_permute;
    unbounded.bounded = false;
    normal.normal_form = true;
    no_permute.permute = false;
    no_permute.normal_form = true;
    Optima opt(delta, g, {}), opt_unbounded(delta, g, unbounded), opt_normal(delta, g, normal),
        opt_no_permute(delta, g, no_permute);
    // Where nothing is as near as a permutation makes it, too many tile maps are to be seen.
    const bool is_searched = delta < 12;
    std::optional<ByCounting> counting;
    if (!is_searched) counting.emplace(delta, g);
    const std::vector<Type> types = all_types(H, g);
    std::vector<TileMap> f;
    std::vector<Index> number;
    for (const Type& tau : types) {
      f.push_back(tiles(H, tau).value());
      number.push_back(at(localtype(tau)));
    }
    for (Index a = 0; a < f.size(); ++a) {
      for (Index b = 0; b < f.size(); ++b) {
        Pair p = by_localtype[number[a]][number[b]];
        p.OPT = opt(f[a], f[b]).value();
        p.unbounded = opt_unbounded(f[a], f[b]).value();
        p.normal = opt_normal(f[a], f[b]).value();
        p.no_permute = is_searched ? opt_no_permute(f[a], f[b]) : counting->no_permute(f[a], f[b]);
        p.is_suffix = is_suffix(types[a], types[b]);
        visit(types[a], types[b], p);
        ++seen;
      }
    }
  }
  return seen;
}

class AllPairs : public ::testing::TestWithParam<Row> {
 protected:
  /// Of all rows, unless only some were asked for.
  static void TearDownTestSuite() {
    std::cout << "all rows: " << pairs_seen << " pairs\n";
    const auto* suite = ::testing::UnitTest::GetInstance()->current_test_suite();
    if (suite->test_to_run_count() < suite->total_test_count()) return;
    EXPECT_GE(pairs_seen, 300000U);
  }
  static inline std::size_t pairs_seen = 0;
};

TEST_P(AllPairs, S2_S3_S5_S6) {
  std::map<std::string, std::size_t> kinds, broken;
  std::size_t needs_no_permute = 0, needs_permute = 0;  // to reach OPT, for the last line of S3
  std::size_t is_not_free = 0;                          // S5 and S6 say more where OPT > 0
  const std::size_t seen =
      for_each_pair(GetParam(), [&](const Type& tau_1, const Type& tau_2, const Pair& p) {
        ++(p.no_permute && *p.no_permute < p.with_permute ? needs_no_permute : needs_permute);
        is_not_free += p.OPT > 0 ? 1U : 0U;
        for (const auto& [name, holds] : statements()) {
          if (!holds(p) && broken[name]++ == 0) {
            ADD_FAILURE() << name << ": " << to_text(tau_1) << " ~> " << to_text(tau_2) << ", OPT "
                          << p.OPT << ", W " << p.W;
          }
        }
        ++kinds[p.OPT == 0                        ? "OPT = 0"
                : p.OPT == p.W                    ? "OPT = W > 0"
                : p.OPT == p.with_permute_at_best ? "OPT = W + least valley"
                                                  : "between"];
      });
  std::cout << "mesh " << ::testing::PrintToString(GetParam()) << ": " << seen << " pairs";
  for (const auto& [kind, count] : kinds) std::cout << ", " << count << " with " << kind;
  std::cout << "; every statement on all, S3 without an allpermute on " << needs_no_permute
            << " and with one on " << needs_permute << ", S6 on " << is_not_free
            << " with OPT > 0\n";
  pairs_seen += seen;
  EXPECT_GT(seen, 1000U);
  EXPECT_GT(needs_no_permute, 100U);
  EXPECT_GT(needs_permute, 100U);
  EXPECT_GT(is_not_free, 1000U);
  EXPECT_GT(kinds["OPT = 0"], 100U);
  EXPECT_GT(kinds["OPT = W > 0"], 100U);
  EXPECT_GT(kinds["OPT = W + least valley"], 100U);
}

#ifdef RETILE_SLOW_TESTS
INSTANTIATE_TEST_SUITE_P(Large, AllPairs,
                         ::testing::Values(Row{"x:2,y:2,z:3", {1, 2, 3, 4, 6, 12}, 3},
                                           Row{"x:2,y:3,z:3", {2, 3, 6, 9, 18}, 2},
                                           Row{"x:2,y:2,z:2", {2, 4, 6, 8, 12}, 3},
                                           Row{"x:2,y:2,z:2,w:2", {2, 4, 8, 16}, 2},
                                           Row{"x:2,y:3,z:5", {2, 6, 10, 15, 30}, 2}));
#else
INSTANTIATE_TEST_SUITE_P(
    Small, AllPairs,
    ::testing::Values(Row{"x:2,y:2", {1, 2, 4}, 3}, Row{"x:2,y:2", {2, 4, 6, 8, 12}, 3},
                      Row{"x:3,y:3", {1, 3, 6, 9}, 3}, Row{"x:2,y:3", {1, 2, 3, 6}, 3},
                      Row{"x:2,y:3", {2, 4, 6, 9, 12}, 3}, Row{"x:2,y:2,z:2", {1, 2, 4, 8}, 3},
                      Row{"x:2,y:2,z:2", {2, 6, 8, 12}, 2},
                      Row{"x:2,y:2,z:3", {2, 3, 4, 6, 12}, 2}));

/// Controls: each statement made a little stronger, or its truth replaced by that of a search that
/// forgets something, is refuted on these pairs.
TEST(AllPairsControl, stronger_statements_and_wrong_optima_are_refuted) {
  const std::vector<std::pair<std::string, Statement>> stronger = {
      {"OPT = W", [](const Pair& p) { return p.W == p.OPT; }},
      {"OPT < cost + valley", [](const Pair& p) { return p.OPT < p.with_permute_at_best; }},
      {"OPT without allpermute", [](const Pair& p) { return p.no_permute == p.OPT; }},
      {"OPT = 0 iff equal",
       [](const Pair& p) { return (p.OPT == 0) == (p.is_suffix && p.L_1 == p.L_2); }},
      {"OPT >= L1", [](const Pair& p) { return p.OPT == 0 || p.OPT >= p.L_1; }},
      {"OPT > L2", [](const Pair& p) { return p.OPT == 0 || p.OPT > p.L_2; }},
      {"W > 0", [](const Pair& p) { return p.W > 0 || p.OPT == 0; }},
      {"factor 3/2",
       [](const Pair& p) { return p.OPT == 0 || 2 * (p.W + std::min(p.L_1, p.L_2)) <= 3 * p.OPT; }},
  };
  // A search that forgets the permutation, merges too much, or permutes for nothing.
  const auto wrong = [](Pair p, int kind) {
    const Size truth = p.OPT;
    if (kind == 0) p.OPT = p.no_permute.value_or(p.OPT + 1);
    if (kind == 1) p.OPT = p.W;
    if (kind == 2) p.OPT = p.with_permute;
    return std::pair(p, p.OPT != truth);
  };
  for (const Row& row : {Row{"x:2,y:2", {1, 2, 4}, 2}, Row{"x:2,y:2,z:3", {6, 12}, 2}}) {
    SCOPED_TRACE(row.mesh);
    std::map<std::string, std::size_t> refuted;
    std::map<int, std::size_t> caught;
    for_each_pair(row, [&](const Type&, const Type&, const Pair& p) {
      for (const auto& [name, holds] : stronger) refuted[name] += holds(p) ? 0U : 1U;
      for (int kind = 0; kind < 3; ++kind) {
        const auto [mutant, differs] = wrong(p, kind);
        bool all_hold = true;
        for (const auto& statement : statements()) all_hold = all_hold && statement.second(mutant);
        caught[kind] += all_hold ? 0U : 1U;
        EXPECT_TRUE(!all_hold || !differs);  // every single wrong optimum is caught
      }
    });
    for (const auto& statement : stronger) {
      EXPECT_GT(refuted[statement.first], 0U) << statement.first;
    }
    for (int kind = 0; kind < 3; ++kind) EXPECT_GT(caught[kind], 0U) << kind;
  }
}

/// A normal form is as good as any sequence, also where no allpermute is allowed.
TEST(ByCounting, agrees_with_the_search) {
  Counts pairs_of, without;
  for (const auto& [text, sizes, most_rank] :
       {Row{"x:2,y:2", {2, 4, 12}, 2}, Row{"x:2,y:3", {2, 3, 4, 6}, 2},
        Row{"x:3,y:3", {3, 6, 9}, 2}, Row{"x:2,y:2,z:2", {4, 8}, 2}}) {
    const Mesh H = mesh(text);
    const Size delta = device_count(H).value();
    TileSearch search;
    search.permute = false;
    for (const Sizes& g : shapes(sizes, most_rank)) {
      ByCounting counting(delta, g);
      Optima no_permute(delta, g, search);
      std::vector<TileMap> f;
      for (const Type& tau : all_types(H, g)) f.push_back(tiles(H, tau).value());
      for (const TileMap& f_1 : f) {
        for (const TileMap& f_2 : f) {
          const Size with = counting.costs(f_1.c, f_2.c).with_permute;
          const Size want = no_permute(f_1, f_2).value_or(with);
          const auto have = counting.no_permute(f_1, f_2);
          ASSERT_EQ(have.value_or(with), std::min(want, with));
          ++pairs_of[text];
          without[text] += have ? 1U : 0U;
        }
      }
    }
  }
  expect_on_each("pairs", pairs_of, 4, 500);
  expect_on_each("cheapest without an allpermute", without, 4, 100);
}

/// The same W by the search that is asked for elsewhere. The mutant has no dynslice.
TEST(WeakCosts, agree_with_cheapest_weak) {
  Counts compared, mutant_wrong;
  for (const auto& [H, g] : spaces(2, 9)) {
    const Size delta = device_count(H).value();
    const std::vector<Sizes> c = all_localtypes(delta, g);
    const auto W = weak_costs(delta, g, c), mutant = weak_costs(delta, g, c, false);
    for (Index a = 0; a < c.size(); ++a) {
      for (Index b = 0; b < c.size(); ++b) {
        ASSERT_EQ(cheapest_weak(delta, g, c[a], c[b])->cost, W[a][b]);
        mutant_wrong[to_text(H)] += mutant[a][b] != W[a][b] ? 1U : 0U;
        ++compared[to_text(H)];
      }
    }
  }
  expect_on_each("pairs of localtypes", compared, 4, 50);
  expect_on_each("the mutant is wrong", mutant_wrong, 4, 10);
}

/// S1: allgather and alltoall are functions of the tile map, also by the literal rules of Fig. 10
/// with every device map φ' over six devices: see
/// Fig10.literal_rules_are_the_physical_rules. Here over eight: the literal rule leads to
/// one tile map only. The mutant forgets its premise on φ'.
TEST(S1, gathers_are_functions_on_eight_devices) {
  const Mesh H = mesh("x:2,y:2,z:2");
  std::size_t assignments = 0, caught = 0;
  for (const char* text : {"[1{x,y,z}8]", "[2{x,y}8]", "[4{z}8]"}) {
    const Type tau = type(H, text);
    DeviceMap phi(8);
    std::iota(phi.begin(), phi.end(), Size{0});
    const TypedAssignment from = {phi, tau};
    const TileMap f = physical(H, from).value();
    for (const Name& x : tau[0].xs) {
      Type gathered = tau;
      gathered[0].c *= 2;
      gathered[0].xs.erase(std::find(gathered[0].xs.begin(), gathered[0].xs.end(), x));
      Type front = tau;
      front[0] = to_front(x, tau[0]).value();
      const auto before = tile_map(H, from);
      do {
        const bool leads_there = physical(H, {phi, gathered}) == allgather(f, 0, 2);
        if (tile_map(H, {phi, front}) != before) {  // the only premise on φ'
          caught += leads_there ? 0U : 1U;
          continue;
        }
        ASSERT_TRUE(low_level_allgather(H, 0, x, from, {phi, gathered}));
        ASSERT_TRUE(leads_there);
        ++assignments;
      } while (std::next_permutation(phi.begin(), phi.end()));
    }
  }
  std::cout << assignments << " device assignments, the mutant leads elsewhere by " << caught
            << "\n";
  EXPECT_GT(assignments, 100U);
  EXPECT_GT(caught, 1000U);
}

/// All tails from b to c_2 with up to `most` alltoalls.
std::vector<Tail> tails(Size delta, const Sizes& g, const Sizes& b, const Sizes& c_2, Index most) {
  std::vector<Tail> out;
  const auto visit = [&](const auto& self, const TileMap& f, Index k) -> void {
    if (divides(f.c, c_2)) {
      const TileMap end = gathered(f, c_2);
      Tail tail = {static_cast<Size>(k) * size_of(b) + gather_cost(f.c, c_2), k, {}};
      for (const Sizes& t : end.t) tail.to.push_back(tile_number(g, c_2, t));
      out.push_back(tail);
    }
    if (k == most) return;
    for (const WeakCollective& p : weak_steps(delta, g, f.c)) {
      if (p.p == Op::alltoall) self(self, alltoall(f, p.i, p.j, p.n).value(), k + 1);
    }
  };
  visit(visit, every_tile(g, b), 0);
  return out;
}

/// S4: a normal form is realisable from f_1 to f_2 without allpermute iff for all tiles u, v
///   #{d : f_1(d) = u, f_2(d) = v} = (δ / ∏ N_i(b)) · #{o : up1(o) = u, s(o) = v}.
/// The left side of "iff" by brute force: every balanced refinement of f_1 to b, run through s. The
/// mutant criterion forgets the factor δ / ∏ N_i(b).
TEST(S4, exactness_criterion_on_contingency_counts) {
  Counts decided, realisable, mutant_wrong;
  for (const auto& [text, sizes, most_rank] :
       {Row{"x:2,y:2", {2, 4}, 3}, Row{"x:2,y:3", {2, 3, 6}, 2}, Row{"x:2,y:2,z:2", {8}, 1},
        Row{"x:2,y:2,z:2", {2, 4}, 2}}) {
    const Mesh H = mesh(text);
    const Size delta = device_count(H).value();
    for (const Sizes& g : shapes(sizes, most_rank)) {
      const auto all = all_localtypes(delta, g);
      std::map<std::pair<Sizes, Sizes>, std::vector<Tail>> kept;
      for (const Type& tau_1 : all_types(H, g)) {
        const TileMap f_1 = tiles(H, tau_1).value();
        for (const Type& tau_2 : all_types(H, g)) {
          const TileMap f_2 = tiles(H, tau_2).value();
          const Contingency want = devices_by_pair(f_1, f_2);
          const TileMap ends = every_tile(g, f_2.c);
          const Index block = f_2.t.size() / ends.t.size();
          for (const Sizes& b : all) {
            if (!divides(b, f_1.c)) continue;
            const auto key = std::pair(b, f_2.c);
            if (kept.count(key) == 0) kept[key] = tails(delta, g, b, f_2.c, 2);
            // Which tails some refinement realises.
            OfTiles coarse;
            for (const Sizes& t : gathered(every_tile(g, b), f_1.c).t) {
              coarse += static_cast<char>(tile_number(g, f_1.c, t));
            }
            std::vector<bool> found(kept[key].size());
            for_each_refinement(pairs(f_2, f_1), block, coarse, [&](const Pairs& h) {
              for (Index w = 0; w < found.size(); ++w) {
                bool exact = true;
                for (Index d = 0; d < h.size() && exact; ++d) {
                  exact = kept[key][w].to[static_cast<Index>(h[d])] == d / block;
                }
                found[w] = found[w] || exact;
              }
            });
            const Size each = delta / static_cast<Size>(coarse.size());
            for (Index w = 0; w < found.size(); ++w) {
              const Contingency have = holders_by_pair(g, b, f_1.c, kept[key][w], each);
              ASSERT_EQ(have == want, found[w]) << to_text(tau_1) << " " << to_text(tau_2);
              const bool mutant = holders_by_pair(g, b, f_1.c, kept[key][w], 1) == want;
              mutant_wrong[text] += mutant != found[w] ? 1U : 0U;
              ++decided[text];
              realisable[text] += found[w] ? 1U : 0U;
            }
          }
        }
      }
    }
  }
  expect_on_each("normal forms with ends", decided, 3, 1000);
  expect_on_each("realisable", realisable, 3, 500);
  expect_on_each("the mutant criterion is wrong", mutant_wrong, 3, 100);
}

/// S4, second half: only the tails with the least number of alltoalls between their bottom and top
/// need testing. So OPT follows from weak types and contingency counts alone: no search over tile
/// maps. The mutant lets every weak sequence count as realisable.
TEST(S4, gives_the_optimum_with_the_fewest_alltoalls) {
  Counts compared, mutant_wrong;
  for (const auto& [text, sizes, most_rank] :
       {Row{"x:2,y:2", {2, 4}, 3}, Row{"x:3,y:3", {3, 9}, 3}, Row{"x:2,y:3", {2, 3, 6}, 3},
        Row{"x:2,y:2,z:2", {2, 4, 8}, 2}, Row{"x:2,y:2,z:3", {6, 12}, 2}}) {
    const Mesh H = mesh(text);
    const Size delta = device_count(H).value();
    for (const Sizes& g : shapes(sizes, most_rank)) {
      ByCounting counting(delta, g);
      Optima opt(delta, g, {});
      std::vector<TileMap> f;
      for (const Type& tau : all_types(H, g)) f.push_back(tiles(H, tau).value());
      for (const TileMap& f_1 : f) {
        for (const TileMap& f_2 : f) {
          const auto& costs = counting.costs(f_1.c, f_2.c);
          const Size best = counting.no_permute(f_1, f_2).value_or(costs.with_permute);
          ASSERT_EQ(best, opt(f_1, f_2));
          mutant_wrong[text] += costs.weak != best ? 1U : 0U;
          ++compared[text];
        }
      }
    }
  }
  expect_on_each("pairs", compared, 5, 1000);
  expect_on_each("the mutant is wrong", mutant_wrong, 5, 100);
}

/// The exponent of p in n.
Size exponent(Size p, Size n) {
  Size v = 0;
  for (; n % p == 0; n /= p) ++v;
  return v;
}

/// S7: W with single-axis rules in closed form; `free_gathers` false is a mutant that forgets that
/// gathers change what alltoalls must still move.
Size closed_form(Size delta, const Sizes& g, const Sizes& c_1, const Sizes& c_2,
                 bool free_gathers = true) {
  const Size L_1 = size_of(c_1), L_2 = size_of(c_2);
  std::optional<Size> W;
  for (Size V = 1; V <= std::min(L_1, L_2); ++V) {
    if (L_1 % V != 0 || L_2 % V != 0) continue;                          // V | L1, V | L2
    if (size_of(g) % V != 0 || delta % (size_of(g) / V) != 0) continue;  // (globalsize/V) | δ
    Size sum = 0, size = V;
    for (const Size p : prime_factors(L_2 / V)) sum += size *= p;  // G(L2/V)
    std::set<Size> primes;
    for (const Size p : prime_factors(delta)) primes.insert(p);
    for (const Size p : primes) {
      Size up = 0;
      for (Index i = 0; i < g.size(); ++i) {
        up += std::max<Size>(0, exponent(p, c_2[i]) - exponent(p, c_1[i]));
      }
      sum += V * std::max<Size>(0, up - (free_gathers ? exponent(p, L_2 / V) : 0));
    }
    W = std::min(W.value_or(sum), sum);
  }
  return W.value_or(-1);
}

/// S7: W = min over V of G(L2/V) + V · Σ_p max(0, Σ_i max(0, v_p(c2_i) - v_p(c1_i)) - v_p(L2/V)).
TEST(S7, single_axis_closed_form) {
  Counts compared, mutant_wrong;
  for (const auto& [delta, sizes, most_rank] : {std::tuple<Size, Sizes, Index>{4, {2, 4, 6, 8}, 3},
                                                {6, {2, 3, 6, 12}, 3},
                                                {8, {2, 4, 8}, 3},
                                                {9, {3, 9}, 3},
                                                {12, {4, 6, 12}, 2},
                                                {30, {6, 10, 30}, 2}}) {
    const std::string text = std::to_string(delta) + " devices";
    for (const Sizes& g : shapes(sizes, most_rank)) {
      for (const Sizes& c_1 : all_localtypes(delta, g)) {
        for (const Sizes& c_2 : all_localtypes(delta, g)) {
          const Size W = cheapest_weak(delta, g, c_1, c_2, {true, true})->cost;
          ASSERT_EQ(closed_form(delta, g, c_1, c_2), W);
          mutant_wrong[text] += closed_form(delta, g, c_1, c_2, false) != W ? 1U : 0U;
          ++compared[text];
        }
      }
    }
  }
  expect_on_each("pairs of localtypes", compared, 6, 500);
  expect_on_each("the mutant is wrong", mutant_wrong, 6, 100);
}

/// S8: the cheapest gathers from t to c_2 are one per dimension, the smallest factor first. The
/// mutant takes the largest first.
TEST(S8, gathers_smallest_factor_first) {
  Counts compared, mutant_wrong;
  for (const auto& [delta, g] : {std::pair<Size, Sizes>{24, {24, 24, 24}},
                                 {30, {30, 30, 30}},
                                 {16, {16, 16, 16}},
                                 {12, {12, 12, 12, 12}}}) {
    const std::string text = std::to_string(delta) + " devices";
    for (const Sizes& t : all_localtypes(delta, g)) {
      // Over gathers only: the cost from t to every coarser localtype.
      std::map<Sizes, Size> cost_to = {{t, 0}};
      std::set<std::pair<Size, Sizes>> open = {{0, t}};
      while (!open.empty()) {
        const auto [spent, c] = *open.begin();
        open.erase(open.begin());
        if (cost_to.at(c) != spent) continue;
        for (const WeakCollective& p : weak_steps(delta, g, c)) {
          if (p.p != Op::allgather) continue;
          const Sizes next = *weak_step(delta, g, p, c);
          const Size sum = spent + size_of(next);
          const auto known = cost_to.find(next);
          if (known != cost_to.end() && known->second <= sum) continue;
          cost_to[next] = sum;
          open.insert({sum, next});
        }
      }
      for (const auto& [c_2, least] : cost_to) {
        ASSERT_EQ(gather_cost(t, c_2), least);
        Sizes factors;
        for (Index i = 0; i < t.size(); ++i) factors.push_back(c_2[i] / t[i]);
        std::sort(factors.rbegin(), factors.rend());
        Size size = size_of(t), mutant = 0;
        for (const Size n : factors) mutant += n > 1 ? size *= n : 0;
        mutant_wrong[text] += mutant != least ? 1U : 0U;
        ++compared[text];
      }
    }
  }
  expect_on_each("gather phases", compared, 4, 100);
  expect_on_each("the mutant is wrong", mutant_wrong, 4, 10);
}

/// The largest number of blocks of a partition of the differences that are not 0 into blocks of sum
/// 0, by trying all subsets. Only the whole block is known to sum to 0.
Size most_zero_blocks(const Sizes& differences) {
  const Index n = differences.size();
  std::vector<Size> sum(Index{1} << n, 0), most(Index{1} << n, 0);
  for (Index set = 1; set < sum.size(); ++set) {
    for (Index i = 0; i < n; ++i) {
      if ((set >> i & 1) != 0) sum[set] += differences[i];
    }
    if (sum[set] != 0) continue;
    most[set] = 1;
    for (Index part = (set - 1) & set; part > 0; part = (part - 1) & set) {
      if (sum[part] == 0) most[set] = std::max(most[set], most[part] + most[set ^ part]);
    }
  }
  return most.back();
}

/// The fewest alltoalls from b to each localtype, on the way through `allowed` ones only.
std::map<Sizes, Size> fewest_alltoalls(Size delta, const Sizes& g, const Sizes& b,
                                       const std::function<bool(const Sizes&)>& allowed) {
  std::map<Sizes, Size> steps = {{b, 0}};
  std::vector<Sizes> open = {b};
  for (Index k = 0; k < open.size(); ++k) {
    for (const WeakCollective& w : weak_steps(delta, g, open[k])) {
      if (w.p != Op::alltoall) continue;
      const Sizes next = *weak_step(delta, g, w, open[k]);
      if (allowed(next) && steps.emplace(next, steps.at(open[k]) + 1).second) open.push_back(next);
    }
  }
  return steps;
}
bool anywhere(const Sizes&) { return true; }

/// S9, one prime: the least number of multi-axes alltoalls from b to t is the number of changed
/// dimensions minus the largest number of blocks of sum 0 of the exponent differences. The mutant
/// counts one block; of two, each has two dimensions or more.
TEST(S9, fewest_alltoalls_on_meshes_of_one_prime) {
  Counts compared, mutant_wrong;
  for (const auto& [p, delta, g] : {std::tuple<Size, Size, Sizes>{2, 16, {16, 16, 16}},
                                    {2, 16, {8, 4, 16, 4}},
                                    {2, 8, {8, 8, 8, 8}},
                                    {3, 27, {27, 9, 27, 3}},
                                    {2, 8, {4, 4, 4, 4, 4}},
                                    {2, 32, {8, 4, 32, 8}}}) {
    const std::string text = std::to_string(delta) + " devices, " + ::testing::PrintToString(g);
    for (const Sizes& b : all_localtypes(delta, g)) {
      for (const auto& [t, least] : fewest_alltoalls(delta, g, b, anywhere)) {
        Sizes differences;
        for (Index i = 0; i < g.size(); ++i) {
          const Size difference = exponent(p, t[i]) - exponent(p, b[i]);
          if (difference != 0) differences.push_back(difference);
        }
        const Size changed = static_cast<Size>(differences.size());
        ASSERT_EQ(changed == 0 ? 0 : changed - most_zero_blocks(differences), least);
        if (g.size() > 3) mutant_wrong[text] += changed > 0 && changed - 1 != least ? 1U : 0U;
        ++compared[text];
      }
    }
  }
  expect_on_each("pairs of localtypes", compared, 6, 100);
  expect_on_each("the mutant is wrong", mutant_wrong, 5, 10);
}
/// S9, several primes: if one dimension can hold everything in transit 2(r - 1) alltoalls suffice,
/// and going through a third dimension can help. The mutant takes the r - 1 of one prime.
TEST(S9, transshipment_helps_with_several_primes) {
  // Without transshipment every dimension stays between its two ends.
  const auto between = [](const Sizes& b, const Sizes& t) {
    return [&b, &t](const Sizes& next) {
      for (Index i = 0; i < next.size(); ++i) {
        if (next[i] % std::gcd(b[i], t[i]) != 0 || std::lcm(b[i], t[i]) % next[i] != 0)
          return false;
      }
      return true;
    };
  };
  // -1 when they do not lead there.
  const auto to = [](const std::map<Sizes, Size>& steps, const Sizes& t) {
    return steps.count(t) != 0 ? steps.at(t) : -1;
  };
  Counts compared, helped, mutant_wrong;
  bool is_shown = false;
  for (const Sizes& g : {Sizes{12, 12, 12}, Sizes{36, 36, 36}}) {
    const Size delta = g[0];
    const std::string text = std::to_string(delta) + " devices";
    for (const Sizes& b : all_localtypes(delta, g)) {
      const auto steps = fewest_alltoalls(delta, g, b, anywhere);
      for (const Sizes& t : all_localtypes(delta, g)) {
        if (size_of(b) != size_of(t)) continue;
        const Size least = to(steps, t);
        ASSERT_GE(least, 0);
        ASSERT_LE(least, 2 * (static_cast<Size>(g.size()) - 1));
        const Size direct = to(fewest_alltoalls(delta, g, b, between(b, t)), t);
        ++compared[text];
        mutant_wrong[text] += least > static_cast<Size>(g.size()) - 1 ? 1U : 0U;
        helped[text] += direct > least ? 1U : 0U;
        if (direct > least && !is_shown) {
          is_shown = true;
          std::cout << "through a third dimension: " << ::testing::PrintToString(b) << " to "
                    << ::testing::PrintToString(t) << " in " << least << ", else " << direct
                    << "\n";
        }
      }
    }
  }
  expect_on_each("pairs of localtypes", compared, 2, 100);
  expect_on_each("transshipment helps", helped, 2, 0);
  expect_on_each("the mutant is wrong", mutant_wrong, 2, 0);
}

/// S6, sharpness: {a:2, b:2, c:q}, [4q, q{a,b}4q] ~> [2q{b}4q, 2q{a}4q] has W + valley = 8q² and
/// OPT = 4q² + 8q, so no constant below 2 would do.
TEST(S6, the_factor_two_is_sharp) {
  for (const Size q : {3, 5, 7, 11}) {
    const Mesh H = {{"a", 2}, {"b", 2}, {"c", q}};
    const Type tau_1 = {{4 * q, {}, 4 * q}, {q, {"a", "b"}, 4 * q}};
    const Type tau_2 = {{2 * q, {"b"}, 4 * q}, {2 * q, {"a"}, 4 * q}};
    const Size delta = 4 * q;
    const auto w = cheapest_weak(delta, globaltype(tau_1), localtype(tau_1), localtype(tau_2));
    Sizes sizes;
    for (const Sizes& c : w->c) sizes.push_back(size_of(c));
    EXPECT_EQ(w->cost + valley(sizes), 8 * q * q);
    for (const bool bounded : {true, false}) {
      TileSearch search;
      search.bounded = bounded;
      EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, 4 * q * q + 8 * q) << q;
    }
  }
}

/// S10: low-level collectives can do more than strong ones.
TEST(S10, popping_a_factor_out_of_order_is_cheaper) {
  const Mesh H = mesh("a:2,b:3,c:5");
  const Type tau_1 = type(H, "[1{a,b}6, 3{c}15]"), tau_2 = type(H, "[6, 15]");
  EXPECT_EQ(cheapest_strong(H, tau_1, tau_2)->cost, 102);
  EXPECT_EQ(cheapest_strong(H, tau_1, tau_2, {false, false, true})->cost, 102);
  EXPECT_EQ(cheapest_weak(30, {6, 15}, {1, 3}, {6, 15})->cost, 99);
  const TilePath path = optimum(H, tau_1, tau_2).value();
  EXPECT_EQ(path.cost, 99);
  EXPECT_EQ(path.steps.back().f, tiles(H, tau_2).value());
}

/// Fig. 12, replacement: over-partitioning pays.
TEST(Fig12, over_partitioning_pays) {
  const Mesh H = mesh("x:4,y:2,z:4");
  const Type tau_1 = type(H, "[8{x}32, 16{y}32, 32]"), tau_2 = type(H, "[32, 32, 4{x,y}32]");
  EXPECT_EQ(cheapest_weak(32, {32, 32, 32}, {8, 16, 32}, {32, 32, 4})->cost, 5120);
  EXPECT_EQ(optimum(H, tau_1, tau_2)->cost, 6144);
  TileSearch search;
  search.over_partition = false;
  EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, 8192);
}

/// Example 3.1: OPT is 18, not W = 12, over 24 devices, with and without the bound.
TEST(Example_3_1, the_optimum_is_18) {
  const Mesh H = mesh("x:4,y:6");
  const Type tau_1 = type(H, "[3{x}12, 2{y}12]"), tau_2 = type(H, "[2{y}12, 3{x}12]");
  EXPECT_EQ(cheapest_weak(24, {12, 12}, {3, 2}, {2, 3})->cost, 12);
  TileSearch search;
  EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, 18);
  search.bounded = false;
  EXPECT_EQ(optimum(H, tau_1, tau_2, search)->cost, 18);
}
#endif  // RETILE_SLOW_TESTS

}  // namespace
}  // namespace spec::statements_test
