// retile run: real bytes through a Program, every element compared.
#include "retile/cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "retile/check/check.h"
#include "retile/cli/report.h"
#include "retile/cli/signals.h"
#include "retile/cli/verb.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/sim/executor.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/json.h"
#include "retile/program/text.h"

namespace retile::cli {
namespace {

constexpr const char* footer_text = R"(
Device d of the mesh is process d. Without an input, an element's bytes are the low bytes of
splitmix64(its global index). Every element of the result is compared, always.

Exit codes: 0 right, 1 the Program or the result is wrong, or over --memory-limit, 2 the input
cannot be read, 3 the Program could not be checked in time, 4 the environment failed.

Examples:
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]'
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]' -n 4 --dtype f64 --repeat 10 --json
  retile run --program sequence.txt --input a.npy --output b.npy
  retile run --mesh a:2,b:2 '[512{a}1024, 4096]' '[1024, 1024{b,a}4096]' --strategy inplace --explain
  mpirun -n 4 retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]')";

/// More processes than this are started only when -n says so.
constexpr Size most_processes_unasked = 1024;

// ---- Values ------------------------------------------------------------------------------------

/// What --strategy takes. The last three are names of before there was one exchange.
struct NamedStrategy {
  std::string_view name;
  mpi::Strategy strategy;
  mpi::Partition partition = mpi::Partition::nodes;
};
constexpr std::array<NamedStrategy, 7> strategies{{
    {"automatic", mpi::Strategy::automatic},
    {"collectives", mpi::Strategy::collectives},
    {"exchange", mpi::Strategy::exchange},
    {"inplace", mpi::Strategy::in_place},
    {"shared", mpi::Strategy::exchange, mpi::Partition::one_node},
    {"mixed", mpi::Strategy::exchange, mpi::Partition::nodes},
    {"direct", mpi::Strategy::exchange, mpi::Partition::apart},
}};

/// Who moves the data; refused where options say nothing to it.
Result<Backend> read_backend(const RunArguments& given) {
  if (!given.backend) return Backend::mpi;
  const auto index = parse_choice(*given.backend, "--backend", {"mpi", "sim", "cuda"});
  if (!index) return refuse(index.error());
  const auto backend = static_cast<Backend>(*index);
  const std::vector<std::string> whose{"strategies are those of MPI processes"};
  if (backend == Backend::sim && (given.strategy || given.explain)) {
    return refuse(about_argument(Code::bad_argument, "--backend", "sim",
                                 fmt::format("has but one way to move data, so {} says nothing",
                                             given.strategy ? "--strategy" : "--explain"),
                                 whose));
  }
  if (backend != Backend::cuda) return backend;
  if (given.strategy) {
    return refuse(about_argument(Code::bad_argument, "--backend", "cuda",
                                 "chooses its path by itself, so --strategy says nothing", whose));
  }
  for (const auto& [path, option] :
       {std::pair(&given.input, "--input"), std::pair(&given.output, "--output")}) {
    if (!*path) continue;
    return refuse(about_argument(Code::unsupported, option, **path,
                                 "the backend cuda moves the generated array, no files",
                                 {"--backend mpi and --backend sim read and write files"}));
  }
  return backend;
}

Result<void> read_strategy(const std::string& text, mpi::Options& how) {
  const auto named = std::find_if(strategies.begin(), strategies.end(),
                                  [&](const NamedStrategy& it) { return it.name == text; });
  if (named == strategies.end()) {
    constexpr std::size_t today = 4;
    std::vector<std::string_view> names;
    for (std::size_t k = 0; k < today; ++k) names.push_back(strategies[k].name);
    const auto refused = parse_choice(text, "--strategy", names);
    return refuse(refused.error());
  }
  how.strategy = named->strategy;
  how.partition = named->partition;
  return {};
}

Result<void> read_files(const RunArguments& given, run::RunOptions& data) {
  for (const auto& [path, option] :
       {std::pair(&given.input, "--input"), std::pair(&given.output, "--output")}) {
    if (*path && (*path)->empty()) {
      return refuse(about_argument(Code::bad_argument, option, "''", "an empty file name"));
    }
  }
  data.input = given.input.value_or("");
  data.output = given.output.value_or("");
  return {};
}

}  // namespace

Result<RunRequest> read_values(const RunArguments& given) {
  RunRequest request;
  request.json = given.json;
  request.explain = given.explain;
  const auto backend = read_backend(given);
  if (!backend) return refuse(backend.error());
  request.backend = *backend;
  if (given.dtype) {
    const auto type = parse_element_type(*given.dtype, "--dtype");
    if (!type) return refuse(type.error());
    request.data.type = *type;
  }
  if (given.repeat) {
    constexpr Size most_repetitions = 1'000'000'000;
    const auto count = parse_count(*given.repeat, "--repeat", 1, most_repetitions);
    if (!count) return refuse(count.error());
    request.data.repetitions = *count;
  }
  if (auto read = read_files(given, request.data); !read) return refuse(read.error());
  if (given.strategy) {
    auto read = read_strategy(*given.strategy, request.how);
    if (!read) return refuse(read.error());
  }
  if (given.timeout) {
    const auto seconds = parse_count(*given.timeout, "--timeout", 1, 1'000'000);
    if (!seconds) return refuse(seconds.error());
    request.check.timeout_seconds = static_cast<double>(*seconds);
  }
  if (given.memory_limit) {
    const auto limit = parse_bytes(*given.memory_limit, "--memory-limit");
    if (!limit) return refuse(limit.error());
    request.how.memory_limit_bytes = *limit;
  }
  return request;
}

// ---- Preparing ---------------------------------------------------------------------------------

namespace {

/// Makes a request of arguments; every step hands back the answer where it already is one.
class Preparation {
 public:
  Preparation(const RunArguments& given, const Place& place, RunRequest& request)
      : given_(given), place_(place), request_(request) {}

  using Step = std::optional<Outcome>;
  [[nodiscard]] Step read_program();
  [[nodiscard]] Step read_problem();
  [[nodiscard]] Step count_processes();
  [[nodiscard]] Step look_at_input();
  [[nodiscard]] Step plan_problem();
  [[nodiscard]] Step check_program();
  [[nodiscard]] Step keep_to_limit();

 private:
  /// Processes have several ways to run a Program and say themselves whether one of them fits.
  [[nodiscard]] bool by_steps() const { return request_.backend == Backend::sim; }

  const RunArguments& given_;
  const Place& place_;
  RunRequest& request_;
  std::optional<Problem> problem_;
  Size element_bytes_ = ElementType{}.bytes;
};

Preparation::Step Preparation::read_program() {
  const std::string& path = *given_.program;
  Result<std::string> text = read_text(path, "--program");
  if (!text) return failed(text.error());
  Result<std::vector<Program>> programs = parse_any(*text, path == "-" ? "stdin" : path);
  if (!programs) return failed(programs.error());
  if (programs->size() != 1) {
    return failed(
        about_argument(Code::bad_argument, "--program", path,
                       fmt::format("holds {} Programs, where one is run", programs->size())));
  }
  request_.program = std::move(programs->front());
  request_.program_text = std::move(*text);
  return std::nullopt;
}

Preparation::Step Preparation::read_problem() {
  Result<Problem> read = cli::read_problem(given_.problem);
  if (!read) return failed(read.error());
  problem_ = std::move(*read);
  return std::nullopt;
}

Preparation::Step Preparation::count_processes() {
  const Size devices = problem_ ? problem_->from.devices() : request_.program.devices;
  const auto differ = [&](std::string_view source, const std::string& text, std::string note) {
    return failed(about_argument(
        Code::bad_argument, source, text,
        fmt::format("there are {}, and device d is process d", counted(devices, "device")),
        {std::move(note)}));
  };
  if (given_.processes) {
    const auto count = parse_count(*given_.processes, "-n", 1, max_devices);
    if (!count) return failed(count.error());
    if (*count != devices) {
      return differ("-n", *given_.processes,
                    fmt::format("-n {} fits, and is what is taken without -n", devices));
    }
  }
  if (place_.processes && *place_.processes != devices) {
    return differ("mpirun", fmt::format("-n {}", *place_.processes),
                  fmt::format("mpirun -n {} fits", devices));
  }
  if (!given_.processes && !place_.processes && devices > most_processes_unasked && !by_steps()) {
    return failed(about_argument(Code::bad_argument, "-n", fmt::format("{}", devices),
                                 "so many processes are started only on request",
                                 {fmt::format("-n {} requests them", devices)}));
  }
  return std::nullopt;
}

Preparation::Step Preparation::look_at_input() {
  element_bytes_ = request_.data.type.value_or(ElementType{}).bytes;
  const std::string& path = request_.data.input;
  if (path.empty()) return std::nullopt;
  const Shape& global = problem_ ? problem_->from.global() : request_.program.from.global();
  const auto file = run::open_input(path, global, request_.data.type);
  if (!file) {
    Diagnostic diagnostic = file.error();
    if (diagnostic.input.empty()) {
      diagnostic.source = "--input";
      diagnostic.input = path;
      diagnostic.where = {0, path.size()};
    }
    return failed(Exit::usage, std::move(diagnostic));
  }
  element_bytes_ = file->header().type.bytes;
  return std::nullopt;
}

Preparation::Step Preparation::plan_problem() {
  if (!problem_) return std::nullopt;
  PlanOptions options;
  options.element_bytes = element_bytes_;
  options.memory_limit_bytes = request_.how.memory_limit_bytes;
  Result<Plan> planned = plan(*problem_, options);
  if (!planned && planned.error().code == Code::infeasible && !by_steps()) {
    options.memory_limit_bytes = {};
    planned = plan(*problem_, options);
  }
  if (!planned) {
    if (planned.error().code != Code::infeasible) return failed(planned.error());
    return infeasible(*problem_, options, "retile.run/1", request_.json);
  }
  request_.program = lower(*planned);
  if (!by_steps()) request_.program_text = to_text(request_.program);
  return std::nullopt;
}

Preparation::Step Preparation::check_program() {
  const Verdict verdict = check(request_.program, request_.check);
  if (verdict.answer == Answer::right) return std::nullopt;
  Outcome outcome;
  outcome.exit = exit_of(verdict, false);
  outcome.out = request_.json ? verdict_json(verdict) + "\n"
                              : "not run: " + verdict_text(verdict, false) + "\n";
  return outcome;
}

Preparation::Step Preparation::keep_to_limit() {
  if (!request_.how.memory_limit_bytes || !by_steps()) return std::nullopt;
  const std::optional<Size> elements = run::resident_elements(request_.program);
  const std::optional<Size> bytes = elements ? checked_mul(*elements, element_bytes_) : std::nullopt;
  if (bytes && *bytes <= *request_.how.memory_limit_bytes) return std::nullopt;
  return over_limit(*request_.how.memory_limit_bytes, bytes, request_.json);
}

}  // namespace

tl::expected<RunRequest, Outcome> prepare(const RunArguments& given, const Place& place) {
  Result<RunRequest> request = read_values(given);
  if (!request) {
    // What a backend cannot do at all is the environment's fault.
    const bool cannot = request.error().code == Code::unsupported;
    return tl::unexpected<Outcome>(
        failed(cannot ? Exit::environment : exit_of(request.error()), request.error()));
  }
  Preparation preparation(given, place, *request);
  // The problem is read before the input file: where both are at fault, the text is what was typed.
  using Step = std::optional<Outcome> (Preparation::*)();
  std::vector<Step> steps{given.program ? &Preparation::read_program : &Preparation::read_problem};
  if (!place.launched) {
    steps.insert(steps.end(), {&Preparation::count_processes, &Preparation::look_at_input,
                               &Preparation::plan_problem, &Preparation::check_program,
                               &Preparation::keep_to_limit});
  }
  for (const Step step : steps) {
    if (auto answer = (preparation.*step)()) return tl::unexpected<Outcome>(std::move(*answer));
  }
  return std::move(*request);
}

// ---- Running -----------------------------------------------------------------------------------

Outcome run_on(Executor& executor, const run::Source& source, RunRequest& request) {
  return report_of(run::run(executor, request.program, source, request.data), request);
}

namespace {

Outcome run_simulated(RunRequest& request) {
  clean_up_on_signals();
  Progress progress(stderr_of_this());
  request.data.progress = [&progress](std::string_view stage, Size done, Size total) {
    progress.update(stage, done, total);
  };
  const OneProcess process;
  const auto source = run::open_source(process, request.program, request.data);
  if (!source) return refusal_of(source.error(), request);
  const auto executor = sim::make_executor(request.program, source->type().bytes);
  if (!executor) return refusal_of(executor.error(), request);
  return run_on(**executor, *source, request);
}

Outcome not_built(std::string message) {
  return failed(Exit::environment, {.code = Code::unsupported,
                                    .message = std::move(message),
                                    .notes = {"--backend sim runs all devices in one process"}});
}

class RunVerb final : public Verb {
 public:
  [[nodiscard]] std::string name() const override { return "run"; }
  [[nodiscard]] std::string summary() const override {
    return "redistribute real bytes and compare every element";
  }
  [[nodiscard]] std::string footer() const override { return footer_text; }
  void add_options(OptionList& options) override;
  [[nodiscard]] std::optional<Complaint> settle() override;
  [[nodiscard]] Outcome work() const override;
  [[nodiscard]] bool works_in_job() const override {
    return given_.backend.value_or("mpi") != "sim";
  }
  [[nodiscard]] Outcome work_in_job(const mpi::Environment& environment) const override {
    return run_in_job(environment, given_);
  }

 private:
  RunArguments given_;
};

void RunVerb::add_options(OptionList& options) {
  add_problem(options, given_.problem);
  options.text("--program", given_.program, "a Program instead of --mesh FROM TO; - for stdin",
               "FILE");
  options.text("-n", given_.processes, "number of processes; it must be the number of devices",
               "N");
  options.text("--backend", given_.backend, "mpi (default), sim or cuda", "NAME");
  options.text("--dtype", given_.dtype, std::string(element_type_help), "TYPE");
  options.text("--input", given_.input, "read the array from a .npy file", "FILE");
  options.text("--output", given_.output, "write the array to a .npy file", "FILE");
  options.text("--repeat", given_.repeat, "times to run; seconds are the median (default 1)", "R");
  options.text("--memory-limit", given_.memory_limit,
               "most bytes per process, tile before and after a step together; KiB, MiB, GiB, TiB",
               "BYTES");
  options.text("--strategy", given_.strategy,
               "how the data goes: automatic (default), collectives, exchange or inplace", "NAME");
  options.text("--timeout", given_.timeout, "seconds for checking the Program (default: no limit)",
               "S");
  options.flag("--explain", given_.explain, "also say why this strategy");
  options.flag("--json", given_.json, "print one JSON object, retile.run/1");
}

std::optional<Complaint> RunVerb::settle() {
  const bool problem_given = given_.problem.mesh || given_.problem.from || given_.problem.to;
  if (given_.program && problem_given) {
    return Complaint{"--program carries its own mesh, from and to",
                     {"leave out --mesh, FROM and TO, or --program"}};
  }
  if (given_.program) return std::nullopt;
  if (!problem_given) return Complaint{"--mesh FROM TO, or --program, is missing"};
  return missing(given_.problem);
}

Outcome RunVerb::work() const {
  auto request = prepare(given_, {});
  if (!request) return request.error();
  if (request->backend == Backend::sim) return run_simulated(*request);
  if (request->backend == Backend::cuda && !cuda::cuda_is_built()) {
    return not_built("the backend cuda is not built into this program");
  }
  if (!mpi_is_built()) {
    return not_built(request->backend == Backend::mpi
                         ? "the backend mpi is not built into this program"
                         : "the backend cuda starts processes by MPI, which is not built into this "
                           "program");
  }
  return run_launched(given_, *request);
}

}  // namespace

std::unique_ptr<Verb> make_run_verb() { return std::make_unique<RunVerb>(); }

}  // namespace retile::cli
