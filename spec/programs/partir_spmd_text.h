/// Reads and prints the text form of terms of PartIR:SPMD, `retile.partir/1` with a mesh.
///
///   text = "retile.partir/1" NL "mesh" axis {"," axis} NL {NAME ":" ints NL} term NL
///   term = NAME | "(" term ")" | "undistribute" operand | ("distribute" | "redistribute") layout operand
///   operand = NAME | "(" term ")"
///
/// Layouts are those of program/layout_text.h. And whether two terms are the same.
#pragma once

#include "../program/layout_text.h"
#include "partir_spmd.h"
#include "partir_text.h"

namespace spec::partir {

constexpr Size most_devices = 64, most_elements_of_terms = 4096;  // all are looked at one by one

/// Tensors in the order in which they stand, and a term of them.
struct TermText {
  std::string mesh;
  std::vector<std::pair<Name, Sizes>> tensors;
  TermGamma gamma;
  Term t;
};

inline bool is_term_word(const Name& x) {
  return x == "distribute" || x == "undistribute" || x == "redistribute";
}

class TermReader : LineReader {
 public:
  explicit TermReader(std::string_view text) : LineReader(text) {}

  /// Whether the second line of a text is a mesh.
  bool has_mesh() {
    return next_content() && accept("retile.partir/1") && peek() == end_of_line && next_content() &&
           word() == "mesh";
  }

  TermText text() {  // throws ParseError
    line();
    expect("retile.partir/1");
    line();
    expect("mesh");
    const ParseError place = here();
    mesh_ = read_positions(*this);
    if (mesh_.count > most_devices) fail(place, "more than 64 devices");
    out_.mesh = written_since(place);
    out_.gamma.D = mesh_.count;
    line();
    while (at_tensor()) {
      tensor();
      line();
    }
    out_.t = term(0);
    if (peek() != end_of_line || next_content()) fail(here(), "unexpected text");
    return std::move(out_);
  }

 private:
  /// What was read, without the blanks behind it.
  std::string written_since(const ParseError& place) const {
    std::string out = since(place);
    while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
    return out;
  }
  void tensor() {
    const ParseError place = here();
    const Name x = name();
    if (is_term_word(x)) fail(place, spec::to_text(x) + " is an operation");
    if (out_.gamma.types.count(x) > 0) {
      fail(place, spec::to_text(x) + " stands for another tensor already");
    }
    expect(":");
    const ParseError shape = here();
    out_.tensors.emplace_back(x, ints(1, most_extent));
    const auto size = product(out_.tensors.back().second);
    if (!size || *size > most_elements_of_terms) fail(shape, "more than 4096 elements");
    out_.gamma.types[x] = out_.tensors.back().second;
  }
  Term term(Index depth) {
    const ParseError place = here();
    if (depth > spmd::most_nested) fail(place, "more than 64 brackets in each other");
    if (accept("(")) {
      Term out = term(depth + 1);
      expect(")");
      return out;
    }
    const Name x = name();
    if (!is_term_word(x)) return named(x);
    if (x == "undistribute") return undistribute(operand(depth));
    const ParseError at = here();
    const Layout tau = read_layout(*this, mesh_);
    const std::string written = written_since(at);
    Term out =
        x == "distribute" ? distribute(tau, operand(depth)) : redistribute(tau, operand(depth));
    out.written = written;
    return out;
  }
  Term operand(Index depth) {
    const ParseError place = here();
    if (peek() == '(') return term(depth);
    const Name x = name();
    if (is_term_word(x)) fail(place, spec::to_text(x) + " is an operation: write it in brackets");
    return named(x);
  }

  Positions mesh_;
  TermText out_;
};

/// Whether a text has a mesh, and so a term of PartIR:SPMD.
inline bool has_mesh(std::string_view text) {
  try {
    return TermReader(text).has_mesh();
  } catch (const ParseError&) {
    return false;
  }
}
/// Reads a text. Throws ParseError.
inline TermText parse_term(std::string_view text) { return TermReader(text).text(); }

inline std::string to_text(const Term& t) {
  if (t.kind == Distribution::variable) return spec::to_text(t.x);
  const Term& arg = t.args[0];
  const bool is_name = arg.kind == Distribution::variable;
  const std::string operand = is_name ? to_text(arg) : "(" + to_text(arg) + ")";
  if (t.kind == Distribution::undistribute) return "undistribute " + operand;
  const bool is_first = t.kind == Distribution::distribute;
  return (is_first ? "distribute " : "redistribute ") + t.written + " " + operand;
}
inline std::string to_text(const TermText& text) {
  std::string out = "retile.partir/1\nmesh " + text.mesh + "\n";
  for (const auto& [x, shape] : text.tensors) {
    out += spec::to_text(x) + " : " + partir::to_text(shape) + "\n";
  }
  return out + to_text(text.t) + "\n";
}

/// Of terms that have types: whether these are the same, and what they denote. Every element of a tensor is a
/// number of its own, and terms only copy them: so what is the same is so for all numbers.
inline bool same_term_types(const TermGamma& gamma, const Term& a, const Term& b) {
  return is_same_type(type_of(gamma, a).value(), type_of(gamma, b).value(), gamma.D);
}
inline bool same_term_values(const TermGamma& gamma, const Term& a, const Term& b) {
  std::map<Name, Denotation<Size>> values;
  Size next = 0;
  for (const auto& [x, type] : gamma.types) {
    values[x] = tensor_of<Size>(std::get<Sizes>(type), [&](const Sizes&) { return ++next; });
  }
  return value_of(gamma, values, a) == value_of(gamma, values, b);
}

}  // namespace spec::partir
