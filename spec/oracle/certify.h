/// retile-oracle certify: whether a Program is right, its facts hold, and no sequence is cheaper.
#pragma once

#include "../program/certify_text.h"
#include "check.h"

namespace spec::oracle {

/// words: certify [--] [CERTIFICATE|-]
inline int certify(const Words& words, std::ostream& out) {
  const auto [source, text, place] = input(words);
  CertificateReader reader(text);
  std::vector<Program> programs;
  try {
    programs = reader.programs();
    if (programs.size() > 1) Tokens::fail({}, "a certificate is for one Program");
  } catch (const ParseError& error) {
    throw Refused{source, text, error};
  }
  const Verdict verdict = spec::check(programs.front());
  if (const int code = print(out, verdict); code != yes) return code;
  const auto undecided_because = [&](const char* why) {
    out << "certified: undecided\nreason: limit\n# undecided: " << why << "\n";
    return undecided;
  };
  if (!reader.facts.empty()) {
    if (const auto at = no_fact(programs.front(), verdict, reader.facts)) {
      out << "certified: false\nwhy: fact\nfact: " << *at << "\n";
      return no;
    }
    if (!reader.has_lines) {
      out << "certified: true\nfacts: " << reader.facts.size() << "\n";
      return yes;
    }
  }
  try {
    Certifier(programs.front(), reader.lines).run();
  } catch (const Unproved& why) {
    out << "certified: false\nwhy: " << why.reason << "\n";
    print(out, "localtype", why.c);
    return no;
  } catch (const TooLarge& what) {
    return undecided_because(what.why);
  } catch (const std::bad_alloc&) {
    return undecided_because("out of memory");
  }
  out << "certified: true\nlower_bound: " << reader.lines.C
      << "\noptimal: " << (verdict.within_bound && verdict.cost == reader.lines.C) << "\n";
  return yes;
}

}  // namespace spec::oracle
