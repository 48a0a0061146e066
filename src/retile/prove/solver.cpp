#include "retile/prove/solver.h"

#include <fmt/format.h>
#include <z3++.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace retile {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

unsigned milliseconds(double seconds) {
  return static_cast<unsigned>(std::clamp(std::ceil(seconds * 1000), 1.0, 4e9));
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), count);
  }
  pclose(pipe);
  return output;
}

/// A word for the shell, whatever is in it.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char letter : word) out += letter == '\'' ? "'\\''" : std::string(1, letter);
  return out + "'";
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

Satisfiable ask_z3(const std::string& text, const std::vector<std::string>& names, double seconds,
                   std::map<std::string, Size>& values) {
  z3::context z;
  z3::solver solver(z, "QF_LIA");
  z3::params params(z);
  params.set("timeout", milliseconds(seconds));
  solver.set(params);
  try {
    solver.from_string(text.c_str());
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
  } catch (const z3::exception&) {  // out of memory, an interrupt
    return Satisfiable::unknown;
  }
}

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

Satisfiable ask_cvc5(const std::string& path, const std::string& text,
                     const std::vector<std::string>& names, double seconds,
                     std::map<std::string, Size>& values) {
  const ScratchFile file(complete_query("", text, names));
  const std::string output =
      output_of(fmt::format("{} --lang=smt2 --produce-models --tlimit={} {} 2>/dev/null",
                            quoted(path), milliseconds(seconds), quoted(file.path())));
  const std::string first = output.substr(0, output.find('\n'));
  if (first == "unsat") return Satisfiable::no;
  if (first != "sat") return Satisfiable::unknown;
  read_values(output.substr(first.size()), values);
  return Satisfiable::yes;
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
  const std::string text = output_of(quoted(path) + " --version 2>/dev/null");
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
