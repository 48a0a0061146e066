// What the campaign counts: each case once, trivial ones and refusals apart, and the strata of a way.
#include "house/campaign/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "house/campaign/strata.h"
#include "house/campaign/tally.h"
#include "house/campaign/types.h"
#include "retile/notation/paper/notation.h"
#include "support/values.h"

namespace campaign::cases_test {
namespace {

TEST(HashSet, knows_what_it_has_seen) {
  HashSet ours;
  std::set<std::uint64_t> theirs;
  std::mt19937_64 random(1);
  for (int k = 0; k < 50'000; ++k) {
    const std::uint64_t hash = k % 3 == 0 ? static_cast<std::uint64_t>(k % 10'000) : random();
    EXPECT_EQ(ours.holds(hash), theirs.count(std::max<std::uint64_t>(hash, 1)) == 1);
    EXPECT_EQ(ours.insert(hash), theirs.insert(std::max<std::uint64_t>(hash, 1)).second);
  }
  EXPECT_TRUE(ours.holds(0));
}

TEST(Hash, of_other_rows_is_another) {
  using Rows = std::vector<std::vector<retile::Size>>;
  std::set<std::uint64_t> seen;
  const std::vector<Rows> all = {{},         {{}}, {{}, {}}, {{0}}, {{1, 2}, {3}}, {{1}, {2, 3}},
                                 {{1, 2, 3}}};
  for (const Rows& rows : all) seen.insert(Hash().add(rows).value());
  EXPECT_EQ(seen.size(), all.size());
}

std::uint64_t hash_of_type(const char* mesh_text, const char* text) {
  const retile::Mesh mesh = support::mesh(mesh_text);
  return hash_of(support::to_spec(mesh), support::to_spec(support::type(text, mesh))).value();
}

TEST(Hash, of_a_type_forgets_names_and_axes_of_size_1_only) {
  const std::uint64_t hash = hash_of_type("x:2,y:3", "[2{x,y}12, 5]");
  EXPECT_EQ(hash, hash_of_type("b:2,a:3", "[2{b,a}12, 5]"));
  EXPECT_EQ(hash, hash_of_type("b:2,one:1,a:3", "[2{b,a}12, 5]"));
  for (const auto& [mesh, type] : {std::pair("x:2,y:3", "[2{y,x}12, 5]"),
                                   {"x:3,y:2", "[2{x,y}12, 5]"},
                                   {"x:2,y:3", "[5, 2{x,y}12]"},
                                   {"x:2,y:3,z:2", "[2{x,y}12, 5]"},
                                   {"x:2,y:3", "[2{x,y}12, 6]"}}) {
    EXPECT_NE(hash, hash_of_type(mesh, type)) << mesh << " " << type;
  }
}

TEST(Tally, counts_a_case_once_and_other_things_apart) {
  Kinds all = {};
  all.fill(true);
  Tally tally({.cases = 2, .each = 1}, all, false, "");
  tally.set_source(Source::drawn);
  const Strata many = only(Stratum::devices) | only(Stratum::moves);
  for (int k = 0; k < 3; ++k) tally.accept(Kind::opt, {7, many, false});
  tally.accept(Kind::opt, {8, 0, true});
  tally.refuse(Kind::opt);
  tally.leave_open(Kind::opt);
  const Count& count = tally.count(Kind::opt);
  EXPECT_EQ(count.total(), 1U);
  EXPECT_EQ(count.repeated, 2U);
  EXPECT_EQ(count.trivial, 1U);
  EXPECT_EQ(count.refused, 1U);
  EXPECT_EQ(count.open, 1U);
  EXPECT_EQ(tally.missing(Kind::opt), of_plans & ~many);
  EXPECT_EQ(tally.total(), 1U);
  tally.accept(Kind::opt, {9, of_plans, false});
  EXPECT_FALSE(tally.wants(Kind::opt));
  EXPECT_TRUE(tally.wants(Kind::weak));
}

TEST(Strata, of_devices_and_dimensions) {
  EXPECT_EQ(strata_of_space(24, 3), only(Stratum::primes));
  EXPECT_EQ(strata_of_space(25, 3), only(Stratum::devices));
  EXPECT_EQ(strata_of_space(8, 4), only(Stratum::rank));
  EXPECT_EQ(strata_of_space(1, 0), 0U);
}

Strata strata_of_problem(const char* mesh, const char* from, const char* to) {
  return strata_of(support::value(retile::plan(support::problem(mesh, from, to))));
}

TEST(Strata, of_plans) {
  EXPECT_EQ(strata_of_problem("x:2,y:2", "[1{x}2, 1{y}2]", "[1{y}2, 1{x}2]"),
            only(Stratum::permutation));
  EXPECT_EQ(strata_of_problem("x:2", "[1{x}2, 2]", "[2, 1{x}2]"), 0U);
  // {x, y}, {z}, {} to {}, {x}, {y, z}: y and x go together, and then y goes on with z.
  const Strata detour =
      strata_of_problem("x:2,y:2,z:3", "[3{x,y}12, 4{z}12, 12]", "[12, 6{x}12, 2{y,z}12]");
  EXPECT_TRUE(contains(detour, Stratum::transshipment));
  EXPECT_TRUE(contains(detour, Stratum::moves));
  // Two alltoalls of other dimensions are no transshipment.
  const Strata apart =
      strata_of_problem("x:2,y:3", "[6{x}12, 4{y}12, 12, 12]", "[12, 12, 6{x}12, 4{y}12]");
  EXPECT_EQ(apart & of_moves, only(Stratum::moves));
  EXPECT_FALSE(contains(apart, Stratum::over_partitioned));
}

TEST(Strata, over_partitioned_is_below_both_ends) {
  const Strata strata = strata_of_problem("a:4,x:2,y:3,z:5", "[60{x}120, 40{y}120, 24{z}120, 120]",
                                          "[120, 60{x}120, 40{y}120, 24{z}120]");
  EXPECT_TRUE(contains(strata, Stratum::over_partitioned));
}

}  // namespace
}  // namespace campaign::cases_test
