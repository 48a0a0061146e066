/// retile-oracle certify: whether a Program is right, its facts hold, and no sequence is cheaper.
#pragma once

#include "../program/certify_text.h"
#include "check.h"

namespace spec::oracle {

inline bool is_meant(const Step& step, const CertificateReader& reader) {
  return !step.transfers && (!step.grid || reader.along) && step.adding != Adding::unreduce &&
         step.adding != Adding::embed;
}

/// Whether the Program is proved to be optimal: true, false, or why that is no question. Steps that
/// are none of Fig. 10, such as an exchange, may cost less than any sequence of these.
inline std::string optimal(const Program& program, const Verdict& verdict,
                           const CertificateReader& reader) {
  if (!reader.has_lines) return "not claimed";
  bool comparable = verdict.cost >= reader.lines.C;
  for (const Step& step : program.steps) comparable = comparable && is_meant(step, reader);
  if (!comparable) return "not comparable";
  return verdict.within_bound && verdict.cost == reader.lines.C ? "true" : "false";
}

constexpr const char* paper_scope = "tiles within the bound (4)";
constexpr const char* sums_scope = "reducescatter, allreduce, tiles within the bound (4)";
constexpr const char* along_scope =
    "allgathers and alltoalls along several dimensions, tiles of any size";

/// What is certified of a Program that is right, and of what that speaks.
inline void print(std::ostream& out, const Program& program, const CertificateReader& reader) {
  out << "certified: true\ndevices: " << program.devices << "\n";
  print(out, "global", program.from.global);
  print(out, "from", program.from.tile);
  print(out, "to", program.to.tile);
  if (!reader.facts.empty()) out << "facts: " << reader.facts.size() << "\n";
  if (!reader.has_lines) return;
  out << "scope: allgather, dynslice, alltoall, allpermute (Fig. 10), "
      << (reader.along           ? along_scope
          : program.version == 2 ? sums_scope
                                 : paper_scope)
      << ", cost in elements per device (Fig. 11)\nlower_bound: " << reader.lines.C << "\n";
}

/// The first fact that does not hold, or the first line that proves nothing; yes when there is
/// none.
inline int refute(std::ostream& out, const Program& program, const Verdict& verdict,
                  const CertificateReader& reader) {
  const char* too_large = nullptr;
  try {
    if (!reader.facts.empty()) {
      if (const auto at = no_fact(program, verdict, reader.facts)) {
        out << "certified: false\nwhy: fact\nfact: " << *at << "\n";
        return no;
      }
    }
    if (reader.along) {
      AlongCertifier(program, reader.lines.C).run();
    } else if (reader.has_lines && program.version == 2) {
      SumsCertifier(program, reader.lines.C, reader.sums).run();
    } else if (reader.has_lines) {
      Certifier(program, reader.lines).run();
    }
    return yes;
  } catch (const Unproved& why) {
    out << "certified: false\nwhy: " << why.reason << "\n";
    print(out, program.version > 1 && !reader.along ? "localtype_and_addends" : "localtype", why.c);
    return no;
  } catch (const TooLarge& what) {
    too_large = what.why;
  } catch (const std::bad_alloc&) {
    too_large = "out of memory";
  }
  out << "certified: undecided\nreason: limit\n# undecided: " << too_large << "\n";
  return undecided;
}

/// What the text of a certificate comes to. Throws ParseError.
inline int certify_text(std::string_view text, bool must_be_optimal, std::ostream& out) {
  CertificateReader reader(text);
  const Program program = reader.program();
  const Verdict verdict = spec::check(program);
  if (const int code = print(out, verdict); code != yes) return code;
  const bool claims = reader.has_lines || !reader.facts.empty();
  if (!claims) {
    out << "certified: nothing\n";
  } else if (const int code = refute(out, program, verdict, reader); code != yes) {
    return code;
  } else {
    print(out, program, reader);
  }
  const std::string answer = optimal(program, verdict, reader);
  if (must_be_optimal || reader.has_lines) out << "optimal: " << answer << "\n";
  if (answer == "not comparable") out << "# the Program has steps outside of this scope\n";
  if (must_be_optimal) return answer == "true" ? yes : no;
  return claims ? yes : undecided;
}

/// words: certify [--optimal] [--] [CERTIFICATE|-]
inline int certify(const Words& words, std::ostream& out) {
  Words others = words;
  const auto end = std::find(others.begin(), others.end(), "--");
  const auto option = std::find(others.begin(), end, "--optimal");
  const bool must_be_optimal = option != end;
  if (must_be_optimal) others.erase(option);
  const auto [source, text, place] = input(others);
  try {
    return certify_text(text, must_be_optimal, out);
  } catch (const ParseError& error) {
    throw Refused{source, text, error};
  }
}

}  // namespace spec::oracle
