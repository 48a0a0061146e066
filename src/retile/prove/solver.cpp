#include "retile/prove/solver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>
#include <z3++.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

namespace retile {

namespace {

using Clock = std::chrono::steady_clock;

/// What a solver gets to start, and to end by itself when its time is over.
constexpr double patience_seconds = 2;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

unsigned milliseconds(double seconds) {
  return static_cast<unsigned>(std::clamp(std::ceil(seconds * 1000), 1.0, 4e9));
}

/// What a child writes, up to a limit. It is ended when the time is over or the limit is reached.
std::string output_of(pid_t child, int from, double seconds) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  std::string output;
  const auto start = Clock::now();
  std::array<char, 4096> buffer{};
  while (output.size() < most_bytes) {
    const double left = seconds - seconds_since(start);
    if (left <= 0) break;
    pollfd waited{from, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::min(std::ceil(left * 1000), 1e9)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  kill(child, SIGKILL);  // no harm when it has ended: it is not yet waited for
  waitpid(child, nullptr, 0);
  close(from);
  return output;
}

std::string output_of(const std::vector<std::string>& command, double seconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const bool runs =
      posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (runs) return output_of(child, ends[0], seconds);
  close(ends[0]);
  return "";
}

/// A file that is gone when this is.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("retile-{:08x}{:08x}.smt2", random(), random());
    std::ofstream(path_) << text;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Reads `((device 3) (at_0 (- 1)))`; numbers here are never negative.
void read_values(const std::string& output, std::map<std::string, Size>& values) {
  std::string words = output;
  for (char& letter : words) {
    if (letter == '(' || letter == ')') letter = ' ';
  }
  std::istringstream in(words);
  std::string name;
  Size value = 0;
  while (in >> name >> value) values[name] = value;
}

/// `unsat`, or `sat` and the values, or something else.
/// \param bounds  sets what ends the search
std::string z3_says(const std::string& text, const std::vector<std::string>& names,
                    const std::function<void(z3::params&)>& bounds) {
  try {
    z3::context z;
    z3::solver solver(z, "QF_LIA");
    z3::params params(z);
    bounds(params);
    params.set("ctrl_c", false);  // an interrupt ends the program, not only the question
    solver.set(params);
    solver.from_string(text.c_str());
    const z3::check_result result = solver.check();
    if (result == z3::unsat) return "unsat\n";
    if (result != z3::sat) return "unknown\n";
    std::string out = "sat\n";
    const z3::model model = solver.get_model();
    for (const std::string& name : names) {
      std::int64_t value = 0;
      if (!model.eval(z.int_const(name.c_str()), true).is_numeral_i64(value)) return "unknown\n";
      out += fmt::format("({} {})\n", name, value);
    }
    return out;
  } catch (const std::exception&) {  // z3's own, out of memory
    return "unknown\n";
  }
}

Satisfiable read_answer(const std::string& output, std::map<std::string, Size>& values) {
  const std::string first = output.substr(0, output.find('\n'));
  if (first == "unsat") return Satisfiable::no;
  if (first != "sat") return Satisfiable::unknown;
  read_values(output.substr(first.size()), values);
  return Satisfiable::yes;
}

/// First with a bound on Z3's own steps, some tenths of a second. What that leaves open is asked in
/// a process of its own, which can be ended: Z3 4.8.12 may lock itself up when its time is over.
Satisfiable ask_z3(const std::string& text, const std::vector<std::string>& names, double seconds,
                   std::map<std::string, Size>& values) {
  constexpr unsigned easy_steps = 1'000'000;
  const Satisfiable easy = read_answer(
      z3_says(text, names, [](z3::params& params) { params.set("rlimit", easy_steps); }), values);
  if (easy != Satisfiable::unknown) return easy;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Satisfiable::unknown;
  const pid_t child = fork();
  if (child == 0) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    const std::string answer = z3_says(text, names, [seconds](z3::params& params) {
      params.set("timeout", milliseconds(seconds));
    });
    for (std::string_view left = answer; !left.empty();) {
      const ssize_t count = write(ends[1], left.data(), left.size());
      if (count <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(count));
    }
    _exit(0);
  }
  close(ends[1]);
  if (child > 0) return read_answer(output_of(child, ends[0], seconds + patience_seconds), values);
  close(ends[0]);
  return Satisfiable::unknown;
}

Satisfiable ask_cvc5(const std::string& path, const std::string& text,
                     const std::vector<std::string>& names, double seconds,
                     std::map<std::string, Size>& values) {
  const ScratchFile file(complete_query("", text, names));
  const std::string output =
      output_of({path, "--lang=smt2", "--produce-models",
                 fmt::format("--tlimit={}", milliseconds(seconds)), file.path()},
                seconds + patience_seconds);
  return read_answer(output, values);
}

}  // namespace

bool SolverAnswer::contradictory() const {
  return z3 && cvc5 && *z3 != *cvc5 && *z3 != Satisfiable::unknown && *cvc5 != Satisfiable::unknown;
}

Satisfiable SolverAnswer::together() const {
  if (contradictory()) return Satisfiable::unknown;
  for (const auto& one : {z3, cvc5}) {
    if (one && *one != Satisfiable::unknown) return *one;
  }
  return Satisfiable::unknown;
}

std::string z3_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("{}.{}.{}", major, minor, build);
}

std::string cvc5_path() {
  if (const char* chosen = std::getenv("RETILE_CVC5")) return chosen;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  std::string directory;
  while (std::getline(directories, directory, ':')) {
    std::error_code ignored;
    const std::filesystem::path file = std::filesystem::path(directory) / "cvc5";
    if (!directory.empty() && std::filesystem::is_regular_file(file, ignored)) return file.string();
  }
  return "";
}

std::string cvc5_version(const std::string& path) {
  if (path.empty()) return "";
  const std::string text = output_of({path, "--version"}, patience_seconds);
  const std::string_view before = "version ";
  const auto at = text.find(before);
  if (at == std::string::npos) return "";
  const auto begin = at + before.size();
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

std::string complete_query(const std::string& title, const std::string& text,
                           const std::vector<std::string>& names) {
  std::string out = title.empty() ? "" : "; " + title + "\n";
  out += "(set-logic QF_LIA)\n" + text + "(check-sat)\n";
  if (names.empty()) return out;
  return out + fmt::format("(get-value ({}))\n", fmt::join(names, " "));
}

Result<Solvers> Solvers::make(SolverChoice choice) {
  Solvers out;
  out.choice_ = choice;
  if (choice == SolverChoice::z3) return out;
  out.cvc5_ = cvc5_path();
  out.cvc5_version_ = cvc5_version(out.cvc5_);
  if (out.cvc5_version_.empty()) {
    return refuse({.code = Code::unsupported,
                   .message = "cvc5 cannot be run",
                   .notes = {"it is looked for in PATH, or where RETILE_CVC5 says",
                             "--solver z3 needs no other program"}});
  }
  return out;
}

SolverAnswer Solvers::ask(const std::string& text, const std::vector<std::string>& names,
                          double seconds) const {
  SolverAnswer answer;
  if (choice_ != SolverChoice::cvc5) {
    const auto start = Clock::now();
    answer.z3 = ask_z3(text, names, seconds, answer.values);
    answer.z3_seconds = seconds_since(start);
  }
  if (choice_ != SolverChoice::z3) {
    const auto start = Clock::now();
    std::map<std::string, Size> values;
    answer.cvc5 = ask_cvc5(cvc5_, text, names, seconds, values);
    answer.cvc5_seconds = seconds_since(start);
    if (answer.values.empty()) answer.values = std::move(values);
  }
  return answer;
}

std::string Solvers::described() const {
  std::string out;
  if (choice_ != SolverChoice::cvc5) out = "Z3 " + z3_version();
  if (choice_ == SolverChoice::both) out += " and ";
  if (choice_ != SolverChoice::z3) out += "cvc5 " + cvc5_version_;
  return out;
}

}  // namespace retile
