// retile check: a verdict for every Program of a file.
#include "retile/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "retile/cli/report.h"
#include "retile/cli/verb.h"
#include "retile/program/forms/json.h"

namespace retile::cli {

namespace {

constexpr const char* footer_text = R"(
The input holds one or more Programs, in text or JSON form; each gets a verdict, and the exit code
is the largest.

Exit codes: 0 right, 1 wrong (with --within-bound: or higher than both ends), 2 the input cannot be
read, 3 undecided: a limit was reached, --timeout too.

Examples:
  retile check sequence.txt
  retile check sequence.txt --timeout 10
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile check --within-bound --json)";

struct CheckArguments {
  std::optional<std::string> program;
  std::optional<std::string> timeout;
  bool within_bound = false;
  bool json = false;
};

Outcome work_on(const CheckArguments& arguments) {
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

class CheckVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "check"; }
  [[nodiscard]] std::string summary() const override {
    return "replay Programs and say whether they are right";
  }
  [[nodiscard]] std::string footer() const override { return footer_text; }
  void add_options(OptionList& options) override {
    options.text("PROGRAM", given_.program, "file, or - for stdin (default)", "FILE");
    options.flag("--within-bound", given_.within_bound,
                 "also exit 1 if a tile is larger than both ends");
    options.text("--timeout", given_.timeout, "seconds for each Program (default: no limit)", "S");
    options.flag("--json", given_.json, "print one JSON object per Program, retile.verdict/1");
  }
  [[nodiscard]] std::optional<Complaint> settle() override { return std::nullopt; }
  [[nodiscard]] Outcome work() const override { return work_on(given_); }

 private:
  CheckArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_check_verb() { return std::make_unique<CheckVerb>(); }

}  // namespace retile::cli
