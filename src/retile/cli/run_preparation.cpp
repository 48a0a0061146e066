// From the arguments of `retile run` to what is run.
#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "retile/cli/run.h"
#include "retile/core/names.h"
#include "retile/exec/npy/npy.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "retile/report/verdict.h"

namespace retile::cli {
namespace {

/// More processes than this are started only when -n says so.
constexpr Size most_processes_unasked = 1024;

/// What --strategy takes.
struct NamedStrategy {
  std::string_view name;
  mpi::Strategy strategy;
  mpi::Partition partition = mpi::Partition::nodes;
  std::string_view meaning = {};  ///< of a name of before
};
constexpr std::array<NamedStrategy, 4> strategies{{
    {"automatic", mpi::Strategy::automatic},
    {"collectives", mpi::Strategy::collectives},
    {"exchange", mpi::Strategy::exchange},
    {"inplace", mpi::Strategy::in_place},
}};
/// Names of before there was one exchange.
constexpr std::array<NamedStrategy, 3> earlier_strategies{{
    {"shared", mpi::Strategy::exchange, mpi::Partition::one_node,
     "exchange, refused where the processes are on several nodes"},
    {"mixed", mpi::Strategy::exchange, mpi::Partition::nodes, "exchange"},
    {"direct", mpi::Strategy::exchange, mpi::Partition::apart, "exchange, all of it by messages"},
}};

const NamedStrategy* find_name(std::span<const NamedStrategy> all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const NamedStrategy& it) { return it.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

// ---- Values ------------------------------------------------------------------------------------

/// Who moves the data; refused where options say nothing to it.
Result<void> Preparation::read_backend() {
  if (!given_.backend) return {};
  const auto index = parse_choice(*given_.backend, "--backend", {"mpi", "sim", "cuda"});
  if (!index) return refuse(index.error());
  request_.backend = static_cast<Backend>(*index);
  const std::vector<std::string> whose{"strategies are those of MPI processes"};
  if (request_.backend == Backend::sim && (given_.strategy || given_.explain)) {
    return refuse(about_argument(Code::bad_argument, "--backend", "sim",
                                 fmt::format("has but one way to move data, so {} says nothing",
                                             given_.strategy ? "--strategy" : "--explain"),
                                 whose));
  }
  if (request_.backend != Backend::cuda) return {};
  if (given_.strategy || given_.collectives) {
    return refuse(about_argument(Code::bad_argument, "--backend", "cuda",
                                 fmt::format("chooses its path by itself, so {} says nothing",
                                             given_.strategy ? "--strategy" : "--collectives"),
                                 whose));
  }
  for (const auto& [option, path] : given_.files()) {
    if (!*path) continue;
    return refuse(about_argument(Code::unsupported, option, **path,
                                 "the backend cuda moves the generated array, no files",
                                 {"--backend mpi and --backend sim read and write files"}));
  }
  return {};
}

Result<void> Preparation::read_data() {
  run::RunOptions& data = request_.data;
  if (given_.dtype) {
    const auto type = parse_element_type(*given_.dtype, "--dtype");
    if (!type) return refuse(type.error());
    data.type = *type;
  }
  if (given_.repeat) {
    constexpr Size most_repetitions = 1'000'000'000;
    const auto count = parse_count(*given_.repeat, "--repeat", 1, most_repetitions);
    if (!count) return refuse(count.error());
    data.repetitions = *count;
  }
  for (const auto& [option, path] : given_.files()) {
    if (const auto named = not_empty(option, *path); !named) return refuse(named.error());
    const bool tiles = option == "--input-tiles" || option == "--output-tiles";
    if (!tiles || !*path || run::is_tile_pattern(**path)) continue;
    return refuse(about_argument(Code::bad_argument, option, **path,
                                 "{} must stand in it once, for the number of the device",
                                 {fmt::format("{} 'folder/tile-{{}}.npy'", option)}));
  }
  data.input = given_.input.value_or("");
  data.output = given_.output.value_or("");
  data.input_tiles = given_.input_tiles.value_or("");
  data.output_tiles = given_.output_tiles.value_or("");
  return {};
}

Result<void> Preparation::read_strategy() {
  if (given_.collectives) request_.how.strategy = mpi::Strategy::collectives;
  if (!given_.strategy) return {};
  const std::string& text = *given_.strategy;
  const NamedStrategy* named = find_name(strategies, text);
  if (named == nullptr) named = find_name(earlier_strategies, text);
  if (named == nullptr) {
    std::vector<std::string_view> names;
    for (const NamedStrategy& it : strategies) names.push_back(it.name);
    const auto refused = parse_choice(text, "--strategy", names);
    return refuse(refused.error());
  }
  if (given_.collectives && named->strategy != mpi::Strategy::collectives) {
    return refuse(about_argument(Code::bad_argument, "--strategy", text,
                                 "--collectives has the data go by collectives, so no other "
                                 "strategy is possible"));
  }
  request_.how.strategy = named->strategy;
  request_.how.partition = named->partition;
  if (!named->meaning.empty()) {
    request_.words = fmt::format("note: --strategy {} is a name of earlier versions; it means {}\n",
                                 text, named->meaning);
  }
  return {};
}

Result<void> Preparation::read_limit() {
  if (given_.memory_limit) {
    const auto limit = parse_bytes(*given_.memory_limit, "--memory-limit");
    if (!limit) return refuse(limit.error());
    request_.how.memory_limit_bytes = *limit;
  }
  return {};
}

Preparation::Step Preparation::read_values() {
  request_.json = given_.json;
  request_.explain = given_.explain;
  for (const auto read : {&Preparation::read_backend, &Preparation::read_data,
                          &Preparation::read_strategy, &Preparation::read_limit}) {
    const Result<void> done = (this->*read)();
    if (done) continue;
    // What a backend cannot do at all is the environment's fault.
    const bool cannot = done.error().code == Code::unsupported;
    return failed(cannot ? Exit::environment : exit_of(done.error()), done.error());
  }
  return std::nullopt;
}

// ---- The Program -------------------------------------------------------------------------------

Preparation::Step Preparation::read_program() {
  const std::string path = given_.program.value_or("");
  Result<std::string> text =
      place_.program_text ? *std::move(place_.program_text) : read_text(path, "--program");
  if (!text) return failed(text.error());
  Result<std::vector<Program>> programs = parse_any(*text, place_.program_text ? "process 0"
                                                           : path == "-"       ? "stdin"
                                                                               : path);
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
  Result<Problem> read = given_.problem.read();
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
  const run::RunOptions& data = request_.data;
  element_bytes_ = data.type.value_or(ElementType{}).bytes;
  const Layout& from = problem_ ? problem_->from : request_.program.array_from();
  const DeviceNumbers& numbers = problem_ ? problem_->numbers : request_.program.numbers;
  // Of tiles one says what elements are; the processes look at all of them.
  const std::optional<Size> device =
      data.input_tiles.empty() ? std::nullopt : run::first_with_elements(from);
  if (data.input.empty() && !device) return std::nullopt;
  const auto file =
      device ? run::open_tile(data.input_tiles, from, *device, numbers.of(*device), data.type)
             : run::open_input(data.input, from.global(), data.type);
  if (!file) {
    Diagnostic diagnostic = file.error();
    if (diagnostic.input.empty()) {
      diagnostic.input =
          device ? run::tile_path(data.input_tiles, numbers.of(*device)) : data.input;
      diagnostic.source = device ? "--input-tiles" : "--input";
      diagnostic.where = {0, diagnostic.input.size()};
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
  options.collectives = given_.collectives;
  // GPUs and `inplace` have no steps along several dimensions; a limit may need `inplace`.
  const bool along_one = request_.backend == Backend::cuda || options.memory_limit_bytes ||
                         request_.how.strategy == mpi::Strategy::in_place;
  options.steps = along_one ? Scope::one_dim : Scope::several_dims;
  Result<Plan> planned = plan(*problem_, options);
  if (!planned && planned.error().code == Code::infeasible && options.memory_limit_bytes) {
    options.steps = Scope::several_dims;
    planned = plan(*problem_, options);
  }
  if (!planned && planned.error().code == Code::infeasible && !by_steps()) {
    options.memory_limit_bytes = {};
    planned = plan(*problem_, options);
  }
  if (!planned) {
    if (planned.error().code != Code::infeasible) return failed(planned.error());
    return infeasible(*problem_, options, planned.error(), "retile.run/1", request_.json);
  }
  auto program = program_of(*planned);
  if (!program) return failed(program.error());
  request_.program = *std::move(program);
  if (!by_steps()) request_.program_text = to_text(request_.program);
  return std::nullopt;
}

Preparation::Step Preparation::check_program() {
  if (request_.backend == Backend::cuda) {
    if (const auto more = traits_of(request_.program).beyond_first_version()) {
      return failed(
          Diagnostic{.code = Code::unsupported,
                     .message = fmt::format("a Program with {} is not run on GPUs", *more),
                     .notes = {"--backend mpi and --backend sim take it"}});
    }
  }
  const Verdict verdict = check(request_.program, {.timeout_seconds = time_limit().seconds_left()});
  if (verdict.answer == Answer::right) return std::nullopt;
  Outcome outcome;
  outcome.exit = exit_of(report::is_right(verdict.answer));
  outcome.out = request_.json ? report::line_of(report::json_of(verdict))
                              : "not run: " + report::text_of(verdict) + "\n";
  return outcome;
}

Preparation::Step Preparation::keep_to_limit() {
  if (!request_.how.memory_limit_bytes || !by_steps()) return std::nullopt;
  const std::optional<Size> elements = run::resident_elements(request_.program);
  const std::optional<Size> bytes =
      elements ? checked_mul(*elements, element_bytes_) : std::nullopt;
  if (bytes && *bytes <= *request_.how.memory_limit_bytes) return std::nullopt;
  return over_limit(*request_.how.memory_limit_bytes, bytes, request_.json);
}

tl::expected<RunRequest, Outcome> Preparation::values(Size devices) {
  request_.program.devices = devices;
  if (auto answer = read_values()) return tl::unexpected<Outcome>(std::move(*answer));
  if (!place_.trusting) {
    if (auto answer = count_processes()) return tl::unexpected<Outcome>(std::move(*answer));
  }
  return std::move(request_);
}

tl::expected<RunRequest, Outcome> Preparation::request() {
  // The problem is read before the input file: where both are at fault, the text is what was typed.
  const bool program = given_.program || place_.program_text;
  std::vector<Step (Preparation::*)()> steps{
      &Preparation::read_values, program ? &Preparation::read_program : &Preparation::read_problem};
  if (!place_.trusting) {
    steps.insert(steps.end(), {&Preparation::count_processes, &Preparation::look_at_input,
                               &Preparation::plan_problem, &Preparation::check_program,
                               &Preparation::keep_to_limit});
  }
  for (const auto step : steps) {
    if (auto answer = (this->*step)()) return tl::unexpected<Outcome>(std::move(*answer));
  }
  return std::move(request_);
}

}  // namespace retile::cli
