// Operations: their generic form, regions, aliases.
#include "retile/foreign/mlir/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/before.h"
#include "retile/operations/table.h"

namespace retile::foreign::mlir {

void fail_unread(const std::string& name, const Place& place, operations::Scope scope) {
  if (scope == operations::Scope::computes) {
    text::fail(place, {.code = Code::unsupported,
                       .message = fmt::format("{} is not read", shown_name(name)),
                       .notes = {"what is read: docs/reference/operations.md"}});
  }
  std::vector<std::string> notes = {who_judges(operations::find_mlir(name)),
                                    "docs/reference/foreign.md lists what is"};
  if (name == "sdy.reshard" || name == "sdy.sharding_constraint") {
    notes = {"it leaves the reshard to a partitioner: give what that made of it"};
  }
  text::fail(place, {.code = Code::unsupported,
                     .message = fmt::format("{} is not read", shown_name(name)),
                     .notes = std::move(notes)});
}

std::vector<Ops> parse(const text::Input& input, operations::Scope scope) {
  constexpr std::string_view mark = "// -----";
  std::vector<Ops> out;
  std::size_t begin = 0;
  while (begin < input.text.size()) {
    std::size_t end = input.text.find(mark, begin);
    while (end != std::string_view::npos && end > 0 && input.text[end - 1] != '\n') {
      end = input.text.find(mark, end + 1);
    }
    end = std::min(end, input.text.size());
    out.push_back(Parser(input, {begin, end}, scope).top());
    begin = std::min(input.text.find('\n', end), input.text.size());
  }
  return out;
}

Ops Parser::top() {
  Ops out = ops("");
  if (!lexer_.sees(TokenKind::end)) lexer_.fail_expected("an operation");
  return out;
}

/// Operations up to a bracket, which is left, or to the end.
Ops Parser::ops(std::string_view closing) {
  Ops out;
  while (!lexer_.sees(TokenKind::end) && !lexer_.sees(TokenKind::caret) &&
         (closing.empty() || !lexer_.sees(closing))) {
    if (alias()) continue;
    out.push_back(op());
  }
  return out;
}

/// Reads `#a = ..`, `!t = ..` or `{-# .. #-}`, if one comes next.
bool Parser::alias() {
  if (lexer_.sees(TokenKind::hash)) {
    const LexToken name = lexer_.take();
    lexer_.expect("=");
    AttributePtr value = attribute();
    attribute_aliases_.insert_or_assign(std::string(lexer_.text_of(name.span)), std::move(value));
    return true;
  }
  if (lexer_.sees(TokenKind::exclamation)) {
    const LexToken name = lexer_.take();
    lexer_.expect("=");
    Type value = type();
    type_aliases_.insert_or_assign(std::string(lexer_.text_of(name.span)), std::move(value));
    return true;
  }
  if (lexer_.text_of({lexer_.begin(), lexer_.begin() + 3}) != "{-#") return false;
  static_cast<void>(lexer_.take_balanced());
  return true;
}

ValueName Parser::value() {
  if (!lexer_.sees(TokenKind::value)) lexer_.fail_expected("a value");
  const LexToken token = lexer_.take();
  ValueName out{std::string(lexer_.text_of(token.span)), 0, lexer_.at(token.span)};
  if (lexer_.sees(TokenKind::hash) && lexer_.touches()) {
    const std::string_view digits = lexer_.text().substr(1);
    std::size_t number = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || number > 1'000'000) lexer_.fail_expected("the number of a result");
      number = number * 10 + static_cast<std::size_t>(c - '0');
    }
    out.number = number;
    lexer_.take();
    out.place = lexer_.since(token.span.begin);
  }
  return out;
}

std::vector<ResultName> Parser::results() {
  std::vector<ResultName> out;
  do {
    const ValueName name = value();
    ResultName result{name.name, 1, name.place};
    if (lexer_.accept(":")) {
      const Place place = lexer_.here();
      const std::int64_t count = integer();
      if (count < 1 || count > 1'000'000) {
        text::fail(place, {.code = Code::bad_number, .message = "no number of results"});
      }
      result.count = static_cast<std::size_t>(count);
    }
    out.push_back(std::move(result));
  } while (lexer_.accept(","));
  return out;
}

Place Parser::location() { return lexer_.accept("loc") ? lexer_.take_balanced() : Place(); }

Op Parser::op() {
  Op out;
  if (lexer_.sees(TokenKind::value)) {
    out.results = results();
    lexer_.expect("=");
  }
  out.place = lexer_.here();
  if (lexer_.sees(TokenKind::text)) {
    out.name = unquoted(lexer_.take());
    generic(out);
  } else if (lexer_.sees(TokenKind::word)) {
    out.name = lexer_.text();
    own(out);
  } else {
    lexer_.fail_expected("an operation");
  }
  out.location = location();
  return out;
}

/// `(%a, %b)[^bb1] <{..}> ({..}) {..} : (T, T) -> T`
void Parser::generic(Op& out) {
  lexer_.expect("(");
  if (!lexer_.accept(")")) {
    do {
      out.operands.push_back(value());
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }
  if (lexer_.sees("[")) {
    text::fail(lexer_.here(), {.code = Code::unsupported, .message = "a branch to another block"});
  }
  if (lexer_.accept("<")) {
    lexer_.expect("{");
    out.attributes = dictionary();
    lexer_.expect(">");
  }
  if (lexer_.accept("(")) {
    do {
      out.regions.push_back(region({}));
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }
  if (lexer_.accept("{")) {
    for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
  }
  lexer_.expect(":");
  signature(out);
}

void Parser::signature(Op& out) {
  Type type = function_type();
  out.operand_types = std::move(type.inputs);
  out.result_types = std::move(type.outputs);
}

std::vector<Argument> Parser::arguments() {
  std::vector<Argument> out;
  lexer_.expect("(");
  if (lexer_.accept(")")) return out;
  do {
    if (!lexer_.sees(TokenKind::value)) {  // of a declaration
      out.push_back({"", type(), {}, lexer_.here()});
      continue;
    }
    ValueName name = value();
    lexer_.expect(":");
    Argument argument{std::move(name.name), type(), {}, name.place};
    if (lexer_.accept("{")) argument.attributes = dictionary();
    static_cast<void>(location());
    out.push_back(std::move(argument));
  } while (lexer_.accept(","));
  lexer_.expect(")");
  return out;
}

/// Operations of one block; where it is labelled, `^bb0(%a: T):` comes first.
Block Parser::block(std::vector<Argument> arguments, bool labelled) {
  Block out{std::move(arguments), {}};
  if (labelled) {
    lexer_.take();
    if (lexer_.sees("(")) out.arguments = this->arguments();
    lexer_.expect(":");
  }
  out.ops = ops("}");
  for (const Op& op : out.ops) {
    if (!is_return(op.name) || &op == &out.ops.back()) continue;
    text::fail(op.place,
               {.code = Code::syntax, .message = "something stands behind what ends a block"});
  }
  return out;
}

Region Parser::region(std::vector<Argument> arguments) {
  const Deeper deeper(*this);
  Region out;
  lexer_.expect("{");
  if (!lexer_.sees(TokenKind::caret) || !arguments.empty()) {
    out.blocks.push_back(block(std::move(arguments), false));
  }
  while (lexer_.sees(TokenKind::caret)) out.blocks.push_back(block({}, true));
  if (!lexer_.accept("}")) lexer_.fail_expected("an operation or '}'");
  return out;
}

}  // namespace retile::foreign::mlir
