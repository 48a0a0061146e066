/// Reads and prints the text form of PartIR's expressions, `retile.partir/1`.
///
///   text = "retile.partir/1" NL {NAME ":" ints NL} expr NL
///   expr = NAME | "(" expr ")" | "matmul" term term | "slice" INT term "[" NAME "]"
///        | "tile" INT body | "sum" body | operation {number} term {term}
///   body = "(" "\" NAME ":" "range" "<" INT "," INT ">" "->" expr ")"
///   term = NAME | "(" expr ")"
///
/// The operations are those of modules (spmd_text.h); add of two operands and relu are those of the talk.
#pragma once

#include "partir_rules.h"
#include "spmd_text.h"

namespace spec::partir {

constexpr Index most_nested_ranges = 8;  // a body has a type at up to two widths of each
constexpr Index most_parts = 1024;
constexpr Size most_extent = Size{1} << 20;

/// Tensors in the order in which they stand, and an expression of them.
struct Text {
  std::vector<std::pair<Name, Sizes>> tensors;
  Expression e;
};

inline std::map<Name, Sizes> types_of(const Text& text) {
  return {text.tensors.begin(), text.tensors.end()};
}

inline bool is_word(const Name& x) {
  return x == "matmul" || x == "slice" || x == "tile" || x == "sum" ||
         spmd::operation_named(x) != nullptr;
}

/// Lines that have something, the first of them of tensors.
class LineReader : protected Tokens {
 protected:
  explicit LineReader(std::string_view text) : Tokens(text) {}

  bool next_content() {
    while (next_line()) {
      if (peek() != end_of_line) return true;
    }
    return false;
  }
  void line() {
    if (peek() != end_of_line) fail(here(), "unexpected text");
    if (!next_content()) fail(here(), "the text ends here too early");
  }
  bool at_tensor() const {
    Tokens ahead = *this;
    if (ahead.peek() == '(') return false;
    return !ahead.name().empty() && ahead.peek() == ':';
  }
};

class TextReader : LineReader {
 public:
  explicit TextReader(std::string_view text) : LineReader(text) {}

  Text text() {  // throws ParseError
    line();
    expect("retile.partir/1");
    line();
    while (at_tensor()) {
      tensor();
      line();
    }
    out_.e = expression(0, 0);
    if (peek() != end_of_line || next_content()) fail(here(), "unexpected text");
    return std::move(out_);
  }

 private:
  void tensor() {
    const ParseError place = here();
    const Name x = name();
    if (is_word(x)) fail(place, to_text(x) + " is an operation");
    if (types_of(out_).count(x) > 0) fail(place, to_text(x) + " stands for another tensor already");
    expect(":");
    out_.tensors.emplace_back(x, ints(1, most_extent));
  }

  Expression term(Index depth, Index ranges) {
    const ParseError place = here();
    if (accept("(")) {
      const Expression out = expression(depth + 1, ranges);
      expect(")");
      return out;
    }
    const Name x = name();
    if (is_word(x)) fail(place, to_text(x) + " is an operation: write it in brackets");
    count(place);
    return variable(x);
  }
  void count(const ParseError& place) {
    if (++parts_ > most_parts) fail(place, "more than 1024 parts of an expression");
  }

  Expression expression(Index depth, Index ranges) {
    const ParseError place = here();
    if (depth > spmd::most_nested) fail(place, "more than 64 brackets in each other");
    Tokens ahead = *this;
    if (peek() == '(' || !is_word(ahead.name())) return term(depth, ranges);
    count(place);
    const Name word = name();
    if (word == "matmul") {
      const Expression x = term(depth, ranges);
      return matmul(x, term(depth, ranges));
    }
    if (word == "slice") {
      const auto d = static_cast<Index>(integer());
      const Expression x = term(depth, ranges);
      expect("[");
      const Name r = name();
      expect("]");
      return slice(d, x, r);
    }
    if (word == "tile" || word == "sum") {
      Expression out = {word == "tile" ? Kind::tile : Kind::sum};
      if (word == "tile") out.d = static_cast<Index>(integer());
      return over_range(out, depth, ranges);
    }
    return operation_of(*spmd::operation_named(word), depth, ranges);
  }

  /// (\r:range<n,w> -> e)
  Expression over_range(Expression out, Index depth, Index ranges) {
    const ParseError place = here();
    if (ranges == most_nested_ranges) fail(place, "more than 8 ranges in each other");
    expect("(");
    expect("\\");
    out.x = name();
    expect(":");
    expect("range");
    expect("<");
    out.range.n = integer(1, most_extent);
    expect(",");
    out.range.w = integer(1, most_extent);
    expect(">");
    expect("->");
    out.args = {expression(depth + 1, ranges + 1)};
    expect(")");
    return out;
  }

  Expression operation_of(const spmd::OperationRow& row, Index depth, Index ranges) {
    spmd::LocalExpression op = {row.op, "", {}, {}};
    const ParseError place = here();
    Index least = row.args;
    // Nothing here says of values that they are whole numbers in a range.
    if (row.op == spmd::LocalOp::take) fail(place, "take has indices, which no value here is");
    if (row.op == spmd::LocalOp::einsum) {
      if (peek() != '"') fail(place, "expected subscripts in quotes");
      op.x = name();
      const auto subscripts = spmd::einsum_of(op.x);
      if (!subscripts) fail(place, "these are no subscripts");
      least = subscripts->in.size();
    }
    if (row.op == spmd::LocalOp::transpose) op.numbers = ints();
    for (Index k = 0; k < row.numbers; ++k) {
      const bool is_negative = row.op != spmd::LocalOp::trim && accept("-");
      op.numbers.push_back(is_negative ? -integer() : integer());
    }
    const bool is_list =
        row.args == 2 && row.op != spmd::LocalOp::sub && row.op != spmd::LocalOp::div;
    std::vector<Expression> args;
    while (at_term() && (is_list || args.size() < least)) args.push_back(term(depth, ranges));
    if (args.size() < least) fail(place, "there are not as many operands as the operation has");
    if (row.op == spmd::LocalOp::relu) return relu(args[0]);
    if (row.op == spmd::LocalOp::add && args.size() == 2) return add(args[0], args[1]);
    return operation(op, args);
  }
  bool at_term() { return peek() != end_of_line && peek() != ')' && peek() != '['; }

  Text out_;
  Index parts_ = 0;
};

/// Reads a text. Throws ParseError.
inline Text parse_text(std::string_view text) { return TextReader(text).text(); }

inline std::string to_text(const Sizes& s) {
  std::string out = "[";
  for (Index i = 0; i < s.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(s[i]);
  return out + "]";
}

inline std::string to_text(const Expression& e) {
  using spec::to_text;
  std::string args;
  for (const Expression& arg : e.args) {
    const bool is_name = arg.kind == Kind::variable;
    args += " " + (is_name ? to_text(arg.x) : "(" + partir::to_text(arg) + ")");
  }
  const std::string d = " " + std::to_string(e.d);
  switch (e.kind) {
    case Kind::variable:
      return to_text(e.x);
    case Kind::matmul:
      return "matmul" + args;
    case Kind::add:
      return "add" + args;
    case Kind::relu:
      return "relu" + args;
    case Kind::slice:
      return "slice" + d + args + "[" + to_text(e.x) + "]";
    case Kind::tile:
    case Kind::sum:
      return (e.kind == Kind::tile ? "tile" + d : "sum") + " (\\" + to_text(e.x) + ":range<" +
             std::to_string(e.range.n) + "," + std::to_string(e.range.w) + "> -> " +
             partir::to_text(e.args[0]) + ")";
    default:
      break;
  }
  const spmd::LocalExpression& op = e.op[0];
  std::string out;
  for (const spmd::OperationRow& row : spmd::operations()) {
    if (row.op == op.op) out = row.word;
  }
  if (op.op == spmd::LocalOp::einsum) out += " \"" + op.x + "\"";
  if (op.op == spmd::LocalOp::transpose) return out + " " + partir::to_text(op.numbers) + args;
  for (const Size number : op.numbers) out += " " + std::to_string(number);
  return out + args;
}

inline std::string to_text(const Text& text) {
  std::string out = "retile.partir/1\n";
  for (const auto& [x, shape] : text.tensors) {
    out += spec::to_text(x) + " : " + partir::to_text(shape) + "\n";
  }
  return out + partir::to_text(text.e) + "\n";
}

}  // namespace spec::partir
