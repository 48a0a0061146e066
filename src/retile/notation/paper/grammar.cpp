#include "retile/notation/paper/grammar.h"

#include <fmt/format.h>

#include <cstddef>

#include "retile/core/names.h"
#include "retile/text/words.h"

namespace retile::paper {
namespace {

std::vector<std::string> mesh_form() { return {"a mesh is written x:4,y:6"}; }

std::string size_of(const std::string& axis) {
  return fmt::format("the size of axis {}", shown_name(axis));
}

}  // namespace

std::vector<WrittenAxis> read_axes(Scanner& scanner, bool more) {
  const Place all = scanner.rest();
  if (scanner.done()) {
    fail(all, {.code = Code::empty_mesh,
               .message = "a mesh needs at least one axis",
               .notes = {"a mesh is written x:4,y:6; a single device is x:1"}});
  }
  std::vector<WrittenAxis> out;
  do {
    auto name = scanner.name("the name of an axis", mesh_form);
    if (!scanner.accept(":")) {
      scanner.fail_expected("':' and " + size_of(name.value), mesh_form());
    }
    const Token<Size> size = scanner.size(size_of(name.value), mesh_form);
    out.push_back({std::move(name), size});
  } while (scanner.accept(","));
  if (!more && !scanner.done()) scanner.fail_expected("',' or the end after an axis", mesh_form());
  return out;
}

Mesh mesh_of(const std::vector<WrittenAxis>& axes, const Place& all) {
  std::vector<Axis> list;
  list.reserve(axes.size());
  for (const WrittenAxis& axis : axes) list.push_back({axis.name.value, axis.size.value});
  if (auto violation = find_violation(list)) {
    Place place = all;
    if (violation->axis) {
      const WrittenAxis& axis = axes[*violation->axis];
      const bool of_size = violation->diagnostic.code == Code::bad_number;
      place = of_size ? axis.size.place : axis.name.place;
    }
    fail_with(place, std::move(violation->diagnostic));
  }
  return Mesh::make(std::move(list)).value();
}

WrittenName read_name(Scanner& scanner) {
  WrittenName out{scanner.name("the name of an axis", dim_form), std::nullopt, std::nullopt};
  if (!scanner.accept(":")) return out;
  if (scanner.accept("(")) {
    out.major = scanner.size("what is cut off before a part of an axis");
    scanner.expect(")");
  }
  out.size = scanner.size(size_of(out.name.value));
  return out;
}

bool sees_addition(Scanner& scanner) {
  if (!scanner.sees_word()) return false;
  Scanner ahead = scanner;
  static_cast<void>(ahead.word(""));
  return ahead.sees('{');
}

Token<Addition> read_addition(Scanner& scanner) {
  static const std::vector<std::string> names(addition_names.begin(), addition_names.end());
  const auto word = scanner.word("sum, max, min or stack");
  const auto addition = addition_named(word.value);
  if (addition) return {.value = *addition, .place = word.place};
  std::vector<std::string> notes = {"sum{x}[8] is the sum of what the devices along x hold"};
  if (const auto meant = text::nearest(word.value, names)) {
    notes.insert(notes.begin(), fmt::format("did you mean {}?", *meant));
  }
  fail(word.place,
       {.code = Code::syntax,
        .message = fmt::format("{} is no way of adding: there are {}", shortened(word.value),
                               text::enumerate(names, "and", names.size())),
        .notes = std::move(notes)});
}

std::vector<Token<Size>> read_cuts(Scanner& scanner) {
  std::vector<Token<Size>> out;
  do {
    out.push_back(scanner.number());
  } while (scanner.accept(","));
  if (!scanner.accept(")")) scanner.fail_expected("',' or ')' after a cut");
  return out;
}

Chunks read_chunks(Scanner& scanner, const std::vector<Token<Size>>& first) {
  Chunks out;
  const auto add = [&out](const std::vector<Token<Size>>& cuts) {
    auto& ends = out.ends.emplace_back();
    for (const Token<Size>& cut : cuts) ends.push_back(cut.value);
  };
  add(first);
  while (scanner.accept("*")) {
    scanner.expect("(");
    add(read_cuts(scanner));
  }
  scanner.expect("@");
  if (!scanner.accept("(")) return out;
  for (const Token<Size>& tile : read_cuts(scanner)) out.tiles.push_back(tile.value);
  return out;
}

void read_sections(Scanner& scanner, Token<Size>& global, std::vector<Size>& sections) {
  const std::size_t begin = global.place.span.begin;
  sections = {global.value};
  while (scanner.accept("+")) {
    sections.push_back(scanner.size("the size of a section").value);
    const auto sum = checked_add(global.value, sections.back());
    global.place = scanner.since(begin);
    if (!sum) {
      fail(global.place,
           {.code = Code::size_overflow, .message = "the sections together do not fit in 63 bits"});
    }
    global.value = *sum;
  }
}

Halo read_halo(Scanner& scanner) {
  Halo out;
  out.below = scanner.number().value;
  scanner.expect(",");
  out.above = scanner.number().value;
  scanner.expect(">");
  return out;
}

Diagnostic halo_of_dealt() {
  return {.code = Code::unsupported,
          .message = "what is dealt out, or cut in sections, has no halo",
          .notes = {"a halo is of tiles that are one box"}};
}

std::vector<std::string> dim_form() {
  return {"a dimension is written tile{axes}global, such as 3{x}12, or 12 when no axis splits it"};
}

std::string unclosed(std::string_view bracket, std::size_t column) {
  return fmt::format("the '{}' at column {} is not closed", bracket, column);
}

}  // namespace retile::paper
