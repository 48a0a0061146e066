// retile run --backend mpi: the launcher's side and the processes' side.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "retile/cli/launch.h"
#include "retile/cli/run.h"
#include "retile/program/forms/text.h"

#ifdef RETILE_WITH_MPI
#include "retile/exec/mpi/device_run.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/run.h"
#endif

namespace retile::cli {

Outcome run_mpi_launch(const RunRequest& request) {
  // `--option=value` and not two words: mpirun reads a lone `:` as the start of another command.
  std::vector<std::string> arguments = {"run", "--backend=mpi", "--program=-"};
  arguments.push_back(fmt::format("-n{}", request.program.devices));
  arguments.push_back(fmt::format("--repeat={}", request.repetitions));
  if (request.dtype_given) arguments.push_back("--dtype=" + request.dtype_name);
  if (!request.input.empty()) arguments.push_back("--input=" + request.input);
  if (!request.output.empty()) arguments.push_back("--output=" + request.output);
  if (request.strategy != "automatic") arguments.push_back("--strategy=" + request.strategy);
  if (request.memory_limit_bytes) {
    arguments.push_back(fmt::format("--memory-limit={}", *request.memory_limit_bytes));
  }
  if (request.explain) arguments.emplace_back("--explain");
  if (request.json) arguments.emplace_back("--json");
  return launch(request.program.devices, arguments, to_text(request.program));
}

#ifdef RETILE_WITH_MPI

bool mpi_is_built() { return true; }

bool is_mpi_process() { return mpi::Environment::started_by_launcher(); }

namespace {

mpi::RunOptions run_options(const RunRequest& request, Progress& progress) {
  mpi::RunOptions options;
  if (request.input.empty() || request.dtype_given) {
    options.element_bytes = request.element_bytes;
    options.npy_descr = request.npy_descr;
  }
  options.input = request.input;
  options.output = request.output;
  options.repetitions = request.repetitions;
  options.options.strategy =
      mpi::strategy_named(request.strategy).value_or(mpi::Strategy::automatic);
  options.options.memory_limit_bytes = request.memory_limit_bytes;
  const bool generated = request.input.empty();
  options.progress = [&progress, generated](std::string_view stage, Size done, Size total) {
    progress.update(generated && stage == "read" ? "generate" : stage, done, total);
  };
  return options;
}

/// On processes other than 0: `code` without words, which process 0 has.
Outcome silent(int code) {
  Outcome outcome;
  outcome.exit = static_cast<Exit>(code);
  return outcome;
}

Result<Outcome> run_process(const mpi::Environment& environment,
                            const Result<RunArguments>& arguments, const std::string& typed) {
  const bool first = environment.process() == 0;
  const Result<std::string> wanted = environment.broadcast(typed);
  if (!wanted) return refuse(wanted.error());
  const Result<int> different =
      environment.largest(*wanted == typed ? 0 : environment.process() + 1);
  if (!different) return refuse(different.error());
  if (*different > 0) {
    Diagnostic diagnostic = about_argument(
        Code::disagreement, "mpirun", *wanted,
        fmt::format("process {} was given other arguments than process 0", *different - 1),
        {"all processes need the same command line"});
    return first ? failed(std::move(diagnostic)) : silent(static_cast<int>(Exit::usage));
  }
  // All were given the same text, so all fail alike here; only process 0 says so.
  if (!arguments) {
    return first ? failed(arguments.error()) : silent(static_cast<int>(Exit::usage));
  }

  const Result<Backend> backend = read_backend(*arguments);
  if (!backend) {
    const Exit exit = exit_of_backend(backend.error());
    return first ? failed(exit, backend.error()) : silent(static_cast<int>(exit));
  }

  // Only process 0 is sure to see the files. The Program goes from it to all; the other values are
  // in the command line.
  Outcome refused;
  RunRequest request;
  std::string text;
  if (first) {
    tl::expected<RunRequest, Outcome> prepared = prepare_run(*arguments, environment.processes());
    if (prepared) {
      request = std::move(*prepared);
      text = to_text(request.program);
    } else {
      refused = std::move(prepared.error());
    }
  }
  const Result<int> code = environment.largest(static_cast<int>(refused.exit));
  if (!code) return refuse(code.error());
  const Result<std::string> sent = environment.broadcast(text);
  if (!sent) return refuse(sent.error());
  if (sent->empty()) return first ? refused : silent(*code);
  if (!first) {
    Result<RunRequest> values = read_run_values(*arguments);
    if (!values) return refuse(values.error());
    request = std::move(*values);
    Result<std::vector<Program>> programs = parse_programs(*sent, "process 0");
    if (!programs) return refuse(programs.error());
    request.program = std::move(programs->front());
  }

  if (*backend == Backend::cuda) {
    Outcome outcome = report_cuda(
        mpi::run_on_devices(environment, request.program, cuda_options(request)), request);
    return first ? outcome : silent(static_cast<int>(outcome.exit));
  }

  Progress progress(!first);
  const Result<mpi::RunReport> report =
      mpi::run(environment, request.program, run_options(request, progress));
  if (!report && report.error().code == Code::infeasible) {
    return first ? over_limit(request, report.error()) : silent(static_cast<int>(Exit::no));
  }
  if (!report) {
    const Exit exit = exit_of_run(report.error());
    return first ? failed(exit, report.error()) : silent(static_cast<int>(exit));
  }
  RunFigures figures = figures_of("mpi", mpi::strategy_name(report->strategy), *report);
  figures.resident_bytes = report->resident_bytes;
  figures.bound_bytes = report->bound_bytes;
  Outcome outcome = report_run(figures, request);
  return first ? outcome : silent(static_cast<int>(outcome.exit));
}

}  // namespace

int run_mpi_process(const Result<RunArguments>& arguments, const std::string& typed,
                    const PrintOutcome& print) {
  const Result<mpi::Environment> environment = mpi::Environment::start(nullptr, nullptr);
  if (!environment) return print(failed(Exit::environment, environment.error()));
  const auto abort = [&](const std::string& message) {
    // The other processes may be waiting for this one.
    environment->abort(static_cast<int>(Exit::environment), message);
  };
  try {
    Result<Outcome> outcome = run_process(*environment, arguments, typed);
    if (!outcome) abort(render(outcome.error()));
    const bool first = environment->process() == 0;
    const bool launched = std::getenv(launched_variable) != nullptr;
    if (launched) outcome = first ? to_launcher(std::move(*outcome)) : Outcome{};
    // mpirun ends the job when a process ends with another code than 0, so all wait until process 0
    // has printed.
    const int code = first ? print(*outcome) : static_cast<int>(outcome->exit);
    const Result<int> agreed = environment->largest(code);
    if (!agreed) abort(render(agreed.error()));
    return *agreed;
  } catch (const std::bad_alloc&) {
    abort(render({.code = Code::limit_reached, .message = "out of memory"}));
  } catch (const std::exception& error) {
    abort(render({.code = Code::unsupported, .message = error.what()}));
  }
  return static_cast<int>(Exit::environment);
}

#else

bool mpi_is_built() { return false; }

bool is_mpi_process() { return false; }

int run_mpi_process(const Result<RunArguments>& /*arguments*/, const std::string& /*typed*/,
                    const PrintOutcome& print) {
  return print(failed(
      Exit::environment,
      {.code = Code::unsupported, .message = "the backend mpi is not built into this program"}));
}

#endif

}  // namespace retile::cli
