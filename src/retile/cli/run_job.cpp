#include "retile/cli/run_job.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "retile/cli/launch.h"
#include "retile/cli/limits.h"
#include "retile/cli/run.h"
#include "retile/cli/signals.h"

#ifdef RETILE_WITH_MPI
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#endif

namespace retile::cli {

#ifdef RETILE_WITH_MPI

bool mpi_is_built() { return true; }

bool is_job_process() { return mpi::Environment::started_by_launcher(); }

namespace {

/// Ends this process, and with it the job, where not all processes come to the run: one of them was
/// given another verb, say, and the others would wait for it for ever.
class StartWatch {
 public:
  StartWatch() : thread_([this] { watch(); }) {}
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  ~StartWatch() {
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    const auto patience = start_patience();
    if (changed_.wait_for(lock, patience, [this] { return started_; })) return;
    const std::string words = render(
        {.code = Code::mpi_error,
         .message = fmt::format("not all processes of the job came to this run within {} seconds",
                                patience.count()),
         .notes = {"every process that mpirun starts has to be given the same command line"}});
    std::fputs(words.c_str(), stderr);
    std::fflush(stderr);
    std::_Exit(static_cast<int>(Exit::environment));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread thread_;
};

/// The largest exit code that a process brings.
int largest(const Processes& processes, int code) {
  auto number = static_cast<std::uint64_t>(code);
  processes.maximum(std::span(&number, 1));
  return static_cast<int>(number);
}

/// On processes other than 0: the exit code without words, which process 0 has.
Outcome told_by_first(const Processes& processes, Outcome outcome) {
  if (!processes.is_first()) outcome = {.exit = outcome.exit};
  return outcome;
}

}  // namespace

tl::expected<RunRequest, Outcome> RunVerb::prepare_together(const Processes& processes) const {
  const bool first = processes.is_first();
  tl::expected<RunRequest, Outcome> request = tl::unexpected(Outcome{});
  if (first) {
    request = Preparation(given_, {.processes = processes.processes(),
                                   .trusting = std::getenv(launched_variable) != nullptr})
                  .request();
  }
  const bool refused = first && !request;
  const int code = largest(processes, refused ? static_cast<int>(request.error().exit) : 0);
  // The Program goes to all as the text that it came in. The other values are in the command line.
  std::string text = processes.broadcast(request ? request->program_text : "");
  if (first) return request;
  if (text.empty()) return tl::unexpected<Outcome>({.exit = static_cast<Exit>(code)});
  return Preparation(given_, {.trusting = true, .program_text = std::move(text)}).request();
}

Outcome RunVerb::work_in_job(const Processes& processes) const {
  if (is_module()) return work_on_module_in_job(processes);
  auto request = prepare_together(processes);
  if (!request) return told_by_first(processes, request.error());
  const auto make =
      request->backend == Backend::cuda ? mpi::make_device_executor : mpi::make_executor;
  Outcome outcome = run_on(processes, *request, [&](const ElementType& type) {
    request->how.element_type = type;
    return make(processes, request->program, type.bytes, request->how);
  });
  outcome.words = request->words + outcome.words;
  return told_by_first(processes, std::move(outcome));
}

Outcome RunVerb::work_in_started_job(const RunRequest& request) const {
  // `--option=value` and not two words: mpirun reads a lone `:` as the start of another command.
  std::vector<std::string> words = {
      "run", request.backend == Backend::cuda ? "--backend=cuda" : "--backend=mpi", "--program=-",
      fmt::format("-n{}", request.program.devices)};
  for (const auto& [name, value] :
       {std::pair("--dtype=", &given_.dtype), std::pair("--input=", &given_.input),
        std::pair("--output=", &given_.output), std::pair("--repeat=", &given_.repeat),
        std::pair("--memory-limit=", &given_.memory_limit),
        std::pair("--strategy=", &given_.strategy)}) {
    if (*value) words.push_back(name + **value);
  }
  if (given_.collectives && !given_.strategy) words.emplace_back("--strategy=collectives");
  if (request.explain) words.emplace_back("--explain");
  if (request.json) words.emplace_back("--json");
  return launch(request.program.devices, words, request.program_text);
}

namespace {

/// The same on all processes, but for words.
Outcome work_together(const Processes& processes, const Result<CommandLine>& line,
                      const std::string& typed) {
  const std::string wanted = processes.broadcast(typed);
  const int different = largest(processes, wanted == typed ? 0 : processes.process() + 1);
  if (different > 0) {
    return told_by_first(
        processes,
        failed(about_argument(
            Code::disagreement, "mpirun", wanted,
            fmt::format("process {} was given other arguments than process 0", different - 1),
            {"all processes need the same command line"})));
  }
  // All were given the same text, so all fail alike here.
  if (!line) return told_by_first(processes, failed(line.error()));
  return line->verb->work_in_job(processes);
}

}  // namespace

int work_in_job(const Result<CommandLine>& line, const std::string& typed,
                const std::function<int(const Outcome&)>& print) {
  clean_up_on_signals();
  const bool launched = std::getenv(launched_variable) != nullptr;
  // What is half-written is removed when mpirun is killed, too.
  if (launched) prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto watch = std::make_optional<StartWatch>();
  const auto environment = mpi::Environment::start(nullptr, nullptr);
  watch.reset();
  if (!environment) return print(failed(Exit::environment, environment.error()));
  if (line) bound_memory();
  const Processes& processes = environment->processes();
  const bool first = processes.is_first();
  if (first && launched) say_started();
  const auto abort = [&](const std::string& message) {
    // The other processes may be waiting for this one.
    environment->abort(static_cast<int>(Exit::environment), message);
  };
  try {
    Outcome outcome = work_together(processes, line, typed);
    if (launched) outcome = first ? to_launcher(std::move(outcome)) : Outcome{};
    // mpirun ends the job when a process ends with another code than 0, so all wait until process 0
    // has printed.
    end_limits();
    return largest(processes, first ? print(outcome) : static_cast<int>(outcome.exit));
  } catch (const std::bad_alloc&) {
    const Outcome outcome = memory_is_used_up();
    environment->abort(static_cast<int>(outcome.exit), render(outcome.problems.front()));
  } catch (const std::exception& error) {
    abort(render({.code = Code::unsupported, .message = error.what()}));
  }
  return static_cast<int>(Exit::environment);
}

#else

bool mpi_is_built() { return false; }

bool is_job_process() { return false; }

Outcome RunVerb::work_in_job(const Processes& /*processes*/) const { return {}; }

Outcome RunVerb::work_in_started_job(const RunRequest& /*request*/) const { return {}; }

int work_in_job(const Result<CommandLine>& /*line*/, const std::string& /*typed*/,
                const std::function<int(const Outcome&)>& print) {
  return print(failed(
      Exit::environment,
      {.code = Code::unsupported, .message = "the backend mpi is not built into this program"}));
}

#endif

}  // namespace retile::cli
