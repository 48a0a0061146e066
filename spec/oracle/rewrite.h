/// retile-oracle rewrite: PartIR's rules, each with the proof that types and values stay.
#pragma once

#include "../programs/partir_judge.h"
#include "../programs/partir_spmd_text.h"
#include "check.h"
#include "rewrite_rules.h"

namespace spec::oracle {

/// The options of rewrite, and its file.
struct Rewriting {
  bool lists = false;
  std::optional<Index> rule, to, file;  // words
  const RuleRow* row = nullptr;
  partir::Path at;
  std::string at_text;
  RuleWords words;
  bool has_dim = false, has_range = false;
};

/// A word that is tokens to its end.
template <class Read>
void read_word(const Words& words, Index at, const Read& read) {
  if (at >= words.size()) refuse(words, at, words[at - 1] + " needs a value");
  Tokens in(words[at]);
  try {
    in.next_line();
    read(in);
    if (in.peek() != Tokens::end_of_line) Tokens::fail(in.here(), "unexpected text");
  } catch (const ParseError& error) {
    refuse(words, at, error.message);
  }
}

inline Rewriting read_rewriting(const Words& words) {
  Rewriting out;
  bool ended = false;  // the options
  for (Index k = 1; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (!ended && word == "--") {
      ended = true;
    } else if (ended) {
      if (out.file) refuse(words, k, "expected one file, or - for standard input");
      out.file = k;
    } else if (word == "--rules") {
      out.lists = true;
    } else if (word == "--rule") {
      out.rule = ++k;
      if (k >= words.size()) refuse(words, k, "--rule needs a name");
      for (const RuleRow& row : rules()) {
        if (row.name == words[k]) out.row = &row;
      }
      if (out.row == nullptr) refuse(words, k, "no rule is called so: --rules lists them");
    } else if (word == "--to") {
      out.to = ++k;
      if (k >= words.size()) refuse(words, k, "--to needs a file");
    } else if (word == "--at") {
      read_word(words, ++k, [&](Tokens& in) {
        out.at = in.items([&] { return static_cast<Index>(in.integer()); });
        out.at_text = words[k];
      });
    } else if (word == "--dim") {
      read_word(words, ++k, [&](Tokens& in) { out.words.d = static_cast<Index>(in.integer()); });
      out.has_dim = true;
    } else if (word == "--range") {
      read_word(words, ++k, [&](Tokens& in) {
        out.words.r = in.name();
        in.expect(":");
        out.words.w = in.integer(1, partir::most_extent);
      });
      out.has_range = true;
    } else if (word != "-" && word.rfind('-', 0) == 0) {
      refuse(words, k, "rewrite has no option " + word);
    } else if (out.file) {
      refuse(words, k, "expected one file, or - for standard input");
    } else {
      out.file = k;
    }
  }
  if (out.lists) return out;
  if (out.rule.has_value() == out.to.has_value()) {
    refuse(words, words.size(), "expected --rule NAME, --to FILE or --rules");
  }
  const std::string needed = out.row != nullptr ? out.row->words : "";
  if ((needed.find("--dim") != std::string::npos) != out.has_dim ||
      (needed.find("--range") != std::string::npos) != out.has_range) {
    refuse(words, words.size(),
           std::string(out.row != nullptr ? out.row->name : "--to") +
               (needed.empty() ? " takes no --dim and no --range" : " takes " + needed));
  }
  return out;
}

/// A text whose expression has a type.
inline partir::Text read_partir(const std::string& source, const std::string& text) {
  try {
    partir::Text out = partir::parse_text(text);
    if (partir::type_of({partir::types_of(out), {}}, out.e)) return out;
  } catch (const ParseError& error) {
    throw Refused{source, text, error};
  }
  throw Refused{source, text, {1, 1, "the expression has no type"}};
}
/// A file's name and what is in it.
inline std::pair<std::string, std::string> partir_text(const Words& words,
                                                       std::optional<Index> at) {
  if (!at || words[*at] == "-") return {"<stdin>", standard_input(words)};
  return {words[*at], file_text(words, *at)};
}

/// What is the same of two expressions, as comments.
inline int print(std::ostream& out, const partir::Sameness& same) {
  using Values = partir::Sameness::Values;
  const auto type = [](const std::optional<Sizes>& s) { return s ? partir::to_text(*s) : "none"; };
  out << "# type: " << type(same.before);
  if (same.before != same.after) {
    out << ", and then " << type(same.after) << "\n";
    return no;
  }
  out << ", before and after\n# values: ";
  switch (same.values) {
    case Values::all_numbers:
      out << "the same for all numbers\n";
      return yes;
    case Values::drawn:
      out << "the same modulo 2^31 - 1, for numbers that are drawn " << partir::draws << " times\n";
      return yes;
    case Values::different:
      out << "different at element " << partir::to_text(*same.element) << "\n";
      return no;
    default:
      out << "undecided: " << same.why_undecided << "\n";
      return undecided;
  }
}

inline std::vector<partir::Path> paths(const partir::Expression& e) {
  std::vector<partir::Path> out = {{}};
  for (Index k = 0; k < e.args.size(); ++k) {
    for (partir::Path path : paths(e.args[k])) {
      path.insert(path.begin(), k);
      out.push_back(path);
    }
  }
  return out;
}

inline bool is_path(const partir::Expression& e, const partir::Path& path) {
  const partir::Expression* part = &e;
  for (const Index k : path) {
    if (k >= part->args.size()) return false;
    part = &part->args[k];
  }
  return true;
}

/// Where the rule does apply.
inline void print_places(std::ostream& out, const partir::Text& text, const partir::Rule& rule) {
  std::string places;
  for (const partir::Path& path : paths(text.e)) {
    if (!partir::rewrite({partir::types_of(text), {}}, text.e, path, rule)) continue;
    std::string place;
    for (const Index k : path) place += (place.empty() ? "" : ",") + std::to_string(k);
    places += (places.empty() ? "" : "; ") + (place.empty() ? "the whole" : place);
  }
  out << "# applies at: " << (places.empty() ? "no part" : places) << "\n";
}

// Terms of PartIR:SPMD, whose texts have a mesh.

/// A text whose term has a type.
inline partir::TermText read_term(const std::string& source, const std::string& text) {
  try {
    partir::TermText out = partir::parse_term(text);
    if (partir::type_of(out.gamma, out.t)) return out;
  } catch (const ParseError& error) {
    throw Refused{source, text, error};
  }
  throw Refused{source, text, {1, 1, "the term has no type"}};
}

/// What is the same of two terms, as comments.
inline int print_same(std::ostream& out, const partir::TermGamma& gamma, const partir::Term& before,
                      const partir::Term& after) {
  if (!partir::same_term_types(gamma, before, after)) {
    out << "# type: another one\n";
    return no;
  }
  const bool same = partir::same_term_values(gamma, before, after);
  out << "# type: the same\n# values: " << (same ? "the same for all numbers" : "different")
      << "\n";
  return same ? yes : no;
}

/// Of a term, the part at a path after the rule; nullopt where it does not apply there.
inline std::optional<partir::Term> rewritten(const partir::TermGamma& gamma, partir::Term t,
                                             const partir::Path& path, const TermRule& rule) {
  if (path.empty()) return rule(gamma, t);
  if (path[0] >= t.args.size()) return std::nullopt;
  const auto arg =
      rewritten(gamma, t.args[path[0]], partir::Path(path.begin() + 1, path.end()), rule);
  if (!arg) return std::nullopt;
  t.args[path[0]] = *arg;
  return t;
}

/// Where the rule does apply: a term has one part in each depth.
inline void print_term_places(std::ostream& out, const partir::TermText& text,
                              const TermRule& rule) {
  std::string places, place;
  partir::Path path;
  for (const partir::Term* part = &text.t;; part = &part->args[0]) {
    if (rule != nullptr && rewritten(text.gamma, text.t, path, rule)) {
      places += (places.empty() ? "" : "; ") + (place.empty() ? "the whole" : place);
    }
    if (part->args.empty()) break;
    place += place.empty() ? "0" : ",0";
    path.push_back(0);
  }
  out << "# applies at: " << (places.empty() ? "no part" : places) << "\n";
}

inline int rewrite_term(const Rewriting& it, const partir::TermText& text,
                        const std::optional<std::pair<std::string, std::string>>& to,
                        std::ostream& out) {
  if (to) {
    const partir::TermText other = read_term(to->first, to->second);
    const auto tensors_of = [](const partir::TermText& one) {
      return std::map<Name, Sizes>(one.tensors.begin(), one.tensors.end());
    };
    if (tensors_of(other) != tensors_of(text) || other.gamma.D != text.gamma.D) {
      out << "no: the tensors are others\n";
      return no;
    }
    return print_same(out, text.gamma, text.t, other.t);
  }
  const std::string place = it.at.empty() ? "the whole" : "part " + it.at_text;
  const auto t = it.row->of_terms == nullptr
                     ? std::nullopt
                     : rewritten(text.gamma, text.t, it.at, it.row->of_terms);
  if (!t) {
    out << "no: " << it.row->name << " does not apply to " << place << "\n# " << it.row->rule
        << "\n# needs: " << it.row->needs << "\n";
    print_term_places(out, text, it.row->of_terms);
    return no;
  }
  partir::TermText after = text;
  after.t = *t;
  out << partir::to_text(after) << "# " << it.row->name << ", " << place << "\n";
  return print_same(out, text.gamma, text.t, *t);
}

/// words: rewrite [FILE|-] (--rule NAME [--at PATH] [--dim D] [--range r:w] | --to FILE), or --rules
inline int rewrite(const Words& words, std::ostream& out) {
  const Rewriting it = read_rewriting(words);
  if (it.lists) {
    print_rules(out);
    return yes;
  }
  const auto [source, content] = partir_text(words, it.file);
  if (partir::has_mesh(content)) {
    const auto to = it.to ? std::optional(partir_text(words, it.to)) : std::nullopt;
    return rewrite_term(it, read_term(source, content), to, out);
  }
  const partir::Text text = read_partir(source, content);
  const auto tensors = partir::types_of(text);
  if (it.to) {
    const auto [other_source, other_content] = partir_text(words, it.to);
    const partir::Text other = read_partir(other_source, other_content);
    if (partir::types_of(other) != tensors) {
      out << "no: the tensors are others\n";
      return no;
    }
    const auto same = partir::sameness(tensors, text.e, other.e);
    return print(out, same);
  }
  if (!is_path(text.e, it.at))
    refuse(words, words.size(), "the expression has no part " + it.at_text);
  const partir::Rule rule = it.row->made(it.words);
  const auto e = partir::rewrite({tensors, {}}, text.e, it.at, rule);
  const std::string place = it.at.empty() ? "the whole" : "part " + it.at_text;
  if (!e) {
    out << "no: " << it.row->name << " does not apply to " << place << "\n# " << it.row->rule
        << "\n# needs: " << it.row->needs << "\n";
    print_places(out, text, rule);
    return no;
  }
  out << partir::to_text(partir::Text{text.tensors, *e}) << "# " << it.row->name << ", " << place
      << "; for all shapes: " << it.row->proofs << "\n";
  return print(out, partir::sameness(tensors, text.e, *e));
}

}  // namespace spec::oracle
