// Random Programs that add, right ones and spoiled ones: `check` and the oracle read the same ones
// and say the same, down to the addend that is missing or counted twice.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_set>

#include "check/addend_programs.h"
#include "check/judge.h"
#include "retile/program/forms/text.h"

namespace check_tests::addends_random_test {
namespace {

using addend_programs::Draws;

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t wanted = 10'000'000;  // Programs that both read, and judge
#else
constexpr std::size_t wanted = 24'000;
#endif

/// What two verdicts say of a Program that adds; of groups and tables each may name another device.
bool same(const Verdict& a, const Verdict& b) {
  if (!naive::same_judgement(a, b)) return false;
  const bool of_elements = a.reason == Reason::end || a.reason == Reason::map_claim ||
                           a.reason == Reason::addends || a.reason == Reason::replicas;
  return !of_elements || (a.device == b.device && a.at == b.at && a.element == b.element &&
                          a.found == b.found && a.addend == b.addend && a.times == b.times &&
                          a.replica == b.replica && a.replica_times == b.replica_times);
}

/// How both see it, and where they differ; nothing where both refuse to read it.
struct Seen {
  std::string what;
  std::string difference;
};

Seen see(const std::string& text) {
  const auto ours = retile::parse_programs(text);
  const auto theirs = spec::parse_programs(text);
  if (!ours || theirs.error) {
    const bool same = !ours && theirs.error;
    return {"refused", same   ? ""
                       : ours ? "the oracle alone refuses it: " + theirs.error->message
                              : "the oracle reads it: " + retile::render(ours.error())};
  }
  const Verdict got = retile::check(ours->front());
  const Verdict oracle = in_our_words(spec::check(theirs.programs.front()));
  Seen out;
  out.what = got.answer == Answer::right ? "right"
             : got.reason                ? std::string(retile::reason_name(*got.reason))
                                         : "?";
  const bool agree =
      has_addends(ours->front()) ? same(got, oracle) : naive::same_judgement(got, oracle);
  if (!agree) out.difference = "check:  " + show(got) + "\noracle: " + show(oracle);
  return out;
}

TEST(AddendsRandom, both_checkers_say_the_same) {
  Draws draws(20261122);
  std::unordered_set<std::size_t> seen;  // hashes: two alike are taken for one
  std::map<std::string, std::size_t> counts;
  const auto take = [&](const std::string& text) {
    if (!seen.insert(std::hash<std::string>()(text)).second) return;
    const Seen it = see(text);
    ++counts[it.what];
    ASSERT_EQ(it.difference, "") << text;
  };
  while (seen.size() - counts["refused"] < wanted && !testing::Test::HasFatalFailure()) {
    const Program program = draws.program();
    take(retile::to_text(program));
    for (int k = 0; k < 3; ++k) take(retile::to_text(draws.mutant(program)));
    for (int k = 0; k < 2; ++k) take(draws.spoiled(retile::to_text(program)));
    const Program exchanges = draws.exchanges();
    const std::string text = retile::to_text(exchanges);
    take(text);
    take(draws.spoiled(text));
  }
  std::cout << seen.size() << " texts:";
  for (const auto& [what, count] : counts) std::cout << ' ' << what << ' ' << count;
  std::cout << '\n';
  for (const char* what : {"right", "refused", "end", "addends", "replicas", "ragged",
                           "indivisible", "transfers", "tile_claim", "map_claim"}) {
    EXPECT_GT(counts[what], wanted / 2000) << what;
  }
}

TEST(AddendsRandom, pieces_of_unlike_sizes_stay_apart) {
  const std::string text = R"(retile.program/2
mesh x:2,z:2
from sum{x,z}[2,2]
to sum{x,z}[2,2]
exchange transfers=[[0,0,0,0,0,0,1,1],[0,0,0,1,0,1,2,1],[0,0,1,0,1,0,1,1],[1,1,0,0,0,0,2,2],[2,2,0,0,0,0,2,2],[3,3,0,0,0,0,2,2]] tile=[2,2]
)";
  const Seen seen = see(text);
  EXPECT_EQ(seen.what, "right");
  EXPECT_EQ(seen.difference, "");
}

TEST(AddendsRandom, a_box_may_meet_a_piece_on_two_sides) {
  // The third box of device 0 is cut by the second, and two parts of it meet one piece.
  const Seen seen = see(R"(retile.program/2
mesh x:3
from sum{x}[2,2]
to [2,2]
exchange transfers=[[0,0,0,0,0,0,2,1],[0,1,1,0,1,0,1,1],[0,2,0,0,0,0,2,2],[0,0,0,1,0,1,2,1],[0,1,0,0,0,0,1,2],[0,1,1,1,1,1,1,1],[1,0,0,0,0,0,2,2],[1,1,0,0,0,0,2,2],[1,2,0,0,0,0,2,2],[2,0,0,0,0,0,2,2],[2,1,0,0,0,0,2,2],[2,2,0,0,0,0,2,2]] add=sum tile=[2,2]
)");
  EXPECT_EQ(seen.what, "right");
  EXPECT_EQ(seen.difference, "");
}

TEST(AddendsRandom, both_refuse_two_ways_of_adding) {
  const std::string head = "retile.program/2\nmesh x:2,y:2\n";
  for (const std::string& body :
       {std::string("from sum{x}[4]\nto max{y}[4]\n"),
        std::string("from sum{x}[4]\nto [4]\n") +
            "dynslice dim=0 groups=[2,2]<=[4] map=max{x}[2{y}4]\n",
        std::string("from stack{x}[4]\nto [4]\n"), std::string("from [4]\nto stack{x}[4]\n"),
        std::string("from sum{x}[4]\nto [4]\n") + "allreduce groups=[[0,1,2,3]] add=stack\n"}) {
    const Seen seen = see(head + body);
    EXPECT_EQ(seen.what, "refused") << body;
    EXPECT_EQ(seen.difference, "") << body;
  }
}

TEST(AddendsRandom, the_least_array_that_is_not_the_own_one) {
  const Seen seen = see(R"(retile.program/2
mesh x:2,y:2
from stack{x}[1]
to stack{x}[1]
exchange transfers=[[0,0,0,0,1],[1,1,0,0,1],[2,0,0,0,1],[3,1,0,0,1]] tile=[1]
)");
  EXPECT_EQ(seen.what, "addends");
  EXPECT_EQ(seen.difference, "");
}

}  // namespace
}  // namespace check_tests::addends_random_test
