#include "retile/prove/solver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
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
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

namespace retile {

namespace {

using Clock = std::chrono::steady_clock;

/// What a solver gets to start, and to end by itself when its time is over.
constexpr double patience_seconds = 0.4;

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

/// What `work` writes to the descriptor that it gets, in a process of its own. That process ends
/// with ours, however ours ends.
/// \param work  may use only what is safe between fork and exec
template <typename Work>
std::string output_of_child(double seconds, const Work& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() == parent) work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  if (child > 0) return output_of(child, ends[0], seconds);
  close(ends[0]);
  return "";
}

/// What a command writes to stdout.
/// \param input  a descriptor that it gets as stdin
std::string output_of(const std::vector<std::string>& command, int input, double seconds) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return output_of_child(seconds, [&](int output) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
  });
}

/// A text in a file without a name, which is gone when nobody has it open any more, however that
/// comes about.
class NamelessFile {
 public:
  /// \error file_error, with the system's reason
  [[nodiscard]] static Result<NamelessFile> make(std::string_view text) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) return failed(error.message());
    NamelessFile out(opened(folder));
    if (out.descriptor_ < 0) return failed(std::generic_category().message(errno));
    while (!text.empty()) {
      const ssize_t count = write(out.descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return failed(std::generic_category().message(count < 0 ? errno : EIO));
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    lseek(out.descriptor_, 0, SEEK_SET);
    return out;
  }
  NamelessFile(NamelessFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  NamelessFile& operator=(NamelessFile&&) = delete;
  ~NamelessFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit NamelessFile(int descriptor) : descriptor_(descriptor) {}

  static tl::unexpected<Diagnostic> failed(const std::string& why) {
    return refuse(
        {.code = Code::file_error,
         .message = "a question for cvc5 cannot be written: " + why,
         .notes = {"it is written to the folder for temporary files, which TMPDIR names"}});
  }

  static int opened(const std::filesystem::path& folder) {
#ifdef O_TMPFILE
    const int nameless = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (nameless >= 0) return nameless;
#endif
    // Not every file system has such files.
    std::string path = folder / "retile-XXXXXX";
    const int named = mkstemp(path.data());
    if (named < 0) return named;
    unlink(path.c_str());
    fcntl(named, F_SETFD, FD_CLOEXEC);
    return named;
  }

  int descriptor_ = -1;
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

/// What a Z3 solver says to a text, and the values of the names when it can be fulfilled.
/// \error z3::exception
Satisfiable z3_says(z3::context& z, z3::solver& solver, const std::string& text,
                    const std::vector<std::string>& names, std::map<std::string, Size>& values) {
  for (const z3::expr& assertion : z.parse_string(text.c_str())) solver.add(assertion);
  const z3::check_result result = solver.check();
  if (result == z3::unsat) return Satisfiable::no;
  if (result != z3::sat) return Satisfiable::unknown;
  const z3::model model = solver.get_model();
  for (const std::string& name : names) {
    std::int64_t value = 0;
    if (!model.eval(z.int_const(name.c_str()), true).is_numeral_i64(value)) {
      return Satisfiable::unknown;
    }
    values[name] = value;
  }
  return Satisfiable::yes;
}

/// \param bound  sets what ends the search
template <typename Bound>
void restrain(z3::context& z, z3::solver& solver, const Bound& bound) {
  z3::params params(z);
  bound(params);
  params.set("ctrl_c", false);  // an interrupt ends the program, not only the question
  solver.set(params);
}

/// As a solver would print it: `unsat`, or `sat` and the values, or something else.
std::string printed(Satisfiable answer, const std::map<std::string, Size>& values) {
  if (answer == Satisfiable::unknown) return "unknown\n";
  std::string out = answer == Satisfiable::yes ? "sat\n" : "unsat\n";
  for (const auto& [name, value] : values) out += fmt::format("({} {})\n", name, value);
  return out;
}

Satisfiable read_answer(const std::string& output, std::map<std::string, Size>& values) {
  const std::string first = output.substr(0, output.find('\n'));
  if (first == "unsat") return Satisfiable::no;
  if (first != "sat") return Satisfiable::unknown;
  read_values(output.substr(first.size()), values);
  return Satisfiable::yes;
}

/// Asks in a process of its own, which can be ended: Z3 4.8.12 may lock itself up when its time is
/// over.
Satisfiable ask_z3_apart(const std::string& text, const std::vector<std::string>& names,
                         double seconds, std::map<std::string, Size>& values) {
  constexpr int most_megabytes = 4096;
  const std::string output = output_of_child(seconds + patience_seconds, [&](int to) {
    std::string answer = printed(Satisfiable::unknown, {});
    try {
      z3::set_param("memory_max_size", most_megabytes);
      z3::context z;
      z3::solver solver(z, "QF_LIA");
      restrain(z, solver, [seconds](z3::params& p) { p.set("timeout", milliseconds(seconds)); });
      std::map<std::string, Size> found;
      const Satisfiable said = z3_says(z, solver, text, names, found);
      answer = printed(said, found);
    } catch (const std::exception&) {  // z3's own, out of memory
    }
    for (std::string_view left = answer; !left.empty();) {
      const ssize_t count = write(to, left.data(), left.size());
      if (count <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(count));
    }
  });
  return read_answer(output, values);
}

Result<Satisfiable> ask_cvc5(const std::string& path, const std::string& text,
                             const std::vector<std::string>& names, double seconds,
                             std::map<std::string, Size>& values) {
  const Result<NamelessFile> file = NamelessFile::make(complete_query("", text, names));
  if (!file) return refuse(file.error());
  const std::string output =
      output_of({path, "--lang=smt2", "--produce-models",
                 fmt::format("--tlimit={}", milliseconds(seconds)), "/dev/stdin"},
                file->descriptor(), seconds + patience_seconds);
  return read_answer(output, values);
}

}  // namespace

/// A Z3 that is asked one question after the other: to make one takes longer than most answers.
class Solvers::PatientZ3 {
 public:
  PatientZ3() : solver_(z_, z3::solver::simple()) {}

  /// With a bound on Z3's own steps, of which it makes some 10^5 to 10^6 in a second: less than what is
  /// left of the time, which whoever asks in a process of its own has then.
  /// \error z3::exception, std::bad_alloc: it must not be asked again
  [[nodiscard]] Satisfiable ask(const std::string& text, const std::vector<std::string>& names,
                                double seconds, std::map<std::string, Size>& values) {
    constexpr double steps_a_second = 5e4;
    constexpr double least_steps = 2e4;
    constexpr double easy_steps = 1e6;
    const double steps = std::clamp(seconds * steps_a_second, least_steps, easy_steps);
    restrain(z_, solver_,
             [&](z3::params& params) { params.set("rlimit", static_cast<unsigned>(steps)); });
    solver_.push();
    const Satisfiable said = z3_says(z_, solver_, text, names, values);
    solver_.pop();
    return said;
  }

 private:
  z3::context z_;
  z3::solver solver_;
};

Solvers::Solvers() = default;
Solvers::Solvers(Solvers&&) noexcept = default;
Solvers& Solvers::operator=(Solvers&&) noexcept = default;
Solvers::~Solvers() = default;

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
  constexpr double start_seconds = 2;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string text = output_of({path, "--version"}, nothing, start_seconds);
  close(nothing);
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

Satisfiable Solvers::ask_z3(const std::string& text, const std::vector<std::string>& names,
                            double seconds, std::map<std::string, Size>& values) {
  constexpr std::size_t easy_bytes = std::size_t{1} << 20;  // what is longer takes long to read
  if (text.size() <= easy_bytes) {
    Satisfiable easy = Satisfiable::unknown;
    try {
      if (!z3_) z3_ = std::make_unique<PatientZ3>();
      easy = z3_->ask(text, names, seconds, values);
    } catch (const std::exception&) {  // z3's own, out of memory
    }
    if (easy != Satisfiable::unknown) return easy;
    z3_.reset();
    values.clear();
  }
  return ask_z3_apart(text, names, seconds, values);
}

SolverAnswer Solvers::ask(const std::string& text, const std::vector<std::string>& names,
                          const Deadline& deadline) {
  SolverAnswer answer;
  if (choice_ != SolverChoice::cvc5) {
    const auto start = Clock::now();
    const double share = choice_ == SolverChoice::both ? 0.5 : 1;
    answer.z3 = ask_z3(text, names, deadline.seconds_left() * share, answer.values);
    answer.z3_seconds = seconds_since(start);
  }
  if (choice_ != SolverChoice::z3) {
    const auto start = Clock::now();
    std::map<std::string, Size> values;
    const auto said = ask_cvc5(cvc5_, text, names, deadline.seconds_left(), values);
    if (said) {
      answer.cvc5 = *said;
    } else {
      answer.trouble = said.error();
    }
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
