// What fuzz targets make of their bytes: choices for the decoders of generators.h, lines of text,
// and mutations of text that keep its tokens whole.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace support {

/// Choices from bytes, one after another; behind the end every choice is 0, the simplest. The digit
/// '0' stands for choice 0, '1' for choice 1 and so on, so that short inputs can be written by
/// hand.
inline std::function<retile::Size(retile::Size)> byte_choices(std::string_view bytes) {
  return [bytes, next = std::size_t{0}](retile::Size bound) mutable -> retile::Size {
    constexpr std::uint64_t per_byte = 128;  // what printable texts can say, too
    std::uint64_t value = 0;
    std::uint64_t range = 1;
    while (range < static_cast<std::uint64_t>(bound)) {  // bounds lie below 2^56
      const unsigned byte =
          next < bytes.size() ? static_cast<unsigned char>(bytes[next++]) : unsigned{'0'};
      value = value * per_byte + (byte + 256U - '0') % per_byte;
      range *= per_byte;
    }
    return static_cast<retile::Size>(value % static_cast<std::uint64_t>(bound));
  };
}

/// The lines of a text without their ends; a text that ends in a line end has no empty line behind.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

namespace detail {

enum class TokenKind { number, word, quoted, mark, blank };

struct TextToken {
  TokenKind kind = TokenKind::mark;
  std::string text;
};

/// Every byte stands in one token; joined they are the text again.
inline std::vector<TextToken> text_tokens(std::string_view text) {
  const auto is = [](int (*property)(int), char c) {
    return property(static_cast<unsigned char>(c)) != 0;
  };
  std::vector<TextToken> out;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t begin = i++;
    const char c = text[begin];
    TokenKind kind = TokenKind::mark;
    if (is(std::isdigit, c)) {
      kind = TokenKind::number;
      while (i < text.size() && is(std::isdigit, text[i])) ++i;
    } else if (is(std::isalpha, c) || c == '_') {
      kind = TokenKind::word;
      while (i < text.size() && (is(std::isalnum, text[i]) || text[i] == '_')) ++i;
    } else if (c == '"' || c == '\'') {
      const std::size_t close = text.find_first_of(c == '"' ? "\"\n" : "'\n", i);
      if (close != std::string_view::npos && text[close] == c) {
        kind = TokenKind::quoted;
        i = close + 1;
      }
    } else if (c == '<' && i < text.size() && text[i] == '=') {
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      kind = TokenKind::blank;
    }
    out.push_back({kind, std::string(text.substr(begin, i - begin))});
  }
  return out;
}

inline std::string other_number(const std::function<std::size_t(std::size_t)>& pick,
                                const std::string& old) {
  static const std::vector<std::string> edges = {"0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "4",
                                                 "5",
                                                 "6",
                                                 "7",
                                                 "8",
                                                 "12",
                                                 "24",
                                                 "007",
                                                 "65535",
                                                 "65536",
                                                 "2147483647",
                                                 "2147483648",
                                                 "2147483649",
                                                 "4294967295",
                                                 "4294967296",
                                                 "4611686018427387904",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "18446744073709551616",
                                                 "99999999999999999999"};
  if (pick(3) == 0 || old.size() > 15) return edges[pick(edges.size())];
  const std::int64_t value = std::stoll(old);
  switch (pick(6)) {
    case 0:
      return std::to_string(value + 1);
    case 1:
      return std::to_string(std::max<std::int64_t>(value - 1, 0));
    case 2:
      return std::to_string(value * 2);
    case 3:
      return std::to_string(value * 3);
    case 4:
      return std::to_string(value / 2);
    default:
      return "0" + old;
  }
}

}  // namespace detail

/// One edit of whole tokens or lines, sometimes up to four. `vocabulary` holds words and marks of
/// the language.
inline std::string mutate_text(std::string_view text, std::uint64_t seed,
                               const std::vector<std::string>& vocabulary) {
  using detail::TokenKind;
  std::mt19937_64 engine(seed);
  const std::function<std::size_t(std::size_t)> pick = [&engine](std::size_t bound) {
    return static_cast<std::size_t>(engine() % bound);
  };
  auto tokens = detail::text_tokens(text);
  const auto at = [&tokens](std::size_t index) {
    return tokens.begin() + static_cast<std::ptrdiff_t>(index);
  };
  const auto one_of = [&](TokenKind kind) {  // tokens.size() when there is none
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind == kind) found.push_back(i);
    }
    return found.empty() ? tokens.size() : found[pick(found.size())];
  };
  for (std::size_t edits = pick(4) == 0 ? 1 + pick(4) : 1; edits > 0; --edits) {
    if (tokens.empty()) tokens = detail::text_tokens(vocabulary[pick(vocabulary.size())]);
    const std::size_t here = pick(tokens.size());
    const std::size_t number = one_of(TokenKind::number);
    switch (pick(14)) {
      case 0:
        tokens.erase(at(here));
        break;
      case 1: {
        const auto copy = tokens[here];
        tokens.insert(at(pick(tokens.size() + 1)), copy);
        break;
      }
      case 2:
        std::swap(tokens[here], tokens[pick(tokens.size())]);
        break;
      case 3:
      case 4:
      case 5:
        if (number < tokens.size())
          tokens[number].text = detail::other_number(pick, tokens[number].text);
        break;
      case 6: {  // the same token everywhere
        const std::string old = tokens[here].text;
        const std::string next = tokens[here].kind == TokenKind::number
                                     ? detail::other_number(pick, old)
                                     : vocabulary[pick(vocabulary.size())];
        if (tokens[here].kind == TokenKind::mark || tokens[here].kind == TokenKind::blank) break;
        const TokenKind kind = tokens[here].kind;
        for (auto& token : tokens) {
          if (token.text == old) token = {kind, next};
        }
        break;
      }
      case 7:
        tokens[here] = {TokenKind::word, vocabulary[pick(vocabulary.size())]};
        break;
      case 8:
        tokens.insert(at(here), {TokenKind::word, vocabulary[pick(vocabulary.size())]});
        break;
      case 9: {  // one token in the place of another of its kind
        const std::size_t other = one_of(tokens[here].kind);
        if (other < tokens.size()) tokens[here] = tokens[other];
        break;
      }
      case 10: {  // a stretch once more
        const std::size_t end = std::min(tokens.size(), here + 1 + pick(8));
        const std::vector<detail::TextToken> stretch(at(here), at(end));
        tokens.insert(at(pick(tokens.size() + 1)), stretch.begin(), stretch.end());
        break;
      }
      case 11: {  // a stretch less
        const std::size_t end = std::min(tokens.size(), here + 1 + pick(8));
        tokens.erase(at(here), at(end));
        break;
      }
      default: {  // lines
        std::string whole;
        for (const auto& token : tokens) whole += token.text;
        auto lines = lines_of(whole);
        if (lines.empty()) break;
        const std::size_t line = pick(lines.size());
        const auto place = lines.begin() + static_cast<std::ptrdiff_t>(line);
        const std::size_t form = pick(3);
        if (form == 0) lines.erase(place);
        if (form == 1) {
          const std::string copy = lines[line];
          lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(pick(lines.size() + 1)), copy);
        }
        if (form == 2) std::swap(lines[line], lines[pick(lines.size())]);
        whole.clear();
        for (const std::string& each : lines) whole += each + "\n";
        tokens = detail::text_tokens(whole);
      }
    }
  }
  std::string out;
  for (const auto& token : tokens) out += token.text;
  return out;
}

/// The first lines of one text and the last lines of another.
inline std::string splice_lines(std::string_view first, std::string_view second,
                                std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto begin = lines_of(first);
  const auto end = lines_of(second);
  std::string out;
  const std::size_t kept = engine() % (begin.size() + 1);
  for (std::size_t i = 0; i < kept; ++i) out += begin[i] + "\n";
  for (std::size_t i = engine() % (end.size() + 1); i < end.size(); ++i) out += end[i] + "\n";
  return out;
}

}  // namespace support
