#include "retile/text/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "retile/core/names.h"

namespace retile::text {
namespace {

/// The line that `begin` stands in, without its end.
Span line_of(std::string_view text, std::size_t begin) {
  Span line;
  if (begin > 0) {
    const std::size_t line_end = text.rfind('\n', begin - 1);
    if (line_end != std::string_view::npos) line.begin = line_end + 1;
  }
  line.end = std::min(text.find('\n', begin), text.size());
  if (line.end > begin && text[line.end - 1] == '\r') --line.end;
  return line;
}

/// Puts the line of a place and its number into a diagnostic.
void put_line(Diagnostic& out, const Input& input, Span span) {
  const std::size_t begin = std::min(span.begin, input.text.size());
  const Span line = line_of(input.text, begin);
  out.input = std::string(input.text.substr(line.begin, line.end - line.begin));
  out.where = {.begin = begin - line.begin,
               .end = std::clamp(span.end, begin, line.end) - line.begin};
  const auto above = input.text.substr(0, line.begin);
  const auto number = std::count(above.begin(), above.end(), '\n') + 1;
  out.source += out.source.empty() ? fmt::format("line {}", number) : fmt::format(":{}", number);
}

}  // namespace

void fail_with(const Place& place, Diagnostic diagnostic) {
  const Input& input = *place.input;
  diagnostic.source = input.source;
  if (input.numbered) {
    put_line(diagnostic, input, place.span);
  } else if (input.text.empty()) {  // shown as `""`, so that there is something to point at
    diagnostic.input = "\"\"";
    diagnostic.where = {.begin = 0, .end = 2};
  } else {
    diagnostic.input = input.text;
    diagnostic.where = place.span;
  }
  throw Failure{std::move(diagnostic)};
}

void fail(const Place& place, Mistake mistake) {
  fail_with(place, {.code = mistake.code,
                    .message = std::move(mistake.message),
                    .rule = std::move(mistake.rule),
                    .notes = std::move(mistake.notes)});
}

Place number_place(const Place& value, std::size_t index) {
  const std::string_view text = value.input->text.substr(0, value.span.end);
  constexpr std::string_view digits = "0123456789";
  const auto number_at = [text](std::size_t begin) {
    std::size_t out = 0;
    std::from_chars(text.data() + begin, text.data() + text.size(), out);
    return out;
  };
  std::size_t begin = text.find_first_of(digits, value.span.begin);
  while (begin != std::string_view::npos) {
    std::size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
    std::size_t numbers = 1;
    if (text.substr(end, 2) == "..") {
      const std::size_t last = std::min(text.find_first_of(digits, end), text.size());
      end = std::min(text.find_first_not_of(digits, last), text.size());
      numbers += number_at(last) - number_at(begin);
    }
    if (index < numbers) return {.input = value.input, .span = {.begin = begin, .end = end}};
    index -= numbers;
    begin = text.find_first_of(digits, end);
  }
  return value;
}

}  // namespace retile::text
