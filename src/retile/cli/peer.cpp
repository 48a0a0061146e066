#include "retile/cli/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "retile/cli/descendants.h"
#include "retile/cli/limits.h"
#include "retile/cli/open_file.h"
#include "retile/core/descriptor.h"

namespace retile::cli {
namespace {

using Clock = std::chrono::steady_clock;
/// What a command may write to a file, stdout among them.
constexpr rlim_t most_bytes = rlim_t{1} << 28;
constexpr std::size_t most_words = 2000;
/// What a command that is late, and all that it started, get to be gone.
constexpr double seconds_to_end = 0.25;

std::size_t size_of(std::FILE* file) {
  std::fseek(file, 0, SEEK_END);
  return static_cast<std::size_t>(std::max(std::ftell(file), 0L));
}

/// What stands in a file, or its last bytes.
std::string text_of(std::FILE* file, std::size_t most) {
  const std::size_t size = size_of(file);
  const std::size_t count = std::min(most, size);
  std::fseek(file, static_cast<long>(size - count), SEEK_SET);
  std::string out(count, '\0');
  out.resize(std::fread(out.data(), 1, count, file));
  return out;
}

std::string first_of(std::FILE* file, std::size_t most) {
  std::rewind(file);
  std::string out(most, '\0');
  out.resize(std::fread(out.data(), 1, most, file));
  return out;
}

extern "C" void end_all(int) {
  end_descendants();
  kill(0, SIGKILL);
}

/// The environment of this process and further variables, as execve() wants it. Made before the fork.
std::vector<char*> environment_with(std::vector<std::string>& variables) {
  std::vector<char*> out;
  for (char** it = environ; *it != nullptr; ++it) out.push_back(*it);
  for (std::string& variable : variables) out.push_back(variable.data());
  out.push_back(nullptr);
  return out;
}

/// What a command reads and writes.
struct Streams {
  int nowhere = -1;
  int out = -1;
  int words = -1;
};

/// In the child: watches over a shell. Only calls that are safe between fork and exec.
///
/// Whatever the shell starts stays below this process, other sessions included, and ends with it.
/// And this process is told when the program ends.
[[noreturn]] void watch_over(const char* command, char* const* environment, const Streams& streams,
                             pid_t parent) {
  setpgid(0, 0);
  adopt_orphans();
  std::signal(SIGTERM, end_all);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const pid_t shell = fork();
  if (shell == 0) {
    for (const int signal : {SIGTERM, SIGPIPE, SIGXFSZ, SIGINT, SIGHUP})
      std::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0};
    const rlimit files{most_bytes, most_bytes};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_FSIZE, &files);
    lift_memory_limit_of_child();
    dup2(streams.nowhere, STDIN_FILENO);
    dup2(streams.out, STDOUT_FILENO);
    dup2(streams.words, STDERR_FILENO);
    execle("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr), environment);
    _exit(127);
  }
  int status = 0;
  while (waitpid(shell, &status, 0) < 0 && errno == EINTR) {
  }
  // What it left running in the background must not stay.
  end_descendants();
  if (shell < 0) _exit(1);
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/// Whether the other end of a pipe is closed before the time is over.
bool closes(int pipe, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waited{pipe, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::min(std::ceil(left * 1000), 1e9)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

tl::unexpected<Diagnostic> cannot_start_peer(int error) {
  return refuse(
      {.code = Code::file_error,
       .message = fmt::format("the command cannot be started: {}", std::strerror(error))});
}

/// \param written  bytes on stdout
void take_status(PeerAnswer& answer, int status, std::size_t written) {
  if (answer.end == PeerAnswer::End::late) return;
  constexpr int first_signal = 128;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : first_signal + WTERMSIG(status);
  answer.end = code == 0             ? PeerAnswer::End::done
               : code > first_signal ? PeerAnswer::End::aborted
                                     : PeerAnswer::End::refused;
  if (code == first_signal + SIGXFSZ || written >= most_bytes)
    answer.end = PeerAnswer::End::too_long;
  answer.code = code > first_signal ? code - first_signal : code;
}

/// Where a placeholder stands: its name, its form, and one past it.
struct Placeholder {
  std::string_view name;
  std::string_view form;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The next one at `from` or behind it.
std::optional<Placeholder> next_placeholder(std::string_view command, PlaceholderNames names,
                                            std::size_t from) {
  for (std::size_t begin = command.find('{', from); begin != std::string_view::npos;
       begin = command.find('{', begin + 1)) {
    const std::size_t close = command.find('}', begin);
    if (close == std::string_view::npos) return std::nullopt;
    if (begin > 0 && command[begin - 1] == '$') continue;
    const std::string_view inside = command.substr(begin + 1, close - begin - 1);
    const std::size_t colon = std::min(inside.find(':'), inside.size());
    const std::string_view name = inside.substr(0, colon);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return Placeholder{.name = name,
                       .form = inside.substr(std::min(colon + 1, inside.size())),
                       .begin = begin,
                       .end = close + 1};
  }
  return std::nullopt;
}

/// Whether a place of a shell's line is between quotes. Comments and texts behind `<<` may make it
/// say so of other places, too.
bool is_quoted(std::string_view command, std::size_t place) {
  char open = 0;
  for (std::size_t k = 0; k < place; ++k) {
    const char letter = command[k];
    if (letter == '\\' && open != '\'') {
      ++k;
    } else if (open != 0) {
      if (letter == open) open = 0;
    } else if (letter == '\'' || letter == '"' || letter == '`') {
      open = letter;
    }
  }
  return open != 0;
}

}  // namespace

std::optional<Span> quoted_placeholder(std::string_view command, PlaceholderNames names) {
  for (auto place = next_placeholder(command, names, 0); place;
       place = next_placeholder(command, names, place->end)) {
    if (is_quoted(command, place->begin)) return Span{place->begin, place->end};
  }
  return std::nullopt;
}

Result<PeerCommand> filled_in(
    std::string_view command, PlaceholderNames names,
    const std::function<Result<std::string>(std::string_view name, std::string_view form)>&
        text_of) {
  PeerCommand out;
  std::size_t done = 0;
  for (auto place = next_placeholder(command, names, 0); place;
       place = next_placeholder(command, names, place->end)) {
    const Result<std::string> text = text_of(place->name, place->form);
    if (!text) return refuse(text.error());
    const std::string name = fmt::format("RETILE_PEER_{}", out.variables.size() + 1);
    out.line += command.substr(done, place->begin - done);
    out.line += fmt::format("\"${}\"", name);
    out.variables.push_back(fmt::format("{}={}", name, *text));
    done = place->end;
  }
  out.line += command.substr(done);
  return out;
}

Result<PeerAnswer> ask_peer(PeerCommand command, double seconds) {
  const Descriptor nowhere(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const OpenFile out(std::tmpfile());
  const OpenFile words(std::tmpfile());
  std::array<int, 2> ends{};
  if (nowhere.number() < 0 || !out || !words || pipe2(ends.data(), O_CLOEXEC) != 0) {
    return cannot_start_peer(errno);
  }
  // Nobody writes to it: that its other end is closed says that the child has ended.
  const Descriptor read(ends[0]);
  Descriptor write(ends[1]);
  const std::vector<char*> environment = environment_with(command.variables);
  const Streams streams{nowhere.number(), fileno(out.get()), fileno(words.get())};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return cannot_start_peer(errno);
  if (child == 0) {
    watch_over(command.line.c_str(), environment.data(), streams, parent);
  }
  setpgid(child, child);  // whoever comes first: the group must be there before it is ended
  write.close();
  PeerAnswer answer;
  if (!closes(read.number(), seconds)) {
    answer.end = PeerAnswer::End::late;
    kill(child, SIGTERM);
    closes(read.number(), seconds_to_end);
  }
  kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  take_status(answer, status, size_of(out.get()));
  answer.out = text_of(out.get(), most_bytes);
  answer.words = text_of(words.get(), most_words);
  answer.first_words = first_of(words.get(), most_words);
  return answer;
}

}  // namespace retile::cli
