// retile run: real bytes through a Program, every element compared.
#include "retile/cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/cli/report.h"
#include "retile/cli/verbs.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"

namespace retile::cli {
namespace {

/// More processes than this are started only when -n says so.
constexpr Size most_processes_unasked = 1024;

Result<Program> read_program(const std::string& path) {
  const Result<std::string> text = read_text(path, "--program");
  if (!text) return refuse(text.error());
  Result<std::vector<Program>> programs = parse_any(*text, path == "-" ? "stdin" : path);
  if (!programs) return refuse(programs.error());
  if (programs->size() != 1) {
    return refuse(
        about_argument(Code::bad_argument, "--program", path,
                       fmt::format("holds {} Programs, where one is run", programs->size())));
  }
  return std::move(programs->front());
}

/// 1.5 MiB, 96 bytes
std::string bytes_text(Size bytes) {
  constexpr Size kibi = 1024;
  if (bytes < kibi) return counted(bytes, "byte");
  double value = static_cast<double>(bytes) / static_cast<double>(kibi);
  std::string_view unit = "KiB";
  for (const std::string_view next : {"MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (value < static_cast<double>(kibi)) break;
    value /= static_cast<double>(kibi);
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

Outcome over_limit(Size limit_bytes, std::optional<Size> resident_bytes, bool json) {
  if (json) {
    nlohmann::ordered_json object;
    object["schema"] = "retile.run/1";
    object["feasible"] = false;
    object["limit_bytes"] = limit_bytes;
    if (resident_bytes) {
      object["resident_bytes"] = *resident_bytes;
    } else {
      object["resident_bytes"] = nullptr;
    }
    return {.exit = Exit::no, .out = object.dump() + "\n"};
  }
  return {
      .exit = Exit::no,
      .out = fmt::format("not run: the Program holds {} per process, over the limit of {}\n",
                         resident_bytes ? counted(*resident_bytes, "byte") : "2^63 bytes or more",
                         counted(limit_bytes, "byte"))};
}

}  // namespace

Result<Backend> read_backend(const RunArguments& arguments) {
  if (!arguments.backend) return Backend::mpi;
  const auto index = parse_choice(*arguments.backend, "--backend", {"mpi", "sim", "cuda"});
  if (!index) return refuse(index.error());
  const auto backend = static_cast<Backend>(*index);
  if (backend == Backend::sim && (arguments.strategy || arguments.explain)) {
    return refuse(about_argument(Code::bad_argument, "--backend", "sim",
                                 fmt::format("has but one way to move data, so {} says nothing",
                                             arguments.strategy ? "--strategy" : "--explain"),
                                 {"strategies are those of MPI processes"}));
  }
  if (backend != Backend::cuda) return backend;
  if (arguments.strategy) {
    return refuse(about_argument(Code::bad_argument, "--backend", "cuda",
                                 "chooses its path by itself, so --strategy says nothing",
                                 {"strategies are those of MPI processes"}));
  }
  for (const auto& [path, option] :
       {std::pair(&arguments.input, "--input"), std::pair(&arguments.output, "--output")}) {
    if (!*path) continue;
    return refuse(about_argument(Code::unsupported, option, **path,
                                 "the backend cuda moves the generated array, no files",
                                 {"--backend mpi and --backend sim read and write files"}));
  }
  return backend;
}

Exit exit_of_run(const Diagnostic& diagnostic) {
  if (diagnostic.code == Code::file_error) return Exit::environment;
  return exit_of(diagnostic);
}

Exit exit_of_backend(const Diagnostic& diagnostic) {
  if (diagnostic.code == Code::unsupported) return Exit::environment;
  return exit_of_run(diagnostic);
}

Result<void> check_input(const NpyHeader& header, const std::string& path, const Shape& global,
                         std::string_view descr) {
  const auto refused = [&](std::string message) {
    return refuse(about_argument(Code::bad_file, "--input", path, std::move(message)));
  };
  if (header.shape != global) {
    return refused(fmt::format("holds an array of shape {}, where {} is redistributed",
                               shape_text(header.shape), shape_text(global)));
  }
  // The first character is the byte order, which does not matter.
  if (!descr.empty() && std::string_view(header.descr).substr(1) != descr.substr(1)) {
    return refused(
        fmt::format("holds elements of type {}, where --dtype says {}", header.descr, descr));
  }
  return {};
}

Result<RunRequest> read_run_values(const RunArguments& arguments) {
  RunRequest request;
  request.json = arguments.json;
  request.dtype_given = arguments.dtype.has_value();
  request.dtype_name = arguments.dtype.value_or("f32");
  const auto type = parse_element_type(request.dtype_name, "--dtype");
  if (!type) return refuse(type.error());
  request.element_bytes = type->bytes;
  if (request.dtype_given || !arguments.input) {
    Result<std::string> descr = npy_descr(request.dtype_name);
    if (!descr) return refuse(descr.error());
    request.npy_descr = std::move(*descr);
  }
  if (arguments.repeat) {
    constexpr Size most_repetitions = 1'000'000'000;
    const auto count = parse_count(*arguments.repeat, "--repeat", 1, most_repetitions);
    if (!count) return refuse(count.error());
    request.repetitions = *count;
  }
  for (const auto& [path, option] :
       {std::pair(&arguments.input, "--input"), std::pair(&arguments.output, "--output")}) {
    if (*path && (*path)->empty()) {
      return refuse(about_argument(Code::bad_argument, option, "''", "an empty file name"));
    }
  }
  if (arguments.strategy) {
    const std::vector<std::string_view> names{"automatic", "collectives", "direct",
                                              "shared",    "mixed",       "inplace"};
    const auto strategy = parse_choice(*arguments.strategy, "--strategy", names);
    if (!strategy) return refuse(strategy.error());
    request.strategy = names[*strategy];
  }
  if (arguments.memory_limit) {
    const auto limit = parse_bytes(*arguments.memory_limit, "--memory-limit");
    if (!limit) return refuse(limit.error());
    request.memory_limit_bytes = *limit;
  }
  request.explain = arguments.explain;
  request.input = arguments.input.value_or("");
  request.output = arguments.output.value_or("");
  return request;
}

tl::expected<RunRequest, Outcome> prepare_run(const RunArguments& arguments,
                                              std::optional<Size> processes_there) {
  const auto fail = [](Diagnostic diagnostic) {
    return tl::unexpected<Outcome>(failed(std::move(diagnostic)));
  };
  Result<RunRequest> values = read_run_values(arguments);
  if (!values) return fail(values.error());
  RunRequest request = std::move(*values);
  std::optional<Size> processes;
  if (arguments.processes) {
    const auto count = parse_count(*arguments.processes, "-n", 1, max_devices);
    if (!count) return fail(count.error());
    processes = *count;
  }
  const std::optional<Size> limit_bytes = request.memory_limit_bytes;
  // Processes have several ways to run a Program and say themselves whether one of them fits.
  const bool by_steps = arguments.backend.value_or("mpi") == "sim";

  // The problem is read before the input file: where both are at fault, the text is what was typed.
  std::optional<Problem> problem;
  if (arguments.program) {
    Result<Program> program = read_program(*arguments.program);
    if (!program) return fail(program.error());
    request.program = std::move(*program);
  } else {
    Result<Problem> read = read_problem(arguments.problem);
    if (!read) return fail(read.error());
    problem = std::move(*read);
  }
  const Size devices = problem ? problem->from.devices() : request.program.devices;
  const Shape& global = problem ? problem->from.global() : request.program.from.global();

  if (processes && *processes != devices) {
    return fail(about_argument(
        Code::bad_argument, "-n", *arguments.processes,
        fmt::format("there are {}, and device d is process d", counted(devices, "device")),
        {fmt::format("-n {} fits, and is what is taken without -n", devices)}));
  }
  if (processes_there && *processes_there != devices) {
    return fail(about_argument(
        Code::bad_argument, "mpirun", fmt::format("-n {}", *processes_there),
        fmt::format("there are {}, and device d is process d", counted(devices, "device")),
        {fmt::format("mpirun -n {} fits", devices)}));
  }
  if (!processes && !processes_there && devices > most_processes_unasked &&
      arguments.backend.value_or("mpi") == "mpi") {
    const std::string text = fmt::format("{}", devices);
    return fail(about_argument(Code::bad_argument, "-n", text,
                               "so many processes are started only on request",
                               {fmt::format("-n {} requests them", devices)}));
  }

  if (!request.input.empty()) {
    const Result<NpyFile> file = NpyFile::open(request.input);
    if (!file) {
      Diagnostic diagnostic = file.error();
      if (diagnostic.input.empty()) {
        diagnostic.source = "--input";
        diagnostic.input = request.input;
        diagnostic.where = {0, request.input.size()};
      }
      return tl::unexpected<Outcome>(failed(Exit::usage, std::move(diagnostic)));
    }
    if (auto fits = check_input(file->header(), request.input, global, request.npy_descr); !fits) {
      return fail(fits.error());
    }
    request.element_bytes = file->header().element_bytes;
  }

  if (problem) {
    PlanOptions options;
    options.element_bytes = request.element_bytes;
    options.memory_limit_bytes = limit_bytes;
    Result<Plan> planned = plan(*problem, options);
    if (!planned && planned.error().code == Code::infeasible && !by_steps) {
      options.memory_limit_bytes = {};
      planned = plan(*problem, options);
    }
    if (!planned) {
      if (planned.error().code == Code::infeasible) {
        return tl::unexpected<Outcome>(
            infeasible(*problem, options, "retile.run/1", arguments.json));
      }
      return fail(planned.error());
    }
    request.program = lower(*planned);
  }
  const Verdict verdict = check(request.program);
  if (verdict.answer != Answer::right) {
    Outcome outcome;
    outcome.exit = exit_of(verdict, false);
    outcome.out = arguments.json ? verdict_json(verdict) + "\n"
                                 : "not run: " + verdict_text(verdict, false) + "\n";
    return tl::unexpected<Outcome>(std::move(outcome));
  }
  if (limit_bytes && by_steps) {
    const std::optional<Size> elements = resident_elements(request.program);
    const std::optional<Size> resident_bytes =
        elements ? checked_mul(*elements, request.element_bytes) : std::nullopt;
    if (!resident_bytes || *resident_bytes > *limit_bytes) {
      return tl::unexpected<Outcome>(over_limit(*limit_bytes, resident_bytes, arguments.json));
    }
  }
  return request;
}

Outcome over_limit(const RunRequest& request, const Diagnostic& diagnostic) {
  if (request.json) {
    nlohmann::ordered_json object;
    object["schema"] = "retile.run/1";
    object["feasible"] = false;
    object["limit_bytes"] = request.memory_limit_bytes.value_or(0);
    object["reasons"] = diagnostic.notes;
    return {.exit = Exit::no, .out = object.dump() + "\n"};
  }
  std::string text = "not run: " + diagnostic.message + "\n";
  for (const std::string& note : diagnostic.notes) text += "  " + note + "\n";
  return {.exit = Exit::no, .out = std::move(text)};
}

Outcome report_run(const RunFigures& figures, const RunRequest& request) {
  const Exit exit = figures.right ? Exit::yes : Exit::no;
  if (request.json) {
    nlohmann::ordered_json object;
    object["schema"] = "retile.run/1";
    object["right"] = figures.right;
    object["backend"] = figures.backend;
    if (!figures.strategy.empty()) object["strategy"] = figures.strategy;
    if (request.explain && !figures.reasons.empty()) object["reasons"] = figures.reasons;
    object["processes"] = figures.processes;
    object["repetitions"] = figures.repetitions;
    object["elements_checked"] = figures.elements_checked;
    object["seconds"] = figures.seconds;
    object["bytes_per_process"] = figures.bytes_per_process;
    object["peak_bytes_per_process"] = figures.peak_bytes_per_process;
    object["peak_limit_bytes"] = figures.peak_limit_bytes;
    object["resident_bytes"] = figures.resident_bytes;
    object["bound_bytes"] = figures.bound_bytes;
    return {.exit = exit, .out = object.dump() + "\n"};
  }
  std::string text;
  if (figures.right) {
    text = fmt::format(
        "right: {} compared on {} ({})\n", counted(figures.elements_checked, "element"),
        figures.processes == 1 ? "1 process" : fmt::format("{} processes", figures.processes),
        figures.strategy.empty() ? std::string(figures.backend)
                                 : fmt::format("{}, {}", figures.backend, figures.strategy));
  } else {
    text = fmt::format("wrong: process {} holds a wrong element at position {} of its tile\n",
                       figures.wrong_device.value_or(0), figures.wrong_index.value_or(0));
  }
  text += fmt::format("moved in {:.6f} s (median of {}); a process received at most {}\n",
                      figures.seconds, figures.repetitions, bytes_text(figures.bytes_per_process));
  text +=
      fmt::format("memory per process: peak {} (limit {}), resident {}, larger end tile {}\n",
                  bytes_text(figures.peak_bytes_per_process), bytes_text(figures.peak_limit_bytes),
                  bytes_text(figures.resident_bytes), bytes_text(figures.bound_bytes));
  for (const std::string& reason : figures.reasons) {
    if (request.explain) text += "  " + reason + "\n";
  }
  return {.exit = exit, .out = std::move(text)};
}

Progress::Progress(bool silent) {
  if (!silent) thread_ = std::thread([this] { print_until_ended(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Progress::update(std::string_view stage, Size done, Size total) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  done_ = done;
  total_ = total;
}

void Progress::print_until_ended() {
  constexpr std::chrono::seconds longest_wait(30);
  std::chrono::seconds wait(1);
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, wait, [this] { return ended_; })) {
    std::string line = "retile: starting\n";
    if (stage_ == "move") {
      line =
          fmt::format("retile: move, repetition {} of {}\n", std::min(done_ + 1, total_), total_);
    } else if (!stage_.empty()) {
      line = fmt::format("retile: {}, {} of {}\n", stage_, bytes_text(done_), bytes_text(total_));
    }
    std::fputs(line.c_str(), stderr);
    wait = std::min(wait * 2, longest_wait);
  }
}

Outcome run_verb(const RunArguments& arguments) {
  const Result<Backend> backend = read_backend(arguments);
  if (!backend) return failed(exit_of_backend(backend.error()), backend.error());
  auto request = prepare_run(arguments, std::nullopt);
  if (!request) return request.error();
  const auto not_built = [](std::string message) {
    return failed(Exit::environment, {.code = Code::unsupported,
                                      .message = std::move(message),
                                      .notes = {"--backend sim runs all devices in one process"}});
  };
  switch (*backend) {
    case Backend::sim:
      return run_sim(*request);
    case Backend::cuda:
      return run_cuda(*request);
    case Backend::mpi:
      break;
  }
  if (!mpi_is_built()) return not_built("the backend mpi is not built into this program");
  return run_mpi_launch(*request);
}

}  // namespace retile::cli
