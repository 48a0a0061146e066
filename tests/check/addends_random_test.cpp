// Random Programs that add, right ones and spoiled ones: `check` and the oracle read the same ones
// and say the same, down to the addend that is missing or counted twice.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_set>

#include "check/addend_programs.h"
#include "check/integers.h"
#include "check/judge.h"
#include "retile/program/forms/text.h"
#include "support/samples.h"

namespace check_tests::addends_random_test {
namespace {

using addend_programs::Draws;
using addend_programs::Mistake;
using addend_programs::mistake_names;

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t wanted = 10'000'000;  // Programs that both read, and judge
#else
constexpr std::size_t wanted = support::samples(24'000U);
#endif

/// What two verdicts say of a Program that adds; of groups and tables each may name another device.
bool same(const Verdict& a, const Verdict& b) {
  if (!naive::same_judgement(a, b)) return false;
  if (!a.wrong) return true;
  const Reason reason = a.wrong->reason;
  const bool of_elements = reason == Reason::end || reason == Reason::map_claim ||
                           reason == Reason::addends || reason == Reason::replicas;
  return !of_elements || fields_of(a) == fields_of(b);
}

/// How both see it, and where they differ, or what the integers have against it.
struct Seen {
  std::string what;  ///< `refused` where both refuse to read it
  std::string difference;
  bool in_integers = false;  ///< whether integers were added, too
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
  out.what = outcome(got);
  const bool agree =
      addition_of(ours->front()) ? same(got, oracle) : naive::same_judgement(got, oracle);
  if (!agree) {
    out.difference = "check:  " + show(got) + "\noracle: " + show(oracle);
  } else if (addition_of(ours->front())) {
    const auto addition = addition_of(ours->front()).value_or(retile::Addition::sum);
    const auto seed = std::hash<std::string>()(text);
    out.difference = integers::objection(ours->front(), addition, got, seed);
    if (!out.difference.empty()) out.difference += "\n" + show(got);
    out.in_integers =
        got.answer == Answer::right || (got.wrong && integers::is_of_words(got.wrong->reason));
  }
  return out;
}

std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::size_t>(std::stoull(text));
}

/// What came of the texts.
class Campaign {
 public:
  /// How both see it. Counts it unless it was there before.
  std::string take(const std::string& text) {
    Seen it = see(text);
    if (seen_.insert(std::hash<std::string>()(text)).second) {
      ++counts_[it.what];
      if (it.in_integers) ++in_integers_;
    }
    EXPECT_EQ(it.difference, "") << text;
    failed_ = failed_ || !it.difference.empty();
    return std::move(it.what);
  }
  void take_mistake(Draws& draws, Mistake mistake) {
    const Draws::Misled programs = draws.misled(mistake);
    auto& count = mistakes_[static_cast<std::size_t>(mistake)];
    const std::string text = retile::to_text(programs.wrong);
    if (has(text)) return;
    const std::string right = take(retile::to_text(programs.right));
    const std::string wrong = take(text);
    const auto addition = addition_of(programs.right);
    // A maximum is the same when it is taken twice.
    const bool repeats =
        mistake == Mistake::reduced_twice || mistake == Mistake::group_with_replicas;
    const bool is_harmless = repeats && addition != retile::Addition::sum;
    ++count.programs;
    count.right += static_cast<std::size_t>(right == "right");
    count.wrong += static_cast<std::size_t>(wrong != "right" && wrong != "refused");
    count.harmless += static_cast<std::size_t>(is_harmless);
    EXPECT_EQ(right, "right") << retile::to_text(programs.right);
    EXPECT_EQ(wrong == "right", is_harmless) << text;
    failed_ = failed_ || right != "right" || (wrong == "right") != is_harmless;
  }

  [[nodiscard]] bool failed() const { return failed_; }
  /// Different texts that both read, and judged.
  [[nodiscard]] std::size_t judged() const {
    const auto refused = counts_.find("refused");
    return seen_.size() - (refused == counts_.end() ? 0 : refused->second);
  }
  [[nodiscard]] std::size_t count(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  struct OfMistake {
    std::size_t programs = 0;
    std::size_t right = 0;     ///< without the mistake
    std::size_t wrong = 0;     ///< with it
    std::size_t harmless = 0;  ///< it changes nothing
  };
  [[nodiscard]] const std::array<OfMistake, 6>& mistakes() const { return mistakes_; }
  void print() const {
    std::cout << seen_.size() << " texts:";
    for (const auto& [what, count] : counts_) std::cout << ' ' << what << ' ' << count;
    std::cout << "; " << in_integers_ << " in integers, too\n";
    for (std::size_t m = 0; m < mistakes_.size(); ++m) {
      const OfMistake& it = mistakes_[m];
      std::cout << mistake_names[m] << ": " << it.programs << " Programs, right without it "
                << it.right << ", wrong with it " << it.wrong << ", harmless " << it.harmless
                << '\n';
    }
  }

 private:
  [[nodiscard]] bool has(const std::string& text) const {
    return seen_.find(std::hash<std::string>()(text)) != seen_.end();
  }

  std::unordered_set<std::size_t> seen_;  // hashes: two alike are taken for one
  std::map<std::string, std::size_t> counts_;
  std::array<OfMistake, 6> mistakes_;
  std::size_t in_integers_ = 0;
  bool failed_ = false;
};

// RETILE_ADDENDS_SEED and RETILE_ADDENDS_COUNT in the environment choose other draws, and how many.
TEST(AddendsRandom, both_checkers_say_the_same) {
  Draws draws(from_environment("RETILE_ADDENDS_SEED", 20261122));
  const std::size_t count = from_environment("RETILE_ADDENDS_COUNT", wanted);
  Campaign campaign;
  for (std::size_t round = 0; campaign.judged() < count && !campaign.failed(); ++round) {
    const Program program = draws.program();
    campaign.take(retile::to_text(program));
    for (int k = 0; k < 3; ++k) campaign.take(retile::to_text(draws.mutant(program)));
    for (int k = 0; k < 2; ++k) campaign.take(draws.spoiled(retile::to_text(program)));
    const std::string exchanges = retile::to_text(draws.exchanges());
    campaign.take(exchanges);
    campaign.take(draws.spoiled(exchanges));
    campaign.take_mistake(draws, static_cast<Mistake>(round % mistake_names.size()));
  }
  campaign.print();
  for (const char* what : {"right", "refused", "end", "addends", "replicas", "ragged",
                           "indivisible", "transfers", "tile_claim", "map_claim"}) {
    EXPECT_GT(campaign.count(what), count / 2000) << what;
  }
  for (const auto& it : campaign.mistakes()) EXPECT_GT(it.wrong, count / 200);
}

TEST(AddendsRandom, integers_object_to_false_verdicts) {
  const std::string head = "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4]\nto [4]\n";
  const Program right = program(head + "allreduce groups=[[0,2],[1,3]]\n");
  const Program wrong = program(head + "allreduce groups=[[0,1],[2,3]]\n");
  const auto objection = [](const Program& program, const Verdict& verdict) {
    return integers::objection(program, retile::Addition::sum, verdict, 1);
  };
  Verdict verdict;
  verdict.answer = Answer::right;
  EXPECT_EQ(objection(right, verdict), "");
  EXPECT_EQ(objection(wrong, verdict), "the words are wrong");
  verdict = retile::check(wrong);
  ASSERT_EQ(outcome(verdict), "replicas");
  auto sign = std::get<retile::Witness::OtherAddend>(verdict.wrong->witness.sign);
  EXPECT_EQ(objection(wrong, verdict), "");
  EXPECT_EQ(objection(right, verdict), "the replica holds the same");
  ++sign.times;
  verdict.wrong->witness.sign = sign;
  EXPECT_EQ(objection(wrong, verdict), "an addend is there in other numbers");
  verdict.wrong->reason = Reason::addends;
  sign.replica.reset();
  verdict.wrong->witness.sign = sign;
  EXPECT_EQ(objection(wrong, verdict), "");
  EXPECT_EQ(objection(right, verdict), "the words are right");
  verdict.wrong->witness.sign = retile::Witness::OtherElement{sign.at, sign.element, {3}};
  EXPECT_EQ(objection(wrong, verdict), "the place does not show the element");
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

TEST(AddendsRandom, what_is_there_too_often_to_be_counted_is_undecided) {
  // Each step but the first doubles how often an addend is there.
  const auto after = [](int steps, const std::string& to = "[4]") {
    std::string text = "retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto " + to + "\n";
    for (int k = 0; k < steps; ++k) text += "allreduce groups=[1,2]<=[2]\n";
    return retile::check(program(text));
  };
  EXPECT_EQ(after(63).answer, Answer::wrong);
  EXPECT_EQ(fields_of(after(63)).times, Size{1} << 62);
  EXPECT_EQ(after(64).answer, Answer::undecided);
  // What both devices hold counts together at the end.
  EXPECT_EQ(after(62, "sum{x}[4]").answer, Answer::wrong);
  EXPECT_EQ(after(63, "sum{x}[4]").answer, Answer::undecided);
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
