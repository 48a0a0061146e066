/// retile-oracle certify: whether a Program is right, and whether no sequence is cheaper.
#pragma once

#include "certify_text.h"
#include "oracle_check.h"

namespace spec::oracle {

/// words: certify [CERTIFICATE|-]
inline int certify(const Words& words, std::ostream& out) {
  if (words.size() > 2) refuse(words, 2, "expected one file, or - for standard input");
  const std::string path = words.size() > 1 && words[1] != "-" ? words[1] : "/dev/stdin";
  std::ifstream file(path, std::ios::binary);
  file.peek();  // a directory opens, but cannot be read
  if (!file.is_open() || file.bad()) refuse(words, 1, "cannot read " + path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  CertificateReader reader(text);
  std::vector<Program> programs;
  try {
    programs = reader.programs();
    if (programs.size() > 1) Tokens::fail({}, "a certificate is for one Program");
  } catch (const ParseError& error) {
    throw Refused{path, text, error};
  }
  const Verdict verdict = spec::check(programs.front());
  const int code = print(out, verdict);
  if (code != yes) return code;
  try {
    Certifier(programs.front(), reader.lines).run();
  } catch (const Unproved& why) {
    out << "certified: false\nwhy: " << why.reason << "\nlocaltype: [";
    for (Index i = 0; i < why.c.size(); ++i) out << (i > 0 ? "," : "") << why.c[i];
    out << "]\n";
    return no;
  }
  out << "certified: true\nlower_bound: " << reader.lines.C
      << "\noptimal: " << (verdict.within_bound && verdict.cost == reader.lines.C) << "\n";
  return yes;
}

}  // namespace spec::oracle
