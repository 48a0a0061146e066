// Reads modules and types them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "module.h"
#include "retile/core/names.h"
#include "retile/core/problem.h"
#include "retile/program/forms/text.h"
#include "retile/text/words.h"

namespace retile::spmd {

namespace {

using text::fail;
using text::Place;
using text::Scanner;
using text::Token;

constexpr std::size_t most_text = std::size_t{1} << 20;
constexpr std::size_t most_statements = 4096;
constexpr std::size_t most_operands = 64;
constexpr int most_nested = 64;
constexpr std::string_view header = "retile.spmd/1";

/// Where the comment or the end of the line begins.
std::size_t meaningful_end(std::string_view text, std::size_t begin, std::size_t end) {
  if (end > begin && text[end - 1] == '\r') --end;
  bool quoted = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '#' && !quoted) return i;
  }
  return end;
}

/// Scanners of the lines that have something, one after the other.
class Lines {
 public:
  explicit Lines(const text::Input& input) : input_(input), line_(input, {0, 0}) {}

  [[nodiscard]] Scanner& line() { return line_; }
  /// The next line that is not empty. Fails if there is none, or if something is left of this one.
  void next() {
    if (!more()) {
      const std::size_t end = input_.text.size();
      fail({&input_, {end, end}},
           {.code = Code::syntax, .message = "the module ends here too early"});
    }
  }
  bool more() {
    line_.expect_end();
    while (begin_ < input_.text.size()) {
      const std::size_t end = std::min(input_.text.find('\n', begin_), input_.text.size());
      first_ = std::exchange(begin_, end + 1);
      ++number_;
      line_ = Scanner(input_, {first_, meaningful_end(input_.text, first_, end)});
      if (!line_.done()) return true;
    }
    return false;
  }
  /// The next line, if this one has nothing left.
  void over_end() {
    if (line_.done()) next();
  }
  void skip() { line_ = Scanner(input_, {line_end(), line_end()}); }  ///< the rest of this line
  [[nodiscard]] std::size_t number() const { return number_; }        ///< of this line, from 1
  [[nodiscard]] std::size_t line_begin() const { return first_; }
  [[nodiscard]] std::size_t line_end() const { return std::min(begin_, input_.text.size()); }
  [[nodiscard]] const text::Input& input() const { return input_; }

 private:
  const text::Input& input_;
  Scanner line_;
  std::size_t first_ = 0;   // of this line
  std::size_t begin_ = 0;   // of the next line
  std::size_t number_ = 0;  // of this line, from 1
};

/// Whether the scanner stands before this word, and no '=' behind it.
bool sees_keyword(const Scanner& at, std::string_view word) {
  Scanner ahead = at;
  return ahead.sees_word() && ahead.word("a word").value == word && !ahead.sees('=');
}

class Reader {
 public:
  explicit Reader(const text::Input& input) : lines_(input) {}

  Module read() {
    if (lines_.input().text.size() > most_text) {
      fail({&lines_.input(), {0, 0}},
           {.code = Code::unsupported, .message = "a module has at most 2^20 bytes of text"});
    }
    first_lines();
    signature();
    body();
    if (lines_.more()) denotes();
    if (lines_.more()) line().fail_expected("the end of the module");
    return std::move(out_);
  }

 private:
  Scanner& line() { return lines_.line(); }
  void keyword(std::string_view word) {
    Scanner ahead = line();
    if (!ahead.sees_word() || ahead.word("a word").value != word) {
      line().fail_expected(fmt::format("'{}'", word));
    }
    line() = ahead;
  }

  void first_lines() {
    lines_.next();
    line().expect(header);
    lines_.next();
    keyword("mesh");
    const std::size_t begin = line().next();
    layouts_.emplace(line(), most_devices);
    const Span span = line().since(begin).span;
    mesh_text_ = lines_.input().text.substr(span.begin, span.end - span.begin);
    out_.mesh = layouts_->mesh();
    out_.devices = layouts_->devices();
    out_.has_order = layouts_->has_order();
  }

  void signature() {
    lines_.next();
    keyword("fn");
    keyword("main");
    line().expect("(");
    if (!line().accept(")")) {
      do {
        const auto x = new_name();
        line().expect(":");
        add_value(x, type());
        below(out_.values.back());
      } while (line().accept(","));
      line().expect(")");
    }
    out_.parameters = out_.values.size();
    line().expect("->");
    do {
      out_.returned.push_back({0, type()});
    } while (line().accept(","));
  }

  /// ["below" INT]
  void below(Value& parameter) {
    Scanner ahead = line();
    if (!ahead.sees_word() || ahead.word("below").value != "below") return;
    line() = ahead;
    const auto n = line().size("the number of indices");
    if (parameter.type.layout().addends()) {
      fail(n.place, {.code = Code::unsupported, .message = "an array of indices has no addends"});
    }
    parameter.below = n.value;
  }

  Token<std::string> new_name() {
    auto out = line().name("the name of a value");
    if (number_of_.count(out.value) > 0) {
      fail(out.place,
           {.code = Code::syntax,
            .message = fmt::format("{} stands for another value already", shortened(out.value))});
    }
    return out;
  }
  void add_value(const Token<std::string>& name, Type type) {
    number_of_.emplace(name.value, out_.values.size());
    out_.values.push_back({name.value, std::move(type), std::nullopt});
  }

  Type type() {
    const std::size_t begin = line().next();
    Type out{.local = layouts_->read(line()), .text = {}, .place = {}};
    out.place = line().since(begin);
    const Span span = out.place.span;
    out.text = lines_.input().text.substr(span.begin, span.end - span.begin);
    const auto& addends = out.layout().addends();
    if (addends && addends->addition == Addition::stack) {
      fail(out.place, {.code = Code::unsupported, .message = "a module has no stacks"});
    }
    check_size(out);
    return out;
  }
  void check_size(const Type& type) const {
    Size room = most_elements;
    for (Size d = 0; d < out_.devices; ++d) {
      const auto size = checked_product(type.shape(d));
      if (!size || *size > room) {
        fail(type.place, {.code = Code::unsupported,
                          .message = "a value has at most 2^32 elements on all devices together"});
      }
      room -= *size;
    }
  }

  void body() {
    for (;;) {
      lines_.next();
      if (sees_keyword(line(), "return")) break;
      if (out_.body.size() == most_statements) {
        fail(line().rest(),
             {.code = Code::unsupported, .message = "a module has at most 4096 statements"});
      }
      statement();
    }
    (void)line().word("return");
    std::set<std::size_t> seen;
    for (Returned& one : out_.returned) {
      if (!seen.empty()) line().expect(",");
      returned(one, seen);
    }
  }
  void returned(Returned& one, std::set<std::size_t>& seen) {
    const Place place = known_value(one.value);
    const auto& [name, type, below] = out_.values[one.value];
    if (!seen.insert(one.value).second) {
      fail(place,
           {.code = Code::inapplicable, .message = fmt::format("{} is returned already", name)});
    }
    if (type.layout().equivalent(one.type.layout())) return;
    fail(place,
         {.code = Code::inapplicable,
          .message = fmt::format("{} is {}, but main returns {}", name, type.text, one.type.text),
          .notes = {"a redistribute before the return makes it so"}});
  }

  /// Reads the name of a value that there is.
  Place known_value(std::size_t& number) {
    const auto name = line().name("a value");
    const auto found = number_of_.find(name.value);
    if (found == number_of_.end()) unknown(name, names_of_values());
    number = found->second;
    return name.place;
  }
  [[nodiscard]] std::vector<std::string> names_of_values() const {
    std::vector<std::string> out;
    for (const Value& value : out_.values) out.push_back(value.name);
    return out;
  }
  [[noreturn]] static void unknown(const Token<std::string>& name,
                                   const std::vector<std::string>& known) {
    std::vector<std::string> notes;
    if (const auto near = text::nearest(name.value, known)) {
      notes.push_back(fmt::format("there is {}", shortened(*near)));
    }
    fail(name.place, {.code = Code::syntax,
                      .message = fmt::format("there is no value {} here", shortened(name.value)),
                      .notes = std::move(notes)});
  }

  void statement() {
    const std::size_t begin = lines_.line_begin();
    const auto name = new_name();
    line().expect("=");
    const auto word = line().word("spmd or redistribute");
    Statement out{.value = out_.values.size(), .op = {}, .place = word.place, .lines = {}};
    if (word.value == "spmd") {
      out.op = spmd();
    } else if (word.value == "redistribute") {
      out.op = redistribute();
    } else {
      fail(word.place, {.code = Code::syntax,
                        .message = fmt::format("expected spmd or redistribute, found '{}'",
                                               shortened(word.value))});
    }
    line().expect_end();
    out.lines = {&lines_.input(), {begin, lines_.line_end()}};
    const auto* moved = std::get_if<RedistributeOp>(&out.op);
    const Below below = moved != nullptr ? out_.values[moved->argument].below : std::nullopt;
    out_.body.push_back(std::move(out));
    add_value(name, std::move(made_));
    // Addends of indices are none.
    Value& value = out_.values.back();
    if (!value.type.layout().addends()) value.below = below;
  }

  SpmdOp spmd() {
    SpmdOp out;
    known_.clear();
    while (!line().sees('{') && !line().done()) {
      std::size_t number = 0;
      known_value(number);
      out.arguments.push_back(number);
      known_.push_back(out_.values[number].name);
    }
    operands_ = known_.size();
    line().expect("{");
    lines_.over_end();
    definitions(out.definitions);
    if (sees_keyword(line(), "return")) {
      (void)line().word("return");
      out.result = value();
    } else {
      out.result = expression(0);
    }
    lines_.over_end();
    line().expect("}");
    keyword("as");
    made_ = type();
    type_spmd(out);
    return out;
  }
  void definitions(std::vector<std::pair<std::string, Expression>>& out) {
    while (sees_definition()) {
      auto name = line().name("a name").value;
      line().expect("=");
      out.emplace_back(name, expression(0));
      known_.push_back(std::move(name));
      lines_.next();
    }
  }
  [[nodiscard]] bool sees_definition() {
    Scanner ahead = line();
    if (!ahead.sees_name()) return false;
    (void)ahead.name("a name");
    return ahead.sees('=');
  }

  /// T-SPMD: on every device the result is its tile.
  void type_spmd(const SpmdOp& op) const {
    std::map<std::vector<Shape>, Shape> results;  // devices share the shapes of their operands
    std::vector<Below> belows;
    for (const std::size_t x : op.arguments) belows.push_back(out_.values[x].below);
    for (Size d = 0; d < out_.devices; ++d) {
      std::vector<Shape> shapes;
      for (const std::size_t x : op.arguments) shapes.push_back(out_.values[x].type.shape(d));
      auto known = results.find(shapes);
      const std::string where = fmt::format(" on device {}", d);
      if (known == results.end()) {
        std::vector<Shape> all = shapes;
        std::vector<Below> known_below = belows;
        for (const auto& [name, e] : op.definitions) {
          Shape shape = typed(e, all, where);
          known_below.push_back(indices_of(e, all, known_below, where));
          all.push_back(std::move(shape));
        }
        known = results.emplace(shapes, typed(op.result, all, where)).first;
        (void)indices_of(op.result, all, known_below, where);
      }
      if (known->second == made_.shape(d)) continue;
      fail(made_.place,
           {.code = Code::inapplicable,
            .message = fmt::format("the result{} is [{}], but its tile is [{}]", where,
                                   fmt::join(known->second, ", "), fmt::join(made_.shape(d), ", ")),
            .notes = op.arguments.empty() ? std::vector<std::string>{}
                                          : std::vector<std::string>{shapes_note(op, d)},
            .rule = "T-SPMD"});
    }
  }
  [[nodiscard]] std::string shapes_note(const SpmdOp& op, Size device) const {
    std::vector<std::string> out;
    for (const std::size_t x : op.arguments) {
      const Value& value = out_.values[x];
      out.push_back(
          fmt::format("{} is [{}]", value.name, fmt::join(value.type.shape(device), ", ")));
    }
    return fmt::format("there {}", text::enumerate(out));
  }

  Expression value() {
    const auto name = line().name("a value");
    const auto found = std::find(known_.rbegin(), known_.rend(), name.value);
    if (found == known_.rend()) unknown(name, known_);
    Expression out;
    out.value = static_cast<std::size_t>(known_.rend() - found) - 1;
    out.place = name.place;
    return out;
  }

  [[nodiscard]] bool sees_operand() {
    return !line().done() && !line().sees('}') && !line().sees(')');
  }
  Expression operand(int depth) {
    if (!line().accept("(")) return value();
    Expression out = expression(depth + 1);
    line().expect(")");
    return out;
  }

  Expression expression(int depth) {
    if (depth > most_nested) {
      fail(line().rest(),
           {.code = Code::unsupported, .message = "more than 64 brackets stand in each other"});
    }
    if (line().sees('(')) return operand(depth);
    Scanner ahead = line();
    const auto word = ahead.name("an operation or a value");
    const auto op = op_of(word.value);
    if (!op) {
      Expression out = value_or_operation(word, ahead);
      return out;
    }
    (void)line().name("an operation");
    Expression out{.op = *op, .place = word.place};
    if (*op == LocalOp::einsum) subscripts(out);
    if (*op == LocalOp::transpose) out.numbers = list();
    for (std::size_t k = 0; k < numbers_of(*op); ++k) out.numbers.push_back(number(*op));
    operands(out, depth);
    return out;
  }
  Expression value_or_operation(const Token<std::string>& word, Scanner ahead) {
    const bool alone = ahead.done() || ahead.sees('}') || ahead.sees(')');
    if (alone) return value();
    std::vector<std::string> names;
    for (int op = 1; op <= static_cast<int>(last_op); ++op) {
      names.emplace_back(name_of(static_cast<LocalOp>(op)));
    }
    fail(word.place,
         {.code = Code::syntax,
          .message = fmt::format("there is no operation {}", shortened(word.value)),
          .notes = {fmt::format("there are {}", text::enumerate(names, "and", names.size()))}});
  }
  void subscripts(Expression& out) {
    const auto quoted = line().quoted("subscripts such as \"ik,kj->ij\"");
    auto einsum = einsum_of(quoted.value);
    if (!einsum) {
      fail(quoted.place, {.code = Code::syntax,
                          .message = "these are no subscripts",
                          .notes = {"\"ik,kj->ij\" are: letters, those of the result each once"}});
    }
    out.subscripts = quoted.value;
    out.einsum = *std::move(einsum);
  }
  std::vector<Size> list() {
    std::vector<Size> out;
    line().expect("[");
    if (line().accept("]")) return out;
    do {
      out.push_back(line().number().value);
    } while (line().accept(","));
    line().expect("]");
    return out;
  }
  Size number(LocalOp op) {
    const bool has_sign = op == LocalOp::scale || op == LocalOp::fill;
    const bool negative = has_sign && line().accept("-");
    const Size out = line().number().value;
    return negative ? -out : out;
  }

  void operands(Expression& out, int depth) {
    const std::size_t count =
        out.op == LocalOp::einsum ? out.einsum.in.size() : operands_of(out.op);
    if (!sees_operand()) {
      for (std::size_t k = 0; k < operands_; ++k) {
        Expression named;
        named.value = k;
        named.place = out.place;
        out.operands.push_back(named);
      }
    }
    while (sees_operand() && (count == 0 || out.operands.size() < count)) {
      if (out.operands.size() == most_operands) {
        fail(line().rest(),
             {.code = Code::unsupported, .message = "an operation has at most 64 operands"});
      }
      out.operands.push_back(operand(depth));
    }
    const std::size_t found = out.operands.size();
    if (count == 0 ? found >= 2 : found == count) return;
    fail(out.place, {.code = Code::syntax,
                     .message = fmt::format(
                         "{} has {}{}, not {}", name_of(out.op), count == 0 ? "at least " : "",
                         counted(static_cast<Size>(count == 0 ? 2 : count), "operand"), found)});
  }

  RedistributeOp redistribute() {
    RedistributeOp out;
    known_value(out.argument);
    keyword("as");
    made_ = type();
    const Type& from = out_.values[out.argument].type;
    if (from.layout().global() != made_.layout().global()) {
      fail(made_.place,
           {.code = Code::globaltype_mismatch,
            .message = fmt::format(
                "{} has the global shape [{}], not [{}]", out_.values[out.argument].name,
                fmt::join(from.layout().global(), ", "), fmt::join(made_.layout().global(), ", ")),
            .rule = "Sec. 2.5"});
    }
    const bool has_steps = line().accept("{");
    // Only steps that somebody wrote make addends of an array; `check` says whether they are right.
    const auto check = has_steps ? check_written_addends : check_addends;
    if (auto addends = check(from.layout(), made_.layout()); !addends) {
      fail_with(made_.place, addends.error());
    }
    if (has_steps) out.program = steps(from);
    return out;
  }

  /// The Program of the lines up to the bracket that closes. It is read from a text in which every step
  /// stands in the line that it has here, below a header of four lines: as many as stand above it here, at least.
  Program steps(const Type& from) {
    const std::size_t above = lines_.number();
    std::string text(above - 4, '\n');
    text += fmt::format("retile.program/2\nmesh {}\nfrom {}\nto {}\n", mesh_text_, from.text,
                        made_.text);
    std::size_t written = above;
    lines_.next();
    for (;;) {
      lines_.over_end();
      if (line().accept("}")) break;
      text.append(lines_.number() - written - 1, '\n');
      written = lines_.number();
      const std::size_t begin = lines_.line_begin();
      text += lines_.input().text.substr(begin, lines_.line_end() - begin);
      lines_.skip();
    }
    auto programs = parse_programs(text, lines_.input().source);
    if (!programs) throw text::Failure{programs.error()};
    if (programs->size() != 1) {
      fail(made_.place, {.code = Code::bad_program, .message = "one Program stands behind this"});
    }
    return std::move(programs->front());
  }

  void denotes() {
    const auto word = line().word("denotes");
    if (word.value != "denotes") {
      fail(word.place, {.code = Code::syntax,
                        .message = fmt::format("expected 'denotes' or the end, found '{}'",
                                               shortened(word.value))});
    }
    known_.clear();
    std::vector<Shape> shapes;
    std::vector<Below> belows;
    for (std::size_t k = 0; k < out_.parameters; ++k) {
      known_.push_back(out_.values[k].name);
      belows.push_back(out_.values[k].below);
      shapes.push_back(out_.values[k].type.layout().global());
    }
    operands_ = known_.size();
    out_.denotes.emplace();
    if (line().accept("{")) {
      denotes_block(*out_.denotes);
    } else {
      out_.denotes->results.push_back(expression(0));
    }
    const std::size_t wanted = out_.returned.size();
    if (out_.denotes->results.size() != wanted) {
      fail(word.place, {.code = Code::inapplicable,
                        .message = fmt::format("main returns {}, not {}",
                                               counted(static_cast<Size>(wanted), "value"),
                                               out_.denotes->results.size())});
    }
    for (const auto& [name, e] : out_.denotes->definitions) {
      Shape shape = typed(e, shapes);
      belows.push_back(indices_of(e, shapes, belows));
      shapes.push_back(std::move(shape));
    }
    for (std::size_t k = 0; k < wanted; ++k) {
      const Shape shape = typed(out_.denotes->results[k], shapes);
      (void)indices_of(out_.denotes->results[k], shapes, belows);
      const Shape& global = out_.returned[k].type.layout().global();
      if (shape == global) continue;
      fail(word.place, {.code = Code::inapplicable,
                        .message = fmt::format("this has the shape [{}], but main returns [{}]",
                                               fmt::join(shape, ", "), fmt::join(global, ", "))});
    }
  }
  void denotes_block(Denoted& out) {
    lines_.over_end();
    definitions(out.definitions);
    if (sees_keyword(line(), "return")) {
      (void)line().word("return");
      do {
        out.results.push_back(value());
      } while (line().accept(","));
    } else {
      out.results.push_back(expression(0));
    }
    lines_.over_end();
    line().expect("}");
  }

  Lines lines_;
  Module out_;
  std::string mesh_text_;
  std::optional<forms::LayoutReader> layouts_;
  std::map<std::string, std::size_t> number_of_;
  Type made_;                       // of the statement that is read
  std::vector<std::string> known_;  // the values of the expression that is read
  std::size_t operands_ = 0;        // how many of them an operation without operands has
};

}  // namespace

Shape Type::shape(Size device) const {
  const auto rank = static_cast<std::ptrdiff_t>(layout().rank());
  const auto first = local.extents.begin() + static_cast<std::ptrdiff_t>(device) * rank;
  return {first, first + rank};
}

bool is_module(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, meaningful_end(text, begin, end) - begin);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos) return line.substr(first, header.size()) == header;
    begin = end + 1;
  }
  return false;
}

Result<Module> read_module(const text::Input& input) {
  return text::result_of([&] { return Reader(input).read(); });
}

}  // namespace retile::spmd
