#include "retile/array/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace retile::array {

namespace {

using spmd::LocalOp;
using text::fail;

constexpr std::size_t most_work = std::size_t{1} << 20;

/// A term with its accesses in it, so that it can go from one statement to another.
struct Piece {
  TermKind kind = TermKind::number;
  Size number = 0;
  std::string array = {};
  std::vector<Subscript> subscripts = {};
  Shape shape = {};  ///< of the array
  LocalOp op = {};
  std::vector<Piece> args = {};  ///< of an access those that are its subscripts, in order
};

Piece number_piece(Size number) { return {.kind = TermKind::number, .number = number}; }
Piece operation(LocalOp op, std::vector<Piece> args) {
  return {.kind = TermKind::operation, .op = op, .args = std::move(args)};
}

/// scale * over / under, where each of these is a product.
struct Product {
  Size scale = 1;
  std::vector<Piece> over = {};
  std::vector<Piece> under = {};

  [[nodiscard]] Product times(const Piece& factor) const {
    Product out = *this;
    out.multiply(factor, false);
    return out;
  }
  [[nodiscard]] Product divided_by(const Piece& divisor) const {
    Product out = *this;
    out.multiply(divisor, true);
    return out;
  }
  [[nodiscard]] Product negative() const {
    Product out = *this;
    out.scale = -out.scale;
    return out;
  }

 private:
  void multiply(const Piece& factor, bool divides) {
    const bool is_operation = factor.kind == TermKind::operation;
    Size product = 0;
    if (factor.kind == TermKind::number && !divides &&
        !__builtin_mul_overflow(scale, factor.number, &product) &&
        product != std::numeric_limits<Size>::min()) {
      scale = product;
    } else if (is_operation && factor.op == LocalOp::neg) {
      scale = -scale;
      multiply(factor.args[0], divides);
    } else if (is_operation && factor.op == LocalOp::mul) {
      for (const Piece& arg : factor.args) multiply(arg, divides);
    } else if (is_operation && factor.op == LocalOp::div) {
      multiply(factor.args[0], divides);
      multiply(factor.args[1], !divides);
    } else {
      (divides ? under : over).push_back(factor);
    }
  }
};

/// Texts of terms, in which variables have these names.
class Printer {
 public:
  explicit Printer(const std::vector<std::string>& names) : names_(names) {}

  [[nodiscard]] std::string access(const std::string& array,
                                   const std::vector<Subscript>& subscripts,
                                   const std::vector<Piece>& indices = {}) const {
    std::string out;
    std::size_t next = 0;
    for (const Subscript& s : subscripts) {
      std::string one;
      if (s.index) {
        out += (out.empty() ? "" : ",") + piece(indices[next++], 0);
        continue;
      }
      for (const auto& [v, factor] : s.factors) {
        const std::string sign = factor < 0 ? "-" : one.empty() ? "" : "+";
        const std::string size =
            factor == 1 || factor == -1 ? "" : fmt::format("{}*", factor < 0 ? -factor : factor);
        one += sign + size + names_[v];
      }
      if (s.constant > 0 && !one.empty()) one += "+";
      if (s.constant != 0 || one.empty()) one += fmt::format("{}", s.constant);
      out += (out.empty() ? "" : ",") + one;
    }
    return array + "[" + out + "]";
  }
  /// The magnitude; the sign of the scale is left to the sum in which it stands.
  [[nodiscard]] std::string magnitude(const Product& product) const {
    std::string out;
    const Size scale = product.scale < 0 ? -product.scale : product.scale;
    if (scale != 1 || product.over.empty()) out = fmt::format("{}", scale);
    for (const Piece& factor : product.over) out += (out.empty() ? "" : " * ") + piece(factor, 2);
    for (const Piece& divisor : product.under) out += " / " + piece(divisor, 2);
    return out;
  }

 private:
  /// \param level  0: may be a sum, 1: a product, 2: a factor
  [[nodiscard]] std::string piece(const Piece& p, int level) const {
    if (p.kind == TermKind::number) {
      return p.number < 0 ? fmt::format("(0 - {})", -p.number) : fmt::format("{}", p.number);
    }
    if (p.kind == TermKind::access) return access(p.array, p.subscripts, p.args);
    const auto two = [&](int own, const char* sign, int right) {
      const std::string out = piece(p.args[0], own) + sign + piece(p.args[1], right);
      return own < level ? "(" + out + ")" : out;
    };
    switch (p.op) {
      case LocalOp::add:
        return two(0, " + ", 1);
      case LocalOp::sub:
        return two(0, " - ", 1);
      case LocalOp::mul:
        return two(1, " * ", 2);
      case LocalOp::div:
        return two(1, " / ", 2);
      case LocalOp::neg:
        return "-" + piece(p.args[0], 2);
      default:
        break;
    }
    std::string args;
    for (const Piece& arg : p.args) args += (args.empty() ? "" : ", ") + piece(arg, 0);
    return fmt::format("{}({})", spmd::name_of(p.op), args);
  }

  const std::vector<std::string>& names_;
};

std::size_t size_of(const Piece& piece) {
  std::size_t out = 1;
  for (const Piece& arg : piece.args) out += size_of(arg);
  return out;
}
std::size_t size_of(const Product& product) {
  std::size_t out = 1;
  for (const Piece& piece : product.over) out += size_of(piece);
  for (const Piece& piece : product.under) out += size_of(piece);
  return out;
}

/// What one read adds to the gradient of its array.
struct Contribution {
  const Statement* statement = nullptr;  ///< whose variables it has
  const Access* read = nullptr;
  Product product;
};

/// A statement that was made.
struct Made {
  std::string text;
  std::vector<std::string> reads;
};

void add_arrays(const Piece& piece, std::vector<std::string>& out) {
  if (piece.kind == TermKind::access) out.push_back(piece.array);
  for (const Piece& arg : piece.args) add_arrays(arg, out);
}
std::vector<std::string> arrays_of(const Product& product) {
  std::vector<std::string> out;
  for (const Piece& piece : product.over) add_arrays(piece, out);
  for (const Piece& piece : product.under) add_arrays(piece, out);
  return out;
}
/// The extents of dimensions at which a variable is a subscript by itself.
void add_extents(const Piece& piece, std::size_t variable, std::set<Size>& out) {
  for (std::size_t i = 0; i < piece.subscripts.size(); ++i) {
    const Subscript& s = piece.subscripts[i];
    const bool is_plain =
        s.factors.size() == 1 && s.factors[0] == std::pair(variable, Size{1}) && s.constant == 0;
    if (is_plain) out.insert(piece.shape[i]);
  }
  for (const Piece& arg : piece.args) add_extents(arg, variable, out);
}
void add_extents(const Product& product, std::size_t variable, std::set<Size>& out) {
  for (const Piece& piece : product.over) add_extents(piece, variable, out);
  for (const Piece& piece : product.under) add_extents(piece, variable, out);
}

/// Contributions with sums over the same extents, which one statement can make.
struct Group {
  std::vector<Size> summed;  ///< extents, ascending
  std::vector<Contribution> members;
};

class Backwards {
 public:
  Backwards(const text::Input& input, const Statements& all, const GradientOptions& options)
      : input_(input), all_(all), options_(options) {
    for (const Array& array : all.arrays) names_.insert(array.name);
    of_ = result();
    find_targets();
    contributions_.resize(all.arrays.size());
    gradient_.resize(all.arrays.size());
  }

  Gradient run() {
    Gradient out;
    out.of = all_.arrays[of_].name;
    out.cotangent = fresh("d" + out.of);
    gradient_[of_] = out.cotangent;
    for (std::size_t s = all_.statements.size(); s-- > 0;) {
      const std::size_t array = all_.statements[s].out.array;
      if (!leads_[array]) continue;
      collect(array);
      if (gradient_[array]) derive(all_.statements[s]);
    }
    for (const std::size_t target : targets_) {
      if (all_.arrays[target].is_input) collect(target);
      if (!gradient_[target]) {
        // All that it is in has no derivative.
        if (!options_.with_respect_to.empty()) fail_independent(target);
        continue;
      }
      out.gradients.emplace_back(all_.arrays[target].name, *gradient_[target]);
    }
    if (out.gradients.empty()) {
      throw text::Failure{
          {.code = Code::bad_argument, .message = fmt::format("{} depends on no input", out.of)}};
    }
    out.program = program(out);
    return out;
  }

 private:
  [[noreturn]] void fail_argument(std::string message) const {
    throw text::Failure{{.code = Code::bad_argument, .message = std::move(message)}};
  }
  [[noreturn]] void fail_independent(std::size_t target) const {
    fail_argument(
        fmt::format("{} does not depend on {}", all_.arrays[of_].name, all_.arrays[target].name));
  }
  [[nodiscard]] std::size_t array_of(const std::string& name) const {
    for (std::size_t a = 0; a < all_.arrays.size(); ++a) {
      if (all_.arrays[a].name == name && !all_.arrays[a].is_range) return a;
    }
    fail_argument(fmt::format("there is no array {}", name));
  }
  [[nodiscard]] std::size_t result() const {
    if (options_.of.empty() && all_.returned.size() > 1) {
      fail_argument("several arrays are returned: --of says whose gradient is wanted");
    }
    const std::size_t out = options_.of.empty() ? all_.returned[0].array : array_of(options_.of);
    if (all_.arrays[out].is_input) {
      fail_argument(fmt::format("{} is an input, which depends on nothing", all_.arrays[out].name));
    }
    return out;
  }

  /// Of which arrays gradients are wanted, and which arrays lead from these to the result.
  void find_targets() {
    std::vector<bool> is_constant(all_.arrays.size(), false);
    for (const std::string& name : options_.constant) is_constant[array_of(name)] = true;
    for (const std::string& name : options_.with_respect_to) {
      const std::size_t target = array_of(name);
      if (all_.arrays[target].below) {
        fail_argument(
            fmt::format("{} is an array of indices, and whole numbers have no derivative", name));
      }
      if (target == of_) fail_argument(fmt::format("{} is the result itself", name));
      if (std::count(targets_.begin(), targets_.end(), target) > 0) {
        fail_argument(fmt::format("{} stands twice", name));
      }
      targets_.push_back(target);
    }
    const bool are_given = !targets_.empty();
    // What the result depends on, from the end.
    std::vector<bool> counts(all_.arrays.size(), false);
    counts[of_] = true;
    for (std::size_t s = all_.statements.size(); s-- > 0;) {
      const Statement& statement = all_.statements[s];
      if (!counts[statement.out.array] || is_constant[statement.out.array]) continue;
      for (const Access& read : statement.reads) counts[read.array] = true;
    }
    for (std::size_t a = 0; a < all_.arrays.size() && !are_given; ++a) {
      const Array& array = all_.arrays[a];
      const bool is_number = array.is_input && !array.is_range && !array.below;
      if (counts[a] && is_number && !is_constant[a]) targets_.push_back(a);
    }
    leads_.assign(all_.arrays.size(), false);
    for (const std::size_t target : targets_) {
      if (!counts[target] || is_constant[target]) fail_independent(target);
      leads_[target] = true;
    }
    for (const Statement& statement : all_.statements) {
      const std::size_t out = statement.out.array;
      for (const Access& read : statement.reads) {
        if (leads_[read.array] && counts[out] && !is_constant[out]) leads_[out] = true;
      }
    }
  }

  std::string fresh(const std::string& name) {
    for (std::size_t k = 0;; ++k) {
      std::string out = k == 0 ? name : fmt::format("{}_{}", name, k);
      if (names_.insert(out).second) return out;
    }
  }

  // Derivatives.

  [[nodiscard]] Piece read_piece(const Statement& statement, const Access& access) const {
    Piece out = {.kind = TermKind::access,
                 .array = all_.arrays[access.array].name,
                 .subscripts = access.subscripts,
                 .shape = *all_.arrays[access.array].shape};
    for (const Subscript& s : access.subscripts) {
      if (s.index) out.args.push_back(read_piece(statement, statement.reads[*s.index]));
    }
    return out;
  }
  [[nodiscard]] Piece piece(const Statement& statement, const Term& term) const {
    if (term.kind == TermKind::number) return number_piece(term.number);
    if (term.kind == TermKind::access) return read_piece(statement, statement.reads[term.access]);
    std::vector<Piece> args;
    for (const Term& arg : term.args) args.push_back(piece(statement, arg));
    return operation(term.op, std::move(args));
  }
  /// Variables that are not on the left side.
  static std::vector<std::size_t> summed(const Statement& statement,
                                         const std::vector<Subscript>& left) {
    std::vector<std::size_t> out;
    for (std::size_t v = 0; v < statement.variables.size(); ++v) {
      const auto has = [v](const Subscript& s) {
        return std::any_of(s.factors.begin(), s.factors.end(),
                           [v](const auto& factor) { return factor.first == v; });
      };
      if (std::none_of(left.begin(), left.end(), has)) out.push_back(v);
    }
    return out;
  }

  void derive(const Statement& statement) {
    const Access& out = statement.out;
    Product outer;
    outer.over.push_back({.kind = TermKind::access,
                          .array = *gradient_[out.array],
                          .subscripts = out.subscripts,
                          .shape = *all_.arrays[out.array].shape});
    const bool is_element = summed(statement, out.subscripts).empty();
    const bool is_extreme = statement.meeting == Meeting::max || statement.meeting == Meeting::min;
    if (is_extreme && !is_element) outer = shared(statement, outer);
    // Where nothing meets, the value of the body is what was written.
    const std::optional<Piece> value =
        is_element ? std::optional(read_piece(statement, out)) : std::nullopt;
    derive(statement, statement.body, outer, value);
  }
  /// Of a maximum or minimum over variables: shared among all that are equal to it.
  Product shared(const Statement& statement, const Product& outer) {
    const Access& out = statement.out;
    const Piece is_it =
        operation(LocalOp::equal, {piece(statement, statement.body), read_piece(statement, out)});
    const std::string ties = fresh(all_.arrays[out.array].name + "_ties");
    const Contribution count = {&statement, &out, Product{}.times(is_it)};
    make(ties, {&count}, {}, Sums::all);
    Piece among = read_piece(statement, out);
    among.array = ties;
    return outer.times(is_it).divided_by(among);
  }

  /// \param outer  the derivative by the term \param value  what the term is, where an array holds it
  void derive(const Statement& statement, const Term& term, const Product& outer,
              const std::optional<Piece>& value = {}) {
    work_ += size_of(outer);
    if (work_ > most_work) {
      fail(statement.place, {Code::limit_reached, "derivatives of more than 2^20 terms"});
    }
    if (term.kind == TermKind::number) return;
    if (term.kind == TermKind::access) {
      const Access& read = statement.reads[term.access];
      if (leads_[read.array]) contributions_[read.array].push_back({&statement, &read, outer});
      return;
    }
    const auto arg = [&](std::size_t k) { return piece(statement, term.args[k]); };
    const auto result = [&] { return value.value_or(piece(statement, term)); };
    const auto into = [&](std::size_t k, const Product& product) {
      derive(statement, term.args[k], product);
    };
    switch (term.op) {
      case LocalOp::add:
        into(0, outer);
        return into(1, outer);
      case LocalOp::sub:
        into(0, outer);
        return into(1, outer.negative());
      case LocalOp::neg:
        return into(0, outer.negative());
      case LocalOp::mul:
        into(0, outer.times(arg(1)));
        return into(1, outer.times(arg(0)));
      case LocalOp::div:  // (a / b)' = a' / b - (a / b) b' / b
        into(0, outer.divided_by(arg(1)));
        return into(1, outer.times(result()).divided_by(arg(1)).negative());
      case LocalOp::exp:  // exp' = exp
        return into(0, outer.times(result()));
      case LocalOp::sqrt:  // sqrt' = 1 / (2 sqrt)
        return into(0, outer.divided_by(number_piece(2)).divided_by(result()));
      case LocalOp::relu:  // 1 where its result is above 0
        return into(
            0, outer.times(operation(LocalOp::step,
                                     {term.args[0].kind == TermKind::access ? arg(0) : result()})));
      case LocalOp::max:
      case LocalOp::min:
        return derive_extreme(statement, term, outer, result());
      default:  // step and equal are constant, but where they jump
        return;
    }
  }
  /// Of a maximum or minimum of several terms: shared among those that are equal to it.
  void derive_extreme(const Statement& statement, const Term& term, const Product& outer,
                      const Piece& result) {
    std::vector<Piece> is_it;
    for (const Term& arg : term.args) {
      is_it.push_back(operation(LocalOp::equal, {piece(statement, arg), result}));
    }
    Piece count = is_it[0];
    for (std::size_t k = 1; k < is_it.size(); ++k) {
      count = operation(LocalOp::add, {std::move(count), is_it[k]});
    }
    for (std::size_t k = 0; k < is_it.size(); ++k) {
      derive(statement, term.args[k], outer.times(is_it[k]).divided_by(count));
    }
  }

  // Statements.

  /// Writes the gradient of an array, once all that adds to it is known.
  void collect(std::size_t array) {
    const auto& all = contributions_[array];
    if (all.empty() || gradient_[array]) return;
    for (const Contribution& one : all) look_at(*one.read, *one.statement);
    const bool is_target = std::count(targets_.begin(), targets_.end(), array) > 0;
    if (all.size() == 1 && !is_target && is_copy(all[0])) {
      gradient_[array] = all[0].product.over[0].array;
      return;
    }
    std::vector<Group> groups;
    for (const Contribution& one : all) {
      std::vector<Size> extents;
      for (const std::size_t v : summed(*one.statement, one.read->subscripts)) {
        extents.push_back(one.statement->variables[v].extent);
      }
      std::sort(extents.begin(), extents.end());
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& g) { return g.summed == extents; });
      if (group == groups.end()) group = groups.insert(groups.end(), Group{extents, {}});
      group->members.push_back(one);
    }
    const std::string name = fresh("d" + all_.arrays[array].name);
    gradient_[array] = name;
    std::vector<const Contribution*> last;
    std::vector<std::string> sums;
    for (const Group& group : groups) {
      std::vector<const Contribution*> members;
      for (const Contribution& one : group.members) members.push_back(&one);
      if (groups.size() == 1 || group.summed.empty()) {
        last = std::move(members);
      } else {
        sums.push_back(fresh(name));
        make(sums.back(), members, {}, Sums::all);
      }
    }
    if (last.empty()) {
      // All are sums: the first one's variables stand for the indices.
      const Contribution& first = groups[0].members[0];
      Contribution sum{first.statement, first.read, {}};
      sum.product.over.push_back(read_piece(*first.statement, *first.read));
      sum.product.over.back().array = sums[0];
      sums.erase(sums.begin());
      make(name, {&sum}, sums, Sums::none);
      return;
    }
    make(name, last, sums, Sums::all);
  }
  /// Whether a contribution is another array's gradient as it is: then no statement copies it.
  static bool is_copy(const Contribution& one) {
    const auto& [scale, over, under] = one.product;
    return scale == 1 && over.size() == 1 && under.empty() &&
           over[0].subscripts == one.read->subscripts &&
           summed(*one.statement, one.read->subscripts).empty();
  }
  /// Fails where the elements that are read are not all of the array, each once.
  void look_at(const Access& read, const Statement& statement) const {
    const Shape& shape = *all_.arrays[read.array].shape;
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Subscript& s = read.subscripts[i];
      if (s.index) {
        const std::string& x = all_.arrays[read.array].name;
        const std::string& col = all_.arrays[statement.reads[*s.index].array].name;
        fail(read.place,
             {Code::unsupported,
              fmt::format("the derivative by {} would be added to those of its elements that {} "
                          "names, which no statement does (a scatter)",
                          x, col),
              {fmt::format("--constant {} leaves it out, and --with-respect-to names others", x)}});
      }
      const bool is_plain = s.factors.size() == 1 && s.factors[0].second == 1 && s.constant == 0 &&
                            statement.variables[s.factors[0].first].extent == shape[i];
      if (is_plain && seen.insert(s.factors[0].first).second) continue;
      fail(read.place,
           {Code::unsupported,
            "the derivative of this would be written to a part of an array, or to sums of indices",
            {"what is written has a different variable for each dimension, over all of it"}});
    }
  }

  /// Over which of the variables that are not on the left side a statement sums.
  enum class Sums { all, none };
  /// A statement that writes the sum of contributions, at indices called as in the first one's statement, and of
  /// further arrays there.
  void make(const std::string& name, const std::vector<const Contribution*>& members,
            const std::vector<std::string>& more, Sums over) {
    const Contribution& first = *members[0];
    const std::vector<Subscript>& left = first.read->subscripts;
    std::vector<std::string> names;
    for (const Variable& v : first.statement->variables) names.push_back(v.name);
    const Printer own(names);
    Made made;
    // Each with how often it stands there. What is left of equal ones may be nothing.
    struct Addend {
      std::string text;
      Size times = 0;
      const Contribution* of = nullptr;
    };
    std::vector<Addend> addends;
    std::map<std::string, std::size_t> number_of;  // by text
    for (const Contribution* one : members) {
      const std::vector<std::string> called = renamed(first, *one);
      std::string text = Printer(called).magnitude(one->product);
      const Size times = one->product.scale < 0 ? -1 : 1;
      const auto [known, is_new] = number_of.try_emplace(text, addends.size());
      if (is_new) {
        addends.push_back({std::move(text), times, one});
      } else {
        addends[known->second].times += times;
      }
    }
    const Addend zero = addends[0];
    std::erase_if(addends, [](const Addend& a) { return a.times == 0; });
    if (addends.empty() && more.empty()) {
      addends.push_back(zero);
      addends[0].times = 0;
    }
    std::string sum;
    std::vector<const Contribution*> left_over;
    for (const auto& [text, times, of] : addends) {
      const Size count = times < 0 ? -times : times;
      sum += times < 0 ? (sum.empty() ? "-" : " - ") : (sum.empty() ? "" : " + ");
      sum += count == 1 ? text : fmt::format("{} * {}", count, text);
      for (std::string& array : arrays_of(of->product)) made.reads.push_back(std::move(array));
      left_over.push_back(of);
    }
    for (const std::string& array : more) {
      sum += (sum.empty() ? "" : " + ") + own.access(array, left);
      made.reads.push_back(array);
    }
    const bool sums = over == Sums::all && !summed(*first.statement, left).empty();
    made.text = fmt::format("{} {} {}{}", own.access(name, left), sums ? "+=" : "=", sum,
                            ranges(first, left_over, over, !more.empty()));
    made_.emplace_back(name, std::move(made));
  }
  /// The names of a contribution's variables where it stands beside the first one: those of the indices by their
  /// place, and those that are summed by their extents.
  static std::vector<std::string> renamed(const Contribution& first, const Contribution& one) {
    const auto sorted = [](const Contribution& c) {
      std::vector<std::size_t> out = summed(*c.statement, c.read->subscripts);
      std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
        return c.statement->variables[a].extent < c.statement->variables[b].extent;
      });
      return out;
    };
    std::vector<std::string> out(one.statement->variables.size());
    for (std::size_t i = 0; i < one.read->subscripts.size(); ++i) {
      const std::size_t there = first.read->subscripts[i].factors[0].first;
      out[one.read->subscripts[i].factors[0].first] = first.statement->variables[there].name;
    }
    const std::vector<std::size_t> mine = sorted(one);
    std::vector<std::size_t> theirs = sorted(first);
    // Of those that go equally far, one of the same name.
    for (const bool by_name : {true, false}) {
      for (const std::size_t v : mine) {
        if (!out[v].empty()) continue;
        const auto found = std::find_if(theirs.begin(), theirs.end(), [&](std::size_t w) {
          const Variable& a = one.statement->variables[v];
          const Variable& b = first.statement->variables[w];
          return a.extent == b.extent && (!by_name || a.name == b.name);
        });
        if (found == theirs.end()) continue;
        out[v] = first.statement->variables[*found].name;
        theirs.erase(found);
      }
    }
    return out;
  }
  /// ` for k:5`: how far variables go of which no read says it.
  /// \param has_more  arrays with the indices of the left side
  static std::string ranges(const Contribution& first,
                            const std::vector<const Contribution*>& members, Sums over,
                            bool has_more) {
    const auto not_left = summed(*first.statement, first.read->subscripts);
    std::string out;
    for (std::size_t v = 0; v < first.statement->variables.size(); ++v) {
      const bool is_left = std::count(not_left.begin(), not_left.end(), v) == 0;
      if (!is_left && over == Sums::none) continue;
      const Variable& variable = first.statement->variables[v];
      std::set<Size> extents;
      for (const Contribution* one : members) {
        const std::vector<std::string> names = renamed(first, *one);
        const auto there = std::find(names.begin(), names.end(), variable.name);
        add_extents(one->product, static_cast<std::size_t>(there - names.begin()), extents);
      }
      if (is_left && has_more) extents.insert(variable.extent);
      if (extents == std::set<Size>{variable.extent}) continue;
      out += fmt::format("{}{}:{}", out.empty() ? " for " : ",", variable.name, variable.extent);
    }
    return out;
  }

  // The program.

  [[nodiscard]] std::string_view line_text(const text::Place& place) const {
    return input_.text.substr(place.span.begin, place.span.end - place.span.begin);
  }
  std::string program(const Gradient& out) const {
    // From the end: what is read by what is needed.
    std::set<std::string> needed;
    for (const auto& [array, gradient] : out.gradients) needed.insert(gradient);
    if (options_.value) needed.insert(out.of);
    std::vector<std::string> lines;
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      if (needed.count(made->first) == 0) continue;
      lines.push_back(made->second.text);
      needed.insert(made->second.reads.begin(), made->second.reads.end());
    }
    for (auto statement = all_.statements.rbegin(); statement != all_.statements.rend();
         ++statement) {
      if (needed.count(all_.arrays[statement->out.array].name) == 0) continue;
      lines.emplace_back(line_text(statement->place));
      for (const Access& read : statement->reads) needed.insert(all_.arrays[read.array].name);
    }
    std::string text = "retile.array/1\n";
    for (const Array& array : all_.arrays) {
      if (!array.is_input || array.is_range || needed.count(array.name) == 0) continue;
      text += "array " + declaration(array) + "\n";
    }
    text += fmt::format("array {}[{}]\n", out.cotangent, fmt::join(*all_.arrays[of_].shape, ","));
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line + "\n";
    std::string returned = options_.value ? out.of : "";
    for (const auto& [array, gradient] : out.gradients) {
      returned += (returned.empty() ? "" : ", ") + gradient;
      const bool has_layout = all_.arrays[array_of(array)].is_input && needed.count(array) > 0;
      if (has_layout) returned += " as " + array;
    }
    return text + "return " + returned + "\n" + late_lines();
  }
  /// `x[2,3] : [1{a}2,3]`
  [[nodiscard]] static std::string declaration(const Array& array) {
    std::string out = fmt::format("{}[{}]", array.name, fmt::join(*array.shape, ","));
    if (array.at_root) out += " at root";
    if (array.layout) out += " : " + *array.layout;
    return out;
  }
  /// Schedules and tactics, as they stand there.
  [[nodiscard]] std::string late_lines() const {
    std::string out;
    for (const Tactic& tactic : all_.tactics) out += std::string(line_text(tactic.place)) + "\n";
    return out;
  }

  const text::Input& input_;
  const Statements& all_;
  const GradientOptions& options_;
  std::set<std::string> names_;
  std::size_t of_ = 0;
  std::size_t work_ = 0;  // terms of all products that were made
  std::vector<std::size_t> targets_;
  std::vector<bool> leads_;                               // by array: from a target to the result
  std::vector<std::vector<Contribution>> contributions_;  // by array
  std::vector<std::optional<std::string>> gradient_;      // likewise
  std::vector<std::pair<std::string, Made>> made_;        // by the array that they write
};

}  // namespace

Result<Gradient> gradient(const text::Input& input, const Statements& statements,
                          const GradientOptions& options) {
  return text::result_of([&] { return Backwards(input, statements, options).run(); });
}

}  // namespace retile::array
