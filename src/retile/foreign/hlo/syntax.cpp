#include "retile/foreign/hlo/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "retile/core/names.h"

namespace retile::foreign::hlo {
namespace {

/// Tuples in tuples deeper than that are refused.
constexpr int most_levels = 32;

const Attribute* find_in(const std::vector<Attribute>& attributes, std::string_view name) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

class Parser {
 public:
  explicit Parser(const text::Input& input) : input_(input), scanner_(input) {
    scanner_.read_over_lines();
  }

  std::vector<Module> modules() {
    std::vector<Module> out;
    while (!scanner_.done()) out.push_back(module());
    return out;
  }

 private:
  [[nodiscard]] std::string_view rest() {
    const Place place = scanner_.at({scanner_.next(), input_.text.size()});
    return text_of(place);
  }
  /// Whether this word comes next, as a whole.
  [[nodiscard]] bool sees(std::string_view word) {
    const std::string_view text = rest();
    return text.substr(0, word.size()) == word &&
           (text.size() == word.size() || !continues_name(text[word.size()]));
  }
  /// A name with the `%` before it, if there is one.
  [[nodiscard]] Token<std::string> name(std::string_view what) {
    const std::size_t begin = scanner_.next();
    const std::string_view text = rest();
    std::size_t length = text.substr(0, 1) == "%" ? 1 : 0;
    const std::size_t first = length;
    while (length < text.size() && continues_name(text[length])) ++length;
    if (length == first) scanner_.fail_expected(what);
    static_cast<void>(scanner_.accept(text.substr(0, length)));
    return {.value = std::string(text.substr(0, length)), .place = scanner_.since(begin)};
  }

  Module module() {
    Module out;
    const std::size_t begin = scanner_.next();
    if (sees("HloModule")) {
      static_cast<void>(scanner_.accept("HloModule"));
      out.has_header = true;
      out.name = name("the name of the module");
      out.attributes = attributes();
      out.tables = tables();
    }
    std::set<std::string, std::less<>> names;
    while (!scanner_.done() && !sees("HloModule")) {
      out.computations.push_back(computation());
      const Token<std::string>& name = out.computations.back().name;
      if (names.emplace(bare(name.value)).second) continue;
      text::fail(name.place,
                 {.code = Code::syntax, .message = "a second computation of this name"});
    }
    if (out.computations.empty()) scanner_.fail_expected("a computation");
    if (!out.has_header) out.name = {"", scanner_.at({begin, begin + 1})};
    return out;
  }
  /// The tables of places in Python that some dumps have behind the header: words, then numbered lines.
  Place tables() {
    static constexpr std::array<std::string_view, 4> names = {"FileNames", "FunctionNames",
                                                              "FileLocations", "StackFrames"};
    const std::size_t begin = scanner_.next();
    while (std::any_of(names.begin(), names.end(),
                       [&](std::string_view table) { return sees(table); })) {
      skip_to_line_end();
      while (scanner_.sees_number()) skip_to_line_end();
    }
    return scanner_.since(begin);
  }
  void skip_to_line_end() {
    const std::string_view text = rest();
    static_cast<void>(scanner_.accept(text.substr(0, text.find('\n'))));
  }

  /// `ENTRY %main (p: f32[4]) -> f32[4] {`, where the types may be missing.
  Computation computation() {
    Computation out;
    if (sees("ENTRY")) {
      static_cast<void>(scanner_.accept("ENTRY"));
      out.is_entry = true;
    }
    out.name = name("a computation");
    std::optional<WrittenType> result;
    if (scanner_.sees('(')) {
      skip_balanced();
      scanner_.expect("->");
      result = type();
    }
    scanner_.expect("{");
    bool has_root = false;
    while (!scanner_.accept("}")) {
      out.instructions.push_back(instruction());
      const Instruction& last = out.instructions.back();
      if (last.is_root && has_root) {
        text::fail(last.name.place,
                   {.code = Code::syntax, .message = "a second ROOT of a computation"});
      }
      has_root = has_root || last.is_root;
    }
    if (result) check_result(out, *result);
    skip_attributes_behind();
    return out;
  }
  /// That a computation makes what it says. What it says of its parameters XLA does not look at either.
  static void check_result(const Computation& computation, const WrittenType& said) {
    const Instruction* root = nullptr;
    for (const Instruction& one : computation.instructions) {
      if (root == nullptr || !root->is_root) root = &one;
    }
    if (root == nullptr) return;
    if (root->type.parts == said.parts && root->type.is_tuple == said.is_tuple) return;
    text::fail(said.place, {.code = Code::bad_program,
                            .message = "the computation makes another type than it says"});
  }
  /// `, execution_thread="main"` behind a computation.
  void skip_attributes_behind() { static_cast<void>(attributes()); }

  Instruction instruction() {
    Instruction out;
    if (sees("ROOT")) {
      static_cast<void>(scanner_.accept("ROOT"));
      out.is_root = true;
    }
    out.name = name("an instruction or '}'");
    scanner_.expect("=");
    out.type = type();
    out.opcode = name("an operation");
    if (!scanner_.sees('(')) scanner_.fail_expected("'('");
    const std::size_t open = scanner_.next();
    const bool has_names = out.opcode.value != "constant" && out.opcode.value != "parameter";
    if (has_names) {
      scanner_.expect("(");
      out.operands = operands();
    } else {
      skip_balanced();
    }
    out.inside = scanner_.since(open);
    ++out.inside.span.begin;
    --out.inside.span.end;
    out.attributes = attributes();
    return out;
  }
  std::vector<Operand> operands() {
    std::vector<Operand> out;
    if (scanner_.accept(")")) return out;
    do {
      out.push_back(operand());
    } while (scanner_.accept(","));
    if (!scanner_.accept(")")) scanner_.fail_expected("',' or ')' after an operand");
    return out;
  }
  /// `%p`, `p`, `f32[4]{0} %p`, each of them with `#1` behind it.
  Operand operand() {
    std::optional<WrittenType> written;
    if (scanner_.sees('(') || sees_type()) written = type();
    Operand out = bare_name();
    out.type = std::move(written);
    return out;
  }
  /// Whether `f32[` comes next.
  [[nodiscard]] bool sees_type() {
    static_cast<void>(scanner_.next());
    const std::string_view text = rest();
    std::size_t length = 0;
    while (length < text.size() && continues_name(text[length])) ++length;
    return length > 0 && text.substr(length, 1) == "[";
  }
  Operand bare_name() {
    const Token<std::string> token = name("an operand");
    Operand out{.value = std::string(bare(token.value)), .place = token.place};
    if (touches('#')) {
      scanner_.expect("#");
      out.part = scanner_.number().value;
    }
    return out;
  }
  /// Whether this character comes next without a blank before it.
  [[nodiscard]] bool touches(char c) const {
    const std::string_view text = text_of(scanner_.rest());
    return !text.empty() && text.front() == c;
  }

  WrittenType type(int level = 0) {
    const std::size_t begin = scanner_.next();
    WrittenType out;
    if (scanner_.sees('(')) {
      if (level >= most_levels) {
        text::fail(scanner_.at({begin, begin + 1}),
                   {.code = Code::unsupported,
                    .message = fmt::format("tuples are nested deeper than {}", most_levels)});
      }
      scanner_.expect("(");
      out.is_tuple = true;
      if (!scanner_.accept(")")) {
        do {
          WrittenType part = type(level + 1);
          out.is_reordered = out.is_reordered || part.is_reordered;
          out.is_tiled = out.is_tiled || part.is_tiled;
          out.parts.insert(out.parts.end(), part.parts.begin(), part.parts.end());
          out.elements.push_back(std::move(part));
        } while (scanner_.accept(","));
        scanner_.expect(")");
      }
    } else {
      TileType one{.element = scanner_.word("a type").value, .extents = {}};
      scanner_.expect("[");
      if (!scanner_.accept("]")) {
        do {
          one.extents.push_back(scanner_.number().value);
        } while (scanner_.accept(","));
        scanner_.expect("]");
      }
      if (touches('{')) read_layout(out, one.extents.size());
      out.parts.push_back(std::move(one));
    }
    out.place = scanner_.since(begin);
    return out;
  }
  /// Reads `{1,0}` and `{1,0:T(8,128)}`.
  void read_layout(WrittenType& out, std::size_t rank) {
    const std::size_t begin = scanner_.next();
    skip_balanced();
    const Place place = scanner_.since(begin);
    out.is_tiled = text_of(place).find_first_of("TE") != std::string_view::npos;
    Scanner dims = scanner_of(place);
    dims.expect("{");
    std::vector<std::size_t> order;
    while (dims.sees_number()) {
      order.push_back(static_cast<std::size_t>(dims.number().value));
      static_cast<void>(dims.accept(","));
    }
    std::reverse(order.begin(), order.end());
    if (!order.empty() && order.size() != rank) {
      text::fail(place, {.code = Code::rank_mismatch, .message = "a layout of another rank"});
    }
    std::vector<std::size_t> rows = order;
    std::sort(rows.begin(), rows.end());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] == k) continue;
      text::fail(place, {.code = Code::bad_dimension, .message = "no order of the dimensions"});
    }
    if (order != rows) out.order = std::move(order);
    out.is_reordered = out.is_tiled || !out.order.empty();
  }

  std::vector<Attribute> attributes() {
    std::vector<Attribute> out;
    std::set<std::string> names;  // of all before, once they are many
    while (scanner_.accept(",")) {
      Attribute attribute;
      Token<std::string> word = name("an attribute");
      attribute.name = std::move(word.value);
      attribute.name_place = word.place;
      scanner_.expect("=");
      attribute.value = value(attribute.name == "replica_groups" && sees("mesh"));
      if (!is_new(attribute.name, out, names)) {
        text::fail(attribute.name_place,
                   {.code = Code::syntax,
                    .message = fmt::format("{} stands twice", shown_name(attribute.name))});
      }
      out.push_back(std::move(attribute));
    }
    return out;
  }
  static bool is_new(const std::string& name, const std::vector<Attribute>& before,
                     std::set<std::string>& names) {
    constexpr std::size_t few = 16;  // which instructions have, and are sooner looked through
    if (before.size() < few) return find_in(before, name) == nullptr;
    if (names.empty()) {
      for (const Attribute& one : before) names.insert(one.name);
    }
    return names.insert(name).second;
  }
  /// The value of an attribute: up to a comma, the end of the line, or a bracket that it did not open.
  /// `mesh['x'=2], device_ids=(..) {'x'}` ends with its braces.
  Place value(bool ends_with_braces) {
    const std::size_t begin = scanner_.next();
    const std::string_view text = rest();
    std::size_t length = 0;
    while (length < text.size()) {
      const char c = text[length];
      if (c == '(' || c == '[' || c == '{' || c == '"') {
        length += balanced_length(text.substr(length), begin + length);
        if (ends_with_braces && c == '{') break;
        continue;
      }
      const bool is_end = c == '\n' || c == ')' || c == ']' || c == '}' || c == ' ';
      if (!ends_with_braces && (is_end || c == ',')) break;
      if (ends_with_braces && c == '\n') break;
      ++length;
    }
    if (length == 0) scanner_.fail_expected("a value");
    static_cast<void>(scanner_.accept(text.substr(0, length)));
    return scanner_.since(begin);
  }
  void skip_balanced() {
    const std::size_t begin = scanner_.next();
    const std::string_view text = rest();
    static_cast<void>(scanner_.accept(text.substr(0, balanced_length(text, begin))));
  }
  /// How long the bracketed or quoted text is that begins here.
  std::size_t balanced_length(std::string_view text, std::size_t begin) {
    std::string open;
    std::size_t k = 0;
    do {
      const char c = k < text.size() ? text[k] : '\0';
      if (k >= text.size()) {
        text::fail(scanner_.at({begin, begin + 1}),
                   {.code = Code::syntax, .message = "this bracket is not closed"});
      }
      if (c == '"') {
        k += quoted_length(text.substr(k), begin + k);
        continue;
      }
      if (c == '(' || c == '[' || c == '{') open += c;
      if (c == ')' || c == ']' || c == '}') {
        const char partner = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.back() != partner) {
          text::fail(scanner_.at({begin + k, begin + k + 1}),
                     {.code = Code::syntax,
                      .message = fmt::format("'{}' closes no '{}'", c, open.back())});
        }
        open.pop_back();
      }
      ++k;
    } while (!open.empty());
    return k;
  }
  std::size_t quoted_length(std::string_view text, std::size_t begin) {
    for (std::size_t k = 1; k < text.size(); ++k) {
      if (text[k] == '\\') {
        ++k;
      } else if (text[k] == '"') {
        return k + 1;
      }
    }
    text::fail(scanner_.at({begin, begin + 1}),
               {.code = Code::syntax, .message = "this quote is not closed"});
  }

  const text::Input& input_;
  Scanner scanner_;
};

}  // namespace

const Attribute* Instruction::find(std::string_view attribute) const {
  return find_in(attributes, attribute);
}

const Attribute* Module::find(std::string_view attribute) const {
  return find_in(attributes, attribute);
}

std::string_view bare(std::string_view name) {
  return name.substr(0, 1) == "%" ? name.substr(1) : name;
}

std::vector<Module> parse_modules(const text::Input& input) { return Parser(input).modules(); }

std::string_view text_of(const Place& place) {
  return place.input->text.substr(place.span.begin, place.span.end - place.span.begin);
}

Scanner scanner_of(const Place& place) {
  Scanner out(*place.input, place.span);
  out.read_over_lines();
  return out;
}

}  // namespace retile::foreign::hlo
