#include "retile/program/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reading.h"
#include "retile/core/notation.h"
#include "retile/program/text.h"

namespace retile {

namespace {

using detail::fail;
using detail::Field;
using detail::Input;
using detail::Place;
using detail::RowsDraft;
using detail::Scanner;
using detail::StepDraft;
using detail::TableDraft;
using detail::TilingDraft;
using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "retile.program/1";

// ---- In: values with their places ---------------------------------------------------------------

/// One JSON value. Arrays of numbers and arrays of such arrays are kept flat: tables may be long.
struct JsonValue {
  enum class Kind { null, number, string, array, object };
  Kind kind = Kind::null;
  Span where;
  std::string key;  ///< of a member of an object
  Span key_where;
  std::string text;
  Size number = 0;
  RowsDraft rows;  ///< an array: numbers have no lengths, rows of numbers have one per row
  std::vector<JsonValue> items;  ///< an array's other elements, an object's members

  [[nodiscard]] bool is_numbers() const {
    return kind == Kind::array && items.empty() && rows.lengths.empty();
  }
  [[nodiscard]] bool is_rows() const {
    return kind == Kind::array && items.empty() && (rows.entries.empty() || !rows.lengths.empty());
  }
};

/// Walks over the text and lets the handler of events know how far.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* position, const char** furthest)
      : position_(position), furthest_(furthest) {}
  reference operator*() const { return *position_; }
  CountingIterator& operator++() {
    *furthest_ = ++position_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.position_ == b.position_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* position_;
  const char** furthest_;
};

const std::vector<std::string>& program_keys() {
  static const std::vector<std::string> keys = {"schema", "devices", "mesh", "mesh_to",
                                                "from",   "to",      "steps"};
  return keys;
}

/// The keys that some step has, in the order of the table.
const std::vector<std::string>& step_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> out = {"op"};
    const auto add = [&out](std::span<const Key> of) {
      for (const Key& key : of) {
        if (std::find(out.begin(), out.end(), key.name) == out.end()) out.emplace_back(key.name);
      }
    };
    for (const OpInfo& row : op_table()) add(row.keys);
    add(claim_keys);
    return out;
  }();
  return keys;
}

/// Receives the events of one JSON text. What no Program can hold fails at once, so that nothing
/// useless is kept: objects elsewhere than at the top and in `steps`, unknown and doubled keys,
/// deep nesting, numbers that are no sizes.
class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonHandler(const Input& input, std::size_t begin)
      : input_(input), furthest_(input.text.data() + begin), last_end_(begin) {}

  /// Reads one value and says where it ends.
  std::size_t read() {
    const char* end = input_.text.data() + input_.text.size();
    const CountingIterator first(furthest_, &furthest_);
    const CountingIterator last(end, &furthest_);
    nlohmann::json::sax_parse(first, last, this, nlohmann::json::input_format_t::json, false);
    return last_end_;
  }
  JsonValue take() { return std::move(root_); }

  bool null() override { return add(token(JsonValue::Kind::null)); }
  bool boolean(bool /*value*/) override {
    fail(place(token_span()),
         {.code = Code::bad_program, .message = "true and false mean nothing in a Program"});
  }
  bool number_integer(number_integer_t /*value*/) override { fail_number(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) fail_number();
    JsonValue out = token(JsonValue::Kind::number);
    out.number = static_cast<Size>(value);
    return add(std::move(out));
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { fail_number(); }
  bool string(string_t& value) override {
    JsonValue out = token(JsonValue::Kind::string);
    out.text = std::move(value);
    return add(std::move(out));
  }
  bool binary(binary_t& /*value*/) override { return false; }  // not in texts

  bool start_object(std::size_t /*elements*/) override {
    const bool in_steps = open_.size() == 2 && open_.back().key == "steps";
    if (!open_.empty() && !in_steps) {
      fail(place(token_span()),
           {.code = Code::bad_program,
            .message = "an object cannot stand here",
            .notes = {"a Program is one object, and so is each of its steps"}});
    }
    return open(JsonValue::Kind::object);
  }
  bool key(string_t& value) override {
    const Span where = token_span();
    last_end_ = where.end;
    const bool in_step = open_.size() > 1;
    const auto& keys = in_step ? step_keys() : program_keys();
    const std::string_view owner = in_step ? "a step" : "a Program";
    if (std::find(keys.begin(), keys.end(), value) == keys.end()) {
      std::vector<std::string> notes;
      if (const auto meant = detail::nearest(value, keys)) {
        notes.push_back(fmt::format("did you mean {}?", *meant));
      }
      notes.push_back(fmt::format("the keys of {} are {}", owner, fmt::join(keys, ", ")));
      fail(place(where), {.code = Code::bad_program,
                          .message = fmt::format("{} has no such key", owner),
                          .notes = std::move(notes)});
    }
    for (const JsonValue& member : open_.back().items) {
      if (member.key == value) {
        fail(place(where),
             {.code = Code::bad_program, .message = fmt::format("key {} stands twice", value)});
      }
    }
    key_ = std::move(value);
    key_where_ = where;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override { return open(JsonValue::Kind::array); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                   const nlohmann::json::exception& error) override {
    std::string_view message = error.what();
    if (const auto begin = message.find("syntax error"); begin != std::string_view::npos) {
      message.remove_prefix(begin);
    }
    message = message.substr(0, message.find("; last read"));  // it may be megabytes long
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) fail_number();
    const auto says = [message](std::string_view words) {
      return message.find(words) != std::string_view::npos;
    };
    const bool at_end = says("unexpected end of input") || says("missing closing quote");
    const std::size_t end = position();
    const std::size_t begin = end > last_end_ && !at_end ? end - 1 : end;
    fail(place({.begin = begin, .end = end}),
         {.code = Code::syntax, .message = fmt::format("this is no JSON: {}", message)});
  }

 private:
  static constexpr std::size_t most_depth = 5;  // Program, steps, step, groups, row

  [[nodiscard]] Place place(Span span) const { return {.input = &input_, .span = span}; }
  [[nodiscard]] std::size_t position() const {
    return static_cast<std::size_t>(furthest_ - input_.text.data());
  }

  /// The token just read. The lexer looks one character past a number, so its end is looked for in
  /// the text.
  [[nodiscard]] Span token_span() const {
    const std::string_view text = input_.text;
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n,:", last_end_), text.size());
    const std::size_t end = position();
    const bool is_number =
        begin < text.size() && (text[begin] == '-' || ('0' <= text[begin] && text[begin] <= '9'));
    if (!is_number) return {.begin = std::min(begin, end), .end = end};
    return {.begin = begin,
            .end = std::min(text.find_first_not_of("0123456789+-.eE", begin), text.size())};
  }

  [[nodiscard]] JsonValue token(JsonValue::Kind kind) {
    JsonValue out;
    out.kind = kind;
    out.where = token_span();
    last_end_ = out.where.end;
    return out;
  }

  [[noreturn]] void fail_number() const {
    fail(place(token_span()),
         {.code = Code::bad_number,
          .message = "numbers of a Program are whole, not negative and below 2^63",
          .notes = {"write 24, not 24.0, 2.4e1 or -24"}});
  }

  bool open(JsonValue::Kind kind) {
    JsonValue out = token(kind);
    out.key = std::exchange(key_, {});
    out.key_where = key_where_;
    if (open_.size() == most_depth) {
      fail(place(out.where), {.code = Code::bad_program, .message = "this is nested too deeply"});
    }
    open_.push_back(std::move(out));
    return true;
  }

  bool close() {
    JsonValue out = std::move(open_.back());
    open_.pop_back();
    last_end_ = token_span().end;
    out.where.end = last_end_;
    if (!open_.empty() && open_.back().kind == JsonValue::Kind::array && out.is_numbers()) {
      add_row(std::move(out));
      return true;
    }
    return place_value(std::move(out));
  }

  bool add(JsonValue value) {
    value.key = std::exchange(key_, {});
    value.key_where = key_where_;
    return place_value(std::move(value));
  }

  bool place_value(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back();
    if (parent.kind == JsonValue::Kind::array) {
      const bool is_number = value.kind == JsonValue::Kind::number;
      if (is_number && parent.items.empty() && parent.rows.lengths.empty()) {
        parent.rows.entries.push_back(value.number);
        return true;
      }
      if (!parent.rows.entries.empty() || !parent.rows.lengths.empty()) fail_mixture(value);
    }
    parent.items.push_back(std::move(value));
    return true;
  }

  void add_row(JsonValue row) {
    RowsDraft& rows = open_.back().rows;
    const bool numbers_before = rows.lengths.empty() && !rows.entries.empty();
    if (numbers_before || !open_.back().items.empty()) fail_mixture(row);
    rows.lengths.push_back(row.rows.entries.size());
    rows.entries.insert(rows.entries.end(), row.rows.entries.begin(), row.rows.entries.end());
  }

  [[noreturn]] void fail_mixture(const JsonValue& value) const {
    fail(place(value.where), {.code = Code::bad_program,
                              .message = "this array mixes numbers, rows and other values",
                              .notes = {"an array of a Program holds one kind of value"}});
  }

  const Input& input_;
  const char* furthest_;      // one past the last character that the parser has taken
  std::size_t last_end_ = 0;  // where the last token ended
  std::string key_;
  Span key_where_;
  std::vector<JsonValue> open_;
  JsonValue root_;
};

// ---- In: from values to a Program ---------------------------------------------------------------

class JsonReader {
 public:
  explicit JsonReader(const Input& input) : input_(input) {}

  /// Reads the object that begins at or after `position` and moves past it.
  Program read(std::size_t& position) {
    JsonHandler handler(input_, position);
    position = handler.read();
    const JsonValue root = handler.take();
    if (root.kind != JsonValue::Kind::object) {
      fail(place(root), {.code = Code::bad_program,
                         .message = "a Program is a JSON object",
                         .notes = {"its first field is \"schema\":\"retile.program/1\""}});
    }
    strings_.clear();
    return program(root);
  }

 private:
  [[nodiscard]] Place place(const JsonValue& value) const {
    return {.input = &input_, .span = value.where};
  }

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
      fail({.input = &input_, .span = brace},
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
    if (schema_value.kind != JsonValue::Kind::string || schema_value.text != schema) {
      fail(place(schema_value), {.code = Code::bad_program,
                                 .message = "this schema is not known here",
                                 .notes = {"the schema of a Program is \"retile.program/1\""}});
    }
    const Span brace = {.begin = root.where.begin, .end = root.where.begin + 1};
    detail::Builder builder({.input = &input_, .span = brace});
    builder.devices(number(get(root, "devices")));
    const JsonValue& mesh_value = get(root, "mesh");
    if (mesh_value.kind != JsonValue::Kind::null) builder.mesh(axes(mesh_value), place(mesh_value));
    builder.from(tiling(get(root, "from"), builder.axes()));
    if (const JsonValue* mesh_to = find(root, "mesh_to")) {
      builder.mesh(axes(*mesh_to), place(*mesh_to));
    }
    builder.to(tiling(get(root, "to"), builder.axes()));
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
      builder.step(step(step_value, builder.axes()));
    }
    return builder.finish();
  }

  std::vector<detail::AxisDraft> axes(const JsonValue& value) const {
    const std::string_view must_be = "a list of at least one [name,size]";
    if (value.kind != JsonValue::Kind::array || value.items.empty()) fail_kind(value, must_be);
    std::vector<detail::AxisDraft> out;
    for (const JsonValue& pair : value.items) {
      if (pair.kind != JsonValue::Kind::array || pair.items.size() != 2 ||
          pair.items[0].kind != JsonValue::Kind::string ||
          pair.items[1].kind != JsonValue::Kind::number) {
        fail(place(pair), {.code = Code::bad_program, .message = "an axis is [name,size]"});
      }
      const std::string& name = pair.items[0].text;
      if (name.find_first_of("\"\n") != std::string::npos) {
        fail(place(pair.items[0]),
             {.code = Code::bad_program,
              .message = "the name of an axis holds neither quotes nor line ends"});
      }
      out.push_back({.name = name,
                     .size = pair.items[1].number,
                     .name_place = place(pair.items[0]),
                     .size_place = place(pair.items[1])});
    }
    return out;
  }

  StepDraft step(const JsonValue& value, const detail::AxisTable* axes_in_force) {
    const JsonValue& op = get(value, "op");
    if (op.kind != JsonValue::Kind::string) fail_kind(op, "the name of a step");
    StepDraft out;
    out.op = detail::op_row(op.text, place(op));
    out.place = place(op);
    for (const JsonValue& member : value.items) {
      if (member.key == "op") continue;
      const Key& key =
          detail::op_key(out.op, member.key, {.input = &input_, .span = member.key_where});
      out.keys.emplace_back(key.name, read(key, member, axes_in_force));
    }
    return out;
  }

  detail::ValueDraft read(const Key& key, const JsonValue& value,
                          const detail::AxisTable* axes_in_force) {
    switch (key.kind) {
      case KeyKind::number:
        return number(value);
      case KeyKind::groups:
        return groups(value);
      case KeyKind::list:
        return list(value);
      case KeyKind::rows:
        return rows(value);
      case KeyKind::ints:
        return ints(value);
      case KeyKind::tiling:
        break;
    }
    return bracket_tiling(value, axes_in_force);
  }

  Field<Size> number(const JsonValue& value) const {
    if (value.kind != JsonValue::Kind::number) fail_kind(value, "a number");
    return {.value = value.number, .place = place(value)};
  }
  Field<std::vector<Size>> ints(const JsonValue& value) const {
    if (!value.is_numbers()) fail_kind(value, "a list of numbers");
    return {.value = value.rows.entries, .place = place(value)};
  }
  Field<RowsDraft> rows(const JsonValue& value) const {
    if (!value.is_rows()) fail_kind(value, "a list of lists of numbers");
    return {.value = value.rows, .place = place(value)};
  }

  Field<TableDraft> groups(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string) {
      return iota(value,
                  [](Scanner& scanner, std::string_view key) { return scanner.rows_or_iota(key); });
    }
    if (!value.is_rows()) fail_kind(value, "a list of lists of numbers, or an iota in a string");
    Field<TableDraft> out;
    out.value.rows = value.rows;
    out.place = place(value);
    return out;
  }

  Field<TableDraft> list(const JsonValue& value) {
    if (value.kind == JsonValue::Kind::string) {
      return iota(value,
                  [](Scanner& scanner, std::string_view key) { return scanner.list_or_iota(key); });
    }
    if (!value.is_numbers()) fail_kind(value, "a list of numbers, or an iota in a string");
    Field<TableDraft> out;
    out.value.rows.entries = value.rows.entries;
    out.value.rows.lengths = {value.rows.entries.size()};
    out.place = place(value);
    return out;
  }

  template <typename Read>
  Field<TableDraft> iota(const JsonValue& value, Read read) {
    Scanner scanner = string_scanner(value);
    auto out = read(scanner, value.key);
    scanner.expect_done();
    if (!out.value.is_iota()) {
      fail(place(value),
           {.code = Code::bad_program,
            .message = fmt::format("a listed {} is an array, not a string", value.key),
            .notes = {"only iotas such as [8,3]<=[24] are strings"}});
    }
    return out;
  }

  TilingDraft tiling(const JsonValue& value, const detail::AxisTable* axes_in_force) {
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "a tiling in a string");
    Scanner scanner = string_scanner(value);
    auto out = scanner.tiling(axes_in_force);
    scanner.expect_done();
    return out;
  }

  TilingDraft bracket_tiling(const JsonValue& value, const detail::AxisTable* axes_in_force) {
    if (value.kind != JsonValue::Kind::string) fail_kind(value, "a tiling in a string");
    Scanner scanner = string_scanner(value);
    auto out = scanner.bracket_tiling(axes_in_force);
    scanner.expect_done();
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

  const Input& input_;
  std::deque<Input> strings_;  // whose addresses the places of drafts keep
  std::size_t lines_ = 1;      // the line of byte `counted_`
  std::size_t counted_ = 0;
};

std::size_t skip_blanks(std::string_view text, std::size_t position) {
  return std::min(text.find_first_not_of(" \t\r\n", position), text.size());
}

}  // namespace

Result<Program> parse_program_json(std::string_view json, std::string_view source) {
  const Input input{.text = json, .source = std::string(source)};
  try {
    std::size_t position = 0;
    Program out = JsonReader(input).read(position);
    const std::size_t rest = skip_blanks(json, position);
    if (rest < json.size()) {
      fail({.input = &input, .span = {.begin = rest, .end = rest + 1}},
           {.code = Code::syntax, .message = "the Program ends before this"});
    }
    return out;
  } catch (detail::Failure& failure) {
    return refuse(std::move(failure.diagnostic));
  }
}

Result<std::vector<Program>> parse_any(std::string_view text, std::string_view source) {
  std::size_t position = skip_blanks(text, 0);
  if (position == text.size() || text[position] != '{') return parse_programs(text, source);
  const Input input{.text = text, .source = std::string(source)};
  try {
    JsonReader reader(input);
    std::vector<Program> out;
    for (; position < text.size(); position = skip_blanks(text, position)) {
      if (text[position] != '{') {
        fail({.input = &input, .span = {.begin = position, .end = position + 1}},
             {.code = Code::syntax,
              .message = "between JSON Programs there are only blanks and line ends"});
      }
      out.push_back(reader.read(position));
    }
    return out;
  } catch (detail::Failure& failure) {
    return refuse(std::move(failure.diagnostic));
  }
}

// ---- Out ----------------------------------------------------------------------------------------

namespace {

/// JSON strings are UTF-8, names of axes any bytes: what is not UTF-8 is replaced, and names stay
/// different.
Mesh printable(const Mesh& mesh) {
  std::vector<Axis> axes = mesh.axes();
  bool changed = false;
  std::set<std::string> names;
  for (Axis& axis : axes) {
    const std::string quoted = Json(axis.name).dump(-1, ' ', false, Json::error_handler_t::replace);
    auto name = Json::parse(quoted).get<std::string>();
    changed = changed || name != axis.name;
    while (!names.insert(name).second) name += '_';
    axis.name = std::move(name);
  }
  if (!changed) return mesh;
  auto out = Mesh::make(std::move(axes));
  if (!out) return mesh;
  return std::move(*out);
}

Json mesh_json(const Mesh& mesh) {
  Json out = Json::array();
  for (const Axis& axis : mesh.axes()) out.push_back(Json::array({axis.name, axis.size}));
  return out;
}

Json groups_json(const DeviceTable& table) {
  if (table.chain() != nullptr) return groups_to_text(table);
  Json out = Json::array();
  for (const auto& row : table.to_rows()) out.push_back(row);
  return out;
}

Json list_json(const DeviceTable& table) {
  if (table.chain() != nullptr) return list_to_text(table);
  return table.entries();
}

Json offsets_json(const std::vector<Size>& at, std::size_t rank, Size devices) {
  Json out = Json::array();
  auto row = at.begin();
  for (Size d = 0; d < devices; ++d) {
    const auto end = row + static_cast<std::ptrdiff_t>(rank);
    out.push_back(std::vector<Size>(row, end));
    row = end;
  }
  return out;
}

class JsonSink final : public KeySink {
 public:
  explicit JsonSink(Json& out) : out_(out) {}

  void number(std::string_view key, Size value) override { out_[key] = value; }
  void groups(std::string_view key, const DeviceTable& table) override {
    out_[key] = groups_json(table);
  }
  void list(std::string_view key, const DeviceTable& table) override {
    out_[key] = list_json(table);
  }
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    Json& all = out_[key] = Json::array();
    for (std::size_t r = 0; r < count; ++r) all.push_back(row(r));
  }

 private:
  Json& out_;
};

Json step_json(const Step& step, const Program& program, const Mesh* mesh) {
  Json out;
  out["op"] = op_name(step);
  JsonSink sink(out);
  write_keys(step.op, sink);
  const Claims& claims = step.claims;
  if (claims.tile) out["tile"] = *claims.tile;
  const bool digits = claims.map && claims.map->is_compact();
  if (digits) out["map"] = to_text(*claims.map, mesh);
  if (claims.at) {
    out["at"] = offsets_json(*claims.at, program.from.rank(), program.devices);
  } else if (claims.map && !digits) {
    out["at"] = offsets_json(claims.map->base_offsets(), program.from.rank(), program.devices);
  }
  return out;
}

}  // namespace

std::string to_json(const Program& program) {
  std::optional<Mesh> mesh;
  if (program.mesh) mesh = printable(*program.mesh);
  std::optional<Mesh> mesh_to;
  if (program.mesh_to) mesh_to = printable(*program.mesh_to);
  const Mesh* names = mesh ? &*mesh : nullptr;

  Json out;
  out["schema"] = schema;
  out["devices"] = program.devices;
  out["mesh"] = mesh ? mesh_json(*mesh) : Json();
  if (mesh_to) out["mesh_to"] = mesh_json(*mesh_to);
  out["from"] = tiling_to_text(program.from, names);
  if (mesh_to) names = &*mesh_to;
  out["to"] = tiling_to_text(program.to, names);
  Json& steps = out["steps"] = Json::array();
  for (const Step& step : program.steps) steps.push_back(step_json(step, program, names));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retile
