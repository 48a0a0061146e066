// retile check: a verdict for every Program of a file.
#include "retile/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "retile/cli/report.h"
#include "retile/cli/verb.h"
#include "retile/program/json.h"

namespace retile::cli {

namespace {

constexpr const char* footer_text = R"(
The input holds one or more Programs, in text or JSON form; each gets a verdict, and the exit code
is the largest.

Exit codes: 0 right, 1 wrong (with --within-bound: or higher than both ends), 2 the input cannot be
read, 3 undecided.

Examples:
  retile check sequence.txt
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile check --within-bound --json)";

struct CheckArguments {
  std::optional<std::string> program;
  bool within_bound = false;
  bool json = false;
};

Outcome work_on(const CheckArguments& arguments) {
  const std::string path = arguments.program.value_or("-");
  const Result<std::string> text = read_text(path, "PROGRAM");
  if (!text) return failed(text.error());
  const Result<std::vector<Program>> programs = parse_any(*text, path == "-" ? "stdin" : path);
  if (!programs) return failed(programs.error());

  Outcome outcome;
  for (const Program& program : *programs) {
    const Verdict verdict = check(program);
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
