// Tokens of MLIR's text. Room-internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "retile/text/place.h"

namespace retile::foreign::mlir {

using text::Place;

/// `%0`, `@m`, `#a`, `!t` and `^bb0` are one token each, with the character before the name.
enum class TokenKind {
  end,
  word,
  value,
  symbol,
  hash,
  exclamation,
  caret,
  integer,
  real,
  text,
  sign
};

struct LexToken {
  TokenKind kind = TokenKind::end;
  Span span = {};
};

/// Reads over blanks, lines and comments.
class Lexer {
 public:
  Lexer(const text::Input& input, Span range)
      : input_(&input), end_(range.end), position_(range.begin) {
    advance();
  }

  [[nodiscard]] const LexToken& next() const { return token_; }
  [[nodiscard]] std::string_view text() const { return text_of(token_.span); }
  [[nodiscard]] bool sees(TokenKind kind) const { return token_.kind == kind; }
  /// Whether this word or sign comes next, as a whole.
  [[nodiscard]] bool sees(std::string_view token) const {
    return (token_.kind == TokenKind::word || token_.kind == TokenKind::sign) && text() == token;
  }
  LexToken take() {
    const LexToken out = token_;
    last_end_ = out.span.end;
    advance();
    return out;
  }
  bool accept(std::string_view token) {
    if (!sees(token)) return false;
    take();
    return true;
  }
  void expect(std::string_view token);
  /// "expected `what`, found .." at the next token.
  [[noreturn]] void fail_expected(std::string_view what) const;

  [[nodiscard]] Place at(Span span) const { return {.input = input_, .span = span}; }
  [[nodiscard]] Place here() const { return at(token_.span); }
  [[nodiscard]] std::size_t begin() const { return token_.span.begin; }
  /// From `begin` to the end of the last token.
  [[nodiscard]] Place since(std::size_t begin) const { return at({begin, last_end_}); }
  [[nodiscard]] std::string_view text_of(Span span) const {
    return input_->text.substr(span.begin, span.end - span.begin);
  }

  /// Reads what stands in the bracket that comes next, and the bracket that closes it.
  Place take_balanced();
  /// Goes on reading at a byte.
  void go_to(std::size_t position) {
    last_end_ = position;
    position_ = position;
    advance();
  }
  /// Whether nothing stands between the last token and the next.
  [[nodiscard]] bool touches() const { return last_end_ == token_.span.begin; }

 private:
  void advance();
  void skip_blanks();
  [[nodiscard]] std::size_t text_end(std::size_t begin) const;
  [[nodiscard]] LexToken number(std::size_t begin) const;
  [[nodiscard]] LexToken read(std::size_t begin) const;
  [[nodiscard]] LexToken named(std::size_t begin) const;

  const text::Input* input_;
  std::size_t end_;
  std::size_t position_;
  std::size_t last_end_ = 0;
  LexToken token_;
};

}  // namespace retile::foreign::mlir
