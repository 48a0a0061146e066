#include "retile/core/names.h"

#include <algorithm>
#include <cstddef>

namespace retile {

bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

std::string name_text(std::string_view name) {
  const bool bare = !name.empty() && begins_name(name.front()) &&
                    std::all_of(name.begin(), name.end(), continues_name);
  return bare ? std::string(name) : "\"" + std::string(name) + "\"";
}

std::string shortened(std::string_view text) {
  constexpr std::size_t most = 40;
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most)) + "..";
}

std::string shown_name(std::string_view name) { return name_text(shortened(name)); }

}  // namespace retile
