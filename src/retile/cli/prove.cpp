// retile prove: a proof or a counterexample for the plan of a problem, or every Program of a file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "retile/cli/report.h"
#include "retile/cli/verbs.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#ifdef RETILE_WITH_Z3
#include "retile/prove/prove.h"
#endif

namespace retile::cli {

#ifdef RETILE_WITH_Z3

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

Exit exit_of(const Proof& proof) {
  if (proof.verdict.answer == Answer::undecided) return Exit::undecided;
  return proof.proved() ? Exit::yes : Exit::no;
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
                     verdict_text(proof.verdict, true));
}

std::string proof_json(const Proof& proof, Size devices) {
  Json json;
  json["schema"] = "retile.proof/1";
  if (proof.verdict.answer == Answer::undecided) {
    json["proved"] = nullptr;
    json["undecided"] = proof.undecided;
  } else {
    json["proved"] = proof.proved();
  }
  json["method"] = method_name(proof.method);
  json["solvers"] = proof.method == ProofMethod::symbolic ? Json(proof.solvers) : Json(nullptr);
  json["devices"] = devices;
  json["queries"] = proof.queries.size();
  json["seconds"] = seconds(proof);
  const Json verdict = Json::parse(verdict_json(proof.verdict));
  for (const auto& [name, value] : verdict.items()) {
    if (name != "schema") json[name] = value;
  }
  return json.dump();
}

/// Says on stderr which query was answered, from the second second on.
class ProofProgress {
 public:
  void answered(const ProofQuery& query) {
    if (Clock::now() - start_ < std::chrono::seconds(1)) return;
    const std::string line = fmt::format("retile: {}: {}, {:.1f} s\n", query.name,
                                         query.proved ? "proved" : "not proved", query.seconds);
    std::fputs(line.c_str(), stderr);
  }

 private:
  Clock::time_point start_ = Clock::now();
};

/// The Programs that are meant: those of a file, or the plan of a problem.
Result<std::vector<Program>> programs_of(const ProveArguments& arguments) {
  if (!arguments.problem.mesh) {
    const std::string path = arguments.program.value_or("-");
    const Result<std::string> text = read_text(path, "PROGRAM");
    if (!text) return refuse(text.error());
    return parse_any(*text, path == "-" ? "stdin" : path);
  }
  const Result<Problem> problem = read_problem(arguments.problem);
  if (!problem) return refuse(problem.error());
  const Result<Plan> planned = plan(*problem);
  if (!planned) return refuse(planned.error());
  return std::vector<Program>{lower(*planned)};
}

}  // namespace

Outcome prove_verb(const ProveArguments& arguments) {
  ProveOptions options;
  if (arguments.solver) {
    const auto choice = parse_choice(*arguments.solver, "--solver", {"z3", "cvc5", "both"});
    if (!choice) return failed(choice.error());
    options.solver = static_cast<SolverChoice>(*choice);
  }
  if (arguments.timeout) {
    const auto limit = parse_count(*arguments.timeout, "--timeout", 1, 1'000'000);
    if (!limit) return failed(limit.error());
    options.timeout_seconds = static_cast<double>(*limit);
  }
  const Result<std::vector<Program>> programs = programs_of(arguments);
  if (!programs) return failed(programs.error());
  if (arguments.certificate && programs->size() != 1) {
    return failed(about_argument(Code::bad_argument, "--certificate", *arguments.certificate,
                                 "a certificate is for one Program"));
  }
  if (arguments.certificate &&
      std::any_of(programs->front().steps.begin(), programs->front().steps.end(), is_exchange)) {
    return failed(about_argument(Code::unsupported, "--certificate", *arguments.certificate,
                                 "there are no facts to certify about an exchange",
                                 {"`retile-oracle check` judges the Program itself"}));
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

  Outcome outcome;
  ProofProgress progress;
  options.progress = [&](const ProofQuery& query) { progress.answered(query); };
  for (std::size_t k = 0; k < programs->size(); ++k) {
    const Program& program = (*programs)[k];
    if (arguments.smt2) {
      const std::string name = programs->size() == 1 ? "" : fmt::format("program_{}.", k);
      options.smt2_prefix = (std::filesystem::path(*arguments.smt2) / name).string();
    }
    const Result<Proof> proof = prove(program, options);
    if (!proof) return failed(Exit::environment, proof.error());
    outcome.out +=
        arguments.json ? proof_json(*proof, program.devices) : proof_text(*proof, program.devices);
    outcome.out += '\n';
    outcome.exit = std::max(outcome.exit, exit_of(*proof));
    if (!arguments.certificate || !proof->proved()) continue;
    const std::string certificate = to_text(program) + facts(program, proof->verdict);
    if (*arguments.certificate == "-") {
      outcome.out = certificate;
      continue;
    }
    std::ofstream file(*arguments.certificate, std::ios::binary);
    file << certificate << std::flush;
    if (!file) {
      return failed(Exit::environment,
                    about_argument(Code::file_error, "--certificate", *arguments.certificate,
                                   "the file cannot be written"));
    }
  }
  return outcome;
}

#else

Outcome prove_verb(const ProveArguments&) {
  return failed(Exit::environment,
                {.code = Code::unsupported,
                 .message = "this retile was built without Z3, so it cannot prove",
                 .notes = {"`retile check` replays a Program on all devices"}});
}

#endif

}  // namespace retile::cli
