/// Reads a Program and the lines of its certificate.
///
///   line = "lower_bound" INT | "potential" ints INT INT | "refuted" ints rows    (see certify.h)
///        | "scope" "several_dims"                                          (see certify_along.h)
///        | "addends" ints INT INT                                           (see certify_sums.h)
///        | "fact" NAME ints                                                       (see facts.h)
///        | "end"
///
/// What claims something ends with the line `end`. So a text that was cut is none.
#pragma once

#include <utility>

#include "certify_along.h"
#include "facts.h"
#include "text.h"

namespace spec {

class CertificateReader : public ProgramReader {
 public:
  explicit CertificateReader(std::string_view text) : ProgramReader(text) {}
  Certificate lines;
  std::map<Sizes, Size> sums;  // π by localtype and number of addends, of a Program that has these
  /// Of the proof that nothing is cheaper; among steps along several dimensions, too.
  bool has_lines = false, along = false;
  std::vector<Fact> facts;

  /// The one Program, when the text is whole. Of version 2 the tiles are filled in.
  Program program() {  // throws ParseError
    std::vector<Program> all = programs();
    if (all.size() > 1) fail({}, "a certificate is for one Program");
    if (along || all.front().version == 2) scope_is_meant(all.front());
    if (has_lines && !bounded_) fail(here(), "there is no line lower_bound");
    if ((has_lines || !facts.empty()) && !ended_) {
      fail(here(), "the line end is missing: this certificate was cut, or is of an older form");
    }
    return all.front();
  }

 protected:
  bool is_other_line(const Name& word, const ParseError& start) override {
    if (ended_) fail(start, "this stands behind the line end");
    if (word == "end") return ended_ = true;
    if (word == "fact") {
      const Name what = bare_name();
      facts.emplace_back(what, ints());
      return true;
    }
    if (word == "scope") {
      if (along || bare_name() != "several_dims") fail(start, "expected scope several_dims");
      along = true;
    } else if (word == "lower_bound") {
      if (std::exchange(bounded_, true)) fail(here(), "lower_bound stands too often");
      lines.C = integer();
    } else if (word == "potential") {
      const Sizes c = ints(1);
      const Size pi = integer();
      lines.pi[c] = {pi, integer()};
    } else if (word == "refuted") {
      const Sizes b = ints(1);
      lines.refuted.emplace_back(b, list('[', [&] {
                                   const ParseError place = here();
                                   const Sizes ijn = ints();
                                   if (ijn.size() != 3) fail(place, "expected [i,j,n]");
                                   return ijn;
                                 }));
    } else if (word == "addends") {
      Sizes s = ints(1);
      s.push_back(integer(1));
      sums[s] = integer();
    } else {
      return false;
    }
    return has_lines = true;
  }
  void version_2(const ParseError& place) override { version_2_ = place; }

 private:
  void scope_is_meant(Program& program) {
    if (along && !(lines.pi.empty() && lines.refuted.empty() && sums.empty())) {
      fail(here(), "a certificate of scope several_dims has no lines but lower_bound");
    }
    if (program.version == 1) return;
    const bool adds = program.from.layout->addition != Addition::none;
    if (program.view) fail(version_2_, "certify reads no view of the array");
    if (along && adds) fail(version_2_, "scope several_dims says nothing of addends");
    if (!along && !adds) {
      fail(version_2_,
           "certify reads retile.program/1 alone, and /2 where `from` has addends or the scope is "
           "several_dims");
    }
    if (!facts.empty())
      fail(version_2_,
           adds ? "there are no facts about addends" : "there are no facts about version 2");
    for (Tiling* f : {&program.from, &program.to}) {
      f->tile = even_localtype(*f, program.devices).value_or(Sizes());
    }
  }

  ParseError version_2_;
  bool bounded_ = false, ended_ = false;
};

}  // namespace spec
