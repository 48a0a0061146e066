#include "retile/program/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "reading.h"
#include "retile/core/notation.h"

namespace retile {

// ---- In -----------------------------------------------------------------------------------------

namespace {

using detail::Builder;
using detail::Field;
using detail::Input;
using detail::Place;
using detail::Scanner;
using detail::StepDraft;

class TextReader {
 public:
  explicit TextReader(const Input& input) : input_(input) {}

  std::vector<Program> read() {
    std::size_t begin = 0;
    while (begin < input_.text.size()) {
      const std::size_t end = std::min(input_.text.find('\n', begin), input_.text.size());
      line({.begin = begin, .end = meaningful_end(begin, end)});
      begin = end + 1;
    }
    finish_program();
    if (programs_.empty()) {
      detail::fail(place(0, 0), {.code = Code::syntax,
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
    if (!scanner.at_word() && !builder_) {
      const std::size_t begin = scanner.next();
      detail::fail(place(begin, begin + 1),
                   {.code = Code::syntax, .message = std::string(no_header)});
    }
    const auto word = scanner.word("a header line or a step");
    if (word.value == "retile.program") {
      header(range, word.place);
      return;
    }
    if (!builder_) {
      detail::fail(word.place, {.code = Code::syntax,
                                .message = std::string(no_header),
                                .notes = {"every Program begins with it"}});
    }
    if (word.value == "mesh" || word.value == "devices" || word.value == "from" ||
        word.value == "to") {
      header_line(word, scanner);
    } else {
      builder_->step(step(word, scanner));
    }
    scanner.expect_done();
  }

  void header(Span range, const Place& word) {
    constexpr std::string_view version = "/1";
    const std::size_t end = word.span.end;
    if (input_.text.substr(end, range.end - end).substr(0, version.size()) != version) {
      detail::fail(place(word.span.begin, std::max(end, range.end)),
                   {.code = Code::syntax,
                    .message = "this is no header of a version that is known here",
                    .notes = {"the header is retile.program/1"}});
    }
    Scanner rest(input_, {.begin = end + version.size(), .end = range.end});
    rest.expect_done();
    finish_program();
    builder_.emplace(place(word.span.begin, end + version.size()));
  }

  void header_line(const Field<std::string>& word, Scanner& scanner) {
    if (!builder_->in_header()) {
      detail::fail(word.place,
                   {.code = Code::bad_program,
                    .message = fmt::format("{} must stand above the first step", word.value),
                    .notes = {"a new Program begins with retile.program/1"}});
    }
    if (word.value == "mesh") {
      const std::size_t begin = scanner.next();
      const auto axes = scanner.axes();
      builder_->mesh(axes, scanner.since(begin));
    } else if (word.value == "devices") {
      builder_->devices(scanner.integer());
    } else if (word.value == "from") {
      builder_->from(scanner.tiling(builder_->axes()));
    } else {
      builder_->to(scanner.tiling(builder_->axes()));
    }
  }

  StepDraft step(const Field<std::string>& word, Scanner& scanner) {
    StepDraft out;
    out.op = detail::op_row(word.value, word.place);
    out.place = word.place;
    while (!scanner.done()) {
      const auto name = scanner.word("a key");
      const Key& key = detail::op_key(out.op, name.value, name.place);
      scanner.expect("=");
      auto value = read(key, scanner);
      if (out.has(key.name)) {
        detail::fail(name.place, {.code = Code::bad_program,
                                  .message = fmt::format("key {} stands twice", key.name)});
      }
      out.keys.emplace_back(key.name, std::move(value));
    }
    return out;
  }

  detail::ValueDraft read(const Key& key, Scanner& scanner) {
    switch (key.kind) {
      case KeyKind::number:
        return scanner.integer();
      case KeyKind::groups:
        return scanner.rows_or_iota(key.name);
      case KeyKind::list:
        return scanner.list_or_iota(key.name);
      case KeyKind::rows:
        return scanner.rows();
      case KeyKind::ints:
        return scanner.ints();
      case KeyKind::tiling:
        break;
    }
    return scanner.bracket_tiling(builder_->axes());
  }

  void finish_program() {
    if (builder_) programs_.push_back(builder_->finish());
    builder_.reset();
  }

  const Input& input_;
  std::optional<Builder> builder_;
  std::vector<Program> programs_;
};

}  // namespace

Result<std::vector<Program>> parse_programs(std::string_view text, std::string_view source) {
  const Input input{.text = text, .source = std::string(source)};
  try {
    return TextReader(input).read();
  } catch (detail::Failure& failure) {
    return refuse(std::move(failure.diagnostic));
  }
}

// ---- Out ----------------------------------------------------------------------------------------

namespace {

void append(std::string& out, Size number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

template <typename Iterator>
void append_list(std::string& out, Iterator begin, Iterator end) {
  out += '[';
  for (Iterator i = begin; i != end; ++i) {
    if (i != begin) out += ',';
    append(out, *i);
  }
  out += ']';
}

void append_list(std::string& out, const std::vector<Size>& list) {
  append_list(out, list.begin(), list.end());
}

void append_offsets(std::string& out, const std::vector<Size>& at, std::size_t rank, Size devices) {
  out += '[';
  auto row = at.begin();
  for (Size d = 0; d < devices; ++d) {
    if (d > 0) out += ',';
    const auto end = row + static_cast<std::ptrdiff_t>(rank);
    append_list(out, row, end);
    row = end;
  }
  out += ']';
}

void append_chain(std::string& out, const IotaChain& chain) {
  const auto& stages = chain.stages();
  if (stages.empty()) {
    out += "<=";
    append_list(out, Shape{chain.size()});
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    out += "<=";
    append_list(out, stages[s].shape);
    if (stages[s].transpose.empty()) continue;
    out += "T(";
    for (std::size_t k = 0; k < stages[s].transpose.size(); ++k) {
      if (k > 0) out += ',';
      append(out, static_cast<Size>(stages[s].transpose[k]));
    }
    out += ')';
  }
}

/// What the text of a Program says about its places that a single step cannot know.
struct Context {
  const Mesh* mesh = nullptr;
  std::size_t rank = 0;
  Size devices = 0;
};

void append_claims(std::string& out, const Claims& claims, const Context& context) {
  if (claims.tile) {
    out += " tile=";
    append_list(out, *claims.tile);
  }
  const bool digits = claims.map && claims.map->is_compact();
  if (digits) out += " map=" + to_text(*claims.map, context.mesh);
  if (claims.at) {
    out += " at=";
    append_offsets(out, *claims.at, context.rank, context.devices);
  } else if (claims.map &&
             !digits) {  // the form says in digits what digits can say, the rest by offsets
    out += " at=";
    append_offsets(out, claims.map->base_offsets(), claims.map->rank(), claims.map->devices());
  }
}

class TextSink final : public KeySink {
 public:
  explicit TextSink(std::string& out) : out_(out) {}

  void number(std::string_view key, Size value) override { begin(key) += fmt::to_string(value); }
  void groups(std::string_view key, const DeviceTable& table) override {
    begin(key) += groups_to_text(table);
  }
  void list(std::string_view key, const DeviceTable& table) override {
    begin(key) += list_to_text(table);
  }
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    begin(key) += '[';
    for (std::size_t r = 0; r < count; ++r) {
      if (r > 0) out_ += ',';
      append_list(out_, row(r));
    }
    out_ += ']';
  }

 private:
  std::string& begin(std::string_view key) { return out_ += fmt::format(" {}=", key); }

  std::string& out_;
};

void append_op(std::string& out, const Step& step) {
  out += op_name(step);
  TextSink sink(out);
  write_keys(step.op, sink);
}

void append_tiling(std::string& out, const Layout& map, const Mesh* mesh) {
  if (map.is_compact()) {
    out += to_text(map, mesh);
    return;
  }
  out += "tile=";
  append_list(out, map.tile());
  out += " global=";
  append_list(out, map.global());
  out += " at=";
  append_offsets(out, map.base_offsets(), map.rank(), map.devices());
}

}  // namespace

std::string groups_to_text(const DeviceTable& table) {
  std::string out;
  if (const IotaChain* chain = table.chain()) {
    append_list(out, Shape{table.row_count(), table.columns()});
    append_chain(out, *chain);
    return out;
  }
  out += '[';
  bool first = true;
  for (const auto& row : table.to_rows()) {
    if (!std::exchange(first, false)) out += ',';
    append_list(out, row);
  }
  out += ']';
  return out;
}

std::string list_to_text(const DeviceTable& table) {
  std::string out;
  if (const IotaChain* chain = table.chain()) {
    append_list(out, Shape{table.size()});
    append_chain(out, *chain);
    return out;
  }
  append_list(out, table.entries());
  return out;
}

std::string tiling_to_text(const Layout& map, const Mesh* mesh) {
  std::string out;
  append_tiling(out, map, mesh);
  return out;
}

std::string to_text(const Step& step, const Mesh* mesh) {
  std::string out;
  append_op(out, step);
  // The rows of `at` are as long as the array has dimensions, which only the other claims can tell
  // here.
  Context context{.mesh = mesh};
  if (step.claims.at) {
    if (step.claims.map) {
      context.rank = step.claims.map->rank();
    } else if (step.claims.tile) {
      context.rank = step.claims.tile->size();
    } else {
      context.rank = 1;
    }
    const Size rank = static_cast<Size>(std::max<std::size_t>(context.rank, 1));
    context.devices = static_cast<Size>(step.claims.at->size()) / rank;
  }
  append_claims(out, step.claims, context);
  return out;
}

std::string to_text(const Program& program) {
  std::string out = "retile.program/1\n";
  const Mesh* mesh = program.mesh ? &*program.mesh : nullptr;
  if (mesh != nullptr) {
    out += "mesh " + to_text(*mesh) + "\n";
  } else {
    out += fmt::format("devices {}\n", program.devices);
  }
  out += "from ";
  append_tiling(out, program.from, mesh);
  if (program.mesh_to) {
    mesh = &*program.mesh_to;
    out += "\nmesh " + to_text(*mesh);
  }
  out += "\nto ";
  append_tiling(out, program.to, mesh);
  out += '\n';
  const Context context{.mesh = mesh, .rank = program.to.rank(), .devices = program.devices};
  for (const Step& step : program.steps) {
    append_op(out, step);
    append_claims(out, step.claims, context);
    out += '\n';
  }
  return out;
}

}  // namespace retile
