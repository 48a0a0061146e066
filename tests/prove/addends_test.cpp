// Sums proved for all devices: the same verdicts as `check`, and wrong encodings are noticed.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/addend_programs.h"
#include "check/judge.h"
#include "retile/prove/encode.h"
#include "retile/prove/examination.h"
#include "retile/prove/prove.h"
#include "retile/prove/prover.h"
#include "retile/prove/solver.h"

namespace retile::addends_test {
namespace {

using addend_programs::Draws;
using symbolic::Number;
using symbolic::Rules;

template <typename Use>
void for_each_program(int count, const Use& use) {
  Draws draws(20261123);
  draws.iotas = true;
  for (int k = 0; k < count; ++k) {
    const Program program = draws.program();
    use(program);
    for (int m = 0; m < 2; ++m) use(draws.mutant(program));
  }
}

/// Wrong ones whose tiles have the right shapes: the wrong axis is reduced; pieces go to other places;
/// nothing is done; an axis is reduced twice.
std::vector<Program> wrong_programs() {
  return {check_tests::program(R"(retile.program/2
mesh x:2,y:2
from sum{x}[4]
to [4]
allreduce groups=[2,2]<=[4]
)"),
          check_tests::program(R"(retile.program/2
mesh x:2,y:2
from sum{x}[8]
to [2{y,x}8]
dynslice dim=0 groups=[2,2]<=[4]
reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0)
)"),
          check_tests::program(R"(retile.program/2
mesh x:2,y:2
from sum{x}[4]
to sum{y}[4]
)"),
          check_tests::program(R"(retile.program/2
mesh x:2,y:2
from sum{x}[4]
to [4]
)"),
          check_tests::program(R"(retile.program/2
mesh x:2,y:2
from sum{x}[4]
to [4]
allreduce groups=[2,2]<=[2,2]T(1,0)
allreduce groups=[2,2]<=[2,2]T(1,0)
)")};
}

TEST(Addends, the_same_verdict_as_explicit_replay) {
  std::map<std::string, int> counts;
  for_each_program(400, [&](const Program& program) {
    const auto proof = prove(program);
    ASSERT_TRUE(proof.has_value()) << render(proof.error());
    const Verdict expected = check(program);
    ASSERT_TRUE(naive::same_judgement(proof->verdict, expected)) << to_text(program);
    const auto fields = support::fields_of(expected);
    ASSERT_EQ(support::fields_of(proof->verdict).addend, fields.addend);
    ASSERT_EQ(support::fields_of(proof->verdict).times, fields.times);
    const bool symbolic =
        proof->method == ProofMethod::symbolic && addition_of(program).has_value();
    if (expected.answer == Answer::right) ++counts[symbolic ? "proved" : "evaluated"];
    if (expected.answer != Answer::right && addition_of(program)) ++counts["refuted"];
  });
  for (const auto& [what, count] : counts) std::cout << what << ' ' << count << ' ';
  std::cout << '\n';
  EXPECT_GT(counts["proved"], 100);
  EXPECT_GT(counts["refuted"], 100);
}

TEST(Addends, what_is_wrong_is_not_proved) {
  for (const Program& program : wrong_programs()) {
    const auto proof = prove(program);
    ASSERT_TRUE(proof.has_value());
    EXPECT_EQ(proof->verdict.answer, Answer::wrong) << to_text(program);
    EXPECT_TRUE(naive::same_judgement(proof->verdict, check(program)));
  }
}

TEST(Addends, what_is_right_is_proved_for_any_number_of_devices) {
  const Program program = check_tests::program(R"(retile.program/2
mesh x:256,y:64,z:16
from sum{x}[4096]
to [4096]
dynslice dim=0 groups=[4096,64]<=[256,64,16]T(0,2,1) map=sum{x}[64{y}4096]
reducescatter dim=0 groups=[16384,16]<=[16,16,1024]T(0,2,1)
allreduce groups=[16384,16]<=[16,16,1024]T(1,2,0)
allgather dim=0 groups=[16384,16]<=[16,16,1024]T(0,2,1)
allgather dim=0 groups=[4096,64]<=[256,64,16]T(0,2,1)
)");
  const auto proof = prove(program);
  ASSERT_TRUE(proof.has_value());
  EXPECT_TRUE(proof->proved());
  EXPECT_EQ(proof->method, ProofMethod::symbolic);
  EXPECT_EQ(proof->verdict.cost, 2 * 4 + 64 + 64 + 4096);
}

TEST(Addends, with_the_second_solver_beside_the_first) {
  if (!Solvers::make(SolverChoice::both)) GTEST_SKIP() << "cvc5 is not installed";
  int proved = 0;
  for_each_program(12, [&](const Program& program) {
    const auto proof = prove(program, {.solver = SolverChoice::both});
    ASSERT_TRUE(proof.has_value());
    ASSERT_TRUE(naive::same_judgement(proof->verdict, check(program))) << to_text(program);
    proved += proof->method == ProofMethod::symbolic && addition_of(program) ? 1 : 0;
  });
  EXPECT_GT(proved, 3);
}

// ---- Wrong encodings

struct MembersForgotten : Rules<MembersForgotten> {
  static std::vector<Number> take_members() { return {}; }
};
struct EveryDeviceAnAddend : Rules<EveryDeviceAnAddend> {
  static Number addend(const Layout&, const Number& device) { return device; }
};
struct OneAddend : Rules<OneAddend> {
  Number addend(const Layout&, const Number&) { return digits_.zero(1); }
};
struct FirstMemberAlone : Rules<FirstMemberAlone> {
  Number member(const DeviceTable& groups, const symbolic::Place& place) {
    return Rules::member(groups, {place.row, digits_.zero(groups.columns())});
  }
};
struct SamePieceForAll : Rules<SamePieceForAll> {
  Number whole(const Number& at, const Number& piece) {
    return symbolic::Digits::join(at, digits_.zero(digits_.size(piece)));
  }
};
struct OtherTiles : Rules<OtherTiles> {
  static std::vector<Number> tile_numbers(const Layout&, const Number&) { return {}; }
};

template <typename Asking>
Decision decision_by(const Program& program) {
  const ProveOptions options;
  Examination examination(program, options, Solvers::make(options.solver).value());
  return Prover<Asking>(examination).decide();
}

/// How often an encoding proves what is wrong, or does not prove what the right one does.
int disagreements(Decision (*decision)(const Program&)) {
  int out = 0;
  for (const Program& program : wrong_programs()) {
    EXPECT_EQ(check(program).answer, Answer::wrong);
    out += decision(program) == Decision::right ? 1 : 0;
  }
  for_each_program(60, [&](const Program& program) {
    if (!addition_of(program) || !symbolic::is_regular(program)) return;
    const bool right = decision_by<symbolic::Encoder>(program) == Decision::right;
    out += (decision(program) == Decision::right) != right ? 1 : 0;
  });
  return out;
}

TEST(Addends, wrong_encodings_are_caught) {
  EXPECT_EQ(disagreements(&decision_by<symbolic::Encoder>), 0);
  EXPECT_GT(disagreements(&decision_by<MembersForgotten>), 0);
  EXPECT_GT(disagreements(&decision_by<EveryDeviceAnAddend>), 0);
  EXPECT_GT(disagreements(&decision_by<OneAddend>), 0);
  EXPECT_GT(disagreements(&decision_by<FirstMemberAlone>), 0);
  EXPECT_GT(disagreements(&decision_by<SamePieceForAll>), 0);
  EXPECT_GT(disagreements(&decision_by<OtherTiles>), 0);
}

}  // namespace
}  // namespace retile::addends_test
