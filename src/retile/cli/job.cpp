#include "retile/cli/job.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "retile/cli/arguments.h"
#include "retile/cli/launch.h"
#include "retile/cli/limits.h"
#include "retile/cli/run.h"
#include "retile/cli/signals.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"

namespace retile::cli {

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

/// The same on all processes, but for words.
Outcome work_together(const Processes& processes, const Result<CommandLine>& line,
                      const std::string& typed) {
  const std::string wanted = processes.broadcast(typed, 0);
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
  return line->verb->work_in_job(
      {.processes = processes, .host = mpi::make_executor, .device = mpi::make_device_executor});
}

}  // namespace

int work_in_job(const Result<CommandLine>& line, const std::string& typed, const Print& print) {
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

}  // namespace retile::cli
