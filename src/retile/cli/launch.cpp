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
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace retile::cli {
namespace {

constexpr std::string_view report_mark = "retile-exit ";

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return value_; }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }

 private:
  int value_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// A nameless file that holds `text`, to be read from its start. mpirun passes it on to process 0.
std::unique_ptr<std::FILE, CloseFile> file_with(std::string_view text) {
  std::unique_ptr<std::FILE, CloseFile> file(std::tmpfile());
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

constexpr std::array<int, 3> ending_signals = {SIGINT, SIGTERM, SIGHUP};

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

/// Separates the words of the processes, which pass, from those of mpirun, which it frames with
/// lines of dashes.
class ErrorFilter {
 public:
  void add(std::string_view text) {
    partial_ += text;
    for (std::size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n')) {
      line(partial_.substr(0, end + 1));
      partial_.erase(0, end + 1);
    }
  }

  void finish() {
    if (!partial_.empty()) line(std::exchange(partial_, "") + "\n");
  }

  [[nodiscard]] const std::vector<std::string>& held() const { return held_; }
  /// Whether a process has already said what went wrong.
  [[nodiscard]] bool explained() const { return explained_; }

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
    if (text.rfind("error:", 0) == 0) explained_ = true;
    std::fputs(text.c_str(), stderr);
  }

  std::string partial_;
  std::vector<std::string> held_;
  bool in_frame_ = false;
  bool explained_ = false;
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

std::string own_path() {
  std::vector<char> buffer(std::size_t{1} << 14);
  const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size());
  return length > 0 ? std::string(buffer.data(), static_cast<std::size_t>(length)) : "retile";
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
  std::signal(SIGPIPE, SIG_DFL);
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

}  // namespace

Outcome to_launcher(Outcome outcome) {
  const bool has_result = outcome.exit != Exit::usage && outcome.exit != Exit::environment;
  outcome.out = fmt::format("{}{}{}\n", has_result ? outcome.out : "", report_mark,
                            static_cast<int>(outcome.exit));
  outcome.exit = Exit::yes;
  return outcome;
}

Outcome launch(Size processes, const std::vector<std::string>& arguments, std::string_view input) {
  const auto input_file = file_with(input);
  auto out = make_pipe();
  auto errors = make_pipe();
  auto started = make_pipe();
  auto wake = make_pipe();
  if (!input_file || !out || !errors || !started || !wake) {
    return environment_failure(fmt::format("cannot start mpirun: {}", std::strerror(errno)));
  }
  fcntl(wake->write.get(), F_SETFL, O_NONBLOCK);

  // All that allocates happens before the fork.
  setenv(launched_variable, "1", 1);
  // Containers commonly forbid one process to read another's memory; Open MPI then complains and
  // copies twice anyhow.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  std::vector<std::string> command = mpirun_command(processes, arguments);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);

  const SignalWatch watch(wake->write.get());
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    return environment_failure(fmt::format("cannot start mpirun: {}", std::strerror(errno)));
  }
  if (child == 0) {
    become_mpirun(words, fileno(input_file.get()), out->write.get(), errors->write.get(),
                  started->write.get(), parent);
  }
  out->write.close();
  errors->write.close();
  started->write.close();
  int exec_error = 0;
  ssize_t reported = 0;
  do {
    reported = ::read(started->read.get(), &exec_error, sizeof exec_error);
  } while (reported < 0 && errno == EINTR);
  int status = 0;
  if (reported > 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return environment_failure(fmt::format("cannot start mpirun: {}", std::strerror(exec_error)),
                               {"mpirun is part of Open MPI; --backend sim needs none"});
  }

  std::string result;
  ErrorFilter filter;
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(5);
  std::optional<Clock::time_point> kill_time;
  std::array<pollfd, 3> watched = {{{out->read.get(), POLLIN, 0},
                                    {errors->read.get(), POLLIN, 0},
                                    {wake->read.get(), POLLIN, 0}}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    constexpr int tick_ms = 200;
    const int ready = poll(watched.data(), watched.size(), kill_time ? tick_ms : -1);
    if (ready < 0 && errno != EINTR) break;
    if (ending_signal != 0 && !kill_time) {
      kill(child, SIGTERM);
      kill_time = Clock::now() + patience;
    }
    if (kill_time && Clock::now() >= *kill_time) {
      // mpirun is beyond asking; its processes notice that it is gone.
      kill(-child, SIGKILL);
      break;
    }
    if (ready <= 0) continue;
    if (watched[0].revents != 0 &&
        !take(watched[0].fd, [&](std::string_view text) { result += text; })) {
      watched[0].fd = -1;
    }
    if (watched[1].revents != 0 &&
        !take(watched[1].fd, [&](std::string_view text) { filter.add(text); })) {
      watched[1].fd = -1;
    }
    if (watched[2].revents != 0) {
      take(watched[2].fd, [](std::string_view) {});
    }
  }
  filter.finish();
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ending_signal != 0) {
    return environment_failure(fmt::format("ended by signal {} before the run was finished",
                                           static_cast<int>(ending_signal)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    if (std::optional<Outcome> outcome = read_report(std::move(result))) return std::move(*outcome);
  }
  if (filter.explained()) {
    Outcome outcome;
    outcome.exit = Exit::environment;
    return outcome;
  }
  return failed(Exit::environment, job_failure(status, filter.held()));
}

}  // namespace retile::cli
