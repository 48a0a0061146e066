// One Program, up to three readings: `check`, the oracle's code (through the text form) and
// explicit replay.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/forms.h"
#include "check/naive.h"
#include "check/verdicts.h"
#include "retile/check/check.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"

namespace check_tests {

using retile::Answer;
using retile::Program;
using retile::Reason;
using retile::Shape;
using retile::Size;
using retile::Verdict;

/// The one Program of a text.
inline Program program(std::string_view text) {
  auto programs = retile::parse_programs(text, "test");
  if (!programs || programs->size() != 1) {
    ADD_FAILURE() << (programs ? "not one Program" : retile::render(programs.error())) << '\n'
                  << text;
    return Program{1, {}, {}, {}, {}, {}};
  }
  return std::move(programs->front());
}

/// The Program goes through its text form.
inline Verdict spec_check(const Program& program) {
  const std::string text = retile::to_text(program);
  const auto read = spec::parse_programs(text);
  if (read.error || read.programs.size() != 1) {
    ADD_FAILURE() << "the oracle does not read what to_text prints:\n" << text;
    return {};
  }
  return in_our_words(spec::check(read.programs.front()));
}

/// What the readings disagree on, or what is false about a witness; empty when all is well.
inline std::string disagreement(const Program& program,
                                std::span<const FormsUnderTest> tried = forms_under_test) {
  const Verdict got = retile::check(program);
  const Verdict oracle = spec_check(program);
  const Verdict replayed = naive::check(program);
  std::string out = other_forms(program, tried);
  if (!naive::same_judgement(got, oracle)) out += "check and oracle disagree\n";
  if (!naive::same_judgement(got, replayed)) out += "check and explicit replay disagree\n";
  if (got.answer == Answer::wrong) {
    if (const auto fault = naive::witness_fault(program, got); !fault.empty()) {
      out += "witness of check: " + fault + '\n';
    }
  }
  if (oracle.answer == Answer::wrong) {
    const auto fault = naive::witness_fault(program, oracle, naive::OtherShape::names_none);
    if (!fault.empty()) {
      out += "witness of the oracle: " + fault + '\n';
    }
  }
  if (!out.empty()) {
    out += retile::to_text(program) + "check:  " + show(got) + "\noracle: " + show(oracle) +
           "\nreplay: " + show(replayed) + '\n';
  }
  return out;
}

/// The verdict of `check`, after all three readings were found to agree on it.
inline Verdict judge(const Program& program) {
  EXPECT_EQ(disagreement(program), "");
  return retile::check(program);
}

inline Verdict judge(std::string_view text) { return judge(program(text)); }

/// Two Programs of docs/reference/program.md, and one in which replicas stand in for each other.
inline constexpr std::string_view example_3_1 = R"(retile.program/1
mesh x:4,y:6
from [3{x}12, 2{y}12]
to [2{y}12, 3{x}12]
alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]
allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, 6{12:2}12]
alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]
)";

inline constexpr std::string_view replication = R"(retile.program/1
mesh a:2,b:2,c:2             # c replicates at the start, b at the end; cost 6, no permutation
from [4, 1{a,b}4]
to [1{a,c}4, 4]
dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]
alltoall split=0 concat=1 groups=[[0,4],[1,5],[2,6],[3,7]] tile=[1,2] map=[1{a,c}4, 2{b}4]
allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]
)";

inline constexpr std::string_view unequal_sizes = R"(retile.program/1
mesh a:2,b:3,c:5             # moves the factor 3 although a:2 is minor-most
from [1{a,b}6, 3{c}15]
to [6, 15]
alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]           # [[0,15,5],[20,10,25],[1,16,6],..]
allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]    # [[0,20],[15,10],[5,25],..]
allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]
)";

}  // namespace check_tests
