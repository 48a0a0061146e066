#include "retile/cli/limits.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "retile/cli/caller.h"
#include "retile/cli/launch.h"
#include "retile/cli/open_file.h"
#include "retile/cli/verb.h"
#include "retile/core/names.h"
#include "retile/core/temporary_file.h"

namespace retile::cli {
namespace {

// Sanitizers reserve address space by the terabyte, and end a program that may not have it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_bound_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool can_bound_memory = false;
#else
constexpr bool can_bound_memory = true;
#endif
#else
constexpr bool can_bound_memory = true;
#endif

/// How long after the limit a call is ended where it stands, and how long before, at most, work stops by
/// itself: what lies between is for its answer.
constexpr double seconds_behind = 0.7;
constexpr double seconds_before = 0.5;
constexpr double part_before = 0.25;
/// So much later ends a process for which another one of its job speaks: a launcher that sees the first of
/// them end may end that one before it has spoken.
constexpr double seconds_behind_another = 1;

/// What can be printed when nothing may be allocated any more.
struct Words {
  std::array<char, 1024> text{};
  std::size_t size = 0;

  void set(std::string_view words) {
    size = std::min(words.size(), text.size());
    std::memcpy(text.data(), words.data(), size);
  }
};

/// All that the ends of a call need. Signal handlers and the handler of failed allocations reach
/// nothing else.
struct Guard {
  Limits limits;
  Deadline deadline;
  pid_t process = -1;
  rlim_t memory_before = RLIM_INFINITY;  ///< what this process was allowed
  bool bounds_memory = false;            ///< and is allowed less by now
  Words time_words;
  Words memory_words;
  Words machine_words;  ///< where the machine has no memory left
  bool memory_is_ours = false;
};
Guard guard;
std::atomic<bool> ending{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// Writes without waiting for a reader who does not read.
void say(const Words& words) {
  constexpr int patience_ms = 100;
  pollfd waited{STDERR_FILENO, POLLOUT, 0};
  if (words.size == 0 || poll(&waited, 1, patience_ms) != 1) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words.text.data(), words.size);
}

/// Only calls that are safe in a signal handler.
[[noreturn]] void end_here(const Words& words, int code) {
  // A child between fork and exec, or one that asks a solver, has nothing to say or to remove.
  if (getpid() == guard.process) {
    remove_temporaries();
    say(words);
  }
  _exit(code);
}

extern "C" void end_late(int) {
  const int error = errno;
  if (!ending.exchange(true)) end_here(guard.time_words, static_cast<int>(Exit::undecided));
  errno = error;
}

[[noreturn]] void end_without_memory() {
  if (!ending.exchange(true)) {
    if (guard.memory_is_ours) end_here(guard.memory_words, static_cast<int>(Exit::undecided));
    end_here(guard.machine_words, static_cast<int>(Exit::environment));
  }
  while (true) pause();  // another thread is at it
}

void set_alarm(double seconds) {
  constexpr double micro = 1e6;
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * micro);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Whether another process of the same job says what all of them have to say.
bool is_said_by_another() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) return std::string_view(rank) != "0";
  }
  return false;
}

void begin_time() {
  if (!guard.limits.seconds) return;
  const auto seconds = static_cast<double>(*guard.limits.seconds);
  guard.deadline = Deadline::in(seconds - std::min(seconds_before, part_before * seconds));
  set_alarm(seconds + seconds_behind + (is_said_by_another() ? seconds_behind_another : 0));
}

void hear_alarm() {
  struct sigaction action {};
  action.sa_handler = end_late;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  // Whoever started this program may have blocked it.
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
}

/// What this process has mapped, in bytes.
struct Mapped {
  rlim_t code = 0;  ///< of files: its own code and that of libraries
  rlim_t data = 0;  ///< that it may write to, used or not
};

Mapped mapped() {
  const OpenFile file(std::fopen("/proc/self/statm", "r"));
  unsigned long all = 0, data = 0;
  if (!file || std::fscanf(file.get(), "%lu %*u %*u %*u %*u %lu", &all, &data) != 2) return {};
  const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  return {.code = (all - std::min(all, data)) * page, .data = data * page};
}

/// Bounds what can be written to, as that is what becomes resident: address space alone costs
/// nothing, and libraries reserve much of it.
void set_memory_limit() {
  rlimit data{}, space{};
  if (!can_bound_memory || getrlimit(RLIMIT_DATA, &data) != 0) return;
  getrlimit(RLIMIT_AS, &space);
  const Mapped now = mapped();
  const auto wanted = static_cast<rlim_t>(guard.limits.memory_bytes);
  // The program's own code is part of what it takes, but leaves room for some work.
  const rlim_t most = now.data + wanted - std::min(now.code, wanted / 2);
  guard.memory_before = data.rlim_cur;
  if (data.rlim_cur <= most) return;
  data.rlim_cur = most;
  guard.bounds_memory = setrlimit(RLIMIT_DATA, &data) == 0;
  // Where the machine allows still less, that is what ends the call.
  guard.memory_is_ours = guard.bounds_memory && space.rlim_cur > most;
}

Diagnostic memory_diagnostic(bool by_option) {
  if (!by_option) return {.code = Code::limit_reached, .message = "out of memory"};
  return {.code = Code::limit_reached,
          .message = fmt::format("undecided: the memory limit of {} is reached",
                                 guard.limits.memory_text.value_or("2 GiB")),
          .notes = {"--memory allows more"}};
}

}  // namespace

void LimitArguments::add_options(OptionList& options, std::optional<Size> usual,
                                 const std::string& but) {
  const std::string none = but.empty() ? "" : fmt::format("; no limit for {}", but);
  options.text("--timeout", timeout,
               usual ? fmt::format("seconds until it ends, undecided (default {}{})", *usual, none)
                     : "seconds until it ends, undecided (default: no limit)",
               "S");
  options.text(
      "--memory", memory,
      "most memory that it takes itself (default 2GiB); B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
      "BYTES");
}

Result<Limits> LimitArguments::read(std::optional<Size> usual) const {
  Limits out{.seconds = usual};
  if (timeout) {
    const auto seconds = parse_timeout(*timeout, "--timeout");
    if (!seconds) return refuse(seconds.error());
    out.seconds = *seconds;
    out.asked = true;
  }
  if (memory) {
    const auto bytes = parse_bytes(*memory, "--memory");
    if (!bytes) return refuse(bytes.error());
    if (*bytes == 0) {
      return refuse(about_argument(Code::bad_argument, "--memory", *memory,
                                   "not a number of bytes from 1 on",
                                   {"without --memory the limit is 2 GiB"}));
    }
    out.memory_bytes = *bytes;
    out.memory_text = *memory;
  }
  return out;
}

void begin_limits(const Limits& limits, const Rendering& rendering) {
  guard.limits = limits;
  guard.process = getpid();
  // Whoever has started this job ends it in time.
  if (std::getenv(launched_variable) != nullptr) guard.limits.seconds.reset();
  if (!is_said_by_another()) guard.time_words.set(rendering(time_is_over()));
  guard.memory_words.set(rendering(memory_diagnostic(true)));
  guard.machine_words.set(rendering(memory_diagnostic(false)));
  hear_alarm();
  begin_time();
}

void bound_memory() {
  set_memory_limit();
  std::set_new_handler(end_without_memory);
}

Size memory_limit() {
  return caller() != nullptr ? caller()->memory_bytes : guard.limits.memory_bytes;
}

std::optional<std::string> asked_memory() { return guard.limits.memory_text; }

Deadline time_limit() { return caller() != nullptr ? caller()->deadline : guard.deadline; }

void lift_memory_limit_of_child() noexcept {
  rlimit data{};
  if (!guard.bounds_memory || getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = guard.memory_before;
  setrlimit(RLIMIT_DATA, &data);
}

void lift_memory_limit() {
  lift_memory_limit_of_child();
  guard.bounds_memory = false;
  guard.memory_is_ours = false;
  std::set_new_handler(nullptr);
}

void end_limits() {
  set_alarm(0);
  lift_memory_limit();
}

Diagnostic time_is_over() {
  const auto& seconds = caller() != nullptr ? caller()->seconds : guard.limits.seconds;
  return {.code = Code::limit_reached,
          .message = fmt::format("undecided: the time limit of {} is reached",
                                 counted(seconds.value_or(0), "second")),
          .notes = {"--timeout allows more"}};
}

Outcome memory_is_used_up() {
  return failed(guard.memory_is_ours ? Exit::undecided : Exit::environment,
                memory_diagnostic(guard.memory_is_ours));
}

WaitForInput::WaitForInput() {
  if (guard.limits.asked || !guard.limits.seconds) return;
  set_alarm(0);
  guard.deadline = {};
}

WaitForInput::~WaitForInput() {
  if (!guard.limits.asked) begin_time();
}

}  // namespace retile::cli
