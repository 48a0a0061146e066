// The JSON form, in. The writer is json_writer.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "builder.h"
#include "json_values.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "values.h"

namespace retile {
namespace forms {
namespace {

constexpr std::string_view schema = "retile.program/1";
constexpr std::string_view schema_2 = "retile.program/2";

class JsonReader {
 public:
  explicit JsonReader(const text::Input& input) : input_(input) {}

  /// Reads the object that begins at or after `position` and moves past it.
  Program read(std::size_t& position) {
    const JsonValue root = read_json(input_, position);
    if (root.kind != JsonValue::Kind::object) {
      fail(place(root), {.code = Code::bad_program,
                         .message = "a Program is a JSON object",
                         .notes = {"its first field is \"schema\":\"retile.program/1\""}});
    }
    strings_.clear();
    return program(root);
  }

 private:
  [[nodiscard]] Place at(Span span) const { return {.input = &input_, .span = span}; }
  [[nodiscard]] Place place(const JsonValue& value) const { return at(value.where); }

  [[nodiscard]] static const JsonValue* find(const JsonValue& object, std::string_view key) {
    for (const JsonValue& member : object.items) {
      if (member.key == key) return &member;
    }
    return nullptr;
  }

  [[nodiscard]] const JsonValue& get(const JsonValue& object, std::string_view key) const {
    const JsonValue* found = find(object, key);
    if (found == nullptr) {
      const Span brace = {.begin = object.where.begin, .end = object.where.begin + 1};
      fail(at(brace),
           {.code = Code::bad_program, .message = fmt::format("the field {} is missing", key)});
    }
    return *found;
  }

  [[noreturn]] void fail_kind(const JsonValue& value, std::string_view must_be) const {
    fail(place(value),
         {.code = Code::bad_program, .message = fmt::format("{} must be {}", value.key, must_be)});
  }

  Program program(const JsonValue& root) {
    const JsonValue& schema_value = get(root, "schema");
    if (schema_value.kind != JsonValue::Kind::string ||
        (schema_value.text != schema && schema_value.text != schema_2)) {
      fail(place(schema_value), {.code = Code::bad_program,
                                 .message = "this schema is not known here",
                                 .notes = {"the schema of a Program is \"retile.program/1\""}});
    }
    const Span brace = {.begin = root.where.begin, .end = root.where.begin + 1};
    const int version = schema_value.text == schema ? 1 : 2;
    Builder builder(at(brace), version);
    const JsonValue& devices = get(root, "devices");
    if (devices.kind == JsonValue::Kind::array) {
      builder.devices(ints(devices));
    } else {
      builder.devices(number(devices));
    }
    const JsonValue& mesh_value = get(root, "mesh");
    if (mesh_value.kind != JsonValue::Kind::null) {
      builder.mesh(axes(mesh_value), place(mesh_value), order(root, "order", version));
    }
    builder.from(tiling(get(root, "from"), builder.axes()));
    if (const JsonValue* mesh_to = find(root, "mesh_to")) {
      builder.mesh(axes(*mesh_to), place(*mesh_to), order(root, "order_to", version));
    }
    builder.to(tiling(get(root, "to"), builder.axes()));
    if (const JsonValue* view = find(root, "view")) builder.view(ints(*view));
    builder.finish_header();
    const JsonValue& steps = get(root, "steps");
    if (steps.kind != JsonValue::Kind::array || (steps.items.empty() && !steps.is_rows()) ||
        !steps.rows.lengths.empty()) {
      fail_kind(steps, "a list of objects");
    }
    for (const JsonValue& step_value : steps.items) {
      if (step_value.kind != JsonValue::Kind::object) {
        fail(place(step_value), {.code = Code::bad_program, .message = "a step is a JSON object"});
      }
      builder.step(step(step_value, builder.axes(), version));
    }
    return builder.finish();
  }

  std::vector<paper::WrittenAxis> axes(const JsonValue& value) const {
    const std::string_view must_be = "a list of at least one [name,size]";
    if (value.kind != JsonValue::Kind::array || value.items.empty()) fail_kind(value, must_be);
    std::vector<paper::WrittenAxis> out;
    for (const JsonValue& pair : value.items) {
      if (pair.kind != JsonValue::Kind::array || pair.items.size() != 2 ||
          pair.items[0].kind != JsonValue::Kind::string ||
          pair.items[1].kind != JsonValue::Kind::number) {
        fail(place(pair), {.code = Code::bad_program, .message = "an axis is [name,size]"});
      }
      out.push_back({.name = {pair.items[0].text, place(pair.items[0])},
                     .size = {pair.items[1].number, place(pair.items[1])}});
    }
    return out;
  }

  std::optional<Token<TableDraft>> order(const JsonValue& root, std::string_view key, int version) {
    const JsonValue* const value = find(root, key);
    if (value == nullptr) return std::nullopt;
    if (version == 1) {
      fail(at(value->key_where),
           {.code = Code::bad_program, .message = "retile.program/1 has no order of devices"});
    }
    return list(*value);
  }

  StepDraft step(const JsonValue& value, const AxisTable* axes_in_force, int version) {
    const JsonValue& op = get(value, "op");
    if (op.kind != JsonValue::Kind::string) fail_kind(op, "the name of a step");
    StepDraft out;
    out.op = op_row(op.text, place(op), version);
    out.place = place(op);
    for (const JsonValue& member : value.items) {
      if (member.key == "op") continue;
      const Key& key = op_key(out.op, member.key, at(member.key_where), version);
      out.keys.emplace_back(key.name, read(key, member, axes_in_force));
    }
    return out;
  }

  ValueDraft read(const Key& key, const JsonValue& value, const AxisTable* axes_in_force) {
    switch (key.kind) {
      case KeyKind::number:
        return number(value);
      case KeyKind::piece:
        return piece(value);
      case KeyKind::groups:
        return groups(value);
      case KeyKind::list:
        return list(value);
      case KeyKind::rows:
        return rows(value);
      case KeyKind::ints:
        return ints(value);
      case KeyKind::addition:
        return addition(value);
      case KeyKind::tiling:
        break;
    }
    return bracket_tiling(value, axes_in_force);
  }

  Token<Size> number(const JsonValue& value) const {
    if (value.kind != JsonValue::Kind::number) fail_kind(value, "a number");
    return {.value = value.number, .place = place(value)};
  }
  Token<PieceSize> piece(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::number) return piece_of(number(value));
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "a number, or \"balanced\"");
    Scanner scanner = string_scanner(value);
    auto out = read_piece(scanner);
    scanner.expect_end();
    return out;
  }
  Token<Addition> addition(const JsonValue& value) {
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "the name of an addition");
    Scanner scanner = string_scanner(value);
    auto out = read_addition(scanner);
    scanner.expect_end();
    return out;
  }
  Token<std::vector<Size>> ints(const JsonValue& value) const {
    if (!value.is_numbers()) fail_kind(value, "a list of numbers");
    return {.value = value.rows.entries, .place = place(value)};
  }
  Token<RowsDraft> rows(const JsonValue& value) const {
    if (!value.is_rows()) fail_kind(value, "a list of lists of numbers");
    return {.value = value.rows, .place = place(value)};
  }

  Token<TableDraft> groups(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string) {
      return iota(value, read_rows_or_iota);
    }
    if (!value.is_rows()) fail_kind(value, "a list of lists of numbers, or an iota in a string");
    Token<TableDraft> out;
    out.value.rows = value.rows;
    out.place = place(value);
    return out;
  }

  Token<TableDraft> list(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string) {
      return iota(value, read_list_or_iota);
    }
    if (!value.is_numbers()) fail_kind(value, "a list of numbers, or an iota in a string");
    Token<TableDraft> out;
    out.value.rows.entries = value.rows.entries;
    out.value.rows.lengths = {value.rows.entries.size()};
    out.place = place(value);
    return out;
  }

  template <typename Read>
  Token<TableDraft> iota(const JsonValue& value, Read read_value) {
    Scanner scanner = string_scanner(value);
    auto out = read_value(scanner, value.key);
    scanner.expect_end();
    if (!out.value.is_iota()) {
      fail(place(value),
           {.code = Code::bad_program,
            .message = fmt::format("a listed {} is an array, not a string", value.key),
            .notes = {"only iotas such as [8,3]<=[24] are strings"}});
    }
    return out;
  }

  TilingDraft tiling(const JsonValue& value, const AxisTable* axes_in_force) {
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "a tiling in a string");
    Scanner scanner = string_scanner(value);
    return read_tiling(scanner, axes_in_force, true);
  }

  TilingDraft bracket_tiling(const JsonValue& value, const AxisTable* axes_in_force) {
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "a tiling in a string");
    Scanner scanner = string_scanner(value);
    auto out = read_bracket_tiling(scanner, axes_in_force);
    scanner.expect_end("after ']'");
    return out;
  }

  /// Diagnostics inside a string point into what it says after escapes are resolved.
  Scanner string_scanner(const JsonValue& value) {
    if (value.where.begin < counted_) {  // fields of the header may stand in any order
      lines_ = 1;
      counted_ = 0;
    }
    const auto above = input_.text.substr(0, value.where.begin);
    lines_ += static_cast<std::size_t>(
        std::count(above.begin() + static_cast<std::ptrdiff_t>(counted_), above.end(), '\n'));
    counted_ = value.where.begin;
    const std::string line = input_.source.empty() ? fmt::format("line {}", lines_)
                                                   : fmt::format("{}:{}", input_.source, lines_);
    strings_.push_back({.text = value.text, .source = line, .numbered = false});
    return {strings_.back(), {.begin = 0, .end = value.text.size()}};
  }

  const text::Input& input_;
  std::deque<text::Input> strings_;  // whose addresses the places of drafts keep
  std::size_t lines_ = 1;            // the line of byte `counted_`
  std::size_t counted_ = 0;
};

std::size_t skip_blanks(std::string_view text, std::size_t position) {
  return std::min(text.find_first_not_of(" \t\r\n", position), text.size());
}

Program read_one(const text::Input& input) {
  std::size_t position = 0;
  Program out = JsonReader(input).read(position);
  const std::size_t rest = skip_blanks(input.text, position);
  if (rest < input.text.size()) {
    fail(Place{.input = &input, .span = {.begin = rest, .end = rest + 1}},
         {.code = Code::syntax, .message = "the Program ends before this"});
  }
  return out;
}

std::vector<Program> read_all(const text::Input& input) {
  const std::string_view text = input.text;
  JsonReader reader(input);
  std::vector<Program> out;
  for (std::size_t position = skip_blanks(text, 0); position < text.size();
       position = skip_blanks(text, position)) {
    if (text[position] != '{') {
      fail(Place{.input = &input, .span = {.begin = position, .end = position + 1}},
           {.code = Code::syntax,
            .message = "between JSON Programs there are only blanks and line ends"});
    }
    out.push_back(reader.read(position));
  }
  return out;
}

}  // namespace
}  // namespace forms

Result<Program> parse_program_json(std::string_view json, std::string_view source) {
  const text::Input input{.text = json, .source = std::string(source), .numbered = true};
  return text::result_of([&] { return forms::read_one(input); });
}

Result<std::vector<Program>> parse_any(std::string_view text, std::string_view source) {
  const std::size_t begin = forms::skip_blanks(text, 0);
  if (begin == text.size() || text[begin] != '{') return parse_programs(text, source);
  const text::Input input{.text = text, .source = std::string(source), .numbered = true};
  return text::result_of([&] { return forms::read_all(input); });
}

}  // namespace retile
