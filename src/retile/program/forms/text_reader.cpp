// The text form, in. The writer is text_writer.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "builder.h"
#include "retile/program/forms/text.h"
#include "values.h"

namespace retile {
namespace forms {
namespace {

class TextReader {
 public:
  explicit TextReader(const text::Input& input) : input_(input) {}

  std::vector<Program> read() {
    std::size_t begin = 0;
    while (begin < input_.text.size()) {
      const std::size_t end = std::min(input_.text.find('\n', begin), input_.text.size());
      line({.begin = begin, .end = meaningful_end(begin, end)});
      begin = end + 1;
    }
    finish_program();
    if (programs_.empty()) {
      fail(place(0, 0), {.code = Code::syntax,
                         .message = "there is no Program here",
                         .notes = {"a Program begins with the line retile.program/1"}});
    }
    return std::move(programs_);
  }

 private:
  Place place(std::size_t begin, std::size_t end) const {
    return {.input = &input_, .span = {.begin = begin, .end = end}};
  }

  /// Where the comment or the line end begins.
  std::size_t meaningful_end(std::size_t begin, std::size_t end) const {
    if (end > begin && input_.text[end - 1] == '\r') --end;
    bool quoted = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (input_.text[i] == '"') quoted = !quoted;
      if (input_.text[i] == '#' && !quoted) return i;
    }
    return end;
  }

  void line(Span range) {
    Scanner scanner(input_, range);
    if (scanner.done()) return;
    const std::string_view no_header = "the first line must be retile.program/1";
    if (!scanner.sees_word() && !builder_) {
      const std::size_t begin = scanner.next();
      fail(place(begin, begin + 1), {.code = Code::syntax, .message = std::string(no_header)});
    }
    const auto word = scanner.word("a header line or a step");
    if (word.value == "retile.program") {
      header(range, word.place);
      return;
    }
    if (!builder_) {
      fail(word.place, {.code = Code::syntax,
                        .message = std::string(no_header),
                        .notes = {"every Program begins with it"}});
    }
    if (word.value == "mesh" || word.value == "devices" || word.value == "from" ||
        word.value == "to" || word.value == "view") {
      header_line(word, scanner);
    } else {
      builder_->step(step(word, scanner));
    }
    scanner.expect_end();
  }

  void header(Span range, const Place& word) {
    constexpr std::string_view first = "/1";
    constexpr std::string_view second = "/2";
    const std::size_t end = word.span.end;
    const std::string_view version =
        input_.text.substr(end, range.end - end).substr(0, first.size());
    if (version != first && version != second) {
      fail(place(word.span.begin, std::max(end, range.end)),
           {.code = Code::syntax,
            .message = "this is no header of a version that is known here",
            .notes = {"the header is retile.program/1"}});
    }
    Scanner rest(input_, {.begin = end + version.size(), .end = range.end});
    rest.expect_end();
    finish_program();
    builder_.emplace(place(word.span.begin, end + version.size()), version == first ? 1 : 2);
  }

  void header_line(const Token<std::string>& word, Scanner& scanner) {
    if (!builder_->in_header()) {
      fail(word.place, {.code = Code::bad_program,
                        .message = fmt::format("{} must stand above the first step", word.value),
                        .notes = {"a new Program begins with retile.program/1"}});
    }
    if (word.value == "mesh") {
      const std::size_t begin = scanner.next();
      const bool ordered = builder_->version() >= 2;
      const auto axes = paper::read_axes(scanner, ordered);
      const Place place = scanner.since(begin);
      builder_->mesh(axes, place, ordered ? read_order(scanner) : std::nullopt);
    } else if (word.value == "devices") {
      read_devices(scanner);
    } else if (word.value == "view") {
      builder_->view(read_ints(scanner));
    } else if (word.value == "from") {
      builder_->from(read_tiling(scanner, builder_->axes(), true));
    } else {
      builder_->to(read_tiling(scanner, builder_->axes(), true));
    }
  }

  void read_devices(Scanner& scanner) {
    if (scanner.sees('[')) return builder_->devices(read_ints(scanner));
    Scanner ahead = scanner;
    const Token<Size> count = ahead.number();
    if (ahead.sees('.')) return builder_->devices(read_numbers_in_a_range(scanner));
    scanner = ahead;
    builder_->devices(count);
  }

  StepDraft step(const Token<std::string>& word, Scanner& scanner) {
    StepDraft out;
    out.op = op_row(word.value, word.place, builder_->version());
    out.place = word.place;
    while (!scanner.done()) {
      const auto name = scanner.word("a key");
      const Key& key = op_key(out.op, name.value, name.place, builder_->version());
      scanner.expect("=");
      auto value = read(key, scanner);
      if (out.has(key.name)) {
        fail(name.place,
             {.code = Code::bad_program, .message = fmt::format("key {} stands twice", key.name)});
      }
      out.keys.emplace_back(key.name, std::move(value));
    }
    return out;
  }

  ValueDraft read(const Key& key, Scanner& scanner) {
    switch (key.kind) {
      case KeyKind::number:
        return scanner.number();
      case KeyKind::piece:
        return read_piece(scanner);
      case KeyKind::groups:
        return read_rows_or_iota(scanner, key.name);
      case KeyKind::list:
        return read_list_or_iota(scanner, key.name);
      case KeyKind::rows:
        return read_rows(scanner);
      case KeyKind::ints:
        return read_ints(scanner);
      case KeyKind::addition:
        return read_addition(scanner);
      case KeyKind::tiling:
        break;
    }
    return read_bracket_tiling(scanner, builder_->axes());
  }

  void finish_program() {
    if (builder_) programs_.push_back(builder_->finish());
    builder_.reset();
  }

  const text::Input& input_;
  std::optional<Builder> builder_;
  std::vector<Program> programs_;
};

}  // namespace
}  // namespace forms

Result<std::vector<Program>> parse_programs(std::string_view text, std::string_view source) {
  const text::Input input{.text = text, .source = std::string(source), .numbered = true};
  return text::result_of([&] { return forms::TextReader(input).read(); });
}

Result<DeviceTable> parse_order(std::string_view text, Size positions, std::string_view source) {
  constexpr Size most_devices = Size{1} << 31;
  const text::Input input{.text = text, .source = std::string(source)};
  return text::result_of([&] {
    text::Scanner scanner(input);
    const auto draft = forms::read_order_list(scanner, positions);
    scanner.expect_end();
    return forms::build_order(draft, positions, most_devices);
  });
}

}  // namespace retile
