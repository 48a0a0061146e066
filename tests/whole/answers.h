// Short ways to ask for a validation.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "retile/whole/validate.h"

namespace retile::whole::tests {

inline Result<Validation> validated(const std::string& before, const std::string& after,
                                    std::uint64_t seed = 1, Size draws = 3) {
  return validate(before, "before", after, "after", {.draws = draws, .seed = seed});
}

/// `right`, `wrong`, `undecided`, or the message of what was refused.
inline std::string answer(const std::string& before, const std::string& after,
                          std::uint64_t seed = 1) {
  const Result<Validation> out = validated(before, after, seed);
  if (!out) return out.error().message;
  switch (out->answer) {
    case Answer::right:
      return "right";
    case Answer::wrong:
      return "wrong";
    case Answer::undecided:
      break;
  }
  return "undecided: " + out->why;
}

/// A text of examples/whole.
inline std::string text_of(const std::string& name) {
  std::ifstream file(std::string(RETILE_EXAMPLES) + "/whole/" + name);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

/// With other words in the place of some that stand there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// Computations that modules of tests apply.
inline std::string scalar_computations() {
  std::string out;
  for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
    for (const char* type : {"f32", "s32"}) {
      const std::string t = type;
      const std::string name = std::string(op) + "_" + t;
      out += "%" + name + " (a: " + t + "[], b: " + t + "[]) -> " + t + "[] {\n  %a = " + t +
             "[] parameter(0)\n  %b = " + t + "[] parameter(1)\n  ROOT %r = " + t + "[] " + op +
             "(%a, %b)\n}\n";
    }
  }
  out +=
      "%less (a: f32[], b: f32[]) -> pred[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
      "parameter(1)\n  ROOT %r = pred[] compare(%a, %b), direction=LT\n}\n"
      "%at_least (a: f32[], b: f32[]) -> pred[] {\n  %a = f32[] parameter(0)\n  %b = f32[] "
      "parameter(1)\n  ROOT %r = pred[] compare(%a, %b), direction=GE\n}\n"
      "%second (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  ROOT %b = f32[] "
      "parameter(1)\n}\n";
  return out;
}

/// A module of one device; `more` are computations of its own.
inline std::string module_of(const std::string& body, const std::string& more = "") {
  return "HloModule m\n" + scalar_computations() + more + "ENTRY %main {\n" + body + "}\n";
}

}  // namespace retile::whole::tests
