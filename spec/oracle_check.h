/// retile-oracle check: whether Programs are right, by replaying them element by element.
#pragma once

#include <fstream>

#include "check.h"
#include "oracle_common.h"
#include "program_text.h"

namespace spec::oracle {

inline int print(std::ostream& out, const Verdict& verdict) {
  const auto list = [&](const char* name, const std::optional<Sizes>& numbers) {
    out << name << ": " << (numbers ? "[" : "null");
    for (Index i = 0; numbers && i < numbers->size(); ++i)
      out << (i > 0 ? "," : "") << (*numbers)[i];
    out << (numbers ? "]\n" : "\n");
  };
  if (!verdict.decided) {
    out << "right: undecided\nreason: limit\n";
    return undecided;
  }
  out << std::boolalpha << "right: " << verdict.right << "\nwithin_bound: " << verdict.within_bound
      << "\nheight: " << verdict.height << "\nbound: " << verdict.bound
      << "\ncost: " << verdict.cost << "\nsteps: " << verdict.steps << "\n";
  if (verdict.right) return yes;
  const Wrong& wrong = *verdict.wrong;
  out << "first_wrong_step: " << wrong.first_wrong_step << "\nreason: " << wrong.reason
      << "\ndevice: " << (wrong.device ? std::to_string(*wrong.device) : "null") << "\n";
  list("at", wrong.at);
  list("element", wrong.element);
  list("found", wrong.found);
  return no;
}

/// words: check [PROGRAM|-]
inline int check(const Words& words, std::ostream& out) {
  const std::string path = words.size() > 1 ? words[1] : "-";
  if (path.rfind('-', 0) == 0 && path != "-") refuse(words, 1, "check has no option " + path);
  if (words.size() > 2) refuse(words, 2, "expected one file, or - for standard input");
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  in.peek();  // a directory opens, but cannot be read
  if (in.bad() || (path != "-" && !file.is_open())) refuse(words, 1, "cannot read " + path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const Programs programs = parse_programs(text);
  if (programs.error) throw Refused{path == "-" ? "<stdin>" : path, text, *programs.error};
  int code = yes;
  for (const Program& program : programs.programs) {
    if (&program != &programs.programs.front()) out << "\n";
    code = std::max(code, print(out, spec::check(program)));
  }
  return code;
}

}  // namespace spec::oracle
