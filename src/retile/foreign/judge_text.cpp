#include "retile/foreign/judge_text.h"

#include <algorithm>
#include <utility>

#include "retile/core/deadline.h"
#include "retile/core/problem.h"
#include "retile/foreign/ends.h"
#include "retile/foreign/reader.h"
#include "retile/notation/sharding.h"
#include "retile/text/place.h"

namespace retile::foreign {
namespace {

/// Problems that take longer than a moment are not planned here.
constexpr Size planning_limit = Size{1} << 18;

std::optional<Plan> plan_between(const Ends& ends) {
  const Result<Problem> problem = Problem::make(ends.from, ends.to);
  if (!problem) return std::nullopt;
  Result<Plan> out = plan(*problem, {.steps = Scope::several_dims, .search_limit = planning_limit});
  return out ? std::optional(*std::move(out)) : std::nullopt;
}

/// A type with the axes of every dimension in the other order; nothing where that is the same, or where
/// another notation says which order it has.
std::optional<std::string> reversed(const std::optional<Sharding>& sharding) {
  if (!sharding || sharding->notation != Notation::paper) return std::nullopt;
  Sharding out = *sharding;
  for (CutDim& dim : out.dims) std::reverse(dim.parts.begin(), dim.parts.end());
  const std::string text = type_text(out);
  return text == type_text(*sharding) ? std::nullopt : std::optional(text);
}

/// Options that say the ends with axes in the other order: both of them, or one.
std::vector<EndOptions> with_reversed(const Ends& ends, const EndOptions& asked) {
  const auto from = reversed(ends.from_sharding);
  const auto to = reversed(ends.to_sharding);
  std::vector<EndOptions> out;
  for (const auto& [turns_from, turns_to] : {std::pair(true, true), {true, false}, {false, true}}) {
    if ((turns_from && !from) || (turns_to && !to)) continue;
    EndOptions& options = out.emplace_back(asked);
    options.from = turns_from ? *from : ends.from_text;
    options.to = turns_to ? *to : ends.to_text;
  }
  return out;
}

}  // namespace

Result<std::vector<JudgedFunction>> judge_functions(const text::Input& input, Language language,
                                                    const EndOptions& asked,
                                                    const JudgeOptions& options) {
  const auto tasks = read_tasks(input, language, asked);
  if (!tasks) return refuse(tasks.error());
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const auto verdict_on = [&](const Function& function, const Ends& ends) {
    JudgeOptions left = options;
    left.timeout_seconds = deadline.seconds_left();
    return judge(function, ends.from, ends.to, left);
  };
  std::vector<JudgedFunction> out;
  for (const auto& [function, ends] : *tasks) {
    JudgedFunction& judged =
        out.emplace_back(JudgedFunction{.name = function.name,
                                        .place = function.place,
                                        .devices = function.devices,
                                        .from = ends.from,
                                        .to = ends.to,
                                        .from_text = ends.from_text,
                                        .to_text = ends.to_text,
                                        .notes = ends.notes,
                                        .verdict = verdict_on(function, ends)});
    if (!options.explains) continue;
    judged.plan = plan_between(ends);
    const Verdict& verdict = judged.verdict;
    if (verdict.right.value_or(true) || verdict.is_claim || function.arrays > 1) continue;
    for (const EndOptions& turned : with_reversed(ends, asked)) {
      const Result<Ends> other = find_ends(function, turned, input);
      if (!other || !verdict_on(function, *other).right.value_or(false)) continue;
      judged.right_with = {*turned.from, *turned.to};
      break;
    }
  }
  return out;
}

Result<std::vector<JudgedFunction>> judge_text(std::string_view text, std::string_view source,
                                               const EndTexts& ends, const JudgeOptions& options) {
  const text::Input input{.text = text, .source = std::string(source), .numbered = true};
  const std::optional<Language> language = language_of(text);
  if (!language) {
    return text::result_of([&]() -> std::vector<JudgedFunction> {
      text::fail({.input = &input, .span = {0, 0}},
                 {.code = Code::syntax, .message = "neither HLO, MLIR nor a trace of DTensor"});
    });
  }
  const Result<EndOptions> asked = read_ends(ends);
  if (!asked) return refuse(asked.error());
  return judge_functions(input, *language, *asked, options);
}

}  // namespace retile::foreign
