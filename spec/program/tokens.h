/// The tokens of the Program text form, its lists and tables, and where an error is.
///
/// NAME: [A-Za-z_][A-Za-z0-9_.-]* or "any text without quotes and control characters". INT: decimal, below 2^63.
/// A line ends with LF, CRLF or the text; blanks are space and tab; # starts a comment.
#pragma once

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "program.h"

namespace spec {

/// Where the text stops being a Program. Line and column (in bytes) count from 1.
struct ParseError {
  std::size_t line = 1, column = 1;
  std::string message;
};

class Tokens {
 public:
  static constexpr int end_of_line = -1;
  static constexpr Size most = std::numeric_limits<Size>::max();
  static constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-";

  explicit Tokens(std::string_view text) : rest_(text) {}

  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    position_ = 0;
    ++line_number_;
    return true;
  }

  /// A position of the current line, for `fail`.
  ParseError here() {
    peek();
    return {std::max<std::size_t>(line_number_, 1), position_ + 1, ""};
  }
  [[noreturn]] static void fail(ParseError place, std::string message) {
    place.message = std::move(message);
    throw place;
  }

  /// The next character that is no blank, or end_of_line.
  int peek() {
    position_ = std::min(line_.find_first_not_of(" \t", position_), line_.size());
    if (position_ == line_.size() || line_[position_] == '#') return end_of_line;
    return static_cast<unsigned char>(line_[position_]);
  }
  bool at_digit() { return '0' <= peek() && peek() <= '9'; }

  /// What was read since `place`, which stands in the current line.
  Name since(const ParseError& place) const {
    return Name(line_.substr(place.column - 1, position_ - (place.column - 1)));
  }

  /// Takes `symbol`, which has no blanks inside, if it stands here.
  bool accept(std::string_view symbol) {
    if (peek() == end_of_line || line_.substr(position_, symbol.size()) != symbol) return false;
    position_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    const ParseError place = here();
    if (!accept(symbol)) fail(place, "expected '" + std::string(symbol) + "'");
  }

  Size integer(Size low = 0, Size high = most) {
    const ParseError place = here();
    if (!at_digit()) fail(place, "expected a number");
    Size value = 0;
    const char* const end = line_.data() + line_.size();
    const auto [rest, error] = std::from_chars(line_.data() + position_, end, value);
    if (error != std::errc()) fail(place, "this number is not below 2^63");
    if (value < low) fail(place, "this number must be at least " + std::to_string(low));
    if (value > high) fail(place, "this number must be at most " + std::to_string(high));
    position_ = static_cast<std::size_t>(rest - line_.data());
    return value;
  }

  /// The letters, digits and _ . - that stand here, if any.
  Name word() {
    peek();
    const std::size_t start = position_;
    position_ = std::min(line_.find_first_not_of(letters, start), line_.size());
    return Name(line_.substr(start, position_ - start));
  }
  static bool is_bare(const Name& x) {
    return !x.empty() && letters.find(x[0]) <= letters.find('_') &&
           x.find_first_not_of(letters) == Name::npos;
  }
  Name bare_name() {
    const ParseError place = here();
    Name out = word();
    if (!is_bare(out)) fail(place, "expected a name");
    return out;
  }
  /// Quotes hold no control characters: U+0000 to U+001F, and U+007F to U+009F. From U+0080 on these
  /// are C2 80 to C2 9F in UTF-8.
  Name name() {
    const ParseError place = here();
    if (!accept("\"")) return bare_name();
    const std::size_t end = line_.find('"', position_);
    if (end == std::string_view::npos) fail(place, "this quoted name does not end");
    Name out(line_.substr(position_, end - position_));
    const auto byte = [&](Index k) { return static_cast<unsigned char>(out[k]); };
    for (Index k = 0; k < out.size(); ++k) {
      if (byte(k) < 0x20 || byte(k) == 0x7F || (byte(k) == 0xC2 && byte(k + 1) / 0x20 == 4)) {
        fail(place, "a name has no control characters");
      }
    }
    position_ = end + 1;
    return out;
  }

  /// item {"," item}
  template <class Read>
  auto items(Read read) {
    std::vector<decltype(read())> out;
    do out.push_back(read());
    while (accept(","));
    return out;
  }
  /// "[" [item {"," item}] "]", or the same in braces
  template <class Read>
  auto list(char open, Read read) {
    const char* const close = open == '[' ? "]" : "}";
    decltype(items(read)) out;
    expect(std::string(1, open));
    if (accept(close)) return out;
    out = items(read);
    expect(close);
    return out;
  }
  Sizes ints(Size low = 0, Size high = most) {
    return list('[', [&] { return integer(low, high); });
  }
  Rows rows(Size high = most) {
    return list('[', [&] { return ints(0, high); });
  }

  /// groups (numbers = 2): rows or iota; source and part (numbers = 1): ints or iota.
  Table table(Index numbers, Size high, Size D) {
    const ParseError start = here();
    Table out;
    if (numbers == 2 && !at_list_of_numbers()) {
      out.listed = rows(high);
      return out;
    }
    const Sizes left = ints();
    while (accept("<=")) out.stages.push_back(stage(product(left), D, start));
    if (out.stages.empty()) {
      if (numbers == 2) fail(start, "expected rows of devices or [count,length]<=[..]");
      for (const Size d : left) {
        if (d > high) fail(start, "there is no device " + std::to_string(d));
      }
      out.listed = {left};
      return out;
    }
    if (left.size() != numbers) fail(start, "an iota starts with [length] or [count,length]");
    out.count = numbers == 2 ? left.front() : 1;
    out.length = left.back();
    return out;
  }

  Stage stage(std::optional<Size> entries, Size D, const ParseError& start) {
    Stage out;
    out.shape = ints(1);
    if (!entries || *entries > D || product(out.shape) != entries) {
      fail(start, "the stages of an iota must have one size, at most the number of devices");
    }
    const Index m = out.shape.size();
    out.stride.assign(m, 1);
    for (Index k = m; k-- > 1;) out.stride[k - 1] = out.stride[k] * out.shape[k];
    out.T.resize(m);
    std::iota(out.T.begin(), out.T.end(), Index{0});
    if (!accept("T")) return out;
    const auto each_once = out.T;
    expect("(");
    out.T = items([&] { return static_cast<Index>(integer()); });
    expect(")");
    auto sorted = out.T;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != each_once) fail(start, "T must name each dimension of its stage once");
    return out;
  }

 private:
  bool at_list_of_numbers() {  // looks ahead without moving
    Tokens ahead = *this;
    return ahead.accept("[") && ahead.at_digit();
  }

  std::string_view rest_, line_;
  std::size_t position_ = 0, line_number_ = 0;
};

/// x, or "x" where only quotes make it a name.
inline std::string to_text(const Name& x) { return Tokens::is_bare(x) ? x : '"' + x + '"'; }

}  // namespace spec
