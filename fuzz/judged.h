// What targets of foreign texts share: every function that has ends, judged, and as a Program.
#pragma once

#include <string>

#include "fuzz/fuzz_target.h"
#include "fuzz/refusal.h"
#include "retile/check/check.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/judge.h"
#include "retile/foreign/reader.h"
#include "retile/foreign/to_program.h"
#include "retile/program/forms/text.h"

namespace fuzz {

/// What is judged: more is left to the tests.
inline constexpr retile::Size most_devices = 64;
inline constexpr retile::Size most_elements = 4096;

/// What a verdict says but for places in the file.
inline std::string words(const retile::foreign::Verdict& verdict) {
  std::string out = !verdict.right ? "undecided" : *verdict.right ? "right" : "wrong";
  if (verdict.first_wrong) out += " at " + verdict.first_wrong->name;
  if (verdict.mismatch) {
    out += " on device " + std::to_string(verdict.mismatch->device.value_or(0));
  }
  for (const retile::Size number :
       {verdict.height, verdict.bound, verdict.cost, verdict.received}) {
    out += " " + std::to_string(number);
  }
  return out;
}

/// The verdict on strips is that on all elements, where both are known.
inline void compare_strips(const retile::foreign::Function& function,
                           const retile::foreign::Ends& ends,
                           const retile::foreign::Verdict& verdict, const std::string& text) {
  const auto strips = judge(function, ends.from, ends.to,
                            {.most_bytes = retile::Size{1} << 22, .fewest_in_strips = 0});
  if (!strips.right || !verdict.right) return;
  require(strips.right == verdict.right, "strips are judged otherwise", text);
  // Who lost an element is looked for in all ends on elements alone.
  require(words(strips) == words(verdict) || !ends.to.covers_once(),
          "strips are judged otherwise: " + words(strips) + ", not " + words(verdict), text);
  if (!verdict.mismatch) return;
  require(strips.mismatch->at == verdict.mismatch->at &&
              strips.mismatch->found.element == verdict.mismatch->found.element,
          "strips have another witness", text);
}

/// The Program of a function is right where the function is, and is read again.
inline void compare_program(const retile::foreign::Function& function,
                            const retile::foreign::Ends& ends,
                            const retile::foreign::Verdict& verdict, const std::string& text) {
  const auto program = to_program(function, ends.from, ends.to);
  if (!program || !verdict.right || verdict.is_claim) return;  // a Program makes no claims
  const std::string written = to_text(*program);
  const auto again = retile::parse_programs(written);
  require(again.has_value(), "its Program is not read:\n" + written, text);
  if (!again) return;
  const bool right = retile::check(again->front()).answer == retile::Answer::right;
  require(right == *verdict.right, "its Program is judged otherwise:\n" + written, text);
}

/// Judges every function that has ends; whether any was.
inline bool judged(const std::string& text, retile::foreign::Language language, std::string& out) {
  const retile::text::Input input{.text = text, .source = "input", .numbered = true};
  const auto functions = read(input, language, {});
  if (!functions) {
    check_refusal(functions.error(), text);
    out = "refused: " + functions.error().message;
    return false;
  }
  bool any = false;
  for (const retile::foreign::Function& function : *functions) {
    if (function.devices > most_devices || function.operations.size() > 1000) continue;
    const auto ends = find_ends(function, {}, input);
    if (!ends) {
      check_refusal(ends.error(), text);
      out += "no ends: " + ends.error().message + "\n";
      continue;
    }
    if (ends->from.global_size() > most_elements) {
      tally(judge(function, ends->from, ends->to, {.most_bytes = retile::Size{1} << 22}).right
                ? "large, judged"
                : "large, undecided");
      continue;
    }
    const auto verdict =
        judge(function, ends->from, ends->to, {.most_bytes = retile::Size{1} << 22});
    compare_program(function, *ends, verdict, text);
    compare_strips(function, *ends, verdict, text);
    out += function.name + ": " + words(verdict) + "\n";
    any = true;
  }
  return any;
}

}  // namespace fuzz
