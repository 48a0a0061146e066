// Own forms of what stands in whole programs alone, where they are not as those of own.cpp.
#include <utility>

#include "retile/foreign/mlir/parser.h"

namespace retile::foreign::mlir {

namespace {

using Kind = Attribute::Kind;

}  // namespace

/// Reads an operation that has such a form; whether it has.
bool Parser::computing(Op& out) {
  if (out.name == "stablehlo.reduce") {
    reduce(out);
  } else if (out.name == "stablehlo.while") {
    while_loop(out);
  } else {
    return false;
  }
  return true;
}

/// `(%a init: %x), (%b init: %y) across dimensions = [1] : (T, ..) -> T reducer(..) (..) {..}`, or with
/// `applies stablehlo.add` instead of the region.
void Parser::reduce(Op& out) {
  std::vector<ValueName> starts;
  do {
    lexer_.expect("(");
    out.operands.push_back(value());
    lexer_.expect("init");
    lexer_.expect(":");
    starts.push_back(value());
    lexer_.expect(")");
  } while (lexer_.accept(","));
  out.operands.insert(out.operands.end(), starts.begin(), starts.end());
  if (lexer_.accept("applies")) {
    Attribute applied{.kind = Kind::text, .place = lexer_.here()};
    if (!lexer_.sees(TokenKind::word)) lexer_.fail_expected("the name of an operation");
    applied.text = lexer_.text();
    lexer_.take();
    put(out, "applies", shared(std::move(applied)));
  }
  lexer_.expect("across");
  lexer_.expect("dimensions");
  lexer_.expect("=");
  put(out, "dimensions", attribute());
  if (lexer_.accept("{")) {
    for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
  }
  lexer_.expect(":");
  signature(out);
  if (lexer_.accept("reducer")) reducer(out);
}

/// Pairs of arguments, one for each array: in the region all first ones come first.
void Parser::reducer(Op& out) {
  std::vector<Argument> inputs;
  std::vector<Argument> others;
  while (lexer_.sees("(")) {
    const Place place = lexer_.here();
    std::vector<Argument> two = arguments();
    if (two.size() != 2) {
      text::fail(place, {.code = Code::syntax, .message = "a reduction takes arguments by twos"});
    }
    inputs.push_back(std::move(two[0]));
    others.push_back(std::move(two[1]));
  }
  for (Argument& other : others) inputs.push_back(std::move(other));
  out.regions.push_back(region(std::move(inputs)));
}

/// `(%i = %a, %k = %b) : T, T cond {..} do {..}`: both regions know the names on the left.
void Parser::while_loop(Op& out) {
  std::vector<Argument> inputs;
  lexer_.expect("(");
  if (!lexer_.accept(")")) {
    do {
      const ValueName name = value();
      lexer_.expect("=");
      out.operands.push_back(value());
      inputs.push_back({name.name, {}, {}, name.place});
    } while (lexer_.accept(","));
    lexer_.expect(")");
    lexer_.expect(":");
    for (Argument& input : inputs) {
      if (&input != &inputs.front()) lexer_.expect(",");
      input.type = type();
      out.operand_types.push_back(input.type);
    }
  }
  out.result_types = out.operand_types;
  if (lexer_.accept("attributes")) {
    lexer_.expect("{");
    out.attributes = dictionary();
  }
  lexer_.expect("cond");
  out.regions.push_back(region(inputs));
  lexer_.expect("do");
  out.regions.push_back(region(std::move(inputs)));
}

/// What stands behind the `x` of `[0] x [1]`: a list for each operand.
AttributePtr Parser::two_lists(AttributePtr first) {
  Attribute out{.kind = Kind::list, .place = first->place};
  out.items = {std::move(first), attribute()};
  return shared(std::move(out));
}

/// `[b, 0, f]x[0, i, o]->[b, 0, f]`, as its text.
AttributePtr Parser::convolved_dimensions() {
  Attribute out{.kind = Kind::dialect, .text = "stablehlo.conv"};
  const std::size_t begin = lexer_.begin();
  static_cast<void>(lexer_.take_balanced());
  lexer_.expect("x");
  static_cast<void>(lexer_.take_balanced());
  lexer_.expect("->");
  static_cast<void>(lexer_.take_balanced());
  out.body = lexer_.since(begin);
  out.place = out.body;
  return shared(std::move(out));
}

}  // namespace retile::foreign::mlir
