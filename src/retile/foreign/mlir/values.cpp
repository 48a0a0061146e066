// Types and attributes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "retile/core/names.h"
#include "retile/foreign/mlir/parser.h"
#include "retile/operations/element.h"

namespace retile::foreign::mlir {
namespace {

constexpr std::size_t deepest = 64;

using operations::element_kind;
using operations::ElementKind;
using operations::wrapped;
using Kind = Attribute::Kind;

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// How many elements a type has; nothing where that is not known.
std::optional<Size> count_of(const Type& type) {
  if (type.kind != Type::Kind::tensor || !type.is_known) return std::nullopt;
  return checked_product(type.extents);
}

/// The word that these bits are; of types without words 1 for any but 0.
std::int64_t word_of_bits(std::uint64_t bits, const ElementKind& kind) {
  if (kind.is_real()) return operations::word_of(operations::real_of_bits(bits, *kind.format));
  return kind.is_number() ? wrapped(static_cast<std::int64_t>(bits), kind) : (bits != 0 ? 1 : 0);
}

}  // namespace

Deeper::Deeper(Parser& parser) : parser_(parser) {
  if (parser_.depth_ >= deepest) {
    text::fail(parser_.lexer_.here(),
               {.code = Code::unsupported,
                .message = fmt::format("brackets are nested deeper than {}", deepest)});
  }
  ++parser_.depth_;
}

std::string Parser::unquoted(const LexToken& token) const {
  const std::string_view text = lexer_.text_of(token.span);
  const std::size_t quote = text.find('"');
  if (quote == std::string_view::npos) return std::string(text);
  return std::string(text.substr(quote + 1, text.size() - quote - 2));
}

// ---- Types -----------------------------------------------------------------------------------------------------------

std::vector<Type> Parser::types_in_parentheses() {
  std::vector<Type> out;
  lexer_.expect("(");
  if (lexer_.accept(")")) return out;
  do {
    out.push_back(type());
    if (lexer_.sees("{")) static_cast<void>(lexer_.take_balanced());
  } while (lexer_.accept(","));
  lexer_.expect(")");
  return out;
}

Type Parser::function_type() {
  const std::size_t begin = lexer_.begin();
  Type out{.kind = Type::Kind::function};
  out.inputs = types_in_parentheses();
  lexer_.expect("->");
  if (lexer_.sees("(")) {
    out.outputs = types_in_parentheses();
  } else {
    out.outputs.push_back(type());
  }
  out.place = lexer_.since(begin);
  return out;
}

Type Parser::alias_type() {
  const LexToken token = lexer_.take();
  const auto found = type_aliases_.find(lexer_.text_of(token.span));
  if (found != type_aliases_.end()) return found->second;
  if (lexer_.sees("<")) static_cast<void>(lexer_.take_balanced());
  Type out{.kind = Type::Kind::other};
  out.place = lexer_.since(token.span.begin);
  out.element = lexer_.text_of(out.place.span);
  return out;
}

Type Parser::type() {
  const Deeper deeper(*this);
  if (lexer_.sees("(")) return function_type();
  if (lexer_.sees(TokenKind::exclamation)) return alias_type();
  if (!lexer_.sees(TokenKind::word)) lexer_.fail_expected("a type");
  const LexToken token = lexer_.take();
  const std::string_view word = lexer_.text_of(token.span);
  if (word == "tensor") return tensor(token.span.begin);
  Type out{.kind = Type::Kind::scalar, .element = std::string(word)};
  if (lexer_.sees("<")) {
    static_cast<void>(lexer_.take_balanced());
    out.element = lexer_.text_of(lexer_.since(token.span.begin).span);
    if (word != "complex") out.kind = Type::Kind::other;
  }
  out.place = lexer_.since(token.span.begin);
  return out;
}

Type Parser::tensor(std::size_t begin) {
  if (!lexer_.sees("<")) lexer_.fail_expected("'<'");
  Type out{.kind = Type::Kind::tensor};
  lexer_.take();
  // Extents have no blanks between them: `4x8xf32` is a word to a lexer.
  while (lexer_.sees(TokenKind::integer) || lexer_.sees("?") || lexer_.sees("*")) {
    std::size_t at = lexer_.begin();
    const std::size_t first = at;
    const auto byte = [&](std::size_t k) { return lexer_.text_of({k, k + 1}); };
    Size extent = 0;
    if (byte(at) == "?" || byte(at) == "*") {
      out.is_known = false;
      ++at;
    }
    bool fits = true;
    for (; !byte(at).empty() && is_digit(byte(at)[0]); ++at) {
      fits = fits && !__builtin_mul_overflow(extent, Size{10}, &extent) &&
             !__builtin_add_overflow(extent, Size{byte(at)[0] - '0'}, &extent);
    }
    if (!fits) {
      text::fail(lexer_.at({first, at}),
                 {.code = Code::bad_number, .message = "an extent does not fit in 63 bits"});
    }
    out.extents.push_back(extent);
    lexer_.go_to(at);
    if (byte(at) != "x") lexer_.fail_expected("'x' and the element type");
    lexer_.go_to(at + 1);
  }
  out.element = type().element;
  if (lexer_.accept(",")) static_cast<void>(attribute());
  lexer_.expect(">");
  out.place = lexer_.since(begin);
  return out;
}

// ---- Attributes ------------------------------------------------------------------------------------------------------

std::int64_t Parser::integer() {
  if (!lexer_.sees(TokenKind::integer)) lexer_.fail_expected("a number");
  const LexToken token = lexer_.take();
  std::string_view text = lexer_.text_of(token.span);
  const bool negative = text[0] == '-';
  if (negative) text.remove_prefix(1);
  const bool hex = text.substr(0, 2) == "0x";
  if (hex) text.remove_prefix(2);
  std::uint64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out, hex ? 16 : 10);
  if (read.ec != std::errc() || (negative && out > std::uint64_t{1} << 63)) {
    text::fail(lexer_.at(token.span),
               {.code = Code::bad_number, .message = "this number does not fit in 64 bits"});
  }
  return static_cast<std::int64_t>(negative ? -out : out);
}

AttributePtr Parser::number_attribute() {
  const std::size_t begin = lexer_.begin();
  Attribute out{.kind = lexer_.sees(TokenKind::real) ? Kind::real : Kind::number};
  if (out.kind == Kind::real) {
    lexer_.take();
  } else {
    out.number = integer();
  }
  out.place = lexer_.since(begin);
  if (lexer_.accept(":")) out.set_type(type());
  return shared(std::move(out));
}

AttributePtr Parser::raw_attribute(std::string_view name) {
  Attribute out{.kind = Kind::dialect, .text = std::string(name)};
  const std::size_t begin = lexer_.begin();
  out.body = lexer_.take_balanced();
  out.place = lexer_.since(begin);
  return shared(std::move(out));
}

AttributePtr Parser::hash_attribute() {
  const LexToken token = lexer_.take();
  const std::string_view name = lexer_.text_of(token.span);
  if (lexer_.sees("<") && lexer_.touches()) {
    Attribute out{.kind = Kind::dialect, .text = std::string(name.substr(1))};
    out.body = lexer_.take_balanced();
    out.place = lexer_.since(token.span.begin);
    return shared(std::move(out));
  }
  const auto found = attribute_aliases_.find(name);
  if (found != attribute_aliases_.end()) return found->second;
  if (name.find('.') != std::string_view::npos) {
    return shared({.kind = Kind::dialect,
                   .place = lexer_.at(token.span),
                   .text = std::string(name.substr(1))});
  }
  text::fail(
      lexer_.at(token.span),
      {.code = Code::syntax, .message = fmt::format("no alias {} is known", shortened(name))});
}

AttributePtr Parser::symbol_attribute() {
  const LexToken token = lexer_.take();
  Attribute out{.kind = Kind::symbol, .text = unquoted(token)};
  if (out.text.substr(0, 1) == "@") out.text.erase(0, 1);
  while (lexer_.accept("::")) {
    if (!lexer_.sees(TokenKind::symbol)) lexer_.fail_expected("a symbol");
    out.text += std::string("::") + std::string(lexer_.text().substr(1));
    lexer_.take();
  }
  out.place = lexer_.since(token.span.begin);
  return shared(std::move(out));
}

/// `[..]`: of integers alone, and values, it is numbers.
AttributePtr Parser::list_attribute() {
  const std::size_t begin = lexer_.begin();
  Attribute out{.kind = Kind::list};
  lexer_.expect("[");
  bool numbers = true;
  if (!lexer_.accept("]")) {
    do {
      if (lexer_.sees(TokenKind::value)) {
        out.value_places.push_back(lexer_.here());
        lexer_.take();
        continue;
      }
      AttributePtr item = attribute();
      numbers = numbers && item->kind == Kind::number;
      if (numbers && out.items.empty()) {
        out.numbers.push_back(item->number);
      } else {
        out.items.push_back(std::move(item));
      }
    } while (lexer_.accept(","));
    lexer_.expect("]");
  }
  if (out.items.empty()) out.kind = Kind::numbers;
  out.place = lexer_.since(begin);
  if (!numbers && !out.numbers.empty()) {
    text::fail(out.place,
               {.code = Code::unsupported, .message = "a list of numbers and of other things"});
  }
  return shared(std::move(out));
}

std::vector<NamedAttribute> Parser::dictionary() {
  std::vector<NamedAttribute> out;
  std::set<std::string> names;
  if (lexer_.accept("}")) return out;
  do {
    const bool named = lexer_.sees(TokenKind::word) || lexer_.sees(TokenKind::text);
    if (!named) lexer_.fail_expected("the name of an attribute");
    const LexToken token = lexer_.take();
    NamedAttribute entry{unquoted(token), nullptr, lexer_.at(token.span)};
    if (!names.insert(entry.name).second) {
      text::fail(entry.place, {.code = Code::syntax,
                               .message = fmt::format("{} stands twice", shown_name(entry.name))});
    }
    if (lexer_.accept("=")) {
      entry.value = attribute();
    } else {
      entry.value = shared({.kind = Kind::unit, .place = entry.place});
    }
    out.push_back(std::move(entry));
  } while (lexer_.accept(","));
  if (!lexer_.accept("}")) lexer_.fail_expected("',' or '}' after an attribute");
  return out;
}

AttributePtr Parser::word_attribute() {
  const std::string_view word = lexer_.text();
  const Place place = lexer_.here();
  if (word == "true" || word == "false") {
    lexer_.take();
    Attribute out{.kind = Kind::number, .place = place, .number = word == "true" ? 1 : 0};
    if (lexer_.accept(":")) out.set_type(type());
    return shared(std::move(out));
  }
  if (word == "unit") {
    lexer_.take();
    return shared({.kind = Kind::unit, .place = place});
  }
  if (word == "dense") return dense_attribute();
  if (word == "array") return array_attribute();
  if (word == "loc" || word == "affine_map" || word == "affine_set" || word == "dense_resource" ||
      word == "sparse" || word == "strided" || word == "distinct") {
    lexer_.take();
    if (word == "distinct" && lexer_.sees("[")) static_cast<void>(lexer_.take_balanced());
    AttributePtr out = raw_attribute(word);
    if (lexer_.accept(":")) static_cast<void>(type());
    return out;
  }
  Attribute out{.kind = Kind::type};
  out.set_type(type());
  out.place = out.type().place;
  return shared(std::move(out));
}

AttributePtr Parser::attribute() {
  const Deeper deeper(*this);
  const std::size_t begin = lexer_.begin();
  switch (lexer_.next().kind) {
    case TokenKind::integer:
    case TokenKind::real:
      return number_attribute();
    case TokenKind::hash:
      return hash_attribute();
    case TokenKind::symbol:
      return symbol_attribute();
    case TokenKind::word:
      return word_attribute();
    case TokenKind::text: {
      Attribute out{.kind = Kind::text, .place = lexer_.here()};
      out.text = unquoted(lexer_.take());
      if (lexer_.accept(":")) out.set_type(type());
      return shared(std::move(out));
    }
    default:
      break;
  }
  if (lexer_.sees("[")) return list_attribute();
  if (lexer_.accept("{")) {
    Attribute out{.kind = Kind::dictionary};
    out.entries = dictionary();
    out.place = lexer_.since(begin);
    return shared(std::move(out));
  }
  if (!lexer_.sees("(") && !lexer_.sees(TokenKind::exclamation)) {
    lexer_.fail_expected("an attribute");
  }
  Attribute out{.kind = Kind::type};
  out.set_type(type());
  out.place = out.type().place;
  return shared(std::move(out));
}

// ---- Many numbers ----------------------------------------------------------------------------------------------------

/// `array<i64: 0, 1>`
AttributePtr Parser::array_attribute() {
  const std::size_t begin = lexer_.begin();
  Attribute out{.kind = Kind::numbers};
  lexer_.take();
  lexer_.expect("<");
  static_cast<void>(type());
  Written written;
  if (lexer_.accept(":")) {
    do {
      dense_number(written);
    } while (lexer_.accept(","));
  }
  lexer_.expect(">");
  out.numbers = std::move(written.numbers);
  out.place = lexer_.since(begin);
  return shared(std::move(out));
}

void Parser::dense_number(Written& out) {
  const auto add = [&](std::int64_t number, bool is_real) {
    out.numbers.push_back(number);
    out.reals.push_back(is_real);
  };
  if (lexer_.accept("true")) return add(1, false);
  if (lexer_.accept("false")) return add(0, false);
  if (lexer_.sees("(")) {  // a complex number
    const Place place = lexer_.take_balanced();
    const std::string_view text = lexer_.text_of(place.span);
    return add(text.find_first_of("123456789") == std::string_view::npos ? 0 : 1, false);
  }
  if (!lexer_.sees(TokenKind::real)) return add(integer(), false);
  const Place place = lexer_.here();
  const std::string_view text = lexer_.text();
  lexer_.take();
  double real = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), real);
  if (read.ptr != text.data() + text.size() ||
      (read.ec != std::errc() && read.ec != std::errc::result_out_of_range)) {
    text::fail(place, {.code = Code::bad_number, .message = "this is no number"});
  }
  add(operations::word_of(real), true);
}

/// What is written as words of the type. An integer where a number with a point belongs is its bits.
void Parser::set_words(Attribute& out, const Written& written, const Place& place) const {
  const ElementKind kind = element_kind(out.type().element);
  const auto refuse = [&](std::string message) {
    text::fail(place, {.code = Code::bad_number, .message = std::move(message)});
  };
  const bool signless = out.type().element.substr(0, 1) == "i";
  const ElementKind other_sign = {
      .form = kind.form, .bits = kind.bits, .is_signed = !kind.is_signed};
  for (std::size_t k = 0; k < written.numbers.size(); ++k) {
    const std::int64_t number = written.numbers[k];
    if (kind.is_real() && written.reals[k]) {
      const double real = operations::rounded(operations::real_of(number), *kind.format);
      out.numbers.push_back(operations::word_of(real));
    } else if (kind.is_real()) {
      out.numbers.push_back(word_of_bits(static_cast<std::uint64_t>(number), kind));
    } else if (kind.is_number()) {
      if (written.reals[k])
        refuse(fmt::format("a number with a point is no {}", out.type().element));
      if (!operations::fits(number, kind) && !(signless && operations::fits(number, other_sign))) {
        refuse(fmt::format("{} is no value of {}", number, out.type().element));
      }
      out.numbers.push_back(wrapped(number, kind));
    } else {
      const bool zero = written.reals[k] ? operations::real_of(number) == 0 : number == 0;
      out.numbers.push_back(zero ? 0 : 1);
    }
  }
}

/// Numbers in brackets, one behind the other; extents of a ragged list are refused.
void Parser::dense_level(Written& out, std::size_t level, Shape& extents) {
  const Deeper deeper(*this);
  const std::size_t begin = lexer_.begin();
  lexer_.expect("[");
  Size count = 0;
  if (!lexer_.accept("]")) {
    do {
      ++count;
      if (lexer_.sees("[")) {
        dense_level(out, level + 1, extents);
      } else {
        dense_number(out);
        if (extents.size() <= level + 1) extents.resize(level + 1, -1);
      }
    } while (lexer_.accept(","));
    if (!lexer_.accept("]")) lexer_.fail_expected("',' or ']' after a number");
  }
  if (extents.size() <= level) extents.resize(level + 1, -1);
  if (extents[level] >= 0 && extents[level] != count) {
    text::fail(lexer_.since(begin),
               {.code = Code::syntax,
                .message = fmt::format("{} where a row has {}", counted(count, "entry", "entries"),
                                       extents[level])});
  }
  extents[level] = count;
}

/// `"0x0100.."`: the bytes of all numbers, or of one.
void Parser::hex_body(Attribute& out, const LexToken& token) {
  const std::string text = unquoted(token);
  const Place place = lexer_.at(token.span);
  const auto refuse = [&](std::string message) {
    text::fail(place, {.code = Code::bad_number, .message = std::move(message)});
  };
  const auto count = count_of(out.type());
  const ElementKind kind = element_kind(out.type().element);
  if (text.substr(0, 2) != "0x" || text.size() % 2 != 0) refuse("no bytes in hexadecimal");
  if (!count || kind.bytes() < 1) refuse("bytes of an array whose type is not known");
  std::vector<std::uint8_t> bytes;
  for (std::size_t k = 2; k < text.size(); k += 2) {
    const int high = hex_digit(text[k]);
    const int low = hex_digit(text[k + 1]);
    if (high < 0 || low < 0) refuse("no bytes in hexadecimal");
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  const auto width = static_cast<std::size_t>(kind.bytes());
  const auto number = static_cast<std::size_t>(*count);
  if (kind.bits == 1 && bytes.size() != number && bytes.size() == (number + 7) / 8) {
    for (std::size_t k = 0; k < number; ++k) out.numbers.push_back((bytes[k / 8] >> (k % 8)) & 1);
    return;
  }
  if (kind.bits == 1 && bytes.size() == 1) bytes[0] = bytes[0] != 0 ? 1 : 0;
  if (bytes.size() != width && bytes.size() / width != number)
    refuse("not as many bytes as the type has");
  if (bytes.size() % width != 0) refuse("not as many bytes as the type has");
  for (std::size_t k = 0; k < bytes.size(); k += width) {
    std::uint64_t value = 0;
    for (std::size_t b = 0; b < width; ++b) {
      if (b < 8) {
        value |= std::uint64_t{bytes[k + b]} << (8 * b);
      } else if (bytes[k + b] != 0) {
        value |= 1;
      }
    }
    out.numbers.push_back(word_of_bits(value, kind));
  }
}

void Parser::dense_body(Attribute& out) {
  lexer_.expect("<");
  Shape extents;
  LexToken hex;
  Written written;
  const std::size_t begin = lexer_.begin();
  if (lexer_.sees(TokenKind::text)) {
    hex = lexer_.take();
  } else if (lexer_.sees("[")) {
    dense_level(written, 0, extents);
  } else if (!lexer_.sees(">")) {
    dense_number(written);
  }
  const Place place = lexer_.since(begin);
  lexer_.expect(">");
  lexer_.expect(":");
  out.set_type(type());
  if (hex.kind == TokenKind::text) {
    hex_body(out, hex);
  } else if (!extents.empty() && out.type().extents != extents) {
    text::fail(out.type().place,
               {.code = Code::syntax, .message = "the type has other extents than the numbers"});
  } else {
    set_words(out, written, place);
  }
}

AttributePtr Parser::dense_attribute() {
  const std::size_t begin = lexer_.begin();
  Attribute out{.kind = Kind::numbers};
  lexer_.take();
  dense_body(out);
  out.place = lexer_.since(begin);
  return shared(std::move(out));
}

}  // namespace retile::foreign::mlir
