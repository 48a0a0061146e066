// Reads tokens from one line of text, left to right: what all notations and forms are read with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/size.h"
#include "retile/text/place.h"

namespace retile::text {

/// Notes that are only made when they are needed.
using Notes = std::function<std::vector<std::string>()>;

/// Every method skips blanks and tabs first, and fails at the first thing that is not what it must
/// be. `what` names the thing in messages: "expected the size of axis x, found 'y'".
class Scanner {
 public:
  explicit Scanner(const Input& input) : Scanner(input, {0, input.text.size()}) {}
  Scanner(const Input& input, Span range)
      : input_(&input), position_(range.begin), end_(range.end) {}

  /// From now on ends of lines are blanks, and so are comments, `/* .. */` and `// ..` up to the end
  /// of a line.
  void read_over_lines() { over_lines_ = true; }

  [[nodiscard]] bool done() { return peek() < 0; }  ///< only blanks are left
  /// The next character that is no blank, as 0..255, or -1 at the end.
  [[nodiscard]] int peek();
  [[nodiscard]] bool sees(char c) { return peek() == static_cast<unsigned char>(c); }
  [[nodiscard]] bool sees_number();
  [[nodiscard]] bool sees_word();  ///< a name without quotes
  [[nodiscard]] bool sees_name() { return sees('"') || sees_word(); }
  /// Whether `stride:` comes next, the beginning of a digit of the device number.
  [[nodiscard]] bool sees_stride();

  /// Reads the token if it comes next.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  /// `where` in the message: "expected the end after ']', found 'x'".
  void expect_end(std::string_view where = "", std::vector<std::string> notes = {});

  /// A name without quotes.
  [[nodiscard]] Token<std::string> word(std::string_view what, const Notes& notes = {});
  /// A name with or without quotes.
  [[nodiscard]] Token<std::string> name(std::string_view what, const Notes& notes = {});
  /// A text between two single or two double quotes.
  [[nodiscard]] bool sees_quoted() { return sees('"') || sees('\''); }
  [[nodiscard]] Token<std::string> quoted(std::string_view what, const Notes& notes = {});
  /// A text of JSON: between two double quotes, with escapes.
  [[nodiscard]] Token<std::string> json_text(std::string_view what);
  /// A number from 0. \error bad_number (negative, 2^63 or more)
  [[nodiscard]] Token<Size> number();
  /// A number from 1, which `what` names. \error bad_number
  [[nodiscard]] Token<Size> size(std::string_view what, const Notes& notes = {});

  /// "expected `what`, found .." at the next token.
  [[noreturn]] void fail_expected(std::string_view what, std::vector<std::string> notes = {});

  /// The column of the last byte read, counted from 1 in its line.
  [[nodiscard]] std::size_t column() const;
  /// Where the next token begins.
  [[nodiscard]] std::size_t next();
  /// Everything behind the last token, blanks included.
  [[nodiscard]] Place rest() const { return at({position_, end_}); }
  /// Bytes from `begin` to the end of the last token.
  [[nodiscard]] Place since(std::size_t begin) const { return at({begin, position_}); }
  [[nodiscard]] Place at(Span span) const { return {.input = input_, .span = span}; }

 private:
  [[nodiscard]] char here() const { return input_->text[position_]; }
  /// Moves over an end of a line or a comment, if one comes next.
  bool skip_line();
  [[nodiscard]] Token<Size> digits(std::string_view what, std::string_view note_on_signs,
                                   const Notes& notes);
  [[nodiscard]] Token<std::string> quoted_name();  ///< between whichever quotes come next
  /// What an escape means; the backslash is read.
  void read_escape(std::string& out);
  /// Four hexadecimal digits.
  [[nodiscard]] std::uint32_t code_unit();

  const Input* input_;
  std::size_t position_;
  std::size_t end_;
  bool over_lines_ = false;
};

}  // namespace retile::text
