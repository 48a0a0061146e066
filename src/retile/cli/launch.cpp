#include "retile/cli/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "retile/cli/beside.h"
#include "retile/cli/built.h"
#include "retile/cli/limits.h"
#include "retile/cli/open_file.h"
#include "retile/cli/progress.h"
#include "retile/cli/signals.h"
#include "retile/core/descriptor.h"
#include "retile/core/temporary_file.h"

namespace retile::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view report_mark = "retile-exit ";
constexpr std::string_view start_mark = "retile-started ";

struct Pipe {
  Descriptor read;
  Descriptor write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// A nameless file that holds `text`, to be read from its start. mpirun passes it on to process 0.
OpenFile file_with(std::string_view text) {
  OpenFile file(std::tmpfile());
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0 || lseek(fileno(file.get()), 0, SEEK_SET) != 0) {
    return nullptr;
  }
  return file;
}

// A signal handler can reach nothing else.
volatile std::sig_atomic_t ending_signal = 0;
int wake_descriptor = -1;

extern "C" void note_signal(int signal) {
  const int saved = errno;
  ending_signal = signal;
  const char byte = 0;
  // A full pipe wakes the reader as well.
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor, &byte, 1);
  errno = saved;
}

/// Hears the signals that ask to end, for as long as it lives. A signal that was ignored stays
/// ignored.
class SignalWatch {
 public:
  explicit SignalWatch(int wake) {
    ending_signal = 0;
    wake_descriptor = wake;
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      sigaction(ending_signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(ending_signals[i], &action, nullptr);
    }
  }
  ~SignalWatch() {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      sigaction(ending_signals[i], &before_[i], nullptr);
    }
    wake_descriptor = -1;
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::array<struct sigaction, ending_signals.size()> before_{};
};

/// Separates the words of the processes, which pass, from those of mpirun: what it frames with lines
/// of dashes, and, as long as the processes have not started, what it writes about itself.
class ErrorFilter {
 public:
  void add(std::string_view text) {
    partial_ += text;
    // A line of progress on a terminal ends with a carriage return.
    for (std::size_t end = partial_.find_first_of("\n\r"); end != std::string::npos;
         end = partial_.find_first_of("\n\r")) {
      line(partial_.substr(0, end + 1));
      partial_.erase(0, end + 1);
    }
  }

  void finish() {
    if (!partial_.empty()) line(std::exchange(partial_, "") + "\n");
  }

  /// From here on nothing but frames is mpirun's; what it has said was no reason to fail.
  void note_start() {
    started_ = true;
    for (const std::string& text : own_words_) std::fputs(text.c_str(), stderr);
    own_words_.clear();
  }

  [[nodiscard]] const std::vector<std::string>& held() const { return held_; }
  /// Whether a process has already said what went wrong.
  [[nodiscard]] bool explained() const { return explained_; }

  /// Why mpirun itself failed, as far as it says so.
  [[nodiscard]] std::optional<std::string> own_failure() const {
    constexpr std::string_view before = "ORTE_ERROR_LOG: ";
    for (const std::string& text : own_words_) {
      const std::size_t found = text.find(before);
      if (found == std::string::npos) continue;
      const std::size_t begin = found + before.size();
      return text.substr(begin, text.find(" in file", begin) - begin);
    }
    return std::nullopt;
  }

 private:
  void line(const std::string& text) {
    if (text.find_first_not_of("-\n") == std::string::npos && text.size() > 40) {
      in_frame_ = !in_frame_;
      return;
    }
    if (in_frame_) {
      held_.push_back(text.substr(0, text.size() - 1));
      return;
    }
    // `[host:4711] ..` and `mpirun: ..`
    const bool of_mpirun =
        (text.front() == '[' && text.find(':') < text.find(']')) || text.rfind("mpirun: ", 0) == 0;
    if (!started_ && (of_mpirun || (text == "\n" && !own_words_.empty()))) {
      own_words_.push_back(text);
      return;
    }
    if (text.rfind("error:", 0) == 0) explained_ = true;
    std::fputs(text.c_str(), stderr);
  }

  std::string partial_;
  std::vector<std::string> held_;
  std::vector<std::string> own_words_;
  bool in_frame_ = false;
  bool explained_ = false;
  bool started_ = false;
};

/// The text between `before` and the next of `ends`, or nothing.
std::optional<std::string> text_after(const std::string& text, std::string_view before,
                                      std::string_view ends) {
  const std::size_t found = text.find(before);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin =
      std::min(text.find_first_not_of(' ', found + before.size()), text.size());
  const std::size_t end = std::min(text.find_first_of(ends, begin), text.size());
  return text.substr(begin, end - begin);
}

/// What mpirun says about how the job ended, in one sentence; where it says something unknown, all
/// of it as notes.
Diagnostic job_failure(int status, const std::vector<std::string>& held) {
  std::string all;
  for (const std::string& line : held) all += line + " ";
  Diagnostic diagnostic{.code = Code::mpi_error, .message = ""};
  const auto process = text_after(all, "process rank ", " ");
  const auto signal = text_after(all, "exited on signal ", ".");
  if (process && signal) {
    diagnostic.message =
        fmt::format("process {} was ended by signal {}; the job was ended", *process, *signal);
    return diagnostic;
  }
  if (const auto code = text_after(all, "Exit code: ", " ")) {
    const auto name = text_after(all, "Process name: [[", "]");
    std::string who = "a process";
    if (name) {
      const auto comma = all.find("Process name: [[");
      const auto rank = text_after(all.substr(comma), "],", "]");
      if (rank) who = "process " + *rank;
    }
    diagnostic.message = fmt::format("{} ended with exit code {}; the job was ended", who, *code);
    return diagnostic;
  }
  if (WIFSIGNALED(status)) {
    diagnostic.message = fmt::format("mpirun was ended by signal {}", WTERMSIG(status));
  } else {
    diagnostic.message =
        fmt::format("mpirun ended with exit code {} and without a result", WEXITSTATUS(status));
  }
  for (const std::string& line : held) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos) diagnostic.notes.push_back(line.substr(begin));
  }
  return diagnostic;
}

/// Takes the report apart: what process 0 printed, and its exit code. Nothing when there is no
/// report.
std::optional<Outcome> read_report(std::string text) {
  const std::size_t mark = text.rfind(report_mark);
  if (mark == std::string::npos || (mark > 0 && text[mark - 1] != '\n')) return std::nullopt;
  int code = 0;
  const char* const begin = text.data() + mark + report_mark.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), code);
  if (error != std::errc() || code < 0 || code > static_cast<int>(Exit::environment))
    return std::nullopt;
  if (end == text.data() + text.size() || *end != '\n') return std::nullopt;
  Outcome outcome;
  outcome.exit = static_cast<Exit>(code);
  text.erase(mark);
  outcome.out = std::move(text);
  return outcome;
}

std::vector<std::string> mpirun_command(Size processes, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "--bind-to", "none"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (processes > sysconf(_SC_NPROCESSORS_ONLN)) {
    // Processes that wait must not keep the others from their processor.
    command.insert(command.end(), {"--mca", "mpi_yield_when_idle", "1"});
  }
  command.insert(command.end(),
                 {"-x", launched_variable, "-n", fmt::format("{}", processes), own_path()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (const auto memory = asked_memory()) command.push_back("--memory=" + *memory);
  return command;
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become_mpirun(const std::vector<char*>& words, int input, int output, int errors,
                                int report, pid_t parent) {
  // Its own group: a Ctrl-C reaches this program, which ends the job in order. And when this
  // program is killed, the job ends.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  lift_memory_limit_of_child();
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvp(words[0], words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  _exit(1);
}

/// Reads what is there. False at the end.
template <typename Use>
bool take(int descriptor, const Use& use) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  use(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
  return true;
}

Outcome environment_failure(std::string message, std::vector<std::string> notes = {}) {
  return failed(
      Exit::environment,
      {.code = Code::mpi_error, .message = std::move(message), .notes = std::move(notes)});
}

/// mpirun, from its start to its end.
class Launch {
 public:
  /// Starts it; what keeps it from starting is a diagnostic.
  [[nodiscard]] Result<void> start(std::vector<std::string> command, std::string_view input);
  /// Passes on what the processes say until all have ended, or have to.
  void attend();
  /// What came of it.
  [[nodiscard]] Outcome outcome();

 private:
  [[nodiscard]] Result<void> await_exec();
  void hear_result(std::string_view text);
  /// Asks to end, ends, or does neither; whether to go on waiting.
  [[nodiscard]] bool go_on();
  [[nodiscard]] Clock::time_point deadline() const;

  std::optional<Pipe> out_, errors_, exec_, wake_;
  std::optional<SignalWatch> watch_;
  pid_t child_ = -1;
  Clock::time_point begin_ = Clock::now();
  std::string result_;
  ErrorFilter filter_;
  bool started_ = false;  ///< the processes are there
  pid_t first_ = -1;      ///< and this is process 0
  bool gave_up_ = false;
  bool late_ = false;  ///< --timeout was over before they had ended
  std::optional<Clock::time_point> kill_time_;
  int status_ = 0;
};

tl::unexpected<Diagnostic> cannot_start_mpirun(int error, std::vector<std::string> notes = {}) {
  return refuse({.code = Code::mpi_error,
                 .message = fmt::format("cannot start mpirun: {}", std::strerror(error)),
                 .notes = std::move(notes)});
}

Result<void> Launch::start(std::vector<std::string> command, std::string_view input) {
  const auto input_file = file_with(input);
  for (auto* pipe : {&out_, &errors_, &exec_, &wake_}) *pipe = make_pipe();
  if (!input_file || !out_ || !errors_ || !exec_ || !wake_) return cannot_start_mpirun(errno);
  fcntl(wake_->write.number(), F_SETFL, O_NONBLOCK);
  // All that allocates happens before the fork.
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  watch_.emplace(wake_->write.number());
  const pid_t parent = getpid();
  begin_ = Clock::now();
  child_ = fork();
  if (child_ < 0) return cannot_start_mpirun(errno);
  if (child_ == 0) {
    become_mpirun(words, fileno(input_file.get()), out_->write.number(), errors_->write.number(),
                  exec_->write.number(), parent);
  }
  return await_exec();
}

Result<void> Launch::await_exec() {
  out_->write.close();
  errors_->write.close();
  exec_->write.close();
  int error = 0;
  ssize_t reported = 0;
  do {
    reported = ::read(exec_->read.number(), &error, sizeof error);
  } while (reported < 0 && errno == EINTR);
  if (reported <= 0) return {};
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  return cannot_start_mpirun(error, {"mpirun is part of Open MPI; --backend sim needs none"});
}

void Launch::hear_result(std::string_view text) {
  result_ += text;
  const std::size_t end = result_.find('\n');
  if (started_ || end == std::string::npos || result_.rfind(start_mark, 0) != 0) return;
  std::from_chars(result_.data() + start_mark.size(), result_.data() + end, first_);
  result_.erase(0, end + 1);
  started_ = true;
  filter_.note_start();
}

/// Until when the processes must have started: at once where mpirun says that it cannot start them,
/// after which it has been seen to wait for ever.
Clock::time_point Launch::deadline() const {
  constexpr std::chrono::seconds after_failure(5);
  const auto patience = start_patience();
  return begin_ + (filter_.own_failure() ? std::min(patience, after_failure) : patience);
}

bool Launch::go_on() {
  constexpr std::chrono::milliseconds patience(5000);
  constexpr std::chrono::milliseconds patience_when_late(200);
  const auto now = Clock::now();
  if (!started_ && now >= deadline()) gave_up_ = true;
  if (gave_up_ || (kill_time_ && now >= *kill_time_)) {
    // mpirun is beyond asking; its processes notice that it is gone.
    kill(-child_, SIGKILL);
    return false;
  }
  const bool late = time_limit().passed();
  if ((ending_signal != 0 || late) && !kill_time_) {
    // mpirun soon kills those whom it has asked to end. Process 0 has a file to remove, and when it
    // is gone mpirun ends the others.
    kill(first_ > 0 ? first_ : child_, SIGTERM);
    late_ = ending_signal == 0;
    kill_time_ = now + (late ? patience_when_late : patience);
  }
  return true;
}

void Launch::attend() {
  std::array<pollfd, 3> watched = {{{out_->read.number(), POLLIN, 0},
                                    {errors_->read.number(), POLLIN, 0},
                                    {wake_->read.number(), POLLIN, 0}}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    constexpr int tick_ms = 100;
    const bool waits = started_ && !kill_time_ && std::isinf(time_limit().seconds_left());
    const int ready = poll(watched.data(), watched.size(), waits ? -1 : tick_ms);
    if ((ready < 0 && errno != EINTR) || !go_on()) break;
    if (ready <= 0) continue;
    if (watched[0].revents != 0 &&
        !take(watched[0].fd, [this](std::string_view text) { hear_result(text); })) {
      watched[0].fd = -1;
    }
    if (watched[1].revents != 0 &&
        !take(watched[1].fd, [this](std::string_view text) { filter_.add(text); })) {
      watched[1].fd = -1;
    }
    if (watched[2].revents != 0) take(watched[2].fd, [](std::string_view) {});
  }
  filter_.finish();
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
}

Outcome Launch::outcome() {
  if (ending_signal != 0) {
    return environment_failure(fmt::format("ended by signal {} before the run was finished",
                                           static_cast<int>(ending_signal)));
  }
  if (late_) return failed(time_is_over());
  const auto own_failure = filter_.own_failure();
  if (gave_up_ || (own_failure && !started_)) {
    return environment_failure(
        own_failure ? "mpirun could not start the processes: " + *own_failure
                    : fmt::format("mpirun did not start the processes within {} seconds",
                                  start_patience().count()),
        filter_.held());
  }
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) {
    if (auto outcome = read_report(std::move(result_))) return std::move(*outcome);
  }
  if (filter_.explained()) {
    const bool limited =
        WIFEXITED(status_) && WEXITSTATUS(status_) == static_cast<int>(Exit::undecided);
    return {.exit = limited ? Exit::undecided : Exit::environment};
  }
  return failed(Exit::environment, job_failure(status_, filter_.held()));
}

}  // namespace

bool is_job_process() {
  constexpr std::array<const char*, 5> names{"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                                             "PMIX_RANK", "MPI_LOCALRANKID"};
  return mpi_is_built && std::any_of(names.begin(), names.end(),
                                     [](const char* name) { return std::getenv(name) != nullptr; });
}

std::chrono::seconds start_patience() {
  constexpr int usual = 120;
  const char* const text = std::getenv("RETILE_START_SECONDS");
  const int wanted = text == nullptr ? 0 : std::atoi(text);
  return std::chrono::seconds(wanted > 0 ? wanted : usual);
}

void say_started() {
  std::fputs(fmt::format("{}{}\n", start_mark, getpid()).c_str(), stdout);
  std::fflush(stdout);
}

Outcome to_launcher(Outcome outcome) {
  const bool has_result = outcome.exit != Exit::usage && outcome.exit != Exit::environment;
  outcome.out = fmt::format("{}{}{}\n", has_result ? outcome.out : "", report_mark,
                            static_cast<int>(outcome.exit));
  outcome.exit = Exit::yes;
  return outcome;
}

Outcome launch(Size processes, const std::vector<std::string>& arguments, std::string_view input) {
  const bool terminal = stderr_of_this() == Stderr::terminal;
  setenv(launched_variable, terminal ? std::string(launched_from_terminal).c_str() : "file", 1);
  // Containers commonly forbid one process to read another's memory; Open MPI then complains and
  // copies twice anyhow.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  // The processes start as this program and become that one.
  if (const auto program = path_beside(run_program); !program) {
    return failed(Exit::environment, program.error());
  }
  Launch started;
  if (auto begun = started.start(mpirun_command(processes, arguments), input); !begun) {
    return failed(Exit::environment, begun.error());
  }
  started.attend();
  return started.outcome();
}

}  // namespace retile::cli
