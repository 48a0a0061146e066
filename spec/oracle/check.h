/// retile-oracle check: whether Programs are right, by replaying them element by element.
#pragma once

#include <fstream>

#include "../program/check.h"
#include "../program/text.h"
#include "check_module.h"

namespace spec::oracle {

inline int print(std::ostream& out, const Verdict& verdict) {
  if (!verdict.decided) {
    out << "right: undecided\nreason: limit\n# undecided: " << verdict.why_undecided << "\n";
    return undecided;
  }
  out << std::boolalpha << "right: " << verdict.right << "\nwithin_bound: " << verdict.within_bound
      << "\nheight: " << verdict.height << "\nbound: " << verdict.bound
      << "\ncost: " << verdict.cost << "\nsteps: " << verdict.steps << "\n";
  if (verdict.right) return yes;
  const Wrong& wrong = *verdict.wrong;
  out << "first_wrong_step: " << wrong.first_wrong_step << "\nreason: " << wrong.reason
      << "\ndevice: " << (wrong.device ? std::to_string(*wrong.device) : "null") << "\n";
  print(out, "at", wrong.at);
  print(out, "element", wrong.element);
  print(out, "found", wrong.found);
  if (wrong.addend) out << "addend: " << *wrong.addend << "\ntimes: " << *wrong.times << "\n";
  if (wrong.replica) {
    out << "replica: " << *wrong.replica << "\nreplica_times: " << *wrong.replica_times << "\n";
  }
  return no;
}

inline std::string file_text(const Words& words, Index at) {
  std::ifstream file(words[at], std::ios::binary);
  file.peek();  // a directory opens, but cannot be read
  if (!file.is_open() || file.bad()) refuse(words, at, "cannot read " + words[at]);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What stands in the file that VERB [--] [FILE|-] names; nothing is wrong there yet.
inline Refused input(const Words& words) {
  const bool ended = words.size() > 1 && words[1] == "--";  // the options
  const Index at = ended ? 2 : 1;
  const std::string path = words.size() > at ? words[at] : "-";
  const bool is_option = !ended && path != "-" && path.rfind('-', 0) == 0;
  if (is_option) refuse(words, at, words[0] + " has no option " + path);
  if (words.size() > at + 1) refuse(words, at + 1, "expected one file, or - for standard input");
  if (path == "-") return {"<stdin>", standard_input(words), {}};
  return {path, file_text(words, at), {}};
}

inline int check(const Words& words, std::ostream& out) {
  const auto [source, text, place] = input(words);
  if (spmd::is_module(text)) return check_module({source, text, {}}, out);
  const Programs programs = parse_programs(text);
  if (programs.error) throw Refused{source, text, *programs.error};
  int code = yes;
  for (const Program& program : programs.programs) {
    if (&program != &programs.programs.front()) out << "\n";
    code = std::max(code, print(out, spec::check(program)));
  }
  return code;
}

}  // namespace spec::oracle
