#include "retile/foreign/reader.h"

#include <algorithm>
#include <cstddef>

#include "retile/core/names.h"
#include "retile/foreign/hlo/hlo.h"
#include "retile/foreign/typing.h"

namespace retile::foreign {
namespace {

/// The first line that says something: no blanks, no comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, 2) != "//") return line;
    text.remove_prefix(line.size());
  }
  return {};
}

bool begins_with(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word;
}

/// `%add.clone (x: f32[]) -> f32[] {`, `ENTRY main {`: how a computation begins.
bool begins_computation(std::string_view line) {
  if (begins_with(line, "ENTRY ")) return true;
  const bool opens = line.find('{') != std::string_view::npos;
  return opens && begins_with(line, "%");
}

}  // namespace

std::optional<Language> language_of(std::string_view text) {
  const std::string_view line = first_line(text);
  if (begins_with(line, "HloModule") || begins_computation(line)) return Language::hlo;
  return std::nullopt;
}

Result<std::vector<Function>> read(const text::Input& input, Language language,
                                   const ReadOptions& options) {
  auto functions = text::result_of([&] {
    switch (language) {
      case Language::hlo:
        return read_hlo(input, options);
    }
    return std::vector<Function>();
  });
  if (!functions) return functions;
  for (const Function& function : *functions) {
    const Result<void> types = check_types(function, input);
    if (!types) return refuse(types.error());
  }
  return functions;
}

}  // namespace retile::foreign
