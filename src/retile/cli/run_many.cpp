// retile run --many: all arrays of a file on processes, every element of each compared.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "retile/check/check.h"
#include "retile/cli/built.h"
#include "retile/cli/json.h"
#include "retile/cli/launch.h"
#include "retile/cli/many.h"
#include "retile/cli/progress.h"
#include "retile/cli/run.h"
#include "retile/cli/signals.h"
#include "retile/core/names.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/sim/executor.h"
#include "retile/many/stack.h"
#include "retile/report/sentences.h"
#include "retile/report/verdict.h"
#include "retile/run/many.h"

namespace retile::cli {

/// What is run: the arrays of a kind as one, in one exchange.
struct ManyRequest {
  std::string text;  ///< of the file, for other processes
  ReadArrays read;
  std::vector<Size> devices;      ///< process p is the p-th of them
  Size tiles_bytes = 0;           ///< of a process: the largest old and new tile of every kind
  std::vector<Program> programs;  ///< of every kind
  RunRequest values;
};

namespace {

/// The exchange of a kind, over all devices.
Result<Program> exchange_of(const many::Kind& kind, const std::vector<Size>& devices) {
  std::vector<Size> at;
  for (Size d = 0; d < kind.problem.from.devices(); ++d) {
    const auto found = std::lower_bound(devices.begin(), devices.end(), kind.problem.numbers.of(d));
    at.push_back(static_cast<Size>(found - devices.begin()));
  }
  const auto problem = many::stacked(kind.problem, static_cast<Size>(kind.arrays.size()), at,
                                     static_cast<Size>(devices.size()));
  if (!problem) return refuse(problem.error());
  return direct(*problem);
}

/// Bytes of the largest old and of the largest new tile. Sums of devices fit (many::schedule), and so do
/// these, which are at most those of two devices.
Size tiles_of(const Program& program, const many::Kind& kind) {
  return (program.from.tile_size() + program.to.tile_size()) * kind.element_bytes;
}

Result<void> make_programs(ManyRequest& request) {
  for (const many::Kind& kind : request.read.arrays.kinds) {
    auto program = exchange_of(kind, request.devices);
    if (!program) {
      program.error().notes.push_back("the array is " + arrays_text(request.read.arrays, kind));
      return refuse(std::move(program.error()));
    }
    const auto sum = checked_add(request.tiles_bytes, tiles_of(*program, kind));
    if (!sum) return refuse(Code::size_overflow, "the bytes of all tiles do not fit in 63 bits");
    request.tiles_bytes = *sum;
    request.programs.push_back(*std::move(program));
  }
  return {};
}

/// The answer where an exchange is not right, which none of ours should be.
std::optional<Outcome> judged(const std::vector<Program>& programs) {
  for (const Program& program : programs) {
    const Verdict verdict = check(program, {.timeout_seconds = time_limit().seconds_left()});
    if (verdict.answer == Answer::right) continue;
    return Outcome{.exit = exit_of(report::is_right(verdict.answer)),
                   .out = "not run: " + report::text_of(verdict) + "\n"};
  }
  return std::nullopt;
}

/// Makes who moves each kind. What the limit leaves beside all tiles is shared out: each gets an equal part of
/// what the ones before it did not take.
class Shares {
 public:
  explicit Shares(const ManyRequest& request) : left_(static_cast<Size>(request.programs.size())) {
    is_limited_ = request.values.how.memory_limit_bytes.has_value();
    free_ = request.values.how.memory_limit_bytes.value_or(0) - request.tiles_bytes;
  }
  [[nodiscard]] mpi::Options options(mpi::Options how, Size tiles_bytes) const {
    if (is_limited_) how.memory_limit_bytes = tiles_bytes + free_ / left_;
    return how;
  }
  void take(Size bytes) {
    --left_;
    free_ -= std::max<Size>(bytes, 0);
  }

 private:
  Size left_;
  bool is_limited_ = false;
  Size free_ = 0;
};

using MakeBatch = std::function<Result<std::unique_ptr<Executor>>(
    const Program& program, Size element_bytes, const mpi::Options& how)>;

Result<std::vector<run::Batch>> make_batches(const ManyRequest& request, const MakeBatch& make) {
  std::vector<run::Batch> out;
  Shares shares(request);
  for (std::size_t k = 0; k < request.programs.size(); ++k) {
    const Program& program = request.programs[k];
    const many::Kind& kind = request.read.arrays.kinds[k];
    const Size tiles = tiles_of(program, kind);
    auto executor = make(program, kind.element_bytes, shares.options(request.values.how, tiles));
    if (!executor) return refuse(std::move(executor.error()));
    shares.take((*executor)->figures().limit - tiles);
    out.push_back({.program = &program,
                   .executor = *std::move(executor),
                   .element_bytes = kind.element_bytes,
                   .arrays = static_cast<Size>(kind.arrays.size())});
  }
  return out;
}

// ---- What is said ---------------------------------------------------------------------------------

std::string_view backend_name(const ManyRequest& request) {
  return request.values.backend == Backend::sim ? "sim" : "mpi";
}

/// The array that is wrong, and where.
struct WrongPlace {
  const std::string* array;
  Size device;
  Size index;
};
std::optional<WrongPlace> wrong_place(const run::ManyReport& report, const ManyRequest& request) {
  if (!report.wrong) return std::nullopt;
  const many::Arrays& arrays = request.read.arrays;
  const many::Kind& kind = arrays.kinds[report.wrong->batch];
  return WrongPlace{&arrays.names[kind.arrays[static_cast<std::size_t>(report.wrong->array)]],
                    request.devices[static_cast<std::size_t>(report.wrong->device)],
                    report.wrong->local_index};
}

std::string run_json(const run::ManyReport& report, const ManyRequest& request) {
  Json json;
  json["schema"] = "retile.run-many/1";
  const auto wrong = wrong_place(report, request);
  json["right"] = !wrong;
  json["wrong"] = nullptr;
  if (wrong) json["wrong"] = *wrong->array;
  json["backend"] = backend_name(request);
  json["strategies"] = report.ways;
  json["processes"] = request.devices.size();
  json["repetitions"] = report.repetitions;
  json["arrays"] = request.read.arrays.names.size();
  json["kinds"] = request.read.arrays.kinds.size();
  json["elements_checked"] = report.elements_checked;
  json["seconds"] = report.seconds;
  json["bytes_per_process"] = report.bytes_per_process;
  json["peak_bytes_per_process"] = report.peak_bytes_per_process;
  json["peak_limit_bytes"] = report.peak_limit_bytes;
  json["tiles_bytes"] = request.tiles_bytes;
  return line_of(json);
}

std::string run_text(const run::ManyReport& report, const ManyRequest& request) {
  std::string out;
  if (const auto wrong = wrong_place(report, request)) {
    out = fmt::format("wrong: {} has a wrong element on device {} at position {} of its tile\n",
                      clean(shortened(*wrong->array)), wrong->device, wrong->index);
  } else {
    const std::string ways = fmt::format("{}", fmt::join(report.ways, ", "));
    out = fmt::format("right: {}, {} compared on {} ({}{}{})\n",
                      counted(request.read.arrays.names.size(), "array"),
                      counted(report.elements_checked, "element"),
                      counted(request.devices.size(), "process", "processes"),
                      backend_name(request), ways.empty() ? "" : ", ", ways);
  }
  out += fmt::format("moved in {:.6f} s (median of {}); a process received at most {}\n",
                     report.seconds, report.repetitions, bytes_text(report.bytes_per_process));
  return out + fmt::format("memory per process: peak {} (limit {}), old and new tiles {}\n",
                           bytes_text(report.peak_bytes_per_process),
                           bytes_text(report.peak_limit_bytes), bytes_text(request.tiles_bytes));
}

Outcome run_many_on(const Processes& processes, const ManyRequest& request, const MakeBatch& make) {
  lift_memory_limit();
  std::optional<Progress> progress;
  run::Progress told;
  if (processes.is_first()) {
    progress.emplace(stderr_of_this());
    told = [&progress](std::string_view stage, Size done, Size total) {
      progress->update(stage, done, total);
    };
  }
  const auto batches = make_batches(request, make);
  if (!batches) return refusal_of(batches.error(), request.values);
  const auto report = run::run_many(*batches, request.values.data.repetitions, told);
  if (!report) return refusal_of(report.error(), request.values);
  return {.exit = report->wrong ? Exit::no : Exit::yes,
          .out = request.values.json ? run_json(*report, request) : run_text(*report, request)};
}

Outcome tiles_over_limit(Size tiles_bytes, Size limit_bytes, bool json) {
  if (!json) {
    return {.exit = Exit::no,
            .out = fmt::format(
                "not run: a process holds {} of old and new tiles, over the limit of {}\n",
                counted(tiles_bytes, "byte"), counted(limit_bytes, "byte"))};
  }
  const Json object{{"schema", "retile.run-many/1"},
                    {"feasible", false},
                    {"limit_bytes", limit_bytes},
                    {"tiles_bytes", tiles_bytes}};
  return {.exit = Exit::no, .out = line_of(object)};
}

}  // namespace

std::optional<Complaint> RunVerb::settle_many() const {
  bool has_files = given_.program.has_value();
  for (const auto& [option, path] : given_.files()) has_files = has_files || *path;
  if (has_files || given_.collectives || given_.explain) {
    return Complaint{
        "many arrays are generated, and every kind of them goes in one exchange",
        {"beside --many go meshes, orders, -n, --backend, --dtype, --repeat, --strategy, "
         "--memory-limit and --json"}};
  }
  return beside_many(given_.problem);
}

tl::expected<ManyRequest, Outcome> RunVerb::many_request(const Place& place) const {
  const auto fail = [](const Diagnostic& why) { return tl::unexpected(failed(why)); };
  Result<std::string> text =
      place.program_text ? *place.program_text : read_text(*given_.many, "--many");
  if (!text) return fail(text.error());
  ManyRequest out;
  out.text = *std::move(text);
  const std::string source = *given_.many == "-" ? "stdin" : *given_.many;
  auto read = read_arrays_of(out.text, source, given_.problem, given_.dtype);
  if (!read) return fail(read.error());
  out.read = *std::move(read);
  const auto schedule = scheduled(out.read, {.options = {}, .json = given_.json});
  if (!schedule) return tl::unexpected(schedule.error());
  out.devices = schedule->devices;
  auto values = Preparation(given_, place).values(static_cast<Size>(out.devices.size()));
  if (!values) return tl::unexpected(values.error());
  out.values = *std::move(values);
  if (out.values.backend == Backend::cuda) {
    return tl::unexpected(
        failed(Exit::environment, {.code = Code::unsupported,
                                   .message = "many arrays are not run on GPUs",
                                   .notes = {"--backend mpi and --backend sim take them"}}));
  }
  if (auto made = make_programs(out); !made) return fail(made.error());
  if (place.trusting) return out;
  const auto limit = out.values.how.memory_limit_bytes;
  if (limit && *limit < out.tiles_bytes) {
    return tl::unexpected(tiles_over_limit(out.tiles_bytes, *limit, given_.json));
  }
  if (auto answer = judged(out.programs)) return tl::unexpected(*std::move(answer));
  return out;
}

Outcome RunVerb::work_on_many() const {
  const auto request = many_request({});
  if (!request) return request.error();
  if (request->values.backend == Backend::sim) {
    clean_up_on_signals();
    return run_many_on(
        OneProcess(), *request,
        [](const Program& program, Size element_bytes, const mpi::Options&) {
          return sim::make_executor(program, {ElementKind::unsigned_integer, element_bytes});
        });
  }
  if (!mpi_is_built) return not_built(std::string(without_mpi));
  const auto processes = static_cast<Size>(request->devices.size());
  std::vector<std::string> words = {"run", "--many=-", "--backend=mpi",
                                    fmt::format("-n{}", processes)};
  const ProblemArguments& problem = given_.problem;
  for (const auto& [name, value] :
       {std::pair("--mesh=", &problem.mesh), std::pair("--order=", &problem.order),
        std::pair("--mesh-to=", &problem.mesh_to), std::pair("--order-to=", &problem.order_to),
        std::pair("--dtype=", &given_.dtype), std::pair("--repeat=", &given_.repeat),
        std::pair("--memory-limit=", &given_.memory_limit),
        std::pair("--strategy=", &given_.strategy)}) {
    if (*value) words.push_back(name + **value);
  }
  if (given_.json) words.emplace_back("--json");
  return launch(processes, words, request->text);
}

Outcome RunVerb::work_on_many_in_job(const Job& job) const {
  const Processes& processes = job.processes;
  const bool first = processes.is_first();
  tl::expected<ManyRequest, Outcome> request = tl::unexpected(Outcome{});
  if (first) {
    request = many_request({.processes = processes.processes(),
                            .trusting = std::getenv(launched_variable) != nullptr});
  }
  const int refused = first && !request ? static_cast<int>(request.error().exit) + 1 : 0;
  const int code = largest(processes, refused) - 1;  // an answer may have the exit code yes
  const std::string text = processes.broadcast(first && request ? request->text : "", 0);
  if (code >= 0) return first ? request.error() : Outcome{.exit = static_cast<Exit>(code)};
  if (!first) request = many_request({.trusting = true, .program_text = text});
  if (!request) return told_by_first(processes, request.error());  // all have read the same text
  return told_by_first(
      processes,
      run_many_on(processes, *request,
                  [&](const Program& program, Size element_bytes, const mpi::Options& how) {
                    return job.host(processes, program, element_bytes, how);
                  }));
}

}  // namespace retile::cli
