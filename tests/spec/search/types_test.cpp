#include "spec/search/types.h"

#include <gtest/gtest.h>

#include <iostream>

#include "optima.h"
#include "spec/paper/def4_sequences.h"

namespace spec::types_test {
namespace {

Size strong(std::string_view mesh_text, std::string_view from, std::string_view to,
            StrongSearch search = {}) {
  const Mesh H = mesh(mesh_text);
  const auto s = cheapest_strong(H, type(H, from), type(H, to), search);
  return s ? s->cost : -1;
}

TEST(CheapestStrong, known_optima) {
  EXPECT_EQ(strong("a:8", "[1{a}8, 8]", "[8, 1{a}8]"), 8);  // Example 4.9
  // Example 7.1 (E20): one alltoall over three axes keeps their order.
  EXPECT_EQ(strong("a:2,b:2,c:2", "[1{a,b,c}8, 8]", "[8, 1{a,b,c}8]"), 8);
  EXPECT_EQ(strong("a:2,b:2,c:2", "[1{a,b,c}8, 8]", "[8, 1{a,b,c}8]", {true}), 32);
  EXPECT_EQ(strong("a:2,b:2,c:2", "[1{a,b,c}8, 8]", "[8, 1{c,b,a}8]", {true}), 24);
  // Fig. 3, swap for replicated axis.
  EXPECT_EQ(strong("x:4,y:4", "[32{x}128]", "[32{y}128]"), 32);
  EXPECT_EQ(strong("x:2,y:2", "[2{x}4]", "[2{y}4]", {false, true, false}), -1);
  EXPECT_EQ(strong("x:2,y:2", "[2{x}4]", "[2{y}4]", {false, false, false}), 4);
  EXPECT_EQ(strong("x:2,y:2", "[2{x}4]", "[2{x}2]"), -1);
  EXPECT_EQ(strong("x:2,y:2", "[2{x}4]", "[2{x}4, 1]"), -1);
  EXPECT_EQ(strong("x:2,y:2", "[2{x}4]", "[2{x}4]"), 0);
}

TEST(CheapestStrong, lists_of_axes_by_hand) {
  const Mesh H = mesh("x:2,y:2,z:3");
  EXPECT_EQ(lists_of_axes(H, {}, false).size(), 15U);
  EXPECT_EQ(lists_of_axes(H, {"x"}, false).size(), 4U);
  EXPECT_EQ(lists_of_axes(H, {"x"}, true), (std::vector<Names>{{"y"}, {"z"}}));
}

/// Its steps are those of Fig. 8 and Sec. 7.1, and it obeys (4).
TEST(CheapestStrong, sequences_are_typed_and_within_the_bound) {
  Counts sequences;
  for (const auto& [H, g] : spaces(2, 9)) {
    for (const bool one_axis : {false, true}) {
      StrongTypes all(H, g, {one_axis, true, true});
      for (const Type& tau_1 : all.types()) {
        std::set<Size> sizes;
        for (const Type& tau : all.types()) sizes.insert(localsize(tau));
        for (const Size L_2 : sizes) {
          for (const auto& s : all.cheapest(tau_1, L_2)) {
            if (!s) continue;
            ++sequences[to_text(H)];
            Sequence labels = {s->sigma, {}};
            for (Index k = 0; k < s->p.size(); ++k) {
              ASSERT_EQ(apply(H, s->p[k], s->sigma[k]), s->sigma[k + 1]);
              ASSERT_TRUE(!one_axis || s->p[k].x.size() <= 1);
              labels.p.push_back(s->p[k].p);
            }
            ASSERT_EQ(s->sigma.front(), tau_1);
            ASSERT_EQ(cost(labels), s->cost);
            ASSERT_TRUE(is_memory_constrained(labels));
          }
        }
      }
    }
  }
  expect_on_each("sequences", sequences, 4, 500);
}

/// The shortest path against all sequences of up to four steps. The mutant has the steps over one
/// axis for those over several.
TEST(CheapestStrong, agrees_with_listing_all_sequences) {
  std::size_t pairs_seen = 0, mutant_wrong = 0;
  for (const Space& space : spaces(2, 4)) {
    const Mesh& H = space.H;
    const std::vector<Type> types = all_types(H, space.g);
    for (const bool one_axis : {false, true}) {
      for (const Type& tau_1 : types) {
        for (const Type& tau_2 : types) {
          const StrongSearch search = {one_axis, true, true};
          const Size bound = std::max(localsize(tau_1), localsize(tau_2));
          std::optional<Size> least;
          const auto visit = [&](const auto& self, const Type& tau, Size spent, int left) -> void {
            if (tau == tau_2) least = std::min(least.value_or(spent), spent);
            if (left == 0 || (least && *least <= spent && tau != tau_1)) return;
            for (const auto& [p, next] : strong_steps(H, tau, types, search)) {
              if (localsize(next) > bound) continue;
              self(self, next, spent + cost(p.p, localsize(tau), localsize(next)), left - 1);
            }
          };
          visit(visit, tau_1, 0, 4);
          ++pairs_seen;
          ASSERT_EQ(cheapest_strong(H, tau_1, tau_2, search)->cost, least)
              << to_text(tau_1) << " " << to_text(tau_2);
          const auto mutant = cheapest_strong(H, tau_1, tau_2, {true, true, true});
          mutant_wrong += mutant->cost != least ? 1U : 0U;
        }
      }
    }
  }
  std::cout << pairs_seen << " pairs, the mutant is wrong on " << mutant_wrong << "\n";
  EXPECT_GT(pairs_seen, 300U);
  EXPECT_GT(mutant_wrong, 10U);
}

/// OPT over strong rules is never below OPT over tile maps. With one prime the two are equal
/// wherever they were compared, with several they are not (S10).
struct StrongRow {
  const char* mesh;
  Sizes sizes;
  Index most_rank;
  bool equal;
};
void PrintTo(const StrongRow& row, std::ostream* os) { *os << row.mesh; }
class StrongAndTiles : public ::testing::TestWithParam<StrongRow> {};

TEST_P(StrongAndTiles, strong_is_never_cheaper) {
  const auto& [text, sizes, most_rank, equal] = GetParam();
  const Mesh H = mesh(text);
  std::size_t compared = 0, dearer = 0;
  for (const Sizes& g : shapes(sizes, most_rank)) {
    StrongTypes all(H, g, {});
    StrongTypes unbounded(H, g, {false, false, true});
    Optima opt(device_count(H).value(), g, {});
    std::vector<TileMap> f;
    std::set<Size> localsizes;
    for (const Type& tau : all.types()) f.push_back(tiles(H, tau).value());
    for (const Type& tau : all.types()) localsizes.insert(localsize(tau));
    for (Index a = 0; a < f.size(); ++a) {
      for (const Size L_2 : localsizes) {
        const auto best = all.cheapest(all.types()[a], L_2);
        const auto free = unbounded.cheapest(all.types()[a], L_2);
        for (Index b = 0; b < f.size(); ++b) {
          if (!best[b]) continue;
          const Size optimum_ab = opt(f[a], f[b]).value();
          ASSERT_GE(best[b]->cost, optimum_ab);
          ASSERT_EQ(best[b]->cost, free[b]->cost);  // the bound costs nothing here either
          ++compared;
          if (best[b]->cost > optimum_ab && dearer++ == 0) {
            std::cout << to_text(all.types()[a]) << " ~> " << to_text(all.types()[b]) << ": "
                      << best[b]->cost << ", tile maps " << optimum_ab << "\n";
          }
        }
      }
    }
  }
  std::cout << "mesh " << text << ": " << compared << " pairs, " << dearer
            << " dearer with strong rules\n";
  EXPECT_GT(compared, 1000U);
  EXPECT_EQ(dearer == 0, equal);
}
INSTANTIATE_TEST_SUITE_P(Small, StrongAndTiles,
                         ::testing::Values(StrongRow{"x:2,y:2", {2, 4, 12}, 3, true},
                                           StrongRow{"x:3,y:3", {3, 6, 9}, 3, true},
                                           StrongRow{"x:2,y:3", {2, 3, 4, 6, 12}, 3, true},
                                           StrongRow{"x:2,y:2,z:2", {2, 4, 8}, 3, true},
                                           StrongRow{"x:2,y:2,z:3", {2, 3, 6, 12}, 2, false}));

}  // namespace
}  // namespace spec::types_test
