#include "retile/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "retile/cli/common.h"
#include "retile/exec/cuda/cuda_device.h"

namespace retile::cli {
namespace {

/// The command line as one line of text, and where each argument stands in it.
struct TypedLine {
  std::string text;
  std::vector<Span> arguments;
};

/// Quotes an argument as a shell needs it.
std::string quoted(std::string_view argument) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_=+,.:/@%").find(c) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) {
    return std::string(argument);
  }
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

TypedLine typed_line(int argc, const char* const* argv) {
  TypedLine line;
  line.text = "retile";
  for (int i = 1; i < argc; ++i) {
    line.text += ' ';
    const std::size_t begin = line.text.size();
    line.text += quoted(argv[i]);
    line.arguments.push_back({begin, line.text.size()});
  }
  return line;
}

Diagnostic usage_error(const TypedLine& line, Span where, std::string message,
                       std::vector<std::string> notes) {
  return {.code = Code::bad_argument,
          .message = std::move(message),
          .input = line.text,
          .where = where,
          .notes = std::move(notes)};
}

/// One sentence without a capital or a trailing dot, whatever the library prints.
std::string one_sentence(std::string text) {
  if (text.rfind("The ", 0) == 0) text[0] = 't';
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// Stands for an empty text while CLI11 has it: that library takes `--mesh=` as `--mesh` with the
/// next argument as its value, and drops empty positionals.
constexpr std::string_view empty_mark = "\x01";

/// argv without the program's name, as CLI11 wants it: last argument first.
std::vector<std::string> for_library(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i >= 1; --i) {
    std::string argument = argv[i];
    const bool empty_value =
        argument.rfind("--", 0) == 0 && argument.find('=') == argument.size() - 1;
    if (argument.empty() || empty_value) argument += empty_mark;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void add_text(CLI::App& app, const std::string& name, std::optional<std::string>& target,
              const std::string& help, const std::string& type) {
  // One std::string each: a vector option would split `[3{x}12,2{y}12]` at its comma.
  app.add_option_function<std::string>(
         name,
         [&target](const std::string& text) { target = text == empty_mark ? std::string() : text; },
         help)
      ->type_name(type);
}

void add_problem(CLI::App& app, ProblemArguments& problem) {
  add_text(app, "--mesh", problem.mesh, "axes of the mesh, such as x:4,y:6", "MESH");
  add_text(app, "FROM", problem.from, "type at the start, such as '[3{x}12, 2{y}12]'", "TYPE");
  add_text(app, "TO", problem.to, "type at the end", "TYPE");
}

constexpr std::string_view element_type_help =
    "i8 u8 i16 u16 f16 bf16 i32 u32 f32 i64 u64 f64 c64 c128; default f32";

constexpr const char* main_footer = R"(
A mesh is written x:4,y:6. A type lists its dimensions as tile{axes}global, axes minor to major;
12 means 12{}12. Results go to stdout, words for people to stderr.

Exit codes:
  0  yes
  1  the answer is no: wrong, or over the limit
  2  the input cannot be read
  3  undecided: a limit was reached
  4  the environment failed: MPI, a process, a file that cannot be written

Examples:
  retile plan --mesh devs:32 '[32, 64{devs}2048]' '[1{devs}32, 2048]'
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' | retile check
  retile prove --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]'

`retile VERB --help` says more about a verb.)";

constexpr const char* plan_footer = R"(
Exit codes: 0 a plan, 1 none within --memory-limit, 2 the input cannot be read, 3 the certificate or
the picture is too large, 4 a file cannot be written.

`retile-oracle certify` checks a certificate line by line, with code of its own.

Examples:
  retile plan --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile plan --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --explain
  retile plan --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' --dtype f64 --memory-limit 8KiB --json
  retile plan --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' --certificate - | retile-oracle certify
  retile plan --mesh x:2,y:3 '[2{x}4, 6]' '[4, 2{y}6]' --svg tiles.svg)";

constexpr const char* lower_footer = R"(
Exit codes: 0 a Program, 2 the input cannot be read, 3 with --direct, more than 2^22 transfers.

Examples:
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' --json
  retile lower --mesh x:2 '[2{x}4, 4]' '[4, 2{x}4]' --direct)";

constexpr const char* check_footer = R"(
The input holds one or more Programs, in text or JSON form; each gets a verdict, and the exit code
is the largest.

Exit codes: 0 right, 1 wrong (with --within-bound: or higher than both ends), 2 the input cannot be
read, 3 undecided: a limit was reached, --timeout too.

Examples:
  retile check sequence.txt
  retile check sequence.txt --timeout 10
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile check --within-bound --json)";

constexpr const char* prove_footer = R"(
For a problem: plans, lowers and proves. A file holds one or more Programs, in text or JSON form;
each gets a verdict, and the exit code is the largest. Programs whose tables are iotas are proved
with symbolic digits, whatever the number of devices; others by looking at every device.

Exit codes: 0 proved, 1 refuted, 2 the input cannot be read, 3 undecided, 4 no solver.

Examples:
  retile prove --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile prove sequence.txt --solver both --smt2 queries --json
  retile lower --mesh x:4 '[8{x}32, 32]' '[32, 8{x}32]' | retile prove -
  retile prove sequence.txt --certificate - | retile-oracle certify)";

constexpr const char* run_footer = R"(
Device d of the mesh is process d. Without an input, an element's bytes are the low bytes of
splitmix64(its global index). Every element of the result is compared, always.

Exit codes: 0 right, 1 the Program or the result is wrong, or over --memory-limit, 2 the input
cannot be read, 4 the environment failed.

Examples:
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]'
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]' -n 4 --dtype f64 --repeat 10 --json
  retile run --program sequence.txt --input a.npy --output b.npy
  retile run --mesh a:2,b:2 '[512{a}1024, 4096]' '[1024, 1024{b,a}4096]' --strategy inplace --explain
  mpirun -n 4 retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]')";

std::string version_text() {
  std::string text = "retile " RETILE_VERSION " (backends: ";
#ifdef RETILE_WITH_MPI
  text += "mpi, ";
#endif
  if (cuda::cuda_is_built()) text += "cuda, ";
  return text + "sim)\n";
}

/// The diagnostic for what CLI11 refused. It names arguments in its message; the caret goes to the
/// first of them, or to the end of the line where something is missing.
Diagnostic from_library(const CLI::ParseError& error, const TypedLine& line, int argc,
                        const char* const* argv, const std::string& help_command) {
  const std::string message = error.what();
  Span where = {line.text.size(), line.text.size()};
  const auto is_boundary = [&](std::size_t position) {
    return position >= message.size() || message[position] == ' ' || message[position] == ':' ||
           message[position] == '\n';
  };
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    // `--json=x` is called `--json` in messages.
    if (argument.rfind("--", 0) == 0) argument = argument.substr(0, argument.find('='));
    if (argument.empty()) continue;
    const std::size_t found = message.find(argument);
    if (found == std::string::npos || (found > 0 && message[found - 1] != ' ') ||
        !is_boundary(found + argument.size())) {
      continue;
    }
    where = line.arguments[static_cast<std::size_t>(i - 1)];
    break;
  }
  return usage_error(line, where, one_sentence(message),
                     {fmt::format("`{} --help` lists what can be said", help_command)});
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  const TypedLine line = typed_line(argc, argv);

  CLI::App app("Plans, checks, proves and runs redistributions of distributed arrays.", "retile");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", version_text());
  app.footer(main_footer);
  app.require_subcommand(0, 1);

  PlanArguments plan;
  LowerArguments lower;
  CheckArguments check;
  ProveArguments prove;
  RunArguments run;

  CLI::App* plan_app = app.add_subcommand("plan", "find a cheapest sequence of collectives");
  add_problem(*plan_app, plan.problem);
  plan_app->add_flag("--json", plan.json, "print one JSON object, retile.plan/1");
  plan_app->add_flag("--explain", plan.explain, "say why the plan is as it is");
  add_text(*plan_app, "--cost", plan.cost,
           "paper: elements per device (default); bytes: bytes received from others", "MODEL");
  add_text(*plan_app, "--memory-limit", plan.memory_limit,
           "most bytes per device, tile before and after a step together; KiB, MiB, GiB, TiB",
           "BYTES");
  add_text(*plan_app, "--dtype", plan.dtype, std::string(element_type_help), "TYPE");
  add_text(*plan_app, "--certificate", plan.certificate,
           "write the Program and the proof of its lower bound; - for stdout, without the plan",
           "FILE");
  add_text(*plan_app, "--svg", plan.svg, "draw who holds what: before, at the largest and after",
           "FILE");
  plan_app->footer(plan_footer);

  CLI::App* lower_app = app.add_subcommand("lower", "print the plan as a Program");
  add_problem(*lower_app, lower.problem);
  lower_app->add_flag("--direct", lower.direct,
                      "no plan: one exchange that moves every element straight to its new tile");
  lower_app->add_flag("--json", lower.json, "print one JSON object, retile.program/1");
  lower_app->footer(lower_footer);

  CLI::App* check_app =
      app.add_subcommand("check", "replay Programs and say whether they are right");
  add_text(*check_app, "PROGRAM", check.program, "file, or - for stdin (default)", "FILE");
  check_app->add_flag("--within-bound", check.within_bound,
                      "also exit 1 if a tile is larger than both ends");
  add_text(*check_app, "--timeout", check.timeout, "seconds for each Program (default: no limit)",
           "S");
  check_app->add_flag("--json", check.json, "print one JSON object per Program, retile.verdict/1");
  check_app->footer(check_footer);

  CLI::App* prove_app =
      app.add_subcommand("prove", "prove that Programs are right for all devices and elements");
  add_text(*prove_app, "--mesh", prove.problem.mesh, "axes of the mesh, such as x:4,y:6", "MESH");
  add_text(*prove_app, "FROM|PROGRAM", prove.program,
           "with --mesh the type at the start; else a file, or - for stdin", "TYPE|FILE");
  add_text(*prove_app, "TO", prove.problem.to, "type at the end", "TYPE");
  add_text(*prove_app, "--solver", prove.solver, "z3 (default), cvc5 or both", "NAME");
  add_text(*prove_app, "--timeout", prove.timeout, "seconds for each Program (default 60)", "S");
  add_text(*prove_app, "--smt2", prove.smt2, "write every query to this folder, as SMT-LIB 2",
           "DIR");
  add_text(*prove_app, "--certificate", prove.certificate,
           "if proved, write the Program and the facts; - for stdout, without the verdict", "FILE");
  prove_app->add_flag("--json", prove.json, "print one JSON object per Program, retile.proof/1");
  prove_app->footer(prove_footer);

  CLI::App* run_app =
      app.add_subcommand("run", "redistribute real bytes and compare every element");
  add_problem(*run_app, run.problem);
  add_text(*run_app, "--program", run.program, "a Program instead of --mesh FROM TO; - for stdin",
           "FILE");
  add_text(*run_app, "-n", run.processes, "number of processes; it must be the number of devices",
           "N");
  add_text(*run_app, "--backend", run.backend, "mpi (default), sim or cuda", "NAME");
  add_text(*run_app, "--dtype", run.dtype, std::string(element_type_help), "TYPE");
  add_text(*run_app, "--input", run.input, "read the array from a .npy file", "FILE");
  add_text(*run_app, "--output", run.output, "write the array to a .npy file", "FILE");
  add_text(*run_app, "--repeat", run.repeat, "times to run; seconds are the median (default 1)",
           "R");
  add_text(*run_app, "--memory-limit", run.memory_limit,
           "most bytes per process, tile before and after a step together; KiB, MiB, GiB, TiB",
           "BYTES");
  add_text(*run_app, "--strategy", run.strategy,
           "how the data goes: automatic (default), collectives, direct, shared, mixed or inplace",
           "NAME");
  run_app->add_flag("--explain", run.explain, "also say why this strategy");
  run_app->add_flag("--json", run.json, "print one JSON object, retile.run/1");
  run_app->footer(run_footer);

  const std::vector<CLI::App*> verbs = {plan_app, lower_app, check_app, prove_app, run_app};
  std::optional<std::string> color_text;
  add_text(app, "--color", color_text, "auto, always or never", "WHEN");
  for (CLI::App* verb : verbs)
    add_text(*verb, "--color", color_text, "auto, always or never", "WHEN");

  std::string help_command = "retile";
  const auto chosen = [&]() -> CLI::App* {
    for (CLI::App* verb : verbs) {
      if (verb->parsed()) return verb;
    }
    return nullptr;
  };
  CommandLine out;
  try {
    app.parse(for_library(argc, argv));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* verb = chosen();
    out.verb = Information{verb != nullptr ? verb->help("retile") : app.help()};
    return out;
  } catch (const CLI::CallForVersion&) {
    out.verb = Information{version_text()};
    return out;
  } catch (const CLI::ParseError& error) {
    if (const CLI::App* verb = chosen()) help_command += " " + verb->get_name();
    return refuse(from_library(error, line, argc, argv, help_command));
  }

  if (color_text) {
    const auto choice = parse_choice(*color_text, "--color", {"auto", "always", "never"});
    if (!choice) return refuse(choice.error());
    out.color = static_cast<Color>(*choice);
  }
  const CLI::App* verb = chosen();
  const Span end = {line.text.size(), line.text.size()};
  if (verb == nullptr) {
    return refuse(usage_error(
        line, end, "a verb is missing",
        {"the verbs are plan, lower, check, prove and run; `retile --help` says more"}));
  }
  help_command += " " + verb->get_name();
  const auto missing = [&](const std::string& what) {
    return refuse(usage_error(line, end, what + " is missing",
                              {fmt::format("`{} --help` shows examples", help_command)}));
  };
  const auto first_missing = [](const ProblemArguments& problem) -> const char* {
    if (!problem.mesh) return "--mesh";
    if (!problem.from) return "FROM";
    return problem.to ? nullptr : "TO";
  };
  if (verb == plan_app) {
    if (const char* what = first_missing(plan.problem)) return missing(what);
    out.verb = std::move(plan);
  } else if (verb == lower_app) {
    if (const char* what = first_missing(lower.problem)) return missing(what);
    out.verb = std::move(lower);
  } else if (verb == check_app) {
    out.verb = std::move(check);
  } else if (verb == prove_app) {
    if (prove.problem.mesh) {
      prove.problem.from = std::exchange(prove.program, std::nullopt);
      if (const char* what = first_missing(prove.problem)) return missing(what);
    } else if (prove.problem.to) {
      return missing("--mesh");
    } else if (!prove.program) {
      return missing("--mesh FROM TO, or a PROGRAM,");
    }
    out.verb = std::move(prove);
  } else {
    const bool problem_given = run.problem.mesh || run.problem.from || run.problem.to;
    if (run.program && problem_given) {
      return refuse(usage_error(line, end, "--program carries its own mesh, from and to",
                                {"leave out --mesh, FROM and TO, or --program"}));
    }
    if (!run.program) {
      if (!problem_given) return missing("--mesh FROM TO, or --program,");
      if (const char* what = first_missing(run.problem)) return missing(what);
    }
    out.verb = std::move(run);
  }
  return out;
}

}  // namespace retile::cli
