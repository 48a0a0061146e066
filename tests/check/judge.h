// One Program, up to three readings: `check`, the oracle's code (through the text form) and
// explicit replay.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "check/forms.h"
#include "check/naive.h"
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

inline std::optional<Shape> to_shape(const std::optional<spec::Sizes>& sizes) {
  if (!sizes) return std::nullopt;
  return Shape(sizes->begin(), sizes->end());
}

/// An oracle's verdict, in `check`'s words.
inline Verdict in_our_words(const spec::Verdict& verdict) {
  Verdict out;
  if (!verdict.decided) {
    out.reason = Reason::limit;
    return out;
  }
  out.answer = verdict.right ? Answer::right : Answer::wrong;
  out.within_bound = verdict.within_bound;
  out.height = static_cast<Size>(verdict.height);
  out.bound = static_cast<Size>(verdict.bound);
  out.cost = static_cast<Size>(verdict.cost);
  out.steps = static_cast<Size>(verdict.steps);
  if (!verdict.wrong) return out;
  out.first_wrong_step = static_cast<Size>(verdict.wrong->first_wrong_step);
  for (const Reason reason :
       {Reason::groups, Reason::bijection, Reason::indivisible, Reason::ragged, Reason::transfers,
        Reason::tile_claim, Reason::map_claim, Reason::not_a_box, Reason::end}) {
    if (retile::reason_name(reason) == verdict.wrong->reason) out.reason = reason;
  }
  if (verdict.wrong->device) out.device = static_cast<Size>(*verdict.wrong->device);
  out.at = to_shape(verdict.wrong->at);
  out.element = to_shape(verdict.wrong->element);
  out.found = to_shape(verdict.wrong->found);
  return out;
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

inline std::string show(const std::optional<Shape>& shape) {
  if (!shape) return "null";
  std::ostringstream out;
  out << '[';
  for (std::size_t k = 0; k < shape->size(); ++k) out << (k == 0 ? "" : ",") << (*shape)[k];
  out << ']';
  return out.str();
}

inline std::string show(const Verdict& verdict) {
  std::ostringstream out;
  out << (verdict.answer == Answer::right   ? "right"
          : verdict.answer == Answer::wrong ? "wrong"
                                            : "undecided")
      << ", height " << verdict.height << ", bound " << verdict.bound << ", cost " << verdict.cost
      << ", steps " << verdict.steps;
  if (verdict.first_wrong_step) out << ", first wrong step " << *verdict.first_wrong_step;
  if (verdict.reason) out << ", " << retile::reason_name(*verdict.reason);
  if (verdict.device) out << ", device " << *verdict.device;
  if (verdict.at) {
    out << ", at " << show(verdict.at) << ", element " << show(verdict.element) << ", found "
        << show(verdict.found);
  }
  if (verdict.out_of_time) out << ", out of time";
  return out.str();
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

/// The three Programs of docs/program.md.
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
