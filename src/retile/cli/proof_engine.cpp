#include "retile/cli/proof_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/cli/prove.h"
#include "retile/core/names.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/prove/prove.h"
#include "retile/report/verdict.h"

namespace retile::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether it is a proof; nothing where that is undecided.
std::optional<bool> is_proved(const Proof& proof) {
  const auto right = report::is_right(proof.verdict.answer);
  return right ? std::optional(proof.proved()) : std::nullopt;
}

double seconds(const Proof& proof) {
  double sum = 0;
  for (const ProofQuery& query : proof.queries) sum += query.seconds;
  return sum;
}

std::string proof_text(const Proof& proof, Size devices) {
  const std::string how = proof.method == ProofMethod::evaluation
                              ? "by evaluation"
                              : fmt::format("by {}, {} {}", proof.solvers, proof.queries.size(),
                                            proof.queries.size() == 1 ? "query" : "queries");
  const std::string whose = counted(devices, "device");
  if (proof.verdict.answer == Answer::undecided) {
    return fmt::format("undecided ({}): {}", how, proof.undecided);
  }
  return fmt::format("{} for {} ({}): {}", proof.proved() ? "proved" : "refuted", whose, how,
                     report::text_of(proof.verdict, true));
}

std::string proof_json(const Proof& proof, Size devices) {
  Json json;
  json["schema"] = "retile.proof/1";
  json["proved"] = or_null(is_proved(proof));
  if (!is_proved(proof)) json["undecided"] = proof.undecided;
  json["method"] = method_name(proof.method);
  json["solvers"] = proof.method == ProofMethod::symbolic ? Json(proof.solvers) : Json(nullptr);
  json["devices"] = devices;
  json["queries"] = proof.queries.size();
  json["seconds"] = seconds(proof);
  const Json verdict = report::json_of(proof.verdict);
  for (const auto& [name, value] : verdict.items()) {
    if (name != "schema") json[name] = value;
  }
  return json.dump();
}

/// Says on stderr which query was answered, from the second second on: on a terminal in one line
/// that is written again and again, elsewhere a line every few seconds.
class ProofProgress {
 public:
  ProofProgress() = default;
  ProofProgress(const ProofProgress&) = delete;
  ProofProgress& operator=(const ProofProgress&) = delete;
  ~ProofProgress() { rewrite(""); }

  void answered(const ProofQuery& query) {
    constexpr auto silence = std::chrono::seconds(1);
    constexpr auto between_lines = std::chrono::seconds(5);
    const auto now = Clock::now();
    if (now - start_ < silence) return;
    const std::string line = fmt::format("retile: {}: {}, {:.1f} s", query.name,
                                         query.proved ? "proved" : "not proved", query.seconds);
    if (is_terminal_) {
      rewrite(line);
    } else if (!last_ || now - *last_ >= between_lines) {
      std::fputs((line + '\n').c_str(), stderr);
      last_ = now;
    }
  }

 private:
  /// Puts a line in the place of the one before, on a terminal.
  void rewrite(std::string line) {
    constexpr std::size_t columns = 79;
    line = line.substr(0, columns);
    const std::size_t width = std::exchange(width_, line.size());
    if (width == 0 && line.empty()) return;
    const std::string blanks(width > line.size() ? width - line.size() : 0, ' ');
    std::fputs(('\r' + line + blanks + (line.empty() ? "\r" : "")).c_str(), stderr);
    std::fflush(stderr);
  }

  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> last_;
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  std::size_t width_ = 0;
};

/// The Programs that are meant: those of a file, or the plan of a problem.
Result<std::vector<Program>> programs_of(const ProveArguments& arguments) {
  if (!arguments.problem.from) {
    const std::string path = arguments.program.value_or("-");
    const Result<std::string> text = read_text(path, "PROGRAM");
    if (!text) return refuse(text.error());
    return parse_any(*text, path == "-" ? "stdin" : path);
  }
  const Result<Problem> problem = arguments.problem.read();
  if (!problem) return refuse(problem.error());
  PlanOptions options;
  // There are no facts to certify about steps along several dimensions.
  options.steps = arguments.certificate ? Scope::one_dim : Scope::several_dims;
  const Result<Plan> planned = plan(*problem, options);
  if (!planned) return refuse(planned.error());
  auto program = program_of(*planned);
  if (!program) return refuse(std::move(program.error()));
  return std::vector<Program>{*std::move(program)};
}

Result<ProveOptions> read_options(const ProveArguments& arguments) {
  ProveOptions options;
  if (arguments.solver) {
    const auto choice = parse_choice(*arguments.solver, "--solver", {"z3", "cvc5", "both"});
    if (!choice) return refuse(choice.error());
    options.solver = static_cast<SolverChoice>(*choice);
  }
  if (const auto named = not_empty("--certificate", arguments.certificate); !named) {
    return refuse(named.error());
  }
  if (const auto named = not_empty("--smt2", arguments.smt2, "folder"); !named) {
    return refuse(named.error());
  }
  return options;
}

/// Why these Programs can have no certificate in one file.
std::optional<Diagnostic> without_certificate(const std::vector<Program>& programs,
                                              const std::string& certificate) {
  if (programs.size() != 1) {
    return about_argument(Code::bad_argument, "--certificate", certificate,
                          "a certificate is for one Program");
  }
  const std::vector<Step>& steps = programs.front().steps;
  const bool exchanges = std::any_of(steps.begin(), steps.end(), is_exchange);
  auto more = traits_of(programs.front()).beyond_first_version();
  if (!more && programs.front().array) more = "a view of the array";
  if (!exchanges && !more) return std::nullopt;
  return about_argument(
      Code::unsupported, "--certificate", certificate,
      fmt::format("there are no facts to certify about {}", more.value_or("an exchange")),
      {"`retile-oracle check` judges the Program itself"});
}

/// What each Program comes to, one after the other.
Outcome prove_all(const ProveArguments& arguments, const std::vector<Program>& programs,
                  ProveOptions options) {
  Outcome outcome;
  ProofProgress progress;
  options.progress = [&](const ProofQuery& query) { progress.answered(query); };
  for (std::size_t k = 0; k < programs.size(); ++k) {
    const Program& program = programs[k];
    if (arguments.smt2) {
      const std::string name = programs.size() == 1 ? "" : fmt::format("program_{}.", k);
      options.smt2_prefix = (std::filesystem::path(*arguments.smt2) / name).string();
    }
    options.timeout_seconds = time_limit().seconds_left();
    const Result<Proof> proof = prove(program, options);
    if (!proof) return failed(Exit::environment, proof.error());
    outcome.out +=
        arguments.json ? proof_json(*proof, program.devices) : proof_text(*proof, program.devices);
    outcome.out += '\n';
    outcome.exit = std::max(outcome.exit, exit_of(is_proved(*proof)));
    if (!arguments.certificate || !proof->proved()) continue;
    const std::string certificate = certificate_text(program, facts(program, proof->verdict));
    if (*arguments.certificate == "-") {
      outcome.out = certificate;
    } else if (auto failure = write_named("--certificate", *arguments.certificate, certificate)) {
      return *std::move(failure);
    }
  }
  return outcome;
}

}  // namespace

Outcome prove_programs(const ProveArguments& arguments) {
  const Result<ProveOptions> options = read_options(arguments);
  if (!options) return failed(options.error());
  const Result<std::vector<Program>> programs = programs_of(arguments);
  if (!programs) return failed(programs.error());
  if (arguments.certificate) {
    if (const auto refusal = without_certificate(*programs, *arguments.certificate)) {
      return failed(*refusal);
    }
  }
  if (arguments.smt2) {
    std::error_code error;
    std::filesystem::create_directories(*arguments.smt2, error);
    if (error) {
      return failed(Exit::environment,
                    about_argument(Code::file_error, "--smt2", *arguments.smt2,
                                   fmt::format("cannot make the folder: {}", error.message())));
    }
  }
  return prove_all(arguments, *programs, *options);
}

}  // namespace retile::cli
