/// retile-oracle: the paper's own definitions as a command.
///
/// `check` reads Programs and says whether they are right, by replaying them element by element.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "check.h"
#include "program_text.h"

#ifndef RETILE_VERSION
#define RETILE_VERSION "(no version)"
#endif

namespace {

enum Exit { yes = 0, no = 1, usage_or_syntax = 2, undecided = 3, environment = 4 };

constexpr const char* help = R"(usage: retile-oracle check [PROGRAM|-] | --help | --version

Reads Programs in the text form retile.program/1 from a file, or from standard input, and replays
each one: an array of global indices per device, moved element by element. Prints, per Program, the
lines right, within_bound, height, bound, cost and steps; when it is wrong also first_wrong_step,
reason, device, at (local index), element (global index expected there) and found.

Dimensions are first divided by the gcd of all tile extents along them: blocks move whole. A Program
that still has more than 2^28 elements on all devices together is undecided.

Exit codes: 0 right, 1 wrong, 2 usage or syntax error, 3 undecided, 4 out of memory or no output.
Of several Programs the largest code counts.

Examples:
  retile-oracle check program.txt
  my-partitioner --print-program | retile-oracle check
  printf '%s\n' retile.program/1 'mesh x:2' 'from [2{x}4]' 'to [4]' \
    'allgather dim=0 groups=[[0,1]]' | retile-oracle check -
)";

void print(std::ostream& out, const char* name, const std::optional<spec::Sizes>& list) {
  out << name << ": " << (list ? "[" : "null");
  for (spec::Index i = 0; list && i < list->size(); ++i) out << (i > 0 ? "," : "") << (*list)[i];
  out << (list ? "]\n" : "\n");
}

int print(std::ostream& out, const spec::Verdict& verdict) {
  const auto word = [](bool value) { return value ? "true" : "false"; };
  if (!verdict.decided) {
    out << "right: undecided\nreason: limit\n";
    return undecided;
  }
  out << "right: " << word(verdict.right) << "\nwithin_bound: " << word(verdict.within_bound)
      << "\nheight: " << verdict.height << "\nbound: " << verdict.bound
      << "\ncost: " << verdict.cost << "\nsteps: " << verdict.steps << "\n";
  if (verdict.right) return yes;
  const spec::Wrong& wrong = *verdict.wrong;
  out << "first_wrong_step: " << wrong.first_wrong_step << "\nreason: " << wrong.reason
      << "\ndevice: " << (wrong.device ? std::to_string(*wrong.device) : "null") << "\n";
  print(out, "at", wrong.at);
  print(out, "element", wrong.element);
  print(out, "found", wrong.found);
  return no;
}

/// The line with the error, at most 80 characters around it, and a caret below.
void explain(const std::string& name, const std::string& text, const spec::ParseError& error) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 0; number < error.line && std::getline(lines, line);) ++number;
  const std::size_t column = error.column - 1, first = column > 60 ? column - 60 : 0;
  line = first < line.size() ? line.substr(first, 80) : "";
  for (char& c : line) c = ' ' <= c && c <= '~' ? c : ' ';
  std::cerr << "error: " << name << ":" << error.line << ":" << error.column << ": "
            << error.message << "\n  " << line << "\n  " << std::string(column - first, ' ')
            << "^\n";
}

int check(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::error_code ignored;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, ignored)) {
      std::cerr << "error: cannot read " << path << "\n";
      return usage_or_syntax;
    }
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const spec::Programs programs = spec::parse_programs(text);
  if (programs.error) {
    explain(path == "-" ? "<stdin>" : path, text, *programs.error);
    return usage_or_syntax;
  }
  std::ostringstream out;
  int code = yes;
  for (const spec::Program& program : programs.programs) {
    if (&program != &programs.programs.front()) out << "\n";
    code = std::max(code, print(out, spec::check(program)));
  }
  std::cout << out.str() << std::flush;
  if (!std::cout) {
    std::cerr << "error: cannot write to standard output\n";
    return environment;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const std::string& word : words) {
    if (word != "--help" && word != "-h" && word != "--version") continue;
    std::cout << (word == "--version" ? "retile-oracle " RETILE_VERSION "\n" : help) << std::flush;
    return std::cout ? yes : environment;
  }
  const bool has_path = words.size() == 2 && (words[1] == "-" || words[1].rfind('-', 0) != 0);
  if (words.empty() || words[0] != "check" || (words.size() > 1 && !has_path)) {
    std::cerr << "error: expected check [PROGRAM|-]; see retile-oracle --help\n";
    return usage_or_syntax;
  }
  try {
    return check(has_path ? words[1] : "-");
  } catch (const std::exception& error) {  // such as std::bad_alloc
    std::cerr << "error: " << error.what() << "\n";
    return environment;
  }
}
