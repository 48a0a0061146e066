#include "retile/core/diagnostic.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace retile {
namespace {

/// Columns of a line of input shown at most, marks of the cut included.
constexpr std::size_t max_columns = 96;
/// Columns shown before the caret when a line has to be cut.
constexpr std::size_t columns_before_caret = 40;
/// Bytes looked at on either side of the caret: enough for every window, and no more work for a
/// line of a gigabyte.
constexpr std::size_t max_bytes_around_caret = 1024;
constexpr std::string_view cut_mark = "...";

/// One character of the input as a terminal shows it.
struct Glyph {
  std::string_view shown;
  std::size_t columns = 1;
  std::size_t begin = 0;  // bytes of the input
  std::size_t end = 0;
};

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The first character of non-empty `text`; not valid (and one byte long) where the text is no
/// UTF-8: stray or missing continuation bytes, overlong forms, surrogates, beyond U+10FFFF.
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  std::size_t bytes = 0;
  std::uint32_t value = 0;
  std::uint32_t least = 0;
  if (first >= 0xC2 && first < 0xE0) {
    bytes = 2, value = first & 0x1F, least = 0x80;
  } else if (first >= 0xE0 && first < 0xF0) {
    bytes = 3, value = first & 0x0F, least = 0x800;
  } else if (first >= 0xF0 && first < 0xF5) {
    bytes = 4, value = first & 0x07, least = 0x10000;
  }
  if (bytes == 0 || text.size() < bytes) return {};
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {value, bytes, true};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t n>
bool is_in(std::uint32_t value, const std::array<Range, n>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.first <= value && value <= range.last;
  });
}

// Unicode's control and format characters: they may move the cursor, colour the terminal or reverse
// the line.
constexpr std::array controls = {
    Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0xAD, 0xAD},      Range{0x61C, 0x61C},
    Range{0x180E, 0x180E}, Range{0x200B, 0x200F}, Range{0x2028, 0x202E},  Range{0x2060, 0x206F},
    Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE0FFF}};
// Marks that a terminal puts on the character before them. The main blocks, not every script.
constexpr std::array combining = {
    Range{0x300, 0x36F},   Range{0x483, 0x489},   Range{0x591, 0x5BD},   Range{0x1AB0, 0x1AFF},
    Range{0x1DC0, 0x1DFF}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};
// Characters of two columns: East Asian Wide and emoji.
constexpr std::array wide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
    Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

/// The characters of text[begin..end), `begin` and `end` being positions in the whole text.
std::vector<Glyph> glyphs_of(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<Glyph> out;
  while (begin < end) {
    const CodePoint point = decode(text.substr(begin, end - begin));
    Glyph glyph{text.substr(begin, point.bytes), 1, begin, begin + point.bytes};
    if (!point.valid) {
      glyph.shown = "?";
    } else if (is_in(point.value, controls)) {
      glyph.shown = " ";
    } else if (is_in(point.value, combining)) {
      glyph.columns = 0;
    } else if (is_in(point.value, wide)) {
      glyph.columns = 2;
    }
    out.push_back(glyph);
    begin += point.bytes;
  }
  return out;
}

bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The line of input and the line of the caret below it.
std::string underlined(std::string_view input, Span where) {
  where.begin = std::min(where.begin, input.size());
  where.end = std::clamp(where.end, where.begin, input.size());

  std::size_t first_byte = where.begin - std::min(where.begin, max_bytes_around_caret);
  std::size_t last_byte =
      where.begin + std::min(input.size() - where.begin, max_bytes_around_caret);
  while (first_byte > 0 && first_byte < where.begin && continues_a_character(input[first_byte])) {
    ++first_byte;
  }
  while (last_byte < input.size() && last_byte > where.begin &&
         continues_a_character(input[last_byte])) {
    --last_byte;
  }
  const std::vector<Glyph> glyphs = glyphs_of(input, first_byte, last_byte);

  std::size_t all_columns = 0;
  std::size_t columns_to_caret = 0;
  for (const Glyph& glyph : glyphs) {
    all_columns += glyph.columns;
    if (glyph.end <= where.begin) columns_to_caret += glyph.columns;
  }
  const bool whole = first_byte == 0 && last_byte == input.size() && all_columns <= max_columns;

  std::string line;
  std::string caret;
  std::size_t skip = 0;  // columns cut off at the left
  if (!whole && (first_byte > 0 || columns_to_caret > columns_before_caret)) {
    skip = columns_to_caret - std::min(columns_to_caret, columns_before_caret);
    line += cut_mark;
    caret.append(cut_mark.size(), ' ');
  }
  const std::size_t room = max_columns - 2 * cut_mark.size();
  std::size_t column = 0;
  std::size_t shown_columns = 0;
  bool pointed = false;
  bool cut_right = last_byte < input.size();
  for (const Glyph& glyph : glyphs) {
    column += glyph.columns;
    if (column <= skip) continue;
    if (!whole && shown_columns + glyph.columns > room) {
      cut_right = true;
      break;
    }
    shown_columns += glyph.columns;
    line += glyph.shown;
    if (glyph.end <= where.begin) {
      caret.append(glyph.columns, ' ');
    } else if (!pointed) {
      caret += '^';
      if (glyph.columns == 2 && glyph.begin < where.end) caret += '~';
      pointed = true;
    } else if (glyph.begin < where.end) {
      caret.append(glyph.columns, '~');
    }
  }
  if (!pointed) caret += '^';
  if (cut_right) line += cut_mark;
  return "  " + line + "\n  " + caret + "\n";
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  for (const Glyph& glyph : glyphs_of(text, 0, text.size())) out += glyph.shown;
  return out;
}

std::string render(const Diagnostic& diagnostic) {
  std::string out = "error: ";
  if (!diagnostic.source.empty()) out += clean(diagnostic.source) + ": ";
  out += clean(diagnostic.message);
  if (!diagnostic.rule.empty()) out += " [" + clean(diagnostic.rule) + "]";
  out += '\n';
  if (!diagnostic.input.empty()) out += underlined(diagnostic.input, diagnostic.where);
  for (const std::string& note : diagnostic.notes) out += "note: " + clean(note) + "\n";
  return out;
}

}  // namespace retile
