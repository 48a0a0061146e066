// retile check: a verdict for every Program of a file, or every function of another system's file.
#include "retile/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "retile/cli/foreign.h"
#include "retile/cli/json.h"
#include "retile/cli/kernel.h"
#include "retile/cli/shrink.h"
#include "retile/cli/verb.h"
#include "retile/foreign/reader.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/report/module.h"
#include "retile/report/verdict.h"
#include "retile/spmd/judge.h"

namespace retile::cli {

namespace {

constexpr const char* check_footer = R"(
The input holds one or more Programs, in text or JSON form, a module (retile.spmd/1), or what another
system compiled: HLO, StableHLO, Shardy, MLIR, or a trace of DTensor. Each gets a verdict, and the exit
code is the largest. Where a text does not say its ends, --from and --to do, in any notation.

--shrink asks the command of --peer for ever smaller reshards, and prints the smallest that it still gets
wrong. In the command {mesh}, {order}, {from}, {to} and {shape} stand for them; {from:jax} says the form, which is
the paper's, or one of `retile convert`. The first reshard is that of FILE, or of --from and --to.

Exit codes: 0 right, 1 wrong (with --within-bound: or higher than both ends), 2 the input cannot be
read, 3 undecided: a limit was reached, --timeout too.

Examples:
  retile check sequence.txt
  retile check sequence.txt --timeout 10
  retile partition mlp.array | retile check
  retile check --from '{devices=[4,1]<=[4]}' --to '{devices=[1,4]<=[4]}' --shape 8,8 module.txt
  retile check --shrink --peer './reshard.py {mesh} {from:sdy} {to:sdy} {shape}' wrong.mlir
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile check --within-bound --json)";

struct CheckArguments {
  std::optional<std::string> program;
  ForeignArguments foreign;
  ShrinkArguments shrink;
  std::optional<std::string> seed;
  bool kernel = false;
};

/// The refusal of a seed for what is not judged by numbers that are drawn.
Diagnostic needless_seed(const std::string& source) {
  return {.code = Code::bad_argument,
          .message = "--seed is for a module of retile.spmd/1: nothing else is judged by lot",
          .source = source};
}

/// The refusal of options that say what a Program says itself.
Diagnostic needless_ends(const std::string& source) {
  return {.code = Code::bad_argument,
          .message = "a Program or a module of retile.spmd/1 says its own ends",
          .source = source,
          .notes = {"--mesh, --from, --to and --shape are for what other systems compile"}};
}

/// The refusal of --kernel for what is no Program.
Diagnostic kernel_for_programs(const std::string& source) {
  return {.code = Code::bad_argument,
          .message = "--kernel is for Programs: retile-kernel reads nothing else",
          .source = source};
}

/// The refusal of an input in which nothing stands.
Diagnostic empty_input(const std::string& source) {
  return {.code = Code::syntax,
          .message = source == "stdin" ? "stdin is empty: there is no Program here"
                                       : "the file is empty: there is no Program here",
          .source = source,
          .notes = {"the command that was to write it may have failed"}};
}

/// The verdict on a module. \param seed  what --seed says
Outcome check_module(const std::string& text, const std::string& source, bool json,
                     const std::optional<std::string>& seed) {
  const text::Input input{text, source, true};
  spmd::JudgeOptions options{.timeout_seconds = time_limit().seconds_left()};
  if (seed) {
    const auto number = parse_count(*seed, "--seed", 0, std::numeric_limits<Size>::max());
    if (!number) return failed(number.error());
    options.seed = static_cast<std::uint64_t>(*number);
  }
  const auto module = spmd::read_module(input);
  if (!module) return failed(module.error());
  const auto verdict = spmd::judge(*module, options);
  if (!verdict) return failed(verdict.error());
  Outcome outcome{.exit = exit_of(report::is_right(verdict->answer))};
  add_answer(
      outcome, json, [&] { return line_of(report::json_of(*module, *verdict)); },
      [&] { return report::text_of(*module, *verdict); });
  return outcome;
}

Outcome work_on(const CheckArguments& arguments) {
  if (arguments.shrink.wanted && !arguments.program && arguments.foreign.ends.from) {
    return shrink_foreign(std::nullopt, "", arguments.foreign, arguments.shrink);
  }
  const std::string path = arguments.program.value_or("-");
  const Result<std::string> text = read_text(path, "PROGRAM");
  if (!text) return failed(text.error());
  const std::string source = path == "-" ? "stdin" : path;
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) return failed(empty_input(source));
  if (arguments.shrink.wanted) {
    return shrink_foreign(*text, source, arguments.foreign, arguments.shrink);
  }
  const bool is_module = spmd::is_module(*text);
  if (arguments.seed && !is_module) return failed(needless_seed(source));
  if (arguments.kernel && (is_module || foreign::language_of(*text))) {
    return failed(kernel_for_programs(source));
  }
  if (const auto language = foreign::language_of(*text)) {
    return check_foreign(*text, source, *language, arguments.foreign);
  }
  if (arguments.foreign.has_ends()) return failed(needless_ends(source));
  if (is_module) {
    return check_module(*text, source, arguments.foreign.json, arguments.seed);
  }
  const Result<std::vector<Program>> programs = parse_any(*text, source);
  if (!programs) return failed(programs.error());

  const bool json = arguments.foreign.json;
  const bool within_bound = arguments.foreign.within_bound;
  std::vector<Verdict> verdicts;
  for (const Program& program : *programs) {
    verdicts.push_back(check(program, {.timeout_seconds = time_limit().seconds_left()}));
  }
  std::vector<KernelSays> says;
  if (arguments.kernel) {
    std::string all;  // the text form, whichever was read
    for (const Program& program : *programs) all += to_text(program);
    auto asked = ask_kernel(all, verdicts, time_limit().seconds_left());
    if (!asked) return failed(asked.error());
    says = std::move(*asked);
  }
  Outcome outcome;
  for (std::size_t k = 0; k < verdicts.size(); ++k) {
    const Verdict& verdict = verdicts[k];
    const bool unheard = arguments.kernel && says[k] == KernelSays::nothing;
    add_answer(
        outcome, json,
        [&] {
          Json object = report::json_of(verdict);
          if (arguments.kernel) object["kernel"] = unheard ? "undecided" : "the_same";
          return line_of(object);
        },
        [&] {
          std::string words = report::text_of(verdict, within_bound) + "\n";
          if (arguments.kernel) {
            words += unheard ? "retile-kernel says nothing of it: it reached a limit\n"
                             : "retile-kernel, which is proved, says the same\n";
          }
          return words;
        });
    outcome.exit = std::max(outcome.exit, exit_of(report::is_right(verdict.answer),
                                                  within_bound && !verdict.within_bound));
    if (unheard) outcome.exit = std::max(outcome.exit, Exit::undecided);
  }
  return outcome;
}

class CheckVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "check"; }
  [[nodiscard]] std::string summary() const override {
    return "replay Programs and say whether they are right";
  }
  [[nodiscard]] std::string footer() const override { return check_footer; }
  void add_options(OptionList& options) override {
    options.text("PROGRAM", given_.program, "file, or - for stdin (default)", "FILE");
    options.text("--mesh", given_.foreign.ends.mesh, "axes of a module's mesh, where it has none",
                 "MESH");
    options.text("--from", given_.foreign.ends.from, "what a module's devices hold at the start",
                 "TYPE");
    options.text("--to", given_.foreign.ends.to, "what they must hold at the end", "TYPE");
    options.text("--shape", given_.foreign.ends.shape, "the global shape, such as 16,8", "SHAPE");
    options.flag("--program", given_.foreign.program,
                 "print what a module does as a Program, retile.program/2");
    options.text("--seed", given_.seed, "of the numbers that judge a module (default: drawn)", "N");
    options.flag("--kernel", given_.kernel,
                 "also ask retile-kernel, which is proved, and fail where it differs");
    options.flag("--within-bound", given_.foreign.within_bound,
                 "also exit 1 if a tile is larger than both ends");
    options.flag("--shrink", given_.shrink.wanted,
                 "the smallest reshard that --peer gets wrong in the same way");
    options.text("--peer", given_.shrink.peer, "with --shrink: a command that writes a program",
                 "COMMAND");
    options.text("--runs", given_.shrink.runs,
                 "with --shrink: at most so many commands (default 500)", "N");
    options.text("--peer-timeout", given_.shrink.peer_timeout,
                 "with --shrink: seconds for each command (default 60)", "S");
    options.flag(
        "--json", given_.foreign.json,
        "print one JSON object per Program (retile.verdict/1) or module (retile.foreign/1)");
  }
  [[nodiscard]] std::string where_too_many() const override {
    return "one file is judged at a time: for f in *.hlo; do retile check \"$f\"; done";
  }
  [[nodiscard]] std::string without_timeout() const override { return "--shrink"; }
  /// The commands of --peer take as long as they take.
  [[nodiscard]] std::optional<Size> usual_timeout() const override {
    if (given_.shrink.wanted) return std::nullopt;
    return usual_seconds;
  }
  [[nodiscard]] std::optional<Complaint> settle() override {
    const ShrinkArguments& shrink = given_.shrink;
    if (given_.kernel && shrink.wanted) return Complaint{"--kernel does not go with --shrink"};
    if (!shrink.wanted) {
      if (shrink.peer || shrink.runs || shrink.peer_timeout) {
        return Complaint{"--peer, --runs and --peer-timeout need --shrink"};
      }
      return std::nullopt;
    }
    if (!shrink.peer) {
      return Complaint{"--shrink needs --peer",
                       {"only who wrote a program can write a smaller one"}};
    }
    if (given_.foreign.program) return Complaint{"--shrink prints no Program"};
    if (!given_.program &&
        given_.foreign.ends.from.has_value() != given_.foreign.ends.to.has_value()) {
      return Complaint{"--shrink needs a file, or both --from and --to"};
    }
    return std::nullopt;
  }
  [[nodiscard]] Outcome work() const override {
    Outcome outcome = work_on(given_);
    // Nothing was judged, so nothing is wrong.
    if (outcome.exit == Exit::no && outcome.out.empty()) outcome.exit = Exit::usage;
    return outcome;
  }

 private:
  CheckArguments given_;
};

}  // namespace

std::unique_ptr<Verb> make_check_verb() { return std::make_unique<CheckVerb>(); }

}  // namespace retile::cli
