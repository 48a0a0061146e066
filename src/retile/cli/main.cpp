// The command line program. Chooses the verb, prints what it hands back, maps everything to
// an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "retile/cli/arguments.h"
#include "retile/cli/beside.h"
#include "retile/cli/common.h"
#include "retile/cli/launch.h"
#include "retile/cli/limits.h"
#include "retile/cli/printed.h"
#include "retile/cli/signals.h"

namespace retile::cli {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool wants_color(Color color) {
  if (color != Color::automatic) return color == Color::always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(STDERR_FILENO) == 1;
}

/// `error:` in red, `note:` in cyan, the caret line in green.
std::string colored(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = text.find('\n') + 1;
    const std::string_view row = text.substr(0, length == 0 ? text.size() : length);
    text.remove_prefix(row.size());
    const auto paint = [&](std::string_view code, std::size_t count) {
      out.append("\033[").append(code).append("m").append(row.substr(0, count)).append("\033[0m");
      out.append(row.substr(count));
    };
    if (row.rfind("error:", 0) == 0) {
      paint("1;31", 6);
    } else if (row.rfind("note:", 0) == 0) {
      paint("36", 5);
    } else if (row.find_first_not_of(" ^~\n") == std::string_view::npos &&
               row.find('^') != std::string_view::npos) {
      paint("32", row.find_last_of("^~") + 1);
    } else {
      out.append(row);
    }
  }
  return out;
}

/// A diagnostic as it goes to stderr.
std::string shown(const Diagnostic& diagnostic, Color color) {
  const std::string words = render(pointed(diagnostic));
  return wants_color(color) ? colored(words) : words;
}

/// Prints the outcome. When stdout cannot take the result, that is what the exit code says.
int finish(Outcome outcome, Color color) {
  end_limits();
  std::string words;
  for (const Diagnostic& problem : outcome.problems) words += render(pointed(problem));
  words += outcome.words;
  words = harmless(std::move(words));
  outcome.out = harmless(std::move(outcome.out));
  Exit exit = outcome.exit;
  if (exit != Exit::usage && exit != Exit::environment && !outcome.out.empty() &&
      !write_all(STDOUT_FILENO, outcome.out)) {
    words += render({.code = Code::file_error,
                     .message = std::string("cannot write to stdout: ") + std::strerror(errno)});
    exit = Exit::environment;
  }
  write_all(STDERR_FILENO, wants_color(color) ? colored(words) : words);
  return static_cast<int>(exit);
}

/// Whether the processes of the job should act as one: they run a Program, or meant to.
bool is_parallel(const Result<CommandLine>& line, int argc, const char* const* argv) {
  if (line) return line->verb != nullptr && line->verb->works_in_job();
  return std::find(argv + 1, argv + argc, std::string_view("run")) != argv + argc;
}

/// The command line as one text that other command lines do not give.
std::string joined(int argc, const char* const* argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) text.append(i == 1 ? "" : "\n").append(argv[i]);
  return text;
}

/// Puts something that fails in the place of closed standard streams, so that no file gets their
/// numbers.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The least free number is taken, which is the closed stream: those below it are open by now.
    const int access = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    [[maybe_unused]] const int taken = ::open("/dev/null", access);
  }
}

/// The program that has to do this, where it is not this one.
std::string_view program_for(const Result<CommandLine>& line, bool in_job, const Engines& engines) {
  if (in_job) return engines.job == nullptr ? run_program : std::string_view();
  return line && line->verb != nullptr ? line->verb->beside() : std::string_view();
}

}  // namespace

int main_of(int argc, const char* const* argv, const Engines& engines) {
  // A closed pipe and a file that may not grow are failed writes, with a message and an exit code,
  // and no sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  occupy_standard_streams();
  Color color = Color::automatic;
  try {
    const Result<CommandLine> line = parse_command_line(argc, argv, engines);
    if (line) color = line->color;
    const bool in_job = is_job_process() && is_parallel(line, argc, argv);
    if (const auto other = program_for(line, in_job, engines); !other.empty()) {
      return finish(failed(Exit::environment, become(other, argv)), color);
    }
    if (line) {
      begin_limits(line->limits, [color](const Diagnostic& it) { return shown(it, color); });
    }
    if (line && !in_job) bound_memory();
    if (in_job) {
      return engines.job(line, joined(argc, argv),
                         [&](const Outcome& outcome) { return finish(outcome, color); });
    }
    if (!line) return finish(failed(line.error()), color);
    if (line->verb == nullptr) return finish({.exit = Exit::yes, .out = line->information}, color);
    return finish(line->verb->work(), color);
  } catch (const std::bad_alloc&) {
    return finish(memory_is_used_up(), color);
  } catch (const std::length_error&) {  // more elements than any memory has room for
    return finish(memory_is_used_up(), color);
  } catch (const std::exception& error) {
    return finish(failed(Exit::environment, {.code = Code::unsupported, .message = error.what()}),
                  color);
  }
}

}  // namespace retile::cli
