// What both judges say of a module, in words that can be compared.
#pragma once

#include <string>

#include "retile/spmd/judge.h"
#include "spec/programs/spmd_judge.h"
#include "spec/programs/spmd_text.h"

namespace retile::spmd::test {

/// right, a reason and a statement, `refused`, or `undecided`.
inline std::string ours(const std::string& text, const JudgeOptions& options = {}) {
  const text::Input input = {text, "m", true};
  const auto module = read_module(input);
  if (!module) return "refused";
  const auto verdict = judge(*module, options);
  if (!verdict) return "refused";
  if (verdict->answer == Answer::undecided) return "undecided";
  if (verdict->answer == Answer::right) return "right";
  const auto& wrong = *verdict->wrong;
  const std::string where =
      wrong.statement ? module->values[module->body[*wrong.statement].value].name : "return";
  return wrong.reason + " " + where;
}
inline std::string oracles(const std::string& text) {
  try {
    const auto verdict = spec::spmd::judge(spec::spmd::parse_module(text));
    if (!verdict.decided) return "undecided";
    if (verdict.right) return "right";
    return verdict.wrong->reason + " " + verdict.wrong->statement.value_or("return");
  } catch (const spec::ParseError&) {
    return "refused";
  }
}

}  // namespace retile::spmd::test
