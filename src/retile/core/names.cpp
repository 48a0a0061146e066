#include "retile/core/names.h"

#include <algorithm>
#include <cstddef>

namespace retile {

namespace {

/// Whether a byte is one of a UTF-8 character, but not the first one.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

std::string name_text(std::string_view name) {
  const bool bare = !name.empty() && begins_name(name.front()) &&
                    std::all_of(name.begin(), name.end(), continues_name);
  return bare ? std::string(name) : "\"" + std::string(name) + "\"";
}

bool has_control_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (byte(i) < 0x20 || byte(i) == 0x7F) return true;
    if (byte(i) == 0xC2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xA0) return true;
  }
  return false;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t most = 40;
  constexpr std::size_t longest_character = 4;
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > most - longest_character && continues_character(text[end])) --end;
  if (continues_character(text[end])) end = most;  // no UTF-8
  return std::string(text.substr(0, end)) + "..";
}

std::string shown_name(std::string_view name) { return name_text(shortened(name)); }

}  // namespace retile
