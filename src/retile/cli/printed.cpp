#include "retile/cli/printed.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace retile::cli {
namespace {

/// The length of a control character at the start of a text that a terminal would obey, 0 where there
/// is none: all of C0 and C1 but ends of lines and tabs.
std::size_t control_at(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x20 || byte == 0x7F) return byte != '\n' && byte != '\t' ? 1 : 0;
  if (byte != 0xC2 || text.size() < 2) return 0;
  return static_cast<unsigned char>(text[1]) < 0xA0 ? 2 : 0;
}

}  // namespace

Diagnostic pointed(Diagnostic diagnostic) {
  if (diagnostic.input.empty() && !diagnostic.source.empty()) {
    diagnostic.input = std::exchange(diagnostic.source, "");
    diagnostic.where = {0, diagnostic.input.size()};
  }
  return diagnostic;
}

std::string harmless(std::string text) {
  const auto is_first = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F || byte == 0xC2;
  };
  for (auto at = std::find_if(text.begin(), text.end(), is_first); at != text.end();
       at = std::find_if(at + 1, text.end(), is_first)) {
    const auto place = static_cast<std::size_t>(at - text.begin());
    const std::size_t length = control_at(std::string_view(text).substr(place));
    if (length > 0) *at = ' ';
    if (length == 2) at[1] = ' ';
  }
  return text;
}

std::string columns_text(const std::vector<std::vector<std::string>>& lines, FirstColumn first,
                         std::size_t indent) {
  std::vector<std::size_t> widths(lines[0].size(), 0);
  const auto is_free = [&](const std::vector<std::string>& line, std::size_t c) {
    return line.size() < widths.size() && c + 1 == line.size();
  };
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (!is_free(line, c)) widths[c] = std::max(widths[c], line[c].size());
    }
  }
  std::string out;
  for (const auto& line : lines) {
    out.append(indent, ' ');
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (c > 0) out += "  ";
      const std::size_t blanks = is_free(line, c) ? 0 : widths[c] - line[c].size();
      const bool left = c == 0 && first == FirstColumn::label;
      if (!left) out.append(blanks, ' ');
      out += line[c];
      if (left) out.append(blanks, ' ');
    }
    out += "\n";
  }
  return out;
}

}  // namespace retile::cli
