#include "json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "retile/program/ops.h"
#include "retile/text/words.h"

namespace retile::forms {
namespace {

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
  static const std::vector<std::string> keys = {"schema",   "devices", "mesh", "order", "mesh_to",
                                                "order_to", "from",    "to",   "view",  "steps"};
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

/// Receives the events of one JSON text.
class JsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonHandler(const text::Input& input, std::size_t begin)
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
      if (const auto meant = text::nearest(value, keys)) {
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

  const text::Input& input_;
  const char* furthest_;      // one past the last character that the parser has taken
  std::size_t last_end_ = 0;  // where the last token ended
  std::string key_;
  Span key_where_;
  std::vector<JsonValue> open_;
  JsonValue root_;
};

}  // namespace

JsonValue read_json(const text::Input& input, std::size_t& position) {
  JsonHandler handler(input, position);
  position = handler.read();
  return handler.take();
}

}  // namespace retile::forms
