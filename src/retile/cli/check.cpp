// retile check: a verdict for every Program of a file.
#include "retile/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "retile/cli/report.h"
#include "retile/cli/verbs.h"
#include "retile/program/forms/json.h"

namespace retile::cli {

Outcome check_verb(const CheckArguments& arguments) {
  CheckOptions options;
  if (arguments.timeout) {
    const Result<double> seconds = parse_timeout(*arguments.timeout, "--timeout");
    if (!seconds) return failed(seconds.error());
    options.timeout_seconds = *seconds;
  }
  const std::string path = arguments.program.value_or("-");
  const Result<std::string> text = read_text(path, "PROGRAM");
  if (!text) return failed(text.error());
  const Result<std::vector<Program>> programs = parse_any(*text, path == "-" ? "stdin" : path);
  if (!programs) return failed(programs.error());

  Outcome outcome;
  for (const Program& program : *programs) {
    const Verdict verdict = check(program, options);
    outcome.out +=
        arguments.json ? verdict_json(verdict) : verdict_text(verdict, arguments.within_bound);
    outcome.out += '\n';
    outcome.exit = std::max(outcome.exit, exit_of(verdict, arguments.within_bound));
  }
  return outcome;
}

}  // namespace retile::cli
