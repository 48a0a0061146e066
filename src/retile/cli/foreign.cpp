#include "retile/cli/foreign.h"

#include <algorithm>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/foreign/to_program.h"
#include "retile/program/forms/text.h"
#include "retile/report/foreign.h"

namespace retile::cli {
namespace {

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += "note: " + note + "\n";
  return out;
}

/// What the functions do, as Programs.
Outcome programs_in(const text::Input& input, foreign::Language language,
                    const foreign::EndOptions& options) {
  const auto tasks = foreign::read_tasks(input, language, options);
  if (!tasks) return failed(tasks.error());
  Outcome outcome;
  for (const auto& [function, ends] : *tasks) {
    outcome.words += notes_text(ends.notes);
    Result<Program> program = foreign::to_program(function, ends.from, ends.to);
    if (!program) return failed(program.error());
    program->mesh = ends.mesh;  // the axes that its ends are said over
    outcome.out += to_text(*program);
  }
  return outcome;
}

}  // namespace

foreign::JudgeOptions judging() {
  foreign::JudgeOptions out{.timeout_seconds = time_limit().seconds_left(), .explains = true};
  constexpr Size share = 4;
  out.most_bytes = std::max(out.most_bytes, memory_limit() / share);
  return out;
}

Outcome check_foreign(std::string_view text, const std::string& source, foreign::Language language,
                      const ForeignArguments& arguments) {
  const Result<foreign::EndOptions> options = foreign::read_ends(arguments.ends);
  if (!options) return failed(options.error());
  const text::Input input{.text = text, .source = source, .numbered = true};
  if (arguments.program) return programs_in(input, language, *options);
  const auto functions = foreign::judge_functions(input, language, *options, judging());
  if (!functions) return failed(functions.error());
  Outcome outcome;
  for (const foreign::JudgedFunction& judged : *functions) {
    const bool is_over = arguments.within_bound && !judged.verdict.within_bound();
    outcome.words += notes_text(judged.notes);
    add_answer(
        outcome, arguments.json, [&] { return line_of(report::json_of(judged)); },
        [&] { return report::text_of(judged, text, arguments.within_bound); });
    outcome.exit = std::max(outcome.exit, exit_of(judged.verdict.right, is_over));
  }
  return outcome;
}

}  // namespace retile::cli
