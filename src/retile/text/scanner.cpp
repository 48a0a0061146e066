#include "retile/text/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "retile/core/names.h"

namespace retile::text {
namespace {

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

std::vector<std::string> made(const Notes& notes) {
  return notes ? notes() : std::vector<std::string>{};
}

/// How many bytes of `text` are its first word, number or character.
std::size_t first_length(std::string_view text) {
  std::size_t length = 1;
  if (continues_name(text[0])) {
    while (length < text.size() && continues_name(text[length])) ++length;
  } else if (byte(text[0]) >= 0xC0) {  // a character of several bytes
    while (length < std::min<std::size_t>(text.size(), 4) && (byte(text[length]) & 0xC0) == 0x80) {
      ++length;
    }
  }
  return length;
}

/// A token in words: `'x'`, or `the byte 0x07` for what cannot be shown.
std::string found_text(std::string_view token) {
  const unsigned char first = byte(token[0]);
  const bool shown = first >= 0x20 && first != 0x7F && (first < 0x80 || token.size() > 1);
  return shown ? fmt::format("'{}'", shortened(token)) : fmt::format("the byte 0x{:02X}", first);
}

/// Appends a character in UTF-8. Precondition: it is one of Unicode, and no half of one.
void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  std::uint32_t shift = code < 0x800 ? 6 : code < 0x10000 ? 12 : 18;
  const std::uint32_t first = shift == 6 ? 0xC0U : shift == 12 ? 0xE0U : 0xF0U;
  out += static_cast<char>(first | code >> shift);
  while (shift > 0) {
    shift -= 6;
    out += static_cast<char>(0x80U | (code >> shift & 0x3FU));
  }
}

}  // namespace

int Scanner::peek() {
  do {
    while (position_ < end_ && (here() == ' ' || here() == '\t')) ++position_;
  } while (over_lines_ && skip_line());
  return position_ < end_ ? byte(here()) : -1;
}

bool Scanner::skip_line() {
  if (position_ >= end_) return false;
  if (here() == '\n' || here() == '\r') {
    ++position_;
    return true;
  }
  if (here() != '/') return false;
  const std::string_view rest = input_->text.substr(position_, end_ - position_);
  const std::string_view begin = rest.substr(0, 2);
  if (begin != "//" && begin != "/*") return false;
  const std::string_view close = begin == "//" ? "\n" : "*/";
  const std::size_t length = rest.find(close, 2);
  position_ = length == std::string_view::npos ? end_ : position_ + length + close.size();
  return true;
}

bool Scanner::sees_number() { return peek() >= 0 && is_digit(here()); }

bool Scanner::sees_word() { return peek() >= 0 && begins_name(here()); }

bool Scanner::sees_stride() {
  if (!sees_number()) return false;
  const std::string_view rest = input_->text.substr(0, end_);
  const std::size_t after = rest.find_first_not_of("0123456789 \t", position_);
  return after != std::string_view::npos && rest[after] == ':';
}

bool Scanner::accept(std::string_view token) {
  if (peek() < 0 ||
      input_->text.substr(position_, end_ - position_).substr(0, token.size()) != token) {
    return false;
  }
  position_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail_expected(fmt::format("'{}'", token));
}

void Scanner::expect_end(std::string_view where, std::vector<std::string> notes) {
  if (done()) return;
  fail_expected(where.empty() ? "the end" : fmt::format("the end {}", where), std::move(notes));
}

void Scanner::fail_expected(std::string_view what, std::vector<std::string> notes) {
  Span span{next(), position_};
  std::string found = "the end";
  if (!done()) {
    const std::string_view rest = input_->text.substr(position_, end_ - position_);
    span.end += first_length(rest);
    found = found_text(rest.substr(0, span.end - span.begin));
  }
  fail(at(span), {.code = Code::syntax,
                  .message = fmt::format("expected {}, found {}", what, found),
                  .notes = std::move(notes)});
}

Token<std::string> Scanner::word(std::string_view what, const Notes& notes) {
  if (!sees_word()) fail_expected(what, made(notes));
  const std::size_t begin = position_;
  while (position_ < end_ && continues_name(here())) ++position_;
  return {.value = std::string(input_->text.substr(begin, position_ - begin)),
          .place = since(begin)};
}

Token<std::string> Scanner::name(std::string_view what, const Notes& notes) {
  return sees('"') ? quoted_name() : word(what, notes);
}

Token<std::string> Scanner::quoted(std::string_view what, const Notes& notes) {
  if (!sees_quoted()) fail_expected(what, made(notes));
  return quoted_name();
}

Token<std::string> Scanner::quoted_name() {
  const std::size_t begin = position_;
  const char quote = here();
  const std::string_view text = input_->text.substr(0, end_);
  const std::size_t close = text.find_first_of(std::string{quote, '\n'}, begin + 1);
  if (close == std::string_view::npos || text[close] != quote) {
    fail(at({begin, std::min(close, end_)}),
         {.code = Code::syntax,
          .message = "a quoted name has no closing quote",
          .notes = {fmt::format("a name stands between two {} quotes on one line",
                                quote == '"' ? "double" : "single")}});
  }
  position_ = close + 1;
  return {.value = std::string(text.substr(begin + 1, close - begin - 1)), .place = since(begin)};
}

Token<std::string> Scanner::json_text(std::string_view what) {
  if (!sees('"')) fail_expected(what);
  const std::size_t begin = position_++;
  std::string out;
  while (position_ < end_ && here() != '"') {
    if (byte(here()) < 0x20) break;
    const char c = here();
    ++position_;
    if (c == '\\') {
      read_escape(out);
    } else {
      out += c;
    }
  }
  if (position_ >= end_ || here() != '"') {
    fail(since(begin),
         {.code = Code::syntax, .message = "a text has no closing quote on its line"});
  }
  ++position_;
  return {.value = std::move(out), .place = since(begin)};
}

void Scanner::read_escape(std::string& out) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const std::size_t begin = position_ - 1;
  const std::size_t letter = position_ < end_ ? letters.find(here()) : std::string_view::npos;
  if (letter != std::string_view::npos) {
    ++position_;
    out += meanings[letter];
    return;
  }
  std::uint32_t code = code_unit();
  if (code >= 0xD800 && code < 0xDC00) {  // the first half of a character
    const bool goes_on = position_ < end_ && here() == '\\';
    if (goes_on) ++position_;
    const std::uint32_t low = goes_on ? code_unit() : 0;
    const bool is_pair = low >= 0xDC00 && low < 0xE000;
    code = is_pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xDC00;
  }
  if (code >= 0xDC00 && code < 0xE000) {
    fail(since(begin), {.code = Code::syntax, .message = "half of a character is none"});
  }
  append_utf8(out, code);
}

std::uint32_t Scanner::code_unit() {
  constexpr std::size_t digits = 4;
  const std::size_t begin = position_ - 1;
  const std::string_view text = input_->text.substr(0, end_);
  const std::string_view hex = text.substr(std::min(position_ + 1, end_)).substr(0, digits);
  std::uint32_t value = 0;
  const auto [last, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  const bool is_hex =
      error == std::errc() && last == hex.data() + hex.size() && hex.size() == digits;
  if (position_ >= end_ || here() != 'u' || !is_hex) {
    position_ = std::min(position_ + 1, end_);
    fail(since(begin),
         {.code = Code::syntax,
          .message = "JSON has no such escape",
          .notes = {"its escapes are a backslash and one of \" \\ / b f n r t, or u and four "
                    "hexadecimal digits"}});
  }
  position_ += 1 + digits;
  return value;
}

Token<Size> Scanner::number() {
  return digits("", "sizes, offsets and device numbers are never negative", {});
}

Token<Size> Scanner::size(std::string_view what, const Notes& notes) {
  constexpr std::string_view from_one = "sizes are whole numbers from 1";
  const Token<Size> out = digits(what, from_one, notes);
  if (out.value == 0) {
    fail(out.place, {.code = Code::bad_number,
                     .message = fmt::format("{} must be at least 1, not 0", what),
                     .notes = {std::string(from_one)}});
  }
  return out;
}

/// A number from 0. An empty `what`: one that has no name.
Token<Size> Scanner::digits(std::string_view what, std::string_view note_on_signs,
                            const Notes& notes) {
  const std::size_t begin = next();
  const std::string_view named = what.empty() ? "this number" : what;
  const std::string_view text = input_->text.substr(0, end_);
  const std::string_view sign = text.substr(begin, 1);
  const bool is_signed =
      (sign == "-" || sign == "+") && begin + 1 < end_ && is_digit(text[begin + 1]);
  if (is_signed) ++position_;
  if (!sees_number()) fail_expected(what.empty() ? "a number" : what, made(notes));
  Size value = 0;
  bool fits = true;
  for (; position_ < end_ && is_digit(here()); ++position_) {
    fits = fits && !__builtin_mul_overflow(value, Size{10}, &value) &&
           !__builtin_add_overflow(value, Size{here() - '0'}, &value);
  }
  if (is_signed) {
    const bool negative = sign == "-";
    fail(since(begin),
         {.code = negative ? Code::bad_number : Code::syntax,
          .message = fmt::format("{} {}", named,
                                 negative ? "cannot be negative" : "is written without a sign"),
          .notes = {std::string(note_on_signs)}});
  }
  if (!fits) {
    fail(since(begin), {.code = Code::bad_number,
                        .message = fmt::format("{} does not fit in 63 bits", named),
                        .notes = {"the largest number is 9223372036854775807"}});
  }
  return {.value = value, .place = since(begin)};
}

std::size_t Scanner::column() const {
  if (!input_->numbered || position_ == 0) return position_;
  const std::size_t line_end = input_->text.rfind('\n', position_ - 1);
  return line_end == std::string_view::npos ? position_ : position_ - line_end - 1;
}

std::size_t Scanner::next() {
  static_cast<void>(peek());
  return position_;
}

}  // namespace retile::text
