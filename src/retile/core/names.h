// Names of axes as text, and how messages show them and numbers of things.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace retile {

/// Is `c` one of 0 to 9, whatever the locale?
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// May `c` begin a name without quotes? [A-Za-z_], whatever the locale.
[[nodiscard]] bool begins_name(char c);
/// May `c` stand in a name without quotes? [A-Za-z0-9_.-]
[[nodiscard]] bool continues_name(char c);

/// The name as every text writes it: in double quotes unless it is [A-Za-z_][A-Za-z0-9_.-]*.
[[nodiscard]] std::string name_text(std::string_view name);

/// Whether a text has one of Unicode's control characters, U+0000 to U+001F and U+007F to U+009F,
/// which may move a terminal's cursor or colour it.
[[nodiscard]] bool has_control_character(std::string_view text);

/// The first 40 bytes of a text that may be megabytes long, fewer where that would cut a character
/// of UTF-8, and `..` where that is not all.
[[nodiscard]] std::string shortened(std::string_view text);

/// The name as messages show it: name_text of a shortened name.
[[nodiscard]] std::string shown_name(std::string_view name);

/// `1 dimension`, `3 dimensions`; with another plural `1 axis`, `3 axes`.
template <std::integral Count>
[[nodiscard]] std::string counted(Count count, std::string_view singular,
                                  std::string_view plural = "") {
  std::string out = std::to_string(count) + " ";
  if (count != 1 && !plural.empty()) return out.append(plural);
  return out.append(singular).append(count == 1 ? "" : "s");
}

}  // namespace retile
