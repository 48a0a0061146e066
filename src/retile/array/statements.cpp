#include "retile/array/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "retile/text/scanner.h"

namespace retile::array {

namespace {

using spmd::LocalOp;
using text::fail;
using text::Mistake;
using text::Place;
using text::Scanner;

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t most_nested = 64;
constexpr std::size_t most_operands = 64;  // of a local operation
constexpr std::size_t most_factors = 1024;
constexpr std::size_t most_variables = 52;  // as many as einsum has labels
constexpr std::size_t most_indirect = 8;    // array elements as subscripts in each other

/// A line without its comment, as a place.
std::vector<Place> lines_of(const text::Input& input) {
  std::vector<Place> out;
  for (std::size_t begin = 0; begin < input.text.size();) {
    const std::size_t end = std::min(input.text.find('\n', begin), input.text.size());
    const std::size_t comment = std::min(input.text.find('#', begin), end);
    const std::string_view line = input.text.substr(begin, comment - begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const std::size_t last = line.find_last_not_of(" \t\r");
      out.push_back({&input, {begin, begin + last + 1}});
    }
    begin = end + 1;
  }
  return out;
}

/// Whether the next word is `for`, and no array of that name.
bool sees_ranges(const Scanner& in) {
  Scanner ahead = in;
  return ahead.sees_word() && ahead.word("for").value == "for" && !ahead.sees('[');
}

/// The terms and accesses of one statement.
class TermReader {
 public:
  TermReader(Scanner& in, Statements& all, Statement& statement)
      : in_(in), all_(all), statement_(statement) {}

  Access access(bool may_be_new) {
    const auto name = in_.word("the name of an array");
    Access out = {.array = array(name, may_be_new), .subscripts = {}, .place = name.place};
    const std::size_t begin = name.place.span.begin;
    in_.expect("[");
    while (!in_.accept("]")) {
      if (!out.subscripts.empty()) in_.expect(",");
      out.subscripts.push_back(subscript());
    }
    out.place = in_.since(begin);
    const auto& shape = all_.arrays[out.array].shape;
    if (shape && shape->size() != out.subscripts.size()) {
      fail(out.place, {Code::rank_mismatch, fmt::format("{} has {} dimensions, not {}", name.value,
                                                        shape->size(), out.subscripts.size())});
    }
    return out;
  }

  Term sum(std::size_t depth) {
    Term out = product(depth);
    for (;;) {
      const bool adds = in_.accept("+");
      if (!adds && !in_.accept("-")) return out;
      const LocalOp op = adds ? LocalOp::add : LocalOp::sub;
      out = operation(op, {std::move(out), product(depth)});
    }
  }

 private:
  Term product(std::size_t depth) {
    Term out = factor(depth);
    for (;;) {
      const bool multiplies = in_.accept("*");
      if (!multiplies && !in_.accept("/")) return out;
      const LocalOp op = multiplies ? LocalOp::mul : LocalOp::div;
      out = operation(op, {std::move(out), factor(depth)});
    }
  }

  Term factor(std::size_t depth) {
    count_factor();
    if (in_.accept("(")) return bracket(depth);
    if (in_.accept("-")) return operation(LocalOp::neg, {factor(depth)});
    if (in_.sees_number()) {
      Term out = {TermKind::number, 0, in_.number().value, {}, {}};
      if (!in_.sees_word() || sees_ranges(in_)) return out;
      return operation(LocalOp::mul, {std::move(out), read()});
    }
    Scanner ahead = in_;
    if (ahead.sees_word()) {
      const auto op = function_of(ahead.word("a factor").value);
      if (op && ahead.accept("(")) {
        in_ = ahead;
        return call(*op, depth);
      }
    }
    return read();
  }
  void count_factor() {
    if (++factors_ <= most_factors) return;
    const std::size_t begin = in_.next();
    fail(in_.at({begin, begin}), {Code::limit_reached, "more than 1024 factors in a statement"});
  }
  /// An operation that is written as a function: relu, neg, exp, sqrt, step, equal, max, min.
  static std::optional<LocalOp> function_of(const std::string& word) {
    const auto op = spmd::op_of(word);
    switch (op.value_or(LocalOp::value)) {
      case LocalOp::relu:
      case LocalOp::neg:
      case LocalOp::exp:
      case LocalOp::sqrt:
      case LocalOp::step:
      case LocalOp::equal:
      case LocalOp::max:
      case LocalOp::min:
        return op;
      default:
        return std::nullopt;
    }
  }
  /// Behind its bracket.
  Term call(LocalOp op, std::size_t depth) {
    Term out = operation(op, {inner(depth)});
    if (spmd::operands_of(op) == 2) {
      in_.expect(",");
      out.args.push_back(inner(depth));
    }
    while (spmd::operands_of(op) == 0 && in_.accept(",")) {
      if (out.args.size() == most_operands) {
        fail(in_.rest(), {Code::limit_reached, "more than 64 operands of a maximum or minimum"});
      }
      out.args.push_back(inner(depth));
    }
    if (spmd::operands_of(op) == 0 && out.args.size() < 2) in_.expect(",");
    in_.expect(")");
    return out;
  }
  static Term operation(LocalOp op, std::vector<Term> args) {
    return {TermKind::operation, 0, 0, op, std::move(args)};
  }
  Term bracket(std::size_t depth) {
    Term out = inner(depth);
    in_.expect(")");
    return out;
  }
  Term inner(std::size_t depth) {
    const std::size_t begin = in_.next();
    if (depth >= most_nested) {
      fail(in_.at({begin, begin}), {Code::limit_reached, "more than 64 brackets in each other"});
    }
    return sum(depth + 1);
  }
  Term read() {
    statement_.reads.push_back(access(false));
    return {TermKind::access, statement_.reads.size() - 1, 0, {}, {}};
  }

  std::size_t array(const text::Token<std::string>& name, bool may_be_new) {
    for (std::size_t a = 0; a < all_.arrays.size(); ++a) {
      if (all_.arrays[a].name == name.value && !all_.arrays[a].is_range) return a;
    }
    if (!may_be_new) {
      fail(name.place, {Code::syntax, fmt::format("there is no array {} here", name.value)});
    }
    all_.arrays.push_back({.name = name.value, .shape = {}, .layout = {}, .place = name.place});
    return all_.arrays.size() - 1;
  }

  Subscript subscript() {
    std::map<std::size_t, Size> factors;
    Subscript out;
    bool first = true;
    const std::size_t begin = in_.next();
    if (in_.accept(":")) {
      fail(in_.since(begin), {Code::unsupported, "a whole dimension, ':', has no local operation"});
    }
    if (sees_access()) return indirect();
    for (bool more = true; more;) {
      const bool is_negative = in_.accept("-");
      if (!is_negative && !first) in_.expect("+");
      const auto number = in_.sees_number() ? in_.number().value : Size{1};
      const bool has_number = in_.since(begin).span.end > begin && number_stood_last();
      if (has_number) (void)in_.accept("*");
      const Size factor = is_negative ? -number : number;
      if (sees_access()) fail_indirect();
      Size& there = in_.sees_word() ? factors[variable()] : out.constant;
      if (__builtin_add_overflow(there, factor, &there)) {
        fail(in_.since(begin), {Code::size_overflow, "a subscript that does not fit"});
      }
      first = false;
      more = in_.sees('+') || in_.sees('-');
    }
    std::erase_if(factors, [](const auto& factor) { return factor.second == 0; });
    out.factors.assign(factors.begin(), factors.end());
    return out;
  }
  bool number_stood_last() { return in_.sees('*'); }
  /// Whether a name and a bracket come next.
  [[nodiscard]] bool sees_access() const {
    Scanner ahead = in_;
    if (!ahead.sees_word()) return false;
    (void)ahead.word("a name");
    return ahead.sees('[');
  }
  [[noreturn]] void fail_indirect() const {
    fail(in_.rest(),
         {Code::unsupported,
          "an element of an array of indices is a subscript by itself, without a sum or "
          "a factor"});
  }
  /// `col[j]`
  Subscript indirect() {
    if (indirect_ == most_indirect) {
      fail(in_.rest(), {Code::limit_reached, "more than 8 indirect subscripts in each other"});
    }
    count_factor();
    ++indirect_;
    Access element = access(false);
    --indirect_;
    if (!in_.sees(',') && !in_.sees(']')) fail_indirect();
    statement_.reads.push_back(std::move(element));
    return {{}, 0, statement_.reads.size() - 1};
  }

  std::size_t variable() {
    auto name = in_.word("a variable");
    const std::size_t minus = name.value.find('-');  // names may have one, variables may not
    if (minus != std::string::npos) {
      const Place rest = in_.rest();
      name.place.span.end = name.place.span.begin + minus;
      name.value.resize(minus);
      in_ = Scanner(*rest.input, {name.place.span.end, rest.span.end});
    }
    auto& all = statement_.variables;
    for (std::size_t v = 0; v < all.size(); ++v) {
      if (all[v].name == name.value) return v;
    }
    if (all.size() == most_variables) {
      fail(name.place, {Code::limit_reached, "more than 52 variables in one statement"});
    }
    all.push_back({name.value, 0});
    return all.size() - 1;
  }

  Scanner& in_;
  Statements& all_;
  Statement& statement_;
  std::size_t factors_ = 0;
  std::size_t indirect_ = 0;  // subscripts that are open
};

/// How far a subscript goes beyond its constant, over all values of its variables but one; nothing if
/// the extent of another is not known. Negative factors count below.
struct Reach {
  Size low = 0;
  Size high = 0;
};
constexpr Size greatest = std::numeric_limits<Size>::max();

Size saturated_sum(Size a, Size b) {
  Size out = 0;
  return !__builtin_add_overflow(a, b, &out) ? out : b < 0 ? -greatest : greatest;
}
/// a + b c for c >= 0, or where that does not fit what is beyond every array.
Size plus_product(Size a, Size b, Size c) {
  Size product = 0;
  if (__builtin_mul_overflow(b, c, &product)) product = b < 0 ? -greatest : greatest;
  return saturated_sum(a, product);
}
std::optional<Reach> reach_of(const Statement& statement, const Subscript& subscript,
                              std::size_t without) {
  Reach out = {subscript.constant, subscript.constant};
  for (const auto& [v, factor] : subscript.factors) {
    if (v == without) continue;
    const Size extent = statement.variables[v].extent;
    if (extent == 0) return std::nullopt;
    Size& end = factor > 0 ? out.high : out.low;
    end = plus_product(end, factor, extent - 1);
  }
  return out;
}

/// Finds the extents of the variables of one statement, and the shape of what it makes.
class Extents {
 public:
  Extents(Statements& all, Statement& statement) : all_(all), statement_(statement) {}

  void find() {
    // First those that stand alone, whose sizes must agree; then, by and by, those in sums.
    for (bool more = true; more;) more = find_some(true) || find_some(false);
    for (std::size_t v = 0; v < statement_.variables.size(); ++v) {
      if (statement_.variables[v].extent == 0) {
        fail(statement_.place, {Code::syntax, fmt::format("nothing says how far variable {} goes",
                                                          statement_.variables[v].name)});
      }
    }
    for (const Access& access : statement_.reads) check_inside(access);
    for (const Access& access : statement_.reads) find_indices(access);
    make();
  }

 private:
  bool is_plain(std::size_t v) const {
    bool out = true;
    each([&](const Subscript& s, Size, const Place&) {
      for (const auto& [other, factor] : s.factors) {
        out = out && (other != v || (s.factors.size() == 1 && factor == 1 && s.constant == 0));
      }
    });
    return out;
  }
  template <typename Visit>
  void each(const Visit& visit) const {
    const auto look = [&](const Access& access) {
      const auto& shape = all_.arrays[access.array].shape;
      if (!shape) return;
      for (std::size_t i = 0; i < shape->size(); ++i) {
        visit(access.subscripts[i], (*shape)[i], access.place);
      }
    };
    look(statement_.out);
    for (const Access& access : statement_.reads) look(access);
  }

  /// The first unknown variable whose subscripts say how far it goes: those in which it stands alone,
  /// or else those in which no other one is unknown.
  bool find_some(bool alone) {
    for (std::size_t v = 0; v < statement_.variables.size(); ++v) {
      Variable& variable = statement_.variables[v];
      if (variable.extent > 0) continue;
      std::optional<Size> least;
      bool is_known = true;
      const bool plain = is_plain(v);
      each([&](const Subscript& s, Size n, const Place& place) {
        const auto factor = std::find_if(s.factors.begin(), s.factors.end(),
                                         [&](const auto& f) { return f.first == v; });
        if (factor == s.factors.end() || (alone && s.factors.size() > 1)) return;
        const auto reach = reach_of(statement_, s, v);
        if (!reach) {
          is_known = false;
          return;
        }
        if (factor->second < 0) return;  // says how far up the constant must be
        const Size room = saturated_sum(n - 1, reach->high < -greatest ? greatest : -reach->high);
        const Size extent = room < 0 ? 0 : std::min(room / factor->second, greatest - 1) + 1;
        if (extent <= 0) outside(place);
        const Size found = extent;
        if (plain && least && *least != found) {
          fail(place, {Code::globaltype_mismatch,
                       fmt::format("variable {} goes over {} here, and over {} elsewhere",
                                   variable.name, found, *least)});
        }
        least = std::min(least.value_or(found), found);
      });
      if (is_known && least) {
        variable.extent = *least;
        return true;
      }
    }
    return false;
  }

  [[noreturn]] static void outside(const Place& place) {
    fail(place, {Code::bad_number, "this reaches beyond the array"});
  }

  void check_inside(const Access& access) const {
    const Shape& shape = *all_.arrays[access.array].shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto reach = reach_of(statement_, access.subscripts[i], statement_.variables.size());
      if (reach->low < 0 || reach->high >= shape[i]) outside(access.place);
    }
  }

  /// Arrays of indices are inputs, and those of one dimension's extent: so what they may hold is known.
  void find_indices(const Access& access) {
    const Shape& shape = *all_.arrays[access.array].shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!access.subscripts[i].index) continue;
      const Access& element = statement_.reads[*access.subscripts[i].index];
      Array& array = all_.arrays[element.array];
      if (!array.is_input) {
        fail(element.place,
             {Code::unsupported,
              fmt::format("{} is written by a statement, and indices are elements of inputs",
                          array.name),
              {"of these it is known that they are whole numbers below an extent"}});
      }
      if (array.below && *array.below != shape[i]) {
        fail(element.place,
             {Code::globaltype_mismatch,
              fmt::format("{} has indices below {} elsewhere, and here of a dimension of {}",
                          array.name, *array.below, shape[i])});
      }
      array.below = shape[i];
    }
  }

  /// The array that is written: by different variables, one for each dimension.
  void make() {
    Array& array = all_.arrays[statement_.out.array];
    Shape shape;
    std::vector<std::size_t> seen;
    if (array.below) {
      fail(statement_.out.place,
           {Code::unsupported,
            fmt::format("{} is an array of indices, and these are inputs", array.name)});
    }
    for (const Subscript& s : statement_.out.subscripts) {
      if (s.index) {
        fail(statement_.out.place, {Code::unsupported,
                                    "what is written has no indices of another array: several may "
                                    "be the same (a scatter)"});
      }
      const bool plain = s.factors.size() == 1 && s.factors[0].second == 1 && s.constant == 0;
      if (!plain || std::count(seen.begin(), seen.end(), s.factors[0].first) > 0) {
        fail(statement_.out.place,
             {Code::unsupported, "what is written has a different variable for each dimension"});
      }
      seen.push_back(s.factors[0].first);
      shape.push_back(statement_.variables[seen.back()].extent);
    }
    if (!checked_product(shape)) {
      fail(statement_.out.place, {Code::size_overflow, "this array does not fit in 63 bits"});
    }
    if (array.shape && *array.shape != shape) {
      fail(statement_.out.place, {Code::globaltype_mismatch,
                                  "this does not write every element of the declared array once"});
    }
    array.shape = shape;
    const bool sums = statement_.variables.size() > seen.size();
    if (statement_.meeting == Meeting::assign && sums) {
      fail(statement_.out.place, {Code::unsupported,
                                  "with = every variable stands on the left side",
                                  {"+=, max= and min= say how values meet"}});
    }
  }

  Statements& all_;
  Statement& statement_;
};

Schedule schedule(Scanner& in, const Place& place) {
  Schedule out = {.array = in.word("the name of an array").value, .pieces = {}, .place = place};
  (void)in.accept("=");
  do {
    auto variable = in.word("a variable");
    in.expect(":");
    const Size pieces = in.size("the number of pieces").value;
    out.pieces.emplace_back(std::move(variable), pieces);
  } while (in.accept(","));
  return out;
}

class StatementsReader {
 public:
  explicit StatementsReader(const text::Input& input) : input_(input) {}

  Statements read() {
    if (input_.text.size() > most_bytes) {
      fail({&input_, {0, 0}}, {Code::limit_reached, "the text has more than 2^20 bytes"});
    }
    const auto lines = lines_of(input_);
    const Place start = lines.empty() ? Place{&input_, {0, 0}} : lines[0];
    if (lines.empty() || place_text(start) != "retile.array/1") {
      fail(start, {Code::syntax, "the first line must be retile.array/1"});
    }
    bool ended = false;
    for (std::size_t k = 1; k < lines.size(); ++k) {
      if (ended) fail(lines[k], {Code::syntax, "nothing but tactics and schedules follows return"});
      Scanner in(input_, lines[k].span);
      line(in, lines[k], ended);
      in.expect_end();
      if (ended && k + 1 < lines.size() && is_late(lines[k + 1])) ended = false;
    }
    if (!has_return_)
      fail({&input_, {input_.text.size(), input_.text.size()}},
           {Code::syntax, "the last line must be return"});
    name_ranges();
    return std::move(out_);
  }

 private:
  static std::string_view place_text(const Place& place) {
    return place.input->text.substr(place.span.begin, place.span.end - place.span.begin);
  }
  static bool is_late(const Place& line) {
    const auto text = place_text(line);
    return text.rfind("tactic", 0) == 0 || text.rfind("schedule", 0) == 0;
  }

  void line(Scanner& in, const Place& place, bool& ended) {
    Scanner ahead = in;
    const auto word = ahead.word("array, a statement, schedule, tactic or return");
    const bool is_statement = ahead.sees('[');
    if (word.value == "array" && !is_statement) {
      in = ahead;
      while (!in.done()) declare(in);
    } else if (word.value == "schedule" && !is_statement) {
      in = ahead;
      out_.schedules.push_back(schedule(in, place));
    } else if (word.value == "tactic" && !is_statement) {
      in = ahead;
      out_.tactics.push_back(tactic(in, place));
    } else if (word.value == "return" && !is_statement) {
      in = ahead;
      returned(in);
      ended = true;
    } else {
      statement(in, place);
    }
  }

  /// What stands behind a name: `at root`, or `: layout` up to the end of the line or to a new name.
  static void where(Scanner& in, std::optional<std::string>& layout, Place& place, bool& at_root) {
    if (in.accept(":")) {
      const std::size_t begin = in.next();
      Scanner ahead = in;
      int open = 0;
      while (!ahead.done()) {
        const char c = static_cast<char>(ahead.peek());
        const std::size_t next = ahead.next();
        if (open == 0 && c != '[' && c != '{' && next > begin && ends_at(in, begin, next)) break;
        if (c == '[' || c == '{' || c == '(') ++open;
        if (c == ']' || c == '}' || c == ')') --open;
        (void)ahead.accept(std::string_view(&c, 1));
      }
      place = ahead.since(begin);
      layout = std::string(place_text(place));
      layout->resize(layout->find_last_not_of(" \t") + 1);
      place.span.end = begin + layout->size();
      in = ahead;
      return;
    }
    Scanner ahead = in;
    const std::size_t begin = in.next();
    if (!ahead.sees_word() || ahead.word("at").value != "at") return;
    in = ahead;
    const auto root = in.word("root");
    if (root.value != "root") fail(root.place, {Code::syntax, "expected root"});
    place = in.since(begin);
    at_root = true;
  }
  static void look_for_root(const Array& array, bool at_root, const Place& place) {
    if (!at_root || !array.shape->empty()) return;
    fail(place, {Code::unsupported, "every device holds the one element of an array of rank 0"});
  }
  /// Whether the text before `next` ends a layout: a bracket was closed there.
  static bool ends_at(Scanner& in, std::size_t begin, std::size_t next) {
    const std::string_view text = place_text(in.at({begin, next}));
    const std::size_t last = text.find_last_not_of(" \t");
    return last != std::string_view::npos && text[last] == ']';
  }

  void declare(Scanner& in) {
    const auto name = in.word("the name of an array");
    for (const Array& other : out_.arrays) {
      if (other.name == name.value) {
        fail(name.place, {Code::syntax, fmt::format("{} is declared already", name.value)});
      }
    }
    Array array = {.name = name.value, .shape = Shape(), .layout = {}, .place = name.place};
    in.expect("[");
    while (!in.accept("]")) {
      if (!array.shape->empty()) in.expect(",");
      array.shape->push_back(in.size("an extent").value);
    }
    if (!checked_product(*array.shape)) {
      fail(name.place, {Code::size_overflow, "this array does not fit in 63 bits"});
    }
    where(in, array.layout, array.layout_place, array.at_root);
    look_for_root(array, array.at_root, array.layout_place);
    out_.arrays.push_back(std::move(array));
  }

  static Tactic tactic(Scanner& in, const Place& place) {
    Tactic out;
    out.place = place;
    const auto what = in.word("tile or propagate");
    if (what.value == "propagate") return out;
    if (what.value != "tile") fail(what.place, {Code::syntax, "a tactic is tile or propagate"});
    out.array = in.word("the name of an array").value;
    out.dim = in.number().value;
    const auto by = in.word("by");
    if (by.value != "by") fail(by.place, {Code::syntax, "expected by"});
    out.axis = in.word("an axis").value;
    in.expect(":");
    out.pieces = in.size("the size of the axis").value;
    return out;
  }

  std::size_t known_array(const text::Token<std::string>& name) const {
    for (std::size_t a = 0; a < out_.arrays.size(); ++a) {
      if (out_.arrays[a].name == name.value && !out_.arrays[a].is_range) return a;
    }
    fail(name.place, {Code::syntax, fmt::format("there is no array {} here", name.value)});
  }
  void returned(Scanner& in) {
    if (has_return_) fail(in.rest(), {Code::syntax, "there is a return already"});
    do {
      const auto name = in.word("the name of an array");
      Returned one{.array = known_array(name)};
      for (const Returned& other : out_.returned) {
        if (other.array != one.array) continue;
        fail(name.place, {Code::syntax, fmt::format("{} is returned already", name.value)});
      }
      if (!as_input(in, one)) where(in, one.layout, one.layout_place, one.at_root);
      look_for_root(out_.arrays[one.array], one.at_root, one.layout_place);
      out_.returned.push_back(std::move(one));
    } while (in.accept(","));
    has_return_ = true;
  }
  /// `as x`: in the layout that input x has.
  bool as_input(Scanner& in, Returned& one) const {
    Scanner ahead = in;
    if (!ahead.sees_word() || ahead.word("as").value != "as") return false;
    in = ahead;
    const auto name = in.word("the name of an input");
    one.as = known_array(name);
    one.layout_place = name.place;
    const Array& input = out_.arrays[*one.as];
    if (!input.is_input || input.shape != out_.arrays[one.array].shape) {
      fail(name.place, {Code::bad_argument, fmt::format("{} is no input of the same shape as {}",
                                                        name.value, out_.arrays[one.array].name)});
    }
    return true;
  }

  void statement(Scanner& in, const Place& place) {
    Statement out;
    out.place = place;
    TermReader terms(in, out_, out);
    out.out = terms.access(true);
    for (const Statement& other : out_.statements) {
      if (other.out.array == out.out.array) {
        fail(out.out.place, {Code::unsupported, "an array is written by one statement only"});
      }
    }
    out.meeting = meeting(in);
    out.body = terms.sum(0);
    ranges(in, out);
    for (const Access& read : out.reads) {
      if (read.array == out.out.array || !out_.arrays[read.array].shape) {
        fail(read.place, {Code::syntax, "this is read before it is written"});
      }
    }
    Extents(out_, out).find();
    out_.arrays[out.out.array].is_input = false;
    out_.statements.push_back(std::move(out));
  }
  static bool is_read_alone(const Statement& statement, std::size_t variable) {
    const auto is_it = [variable](const Subscript& s) {
      return s.factors.size() == 1 && s.factors[0].first == variable;
    };
    return std::any_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
      return std::any_of(read.subscripts.begin(), read.subscripts.end(), is_it);
    });
  }
  /// `for n:1000,k:4`. A variable at which nothing is read gets an array, of which only the extent counts.
  void ranges(Scanner& in, Statement& statement) {
    if (!sees_ranges(in)) return;
    (void)in.word("for");
    do {
      const auto name = in.word("a variable");
      in.expect(":");
      const Size extent = in.size("how far the variable goes").value;
      auto& all = statement.variables;
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const Variable& v) { return v.name == name.value; });
      const auto number = static_cast<std::size_t>(found - all.begin());
      if (found == all.end()) {
        if (all.size() == most_variables) {
          fail(name.place, {Code::limit_reached, "more than 52 variables in one statement"});
        }
        all.push_back({name.value, 0});
      } else if (found->extent > 0) {
        fail(name.place, {Code::syntax, fmt::format("{} has a range already", name.value)});
      }
      all[number].extent = extent;
      if (is_read_alone(statement, number)) continue;
      statement.reads.push_back({out_.arrays.size(), {{{{number, 1}}, 0}}, name.place});
      out_.arrays.push_back({.name = {},
                             .shape = Shape{extent},
                             .layout = {},
                             .is_range = true,
                             .place = name.place});
      range_names_.push_back(name.value);
    } while (in.accept(","));
  }
  /// After their variables, where nothing else is called so.
  void name_ranges() {
    std::size_t next = 0;
    for (Array& array : out_.arrays) {
      if (!array.is_range) continue;
      const std::string& wanted = range_names_[next++];
      std::string name = wanted;
      for (std::size_t k = 1; is_taken(name); ++k) name = fmt::format("{}_{}", wanted, k);
      array.name = name;
    }
  }
  [[nodiscard]] bool is_taken(const std::string& name) const {
    return std::any_of(out_.arrays.begin(), out_.arrays.end(),
                       [&](const Array& array) { return array.name == name; });
  }
  static Meeting meeting(Scanner& in) {
    if (in.accept("+=")) return Meeting::add;
    if (in.accept("=")) return Meeting::assign;
    if (in.accept("max=")) return Meeting::max;
    if (in.accept("min=")) return Meeting::min;
    in.fail_expected("=, +=, max= or min=");
  }

  const text::Input& input_;
  Statements out_;
  bool has_return_ = false;
  std::vector<std::string> range_names_;  // variables, by array that is a range
};

}  // namespace

Result<Statements> read_statements(const text::Input& input) {
  return text::result_of([&] { return StatementsReader(input).read(); });
}

Result<std::vector<Schedule>> read_schedules(const text::Input& input) {
  return text::result_of([&] {
    Scanner in(input);
    std::vector<Schedule> out;
    do out.push_back(schedule(in, {&input, {0, input.text.size()}}));
    while (in.accept(";"));
    in.expect_end();
    return out;
  });
}

}  // namespace retile::array
