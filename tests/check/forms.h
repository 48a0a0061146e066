// The forms of a replay's states, each held to what `check` says when it may use all of them.
#pragma once

#include <array>
#include <span>
#include <string>

#include "retile/check/check.h"
#include "retile/check/judge.h"
#include "retile/program/program.h"
#include "support/verdict_fields.h"

namespace check_tests {

/// Forms that `check` may be held to: each one alone, with tags behind it or without.
struct FormsUnderTest {
  const char* name = "";
  retile::Forms forms;
};
inline constexpr std::array<FormsUnderTest, 6> forms_under_test = {{
    {"tags alone", {.weights = false, .boxes = false, .pieces = false, .tags = true}},
    {"pieces alone", {.weights = false, .boxes = false, .pieces = true, .tags = false}},
    {"pieces and boxes", {.weights = false, .boxes = true, .pieces = true, .tags = false}},
    {"boxes and tags", {.weights = false, .boxes = true, .pieces = false, .tags = true}},
    {"weights and tags", {.weights = true, .boxes = false, .pieces = false, .tags = true}},
    {"weights, boxes and pieces", {.weights = true, .boxes = true, .pieces = true, .tags = false}},
}};

/// All fields agree, those of the witness, too.
[[nodiscard]] inline bool identical(const retile::Verdict& a, const retile::Verdict& b) {
  return a.answer == b.answer && a.within_bound == b.within_bound && a.height == b.height &&
         a.bound == b.bound && a.cost == b.cost && a.steps == b.steps &&
         a.out_of_time == b.out_of_time && support::fields_of(a) == support::fields_of(b);
}

/// The forms in which `check` says something else; empty when there are none.
[[nodiscard]] inline std::string other_forms(
    const retile::Program& program, std::span<const FormsUnderTest> tried = forms_under_test) {
  const retile::Verdict expected = retile::check(program);
  std::string out;
  for (const FormsUnderTest& under_test : tried) {
    // A single element has no pieces.
    const bool any = under_test.forms.boxes || under_test.forms.tags;
    if (program.from.rank() == 0 && !any) continue;
    if (identical(retile::check_with(program, {}, under_test.forms), expected)) continue;
    out += std::string("check says something else with ") + under_test.name + '\n';
  }
  return out;
}

}  // namespace check_tests
