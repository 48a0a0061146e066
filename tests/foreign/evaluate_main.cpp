// What our evaluator makes of modules, as numbers: peers/operations.py compares it with what a peer
// makes of them.
//
//   evaluate_foreign < MODULES
//
// Before each module stands a line `hlo BYTES` or `mlir BYTES`. For each a line comes out, an object
// of JSON: `refused` and why, or `results`, of each what every device holds: integers as numbers,
// numbers with a point as text in hexadecimal, and of elements of the parameter `e7` (element 7, all
// devices' tiles one behind the other), `z` (zero), `u` (nobody knows), `n` (what adds nothing) or a
// sum such as `sum 3 1 7 2` (element 3 once, element 7 twice).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/reader.h"
#include "retile/notation/paper/notation.h"
#include "retile/text/place.h"

namespace retile::foreign {
namespace {

constexpr Size most_bytes = Size{1} << 28;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

std::string tag_text(Tag tag, const Sums& sums) {
  if (tag == zero_tag) return "\"z\"";
  if (tag == undefined_tag) return "\"u\"";
  if (tag == nothing_tag) return "\"n\"";
  if (Sums::is_atom(tag)) return fmt::format("\"e{}\"", tag);
  std::string out(name_of(*sums.added_by(tag)));
  for (const Term& term : sums.terms(tag)) out += fmt::format(" {} {}", term.atom, term.times);
  return quoted(out);
}

std::string cell_text(const Cells& cells, std::size_t k, const Sums& sums, bool is_signed) {
  if (cells.are_tags()) return tag_text(cells.tags()[k], sums);
  const std::int64_t word = cells.numbers()[k];
  if (cells.content() == Content::reals) {
    return fmt::format("\"{:a}\"", operations::real_of(word));
  }
  return is_signed ? std::to_string(word) : std::to_string(static_cast<std::uint64_t>(word));
}

/// Every device holds all of an array of its own: addend d is device d's.
Layout own_tiles(const Function& function) {
  const bool none = function.parameters.empty();
  const Shape extents = none ? Shape{} : function.values[function.parameters[0]].type.extents;
  const auto mesh = Mesh::make({{"x", function.devices}});
  const std::string type = function.devices > 1
                               ? fmt::format("sum{{x}}[{}]", fmt::join(extents, ", "))
                               : fmt::format("[{}]", fmt::join(extents, ", "));
  auto out = parse_layout(type, *mesh);
  if (!out) throw LimitReached{render(out.error())};
  return *std::move(out);
}

void add_results(const Function& function, std::vector<std::string>& results) {
  const Layout from = own_tiles(function);
  Evaluator evaluator(function, from, most_bytes);
  for (const Operation& operation : function.operations) evaluator.apply(operation);
  for (const ValueId value : function.results) {
    const bool is_signed = element_kind(function.values[value].type.element).is_signed;
    std::vector<std::string> devices;
    for (const Block& block : evaluator.at(value).blocks) {
      const std::size_t count = block->are_tags() ? block->tags().size() : block->numbers().size();
      std::vector<std::string> cells;
      for (std::size_t k = 0; k < count; ++k) {
        cells.push_back(cell_text(*block, k, evaluator.sums(), is_signed));
      }
      devices.push_back(fmt::format("[{}]", fmt::join(cells, ",")));
    }
    results.push_back(fmt::format("[{}]", fmt::join(devices, ",")));
  }
}

std::string refused(std::string_view why) { return fmt::format("{{\"refused\":{}}}", quoted(why)); }

std::string evaluated(const std::string& text, Language language) {
  const text::Input input{.text = text, .source = "module", .numbered = true};
  const auto functions = read(input, language, {});
  if (!functions) return refused(functions.error().message);
  std::vector<std::string> results;  // several arrays are a function each
  for (const Function& function : *functions) {
    if (function.parameters.size() > 1) return refused("several parameters");
    try {
      add_results(function, results);
    } catch (const LimitReached& limit) {
      return refused(limit.what);
    }
  }
  return fmt::format("{{\"results\":[{}]}}", fmt::join(results, ","));
}

}  // namespace
}  // namespace retile::foreign

int main() {
  std::string language;
  std::size_t bytes = 0;
  while (std::cin >> language >> bytes) {
    std::cin.get();
    std::string text(bytes, ' ');
    std::cin.read(text.data(), static_cast<std::streamsize>(bytes));
    const bool is_hlo = language == "hlo";
    std::cout << retile::foreign::evaluated(text, is_hlo ? retile::foreign::Language::hlo
                                                         : retile::foreign::Language::mlir)
              << "\n";
  }
  return 0;
}
