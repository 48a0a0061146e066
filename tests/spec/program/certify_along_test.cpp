// Certificates among steps along several dimensions, under attack: every bound that is claimed of every
// pair of types on small meshes, whose optimum brute force knows (search/along_dims.h). None above the
// optimum may be certified.
#include "spec/program/certify_along.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "spec/program/text.h"
#include "spec/search/program.h"

namespace spec::certify_along_test {
namespace {

/// `certified`, why not, or `undecided`.
std::string judge(const Program& program, Size C, Size most = Certifier::most_work) {
  try {
    AlongCertifier(program, C, most).run();
    return "certified";
  } catch (const Unproved& why) {
    return why.reason;
  } catch (const TooLarge&) {
    return "undecided";
  }
}

Program program_of(const std::string& mesh, const std::string& from, const std::string& to,
                   const std::string& version = "1") {
  const Programs read = parse_programs("retile.program/" + version + "\nmesh " + mesh + "\nfrom " +
                                       from + "\nto " + to + "\n");
  EXPECT_FALSE(read.error.has_value()) << from << to;
  return read.programs.front();
}

struct Row {
  std::string mesh;
  Mesh H;
  std::vector<Sizes> shapes;
};

struct Tally {
  Size pairs = 0, optima = 0, forged = 0, undecided = 0;
  std::map<std::string, Size> reasons;
};

/// All that could be claimed: numbers around every multiple of the smallest tile up to beyond the
/// optimum.
void attack(const Program& program, Size opt, Size v, const std::string& what, Tally& tally) {
  const Size L = product(program.to.tile).value();
  std::set<Size> claims = {1, L - 1, L, opt};
  for (Size C = L; C <= std::max(opt, L) + 3 * v; C += v) claims.insert({C, C + 1});
  ++tally.pairs;
  for (const Size C : claims) {
    const std::string said = judge(program, C);
    ++tally.reasons[said];
    tally.undecided += said == "undecided" ? 1 : 0;
    tally.forged += C > opt ? 1 : 0;
    ASSERT_TRUE(C <= opt || said != "certified")
        << C << " is certified, but the optimum is " << opt << ": " << what;
    // What is below the bounds that the certificate knows is never refused.
    ASSERT_TRUE(C > opt || C > L || said == "certified") << said << ": " << what;
    if (C == opt && said == "certified") ++tally.optima;
  }
}

Tally run(const Row& row) {
  Tally tally;
  TileSearch search;
  search.several_dims = true;
  search.bounded = false;
  Size delta = 1;
  for (const Axis& alpha : row.H) delta *= alpha.k;
  for (const Sizes& g : row.shapes) {
    Size v = product(g).value();
    for (const Sizes& c : all_localtypes(delta, g)) v = std::min(v, product(c).value());
    std::vector<Type> types = all_types(row.H, g);
    std::map<Sizes, TileDistances> distances;
    for (const Type& from : types) {
      for (const Type& to : types) {
        const TileMap a = tiles(row.H, from).value(), b = tiles(row.H, to).value();
        const auto to_b = distances.try_emplace(b.c, delta, g, b.c, 0, search).first;
        const Size opt = to_b->second.cost(a, b).value();
        const std::string what = to_text(from) + " ~> " + to_text(to);
        attack(program_of(row.mesh, to_text(from), to_text(to)), opt, v, what, tally);
        if (::testing::Test::HasFailure()) return tally;
      }
    }
  }
  return tally;
}

TEST(CertifyAlong, no_bound_above_the_optimum_is_certified) {
  const std::vector<Row> rows = {
      {"a:2,b:2", {{"a", 2}, {"b", 2}}, {{4}, {2, 4}, {4, 4}, {2, 2, 2}, {4, 4, 2}}},
      {"a:2,b:3", {{"a", 2}, {"b", 3}}, {{6}, {6, 6}, {2, 3}, {6, 3}, {2, 6, 3}, {6, 6, 6}}},
      {"a:2,b:2,c:2",
       {{"a", 2}, {"b", 2}, {"c", 2}},
       {{8}, {4, 4}, {8, 2}, {2, 2, 4}, {2, 2}, {4}, {2, 1, 2}}},
      {"a:2,b:2,c:3",
       {{"a", 2}, {"b", 2}, {"c", 3}},
       {{12, 2}, {6, 6}, {12, 6}, {2, 3}, {6}, {3, 6}, {2, 3, 3}}},
      {"a:3,b:3", {{"a", 3}, {"b", 3}}, {{9, 3}, {9, 9}}}};
  for (const Row& row : rows) {
    const Tally tally = run(row);
    std::cout << row.mesh << ": " << tally.pairs << " pairs, " << tally.optima
              << " optima certified, " << tally.forged << " claims above the optimum;";
    for (const auto& [reason, count] : tally.reasons) std::cout << " " << reason << " " << count;
    std::cout << "\n";
    EXPECT_GT(tally.optima, tally.pairs * 9 / 10) << row.mesh;
    EXPECT_GT(tally.forged, tally.pairs);
    EXPECT_EQ(tally.undecided, 0);
  }
}

TEST(CertifyAlong, the_smallest_example_is_one_allgather) {
  const Program program = program_of("x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]");
  EXPECT_EQ(judge(program, 16), "certified");
  EXPECT_EQ(judge(program, 17), "allgather");
  EXPECT_EQ(judge(program, 20), "allgather");  // among steps along one dimension each
}

TEST(CertifyAlong, more_than_three_smallest_tiles_are_never_certified) {
  // Dimension 0 loses 2 and gets 3, and 5 is on another axis: two alltoalls and an allpermute.
  const Program program =
      program_of("a:2,b:3,c:5,d:5", "[3{a}6, 2, 1{b}3, 1{c}5]", "[2{b}6, 1{a}2, 3, 1{d}5]");
  EXPECT_EQ(judge(program, 18), "certified");
  EXPECT_EQ(judge(program, 19), "source");
}

TEST(CertifyAlong, version_2_says_the_same) {
  const std::string from = "[2{x}4, 2{y}4]", to = "[2{y}4, 2{x}4]";
  for (const std::string version : {"1", "2"}) {
    const Program program = program_of("x:2,y:2", from, to, version);
    EXPECT_EQ(judge(program, 4), "certified") << version;
    EXPECT_EQ(judge(program, 5), "allpermute") << version;
  }
  EXPECT_EQ(judge(program_of("x:2", "[2{x}3]", "[3]", "2"), 1), "tiling");
}

TEST(CertifyAlong, tiles_in_several_boxes_are_not_even) {
  // One allgather leads there, at a cost of 16, but the tiles of dimension 0 begin at 0 and 2.
  const std::string from = "[4{x}4+4, 2{y}4]", to = "[4{x}4+4, 4]";
  EXPECT_EQ(judge(program_of("x:2,y:2", from, to, "2"), 16), "tiling");
  EXPECT_EQ(judge(program_of("x:2,y:2", from, to, "2"), 24), "tiling");
  // Dealt out in one round they are blocks.
  EXPECT_EQ(judge(program_of("x:2,y:2", "[4@{x}8, 2{y}4]", "[4={x}8, 4]", "2"), 16), "certified");
  EXPECT_EQ(judge(program_of("x:2,y:2", "[4@{x}8, 2{y}4]", "[4={x}8, 4]", "2"), 17), "allgather");
}

TEST(CertifyAlong, beyond_its_limit_it_is_undecided) {
  EXPECT_EQ(judge(program_of("x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]"), 16, 10), "undecided");
}

}  // namespace
}  // namespace spec::certify_along_test
