// The forms that dialects print of their own. Most are alike: values, words, and words with a value
// behind `=`, with or without commas, then types.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/mlir/parser.h"
#include "retile/operations/table.h"

namespace retile::foreign::mlir {
namespace {

using Kind = Attribute::Kind;

/// The operations whose own forms are read here, beside those of the table.
constexpr std::array<std::string_view, 41> known = {
    "arith.constant",
    "builtin.unrealized_conversion_cast",
    "call",
    "func.call",
    "func.return",
    "mesh.all_gather",
    "mesh.all_reduce",
    "mesh.all_slice",
    "mesh.all_to_all",
    "mesh.broadcast",
    "mesh.mesh",
    "mesh.process_linear_index",
    "mesh.reduce_scatter",
    "mesh.shard",
    "mesh.sharding",
    "mesh.shift",
    "return",
    "sdy.all_gather",
    "sdy.all_reduce",
    "sdy.all_slice",
    "sdy.all_to_all",
    "sdy.collective_permute",
    "sdy.mesh",
    "sdy.propagation_barrier",
    "sdy.reduce_scatter",
    "sdy.replicated_to_unreduced",
    "sdy.return",
    "sdy.sharded_to_unreduced",
    "shard.all_gather",
    "shard.all_reduce",
    "shard.all_slice",
    "shard.all_to_all",
    "shard.broadcast",
    "shard.grid",
    "shard.process_linear_index",
    "shard.reduce_scatter",
    "shard.shard",
    "shard.sharding",
    "shard.shift",
    "stablehlo.return",
    "tensor.cast",
};

/// Those of them that leave arrays to a partitioner, and what is put together of others.
constexpr std::array<std::string_view, 4> known_in_whole_programs = {
    "chlo.square",
    "sdy.constant",
    "sdy.reshard",
    "sdy.sharding_constraint",
};

constexpr std::array<std::string_view, 8> unnamed_functions = {
    "chlo.bessel_i1e", "chlo.digamma",    "chlo.erf_inv",   "chlo.erfc",
    "chlo.lgamma",     "chlo.next_after", "chlo.polygamma", "chlo.zeta",
};

bool is_known(std::string_view name, operations::Scope scope) {
  if (scope == operations::Scope::computes) {
    const auto& more = known_in_whole_programs;
    if (operations::find_mlir(name) != nullptr || is_unnamed_function(name)) return true;
    if (std::find(more.begin(), more.end(), name) != more.end()) return true;
  }
  constexpr std::string_view front = "stablehlo.";
  if (name.starts_with(front) &&
      operations::find_stablehlo(name.substr(front.size()), operations::Scope::moves) != nullptr) {
    return true;
  }
  return std::find(known.begin(), known.end(), name) != known.end();
}

/// The type of a complex number's parts.
Type part_of(Type type) {
  constexpr std::string_view front = "complex<";
  if (type.element.starts_with(front)) {
    type.element = type.element.substr(front.size(), type.element.size() - front.size() - 1);
  }
  return type;
}

bool is_constant(std::string_view name) {
  return name == "stablehlo.constant" || name == "arith.constant" || name == "sdy.constant";
}

}  // namespace

bool is_unnamed_function(std::string_view name) {
  return std::find(unnamed_functions.begin(), unnamed_functions.end(), name) !=
         unnamed_functions.end();
}

void Parser::put(Op& out, std::string name, AttributePtr value) {
  const Place place = value->place;
  out.attributes.push_back({std::move(name), std::move(value), place});
}

void Parser::own(Op& out) {
  if (out.name == "module" || out.name == "builtin.module") return module(out);
  if (out.name == "func.func") return function(out);
  if (out.name == "sdy.manual_computation") return manual_computation(out);
  if (!is_known(out.name, scope_)) fail_unread(out.name, out.place, scope_);
  lexer_.take();
  if (computing(out)) return;
  items(out);
}

void Parser::module(Op& out) {
  lexer_.take();
  out.name = "builtin.module";
  if (lexer_.sees(TokenKind::symbol)) put(out, "sym_name", symbol_attribute());
  if (lexer_.accept("attributes")) {
    lexer_.expect("{");
    out.attributes = dictionary();
  }
  out.regions.push_back(region({}));
}

/// `public @main(%arg0: T {..}) -> (T {..}) attributes {..} {..}`
void Parser::function(Op& out) {
  lexer_.take();
  for (const std::string_view word : {"public", "private", "nested"}) {
    const Place place = lexer_.here();
    if (!lexer_.accept(word)) continue;
    put(out, "sym_visibility",
        shared({.kind = Kind::text, .place = place, .text = std::string(word)}));
    break;
  }
  if (!lexer_.sees(TokenKind::symbol)) lexer_.fail_expected("the name of a function");
  put(out, "sym_name", symbol_attribute());
  Attribute type_attribute{.kind = Kind::type, .place = lexer_.here()};
  Type type{.kind = Type::Kind::function};
  std::vector<Argument> inputs;
  Attribute arguments{.kind = Kind::list, .place = lexer_.here()};
  inputs = this->arguments();
  for (const Argument& input : inputs) {
    type.inputs.push_back(input.type);
    arguments.items.push_back(
        shared({.kind = Kind::dictionary, .place = input.place, .entries = input.attributes}));
  }
  Attribute results{.kind = Kind::list, .place = lexer_.here()};
  if (lexer_.accept("->")) function_results(results, type.outputs);
  type_attribute.set_type(std::move(type));
  put(out, "function_type", shared(std::move(type_attribute)));
  put(out, "arg_attrs", shared(std::move(arguments)));
  put(out, "res_attrs", shared(std::move(results)));
  if (lexer_.accept("attributes")) {
    lexer_.expect("{");
    for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
  }
  if (!lexer_.sees("{")) return;
  out.regions.push_back(region(std::move(inputs)));
}

void Parser::function_results(Attribute& results, std::vector<Type>& types) {
  if (!lexer_.accept("(")) {
    types.push_back(type());
    return;
  }
  if (lexer_.accept(")")) return;
  do {
    types.push_back(type());
    Attribute result{.kind = Kind::dictionary, .place = types.back().place};
    if (lexer_.accept("{")) result.entries = dictionary();
    results.items.push_back(shared(std::move(result)));
  } while (lexer_.accept(","));
  lexer_.expect(")");
}

/// `(%arg0) in_shardings=[<..>] out_shardings=[<..>] manual_axes={"x"} (%arg1: T) {..} : (T) -> T`
void Parser::manual_computation(Op& out) {
  lexer_.take();
  lexer_.expect("(");
  if (!lexer_.accept(")")) {
    do {
      out.operands.push_back(value());
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }
  for (const char* key : {"in_shardings", "out_shardings", "manual_axes"}) {
    lexer_.expect(key);
    lexer_.expect("=");
    put(out, key, raw_attribute("sdy"));
  }
  std::vector<Argument> inputs = arguments();
  out.regions.push_back(region(std::move(inputs)));
  if (lexer_.accept("{")) {
    for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
  }
  lexer_.expect(":");
  signature(out);
}

/// What stands behind `=`, or after `to`.
AttributePtr Parser::own_value(std::string_view key) {
  if (key == "shape") {  // of a mesh: `4x6`, read where it is needed
    const std::size_t begin = lexer_.begin();
    std::size_t end = begin;
    while (lexer_.text_of({end, end + 1}).find_first_of("0123456789x?") == 0) ++end;
    lexer_.go_to(end);
    return shared({.kind = Kind::text,
                   .place = lexer_.since(begin),
                   .text = std::string(lexer_.text_of({begin, end}))});
  }
  if (lexer_.sees("<")) return raw_attribute("");
  if (lexer_.sees(TokenKind::word) && lexer_.text() != "dense" && lexer_.text() != "array" &&
      lexer_.text() != "true" && lexer_.text() != "false") {
    Attribute out{.kind = Kind::text, .place = lexer_.here()};
    out.text = lexer_.text();
    lexer_.take();
    return shared(std::move(out));
  }
  // A number here has no type: the colon behind it begins those of the operation.
  if (lexer_.sees(TokenKind::integer) || lexer_.sees("true") || lexer_.sees("false")) {
    Attribute out{.kind = Kind::number, .place = lexer_.here()};
    if (lexer_.sees(TokenKind::integer)) {
      out.number = integer();
    } else {
      out.number = lexer_.text_of(lexer_.take().span) == "true" ? 1 : 0;
    }
    return shared(std::move(out));
  }
  return attribute();
}

/// `[0:2, 1:4:2]` of stablehlo.slice.
void Parser::ranges(Op& out) {
  const std::size_t begin = lexer_.begin();
  Attribute start{.kind = Kind::numbers};
  Attribute limit{.kind = Kind::numbers};
  Attribute stride{.kind = Kind::numbers};
  lexer_.expect("[");
  if (!lexer_.accept("]")) {
    do {
      start.numbers.push_back(integer());
      lexer_.expect(":");
      limit.numbers.push_back(integer());
      stride.numbers.push_back(lexer_.accept(":") ? integer() : 1);
    } while (lexer_.accept(","));
    lexer_.expect("]");
  }
  for (Attribute* part : {&start, &limit, &stride}) part->place = lexer_.since(begin);
  put(out, "start_indices", shared(std::move(start)));
  put(out, "limit_indices", shared(std::move(limit)));
  put(out, "strides", shared(std::move(stride)));
}

/// A word, and what stands behind `=`; or a word that says something of its own.
void Parser::word_item(Op& out) {
  const LexToken token = lexer_.take();
  const std::string word(lexer_.text_of(token.span));
  const Place place = lexer_.at(token.span);
  if (word == "dense") {
    lexer_.go_to(token.span.begin);
    return put(out, "value", dense_attribute());
  }
  if (lexer_.accept("=")) {
    if (word == "dim_numbers") return put(out, "dimension_numbers", convolved_dimensions());
    AttributePtr value = own_value(word);
    return put(out, word, lexer_.accept("x") ? two_lists(std::move(value)) : std::move(value));
  }
  if (word == "on") {
    if (!lexer_.sees(TokenKind::symbol)) lexer_.fail_expected("the name of a mesh");
    return put(out, "mesh", symbol_attribute());
  }
  if (word == "to" && !lexer_.sees(TokenKind::value)) {
    return put(out, "shard", lexer_.sees("<") ? raw_attribute("mesh.shard") : attribute());
  }
  put(out, word, shared({.kind = Kind::unit, .place = place, .text = word}));
}

/// Reads one thing of an operation's own form, if one comes next.
bool Parser::item(Op& out) {
  if (lexer_.sees(TokenKind::value)) {
    out.operands.push_back(value());
  } else if (lexer_.sees(TokenKind::word)) {
    word_item(out);
  } else if (lexer_.sees(TokenKind::symbol)) {
    put(out, "callee", symbol_attribute());
  } else if (lexer_.sees("[") && out.name == "stablehlo.slice") {
    ranges(out);
  } else if ((lexer_.sees("[") || lexer_.sees("{")) && out.name.starts_with("sdy.") &&
             out.operands.empty()) {
    put(out, "axes", raw_attribute("sdy"));
  } else if (lexer_.sees("<")) {
    put(out, "value", raw_attribute(""));
  } else if (lexer_.accept("{")) {
    for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
  } else if (lexer_.accept("(")) {
    const Deeper deeper(*this);
    while (!lexer_.sees(")") && item(out)) lexer_.accept(",");
    lexer_.expect(")");
  } else {
    return false;
  }
  return true;
}

/// `dense<0> : tensor<4xi64>`: the type is the number's.
void Parser::constant(Op& out) {
  if (lexer_.accept("{")) out.attributes = dictionary();
  AttributePtr value = attribute();
  out.result_types.push_back(value->type());
  put(out, "value", std::move(value));
}

void Parser::items(Op& out) {
  // A line ends an operation that has no types: what comes next is a result, a word or a bracket.
  const bool has_types =
      out.name != "sdy.mesh" && out.name != "mesh.mesh" && out.name != "shard.grid";
  if (!has_types) {
    if (!lexer_.sees(TokenKind::symbol)) lexer_.fail_expected("the name of a mesh");
    put(out, "sym_name", symbol_attribute());
    if (out.name == "sdy.mesh") {
      lexer_.expect("=");
      put(out, "mesh", own_value(""));
    } else {
      static_cast<void>(item(out));
    }
    if (lexer_.accept("{")) {
      for (NamedAttribute& entry : dictionary()) out.attributes.push_back(std::move(entry));
    }
    return;
  }
  if (out.name.size() >= 6 && out.name.substr(out.name.size() - 6) == "return" &&
      !lexer_.sees(TokenKind::value)) {
    return;
  }
  if (is_constant(out.name)) return constant(out);
  while (item(out)) lexer_.accept(",");
  if (!lexer_.accept(":")) lexer_.fail_expected("':' and the types");
  own_types(out);
}

/// `(T, T) -> T`, `T -> T`, `T, T`, or `T` where all are alike.
void Parser::own_types(Op& out) {
  if (lexer_.sees("(")) return signature(out);
  std::vector<Type> types;
  do {
    types.push_back(type());
  } while (lexer_.accept(","));
  if (lexer_.accept("->") || lexer_.accept("to")) {
    out.operand_types = std::move(types);
    if (lexer_.sees("(")) {
      out.result_types = types_in_parentheses();
    } else {
      out.result_types.push_back(type());
    }
    return;
  }
  const std::size_t operands = out.operands.size();
  if (out.name == "stablehlo.complex" && types.size() == 1) {
    out.operand_types.assign(operands, part_of(types.front()));
    out.result_types = std::move(types);
    return;
  }
  if (out.name == "stablehlo.select" && types.size() == 2) types.push_back(types.back());
  if (operands > 0 && types.size() == 1) types.resize(operands, types.front());
  if (types.size() == operands) {
    out.operand_types = types;
  } else if (operands > 0) {
    text::fail(lexer_.since(types.front().place.span.begin),
               {.code = Code::syntax,
                .message = fmt::format("{} for {}", counted(types.size(), "type"),
                                       counted(operands, "operand"))});
  }
  if (out.name == "stablehlo.optimization_barrier" || operands == 0) {
    out.result_types = std::move(types);
  } else if (!out.results.empty()) {
    out.result_types.push_back(types.back());
  }
}

}  // namespace retile::foreign::mlir
