#include "retile/foreign/mlir/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/names.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
/// May `c` stand in a word? [A-Za-z0-9_$.]
bool in_word(char c) { return begins_word(c) || is_digit(c) || c == '$' || c == '.'; }
/// May `c` stand in the name of a value? [A-Za-z0-9_$.-]
bool in_name(char c) { return in_word(c) || c == '-'; }

}  // namespace

void Lexer::expect(std::string_view token) {
  if (!accept(token)) fail_expected(fmt::format("'{}'", token));
}

void Lexer::fail_expected(std::string_view what) const {
  text::Scanner(*input_, {token_.span.begin, end_}).fail_expected(what);
}

void Lexer::skip_blanks() {
  const std::string_view all = input_->text;
  while (position_ < end_) {
    const char c = all[position_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else if (c == '/' && position_ + 1 < end_ && all[position_ + 1] == '/') {
      const std::size_t line_end = all.find('\n', position_);
      position_ = line_end == std::string_view::npos ? end_ : line_end;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = position_ < end_ ? read(position_) : LexToken{TokenKind::end, {end_, end_}};
  position_ = token_.span.end;
}

std::size_t Lexer::text_end(std::size_t begin) const {
  const std::string_view all = input_->text;
  for (std::size_t k = begin + 1; k < end_ && all[k] != '\n'; ++k) {
    if (all[k] == '\\') {
      ++k;
    } else if (all[k] == '"') {
      return k + 1;
    }
  }
  text::fail(at({begin, begin + 1}),
             {.code = Code::syntax, .message = "a text in quotes has no closing quote"});
}

LexToken Lexer::number(std::size_t begin) const {
  const std::string_view all = input_->text;
  std::size_t end = begin + (all[begin] == '-' ? 1 : 0);
  // `0x1F` is one number, but `0x8xf32` are extents: those are read by the reader of types.
  if (all[end] == '0' && end + 2 < end_ && all[end + 1] == 'x' && is_hex(all[end + 2])) {
    end += 2;
    while (end < end_ && is_hex(all[end])) ++end;
    return {TokenKind::integer, {begin, end}};
  }
  while (end < end_ && is_digit(all[end])) ++end;
  if (end + 1 >= end_ || all[end] != '.' || !is_digit(all[end + 1])) {
    return {TokenKind::integer, {begin, end}};
  }
  ++end;
  while (end < end_ && is_digit(all[end])) ++end;
  if (end < end_ && (all[end] == 'e' || all[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < end_ && (all[exponent] == '+' || all[exponent] == '-')) ++exponent;
    if (exponent < end_ && is_digit(all[exponent])) {
      end = exponent;
      while (end < end_ && is_digit(all[end])) ++end;
    }
  }
  return {TokenKind::real, {begin, end}};
}

/// A name behind one of `%@#!^`.
LexToken Lexer::named(std::size_t begin) const {
  const std::string_view all = input_->text;
  const char mark = all[begin];
  const TokenKind kind = mark == '%'   ? TokenKind::value
                         : mark == '@' ? TokenKind::symbol
                         : mark == '#' ? TokenKind::hash
                         : mark == '!' ? TokenKind::exclamation
                                       : TokenKind::caret;
  if (mark == '@' && begin + 1 < end_ && all[begin + 1] == '"') {
    return {kind, {begin, text_end(begin + 1)}};
  }
  std::size_t end = begin + 1;
  while (end < end_ && in_name(all[end]) && !(all[end] == '-' && all.substr(end, 2) == "->")) ++end;
  return end == begin + 1 ? LexToken{TokenKind::sign, {begin, end}} : LexToken{kind, {begin, end}};
}

LexToken Lexer::read(std::size_t begin) const {
  const std::string_view all = input_->text;
  const char c = all[begin];
  if (begins_word(c)) {
    std::size_t end = begin + 1;
    while (end < end_ && in_word(all[end])) ++end;
    return {TokenKind::word, {begin, end}};
  }
  if (is_digit(c)) return number(begin);
  if (c == '"') return {TokenKind::text, {begin, text_end(begin)}};
  if (c == '-' && begin + 1 < end_ && is_digit(all[begin + 1])) return number(begin);
  if (all.substr(begin, 2) == "->" || all.substr(begin, 2) == "::") {
    return {TokenKind::sign, {begin, begin + 2}};
  }
  if (std::string_view("%@#!^").find(c) != std::string_view::npos) return named(begin);
  return {TokenKind::sign, {begin, begin + 1}};
}

Place Lexer::take_balanced() {
  const std::string_view all = input_->text;
  const std::size_t first = begin();
  std::string open;
  for (std::size_t k = first; k < end_; ++k) {
    const char c = all[k];
    const std::size_t opening = std::string_view("([{<").find(c);
    if (opening != std::string_view::npos) {
      open += ")]}>"[opening];
    } else if (c == '"') {
      k = text_end(k) - 1;
    } else if (c == '/' && k + 1 < end_ && all[k + 1] == '/') {
      k = std::min(all.find('\n', k), end_) - 1;
    } else if (c == '-' && k + 1 < end_ && all[k + 1] == '>') {
      ++k;
    } else if (std::string_view(")]}>").find(c) != std::string_view::npos) {
      if (open.empty() || open.back() != c) {
        text::Scanner(*input_, {k, end_})
            .fail_expected(open.empty() ? "an open bracket" : fmt::format("'{}'", open.back()));
      }
      open.pop_back();
    }
    if (open.empty()) {
      if (k == first) fail_expected("an open bracket");
      go_to(k + 1);
      return at({first, k + 1});
    }
  }
  text::fail(at({first, first + 1}),
             {.code = Code::syntax, .message = "a bracket that is not closed"});
}

}  // namespace retile::foreign::mlir
