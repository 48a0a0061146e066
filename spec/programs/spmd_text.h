/// Reads the text form of modules, `retile.spmd/1`.
///
///   module    = "retile.spmd/1" NL "mesh" axis {"," axis} NL
///               "fn" "main" "(" [parameter {"," parameter}] ")" "->" layout {"," layout} NL
///               {NAME "=" op NL} "return" NAME {"," NAME} NL ["denotes" (expr | block) NL]
///   parameter = NAME ":" layout ["below" INT]
///   block     = "{" {NAME "=" expr NL} (expr | "return" NAME {"," NAME}) "}"
///   op        = "spmd" NAME {NAME} "{" (expr | {NAME "=" expr NL} "return" NAME) "}" "as" layout
///             | "redistribute" NAME "as" layout
///   expr      = term | "einsum" STR {term} | ("add" | "mul" | "max" | "min") term term {term}
///             | ("sub" | "div" | "equal") term term | ("neg" | "relu" | "exp" | "sqrt" | "step") term
///             | ("scale" | "fill") ["-"] INT term | ("reduce_sum" | "reduce_max") INT term
///             | "transpose" ints term | "trim" INT INT INT term | "take" INT term term
///   term      = NAME | "(" expr ")"
///
/// Layouts are those of program/layout_text.h, and listed boxes as in program/tiling_text.h. A block
/// may begin and end on lines of its own. Where no term follows an operation, its terms are the names behind
/// `spmd`; in `denotes`, the parameters.
#pragma once

#include "../program/tiling_text.h"
#include "listed_text.h"
#include "operation_words.h"
#include "spmd.h"

namespace spec::spmd {

constexpr Index most_nested = 64;

class ModuleReader : protected Tokens {
 public:
  explicit ModuleReader(std::string_view text) : Tokens(text) {}

  Module module() {  // throws ParseError
    line();
    expect("retile.spmd/1");
    line();
    expect("mesh");
    mesh_ = read_positions(*this);
    out_.devices = mesh_.count;
    mesh_.order = read_order(*this, mesh_.count, mesh_.count - 1);
    line();
    signature();
    statements();
    if (next_content()) {
      out_.denotes_place = here();
      if (bare_name() != "denotes") fail(out_.denotes_place, "expected denotes, or the end");
      arguments_.clear();
      for (const auto& [x, L] : out_.parameters) arguments_.push_back(x);
      denotes();
      if (next_content()) fail(here(), "unexpected text behind the module");
    }
    return std::move(out_);
  }

 private:
  /// The next line that has something, if the current one has nothing left.
  bool next_content() {
    if (peek() != end_of_line) fail(here(), "unexpected text");
    while (next_line()) {
      if (peek() != end_of_line) return true;
    }
    return false;
  }
  void line() {
    if (!next_content()) fail(here(), "the module ends here too early");
  }
  void more() {
    if (peek() == end_of_line) line();
  }

  Name new_name() {
    const ParseError place = here();
    Name x = name();
    if (!names_.insert(x).second) fail(place, to_text(x) + " stands for another value already");
    return x;
  }

  Layout layout() {
    const ParseError place = here();
    Layout out = accept("tile") ? read_listed(*this, out_.devices) : read_layout(*this, mesh_);
    if (out.addition == Addition::stack) fail(place, "a module has no stacks");
    if (const char* why = wrong_layout(out, out_.devices)) fail(place, why);
    return out;
  }

  void denotes() {
    out_.denotes.emplace();
    if (!accept("{")) {
      out_.denotes->e.push_back(expression(0));
    } else {
      more();
      definitions(out_.denotes->body);
      Tokens ahead = *this;
      if (ahead.word() == "return") {
        word();
        items([&] {
          out_.denotes->e.push_back({LocalOp::name, name(), {}, {}});
          return 0;
        });
      } else {
        out_.denotes->e.push_back(expression(0));
      }
      more();
      expect("}");
    }
    if (out_.denotes->e.size() == out_.results.size()) return;
    fail(out_.denotes_place, "this has not as many expressions as main has results");
  }

  void signature() {
    expect("fn");
    expect("main");
    expect("(");
    if (!accept(")")) {
      items([&] {
        const Name x = new_name();
        expect(":");
        out_.parameters.emplace_back(x, layout());
        below(x);
        return 0;
      });
      expect(")");
    }
    expect("->");
    items([&] {
      out_.results.push_back(layout());
      return 0;
    });
  }

  /// ["below" INT]
  void below(const Name& x) {
    const ParseError place = here();
    if (!accept("below")) return;
    const Size n = integer();
    if (n < 1) fail(place, "indices are below a number from 1 on");
    if (out_.parameters.back().second.addition != Addition::none) {
      fail(place, "an array of indices has no addends");
    }
    out_.below[x] = n;
  }

  void statements() {
    for (;;) {
      line();
      out_.return_place = here();
      if (is_return()) return;
      const Name y = new_name();
      expect("=");
      const ParseError place = here();
      const Name word = bare_name();
      if (word == "spmd") {
        out_.body.push_back({y, spmd(), place});
      } else if (word == "redistribute") {
        const Name x = name();
        expect("as");
        out_.body.push_back({y, RedistributeStatement{x, layout()}, place});
      } else {
        fail(place, "expected spmd or redistribute");
      }
    }
  }
  bool is_return() {
    Tokens ahead = *this;
    if (ahead.word() != "return" || ahead.peek() == '=') return false;
    word();
    std::set<Name> seen;
    items([&] {
      out_.returned.push_back(name());
      if (!seen.insert(out_.returned.back()).second)
        fail(out_.return_place, "this is returned twice");
      return 0;
    });
    if (out_.returned.size() != out_.results.size()) {
      fail(out_.return_place, "main returns another number of values");
    }
    return true;
  }

  SpmdStatement spmd() {
    SpmdStatement out;
    while (peek() != '{') out.x.push_back(name());
    expect("{");
    more();
    arguments_ = out.x;
    definitions(out.body);
    Tokens ahead = *this;
    if (ahead.word() == "return") {
      word();
      out.e = {LocalOp::name, name(), {}, {}};
    } else {
      out.e = expression(0);
    }
    more();
    expect("}");
    expect("as");
    out.layout = layout();
    return out;
  }
  void definitions(std::vector<std::pair<Name, LocalExpression>>& out) {
    while (at_definition()) {
      const Name y = name();
      expect("=");
      out.emplace_back(y, expression(0));
      line();
    }
  }
  bool at_definition() const {
    Tokens ahead = *this;
    if (ahead.peek() == end_of_line || ahead.peek() == '(') return false;
    return !ahead.name().empty() && ahead.peek() == '=';
  }

  /// Behind an operation: at least so many, or just as many.
  void terms(LocalExpression& out, Index least, bool is_list, Index depth) {
    const ParseError place = here();
    if (!at_term()) {
      for (const Name& x : arguments_) out.args.push_back({LocalOp::name, x, {}, {}});
    }
    while (at_term() && (is_list || out.args.size() < least)) out.args.push_back(term(depth));
    if (out.args.size() < least || (!is_list && out.args.size() != least)) {
      fail(place, "there are not as many operands as the operation has");
    }
  }
  bool at_term() { return peek() != end_of_line && peek() != '}' && peek() != ')'; }
  LocalExpression term(Index depth) {
    if (!accept("(")) return {LocalOp::name, name(), {}, {}};
    LocalExpression out = expression(depth + 1);
    expect(")");
    return out;
  }
  LocalExpression expression(Index depth) {
    const ParseError place = here();
    if (depth > most_nested) fail(place, "more than 64 brackets in each other");
    if (peek() == '(') return term(depth);
    const Name word = name();
    const OperationRow* const row = operation_named(word);
    if (row == nullptr && at_term()) fail(place, "there is no operation " + word);
    if (row == nullptr) return {LocalOp::name, word, {}, {}};
    LocalExpression out = {row->op};
    if (row->op == LocalOp::einsum) return einsum(std::move(out), depth);
    if (row->op == LocalOp::transpose) out.numbers = ints();
    for (Index k = 0; k < row->numbers; ++k) {
      const bool has_sign = row->op != LocalOp::trim && row->op != LocalOp::take;
      const bool is_negative = has_sign && accept("-");
      out.numbers.push_back(is_negative ? -integer() : integer());
    }
    const bool is_list = row->args == 2 && row->op != LocalOp::sub && row->op != LocalOp::div &&
                         row->op != LocalOp::equal && row->op != LocalOp::take;
    terms(out, row->args, is_list, depth);
    return out;
  }
  LocalExpression einsum(LocalExpression out, Index depth) {
    const ParseError place = here();
    if (peek() != '"') fail(place, "expected subscripts in quotes");
    out.x = name();
    const auto subscripts = einsum_of(out.x);
    if (!subscripts) fail(place, "these are no subscripts");
    terms(out, subscripts->in.size(), false, depth);
    return out;
  }

  Module out_;
  Positions mesh_;
  std::vector<Name> arguments_;  // of the block that is read, or of main
  std::set<Name> names_;
};

/// Reads a module. Throws ParseError.
inline Module parse_module(std::string_view text) { return ModuleReader(text).module(); }

/// Whether the first word says that it is one.
inline bool is_module(std::string_view text) {
  Tokens in(text);
  while (in.next_line()) {
    if (in.peek() != Tokens::end_of_line) return in.accept("retile.spmd/1");
  }
  return false;
}

}  // namespace spec::spmd
