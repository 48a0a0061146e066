#include "retile/foreign/reader.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "retile/core/names.h"
#include "retile/foreign/arrays.h"
#include "retile/foreign/dtensor/dtensor.h"
#include "retile/foreign/hlo/hlo.h"
#include "retile/foreign/mlir/mlir.h"
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

/// `module @m {`, `#alias = ..`, `"func.func"() ..`: how a text of MLIR begins.
bool begins_mlir(std::string_view line) {
  static constexpr std::array<std::string_view, 8> words = {
      "module", "builtin.module", "func.func", "sdy.mesh", "mesh.mesh", "shard.grid", "{-#", "\""};
  for (const std::string_view word : words) {
    if (begins_with(line, word) &&
        (line.size() == word.size() || !continues_name(line[word.size()]) || word == "\"")) {
      return true;
    }
  }
  // An alias; where a Program has a comment, a blank follows.
  if (line.size() < 2 || (line[0] != '#' && line[0] != '!') || !begins_name(line[1])) return false;
  std::size_t end = 1;
  while (end < line.size() && continues_name(line[end])) ++end;
  return begins_with(line.substr(end), " = ");
}

/// `{"schema": "retile.dtensor-trace/1", ..`: the schema may stand further back, but a Program has another.
bool begins_trace(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' &&
         text.find("\"retile.dtensor-trace/") != std::string_view::npos;
}

}  // namespace

std::optional<Language> language_of(std::string_view text) {
  const std::string_view line = first_line(text);
  if (begins_with(line, "HloModule") || begins_computation(line)) return Language::hlo;
  if (begins_mlir(line)) return Language::mlir;
  if (begins_trace(text)) return Language::dtensor;
  return std::nullopt;
}

Result<std::vector<Function>> read(const text::Input& input, Language language,
                                   const ReadOptions& options) {
  auto functions = text::result_of([&] {
    switch (language) {
      case Language::hlo:
        return read_hlo(input, options);
      case Language::mlir:
        return read_mlir(input, options);
      case Language::dtensor:
        return read_dtensor_trace(input);
    }
    return std::vector<Function>();
  });
  if (!functions) return functions;
  return text::result_of([&] {
    std::vector<Function> out;
    for (Function& function : *functions) {
      for (Function& one : arrays_of(std::move(function), input)) {
        if (language != Language::dtensor) {
          const Result<void> types = check_types(one, input);
          if (!types) throw text::Failure{types.error()};
        }
        out.push_back(std::move(one));
      }
    }
    return out;
  });
}

}  // namespace retile::foreign
