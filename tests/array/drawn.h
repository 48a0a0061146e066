// Programs drawn at random: statements, how they are cut, layouts at both ends. And what they mean, by
// every iteration point, on formal polynomials.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "spec/programs/local_ops.h"
#include "spec/programs/thesis.h"

namespace retile::array::drawn {

using spec::Index;
using spec::Size;
using spec::Sizes;
using spec::spmd::Polynomial;
using spec::spmd::PolynomialTensor;
using spec::spmd::Variables;
using Random = std::mt19937_64;

inline Size below(Random& random, Size n) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
}
/// Whether something happens that does so in this many of a hundred cases.
inline bool chance(Random& random, Size percent) { return below(random, 100) < percent; }

/// An element of an array of indices, as a subscript.
struct Indirect {
  Index array = 0;
  spec::thesis::Subscripts at;
};
struct Read {
  Index array = 0;
  spec::thesis::Subscripts at;             // 0 where a dimension is indirect
  std::map<Index, Indirect> indices = {};  // by dimension
};

enum class TermKind {
  read,
  number,
  add,
  sub,
  mul,
  div,
  max,
  min,
  neg,
  relu,
  exp,
  sqrt,
  step,
  equal
};
struct Term {
  TermKind kind = TermKind::number;
  Index read = 0;
  Size number = 0;
  std::vector<Term> args = {};
};

struct Statement {
  Index out = 0;
  std::vector<Index> written;  // variables, by dimension
  Sizes extents;               // of the variables
  std::string meeting;         // = += max= min=
  std::vector<Read> reads;
  std::vector<Index> ranges = {};  // variables whose range is declared
  Term body;
};

struct Array {
  std::string name;
  Sizes shape;
  bool is_input = true;
  Size below = 0;  // of an array of indices
};

struct Program {
  std::string text;
  std::vector<Array> arrays;
  std::vector<Statement> statements;
};

inline const std::string variable_names = "ijkl";

/// Draws one program.
class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  Program program() {
    const Size count = 1 + below(random_, 3);
    for (Size s = 0; s < count; ++s) statement();
    out_.text = "retile.array/1\n" + text();
    return std::move(out_);
  }

 private:
  Index any(Size n) { return static_cast<Index>(below(random_, n)); }
  bool happens(Size percent) { return chance(random_, percent); }

  Index input(const Sizes& shape) {
    out_.arrays.push_back({"x" + std::to_string(out_.arrays.size()), shape, true});
    return out_.arrays.size() - 1;
  }

  // Variables and reads of one statement.

  spec::thesis::AffineSum alone(Index v, Size constant) const {
    spec::thesis::AffineSum out = {constant, Sizes(4, 0)};
    out.factors[v] = 1;
    return out;
  }
  std::optional<Index> fresh(Size extent) {
    if (now_.extents.size() == 4) return std::nullopt;
    now_.extents.push_back(extent);
    is_in_sum_.push_back(false);
    return now_.extents.size() - 1;
  }
  /// Reads an array that there is, and makes the variables for it.
  bool read_by_new_variables(Index array) {
    Read out = {array, {}};
    for (const Size n : out_.arrays[array].shape) {
      const Size way = static_cast<Size>(any(24));
      if (way == 20 || way == 21) {  // one index alone
        out.at.push_back({static_cast<Size>(any(n)), Sizes(4, 0)});
        continue;
      }
      if (way >= 22 && n > 1) {  // every second, or every third
        const Size factor = 2 + static_cast<Size>(any(2));
        const Size first = static_cast<Size>(any(2));
        const auto v = fresh((n - 1 - first) / factor + 1);
        if (!v) return false;
        out.at.push_back(alone(*v, first));
        out.at.back().factors[*v] = factor;
        is_in_sum_[*v] = true;
        continue;
      }
      if (way == 0 && !now_.extents.empty() && now_.extents.back() == n) {
        out.at.push_back(alone(now_.extents.size() - 1, 0));  // a diagonal
        continue;
      }
      const Size shift =
          way < 5 && n > 1 ? 1 + static_cast<Size>(any(std::min<Size>(n - 1, 2))) : 0;
      const Size window = way >= 5 && way < 9 && n > 1 ? 1 + static_cast<Size>(any(2)) : 0;
      const auto v = fresh(window > 0 ? n - window : n - shift);
      if (!v) return false;
      out.at.push_back(alone(*v, shift));
      if (window == 0) continue;
      const auto k = fresh(window + 1);
      if (!k) return false;
      out.at.back().factors[*k] = 1;
      is_in_sum_[*v] = is_in_sum_[*k] = true;
      to_be_read_.push_back(*k);
    }
    now_.reads.push_back(out);
    return true;
  }
  /// A new array, at some variables and at all that must stand alone somewhere.
  void read_new() {
    std::vector<Index> at = to_be_read_;
    to_be_read_.clear();
    for (Index v = 0; v < now_.extents.size(); ++v) {
      if (at.size() < 3 && std::count(at.begin(), at.end(), v) == 0 && happens(60)) at.push_back(v);
    }
    std::shuffle(at.begin(), at.end(), random_);
    Read out = {0, {}};
    Sizes shape;
    for (const Index v : at) {
      const Size shift = !is_in_sum_[v] && happens(15) ? 1 + static_cast<Size>(any(2)) : 0;
      shape.push_back(now_.extents[v] + shift + (shift > 0 ? static_cast<Size>(any(2)) : 0));
      out.at.push_back(alone(v, shift));
    }
    out.array = input(shape);
    now_.reads.push_back(out);
  }
  /// The first array again, with smaller shifts.
  void read_neighbours() {
    Read out = now_.reads[0];
    for (auto& s : out.at) s.constant = static_cast<Size>(any(s.constant + 1));
    now_.reads.push_back(out);
  }
  /// An array that there is, where its extents are those of different variables.
  void read_known() {
    const Index array = any(static_cast<Size>(out_.arrays.size()));
    Read out = {array, {}};
    std::vector<bool> taken(now_.extents.size(), false);
    for (const Size n : out_.arrays[array].shape) {
      Index v = 0;
      while (v < taken.size() && (taken[v] || now_.extents[v] != n)) ++v;
      if (v == taken.size()) return;
      taken[v] = true;
      out.at.push_back(alone(v, 0));
    }
    now_.reads.push_back(out);
  }

  /// Some array at indices that another one holds.
  void read_indirect() {
    const Index array = happens(50)
                            ? input({1 + static_cast<Size>(any(5)), 1 + static_cast<Size>(any(4))})
                            : any(static_cast<Size>(out_.arrays.size()));
    const Sizes shape = out_.arrays[array].shape;
    if (shape.empty()) return;
    Read out = {array, spec::thesis::Subscripts(shape.size(), {0, Sizes(4, 0)}), {}};
    const Index dim = any(static_cast<Size>(shape.size()));
    for (Index d = 0; d < shape.size(); ++d) {
      Index v = 0;
      while (v < now_.extents.size() && now_.extents[v] != shape[d]) ++v;
      if (d == dim || happens(25)) {
        out.indices[d] = indirect(shape[d]);
      } else if (v < now_.extents.size() && happens(70)) {
        out.at[d] = alone(v, 0);
      } else {
        out.at[d].constant = static_cast<Size>(any(shape[d]));
      }
    }
    now_.reads.push_back(out);
  }
  /// An element of an array of indices below n: one that there is, or a new one.
  Indirect indirect(Size n) {
    for (Index array = 0; array < out_.arrays.size() && happens(40); ++array) {
      const Array& known = out_.arrays[array];
      if (known.below != n || known.shape.size() != 1) continue;
      for (Index v = 0; v < now_.extents.size(); ++v) {
        if (now_.extents[v] == known.shape[0]) return {array, {alone(v, 0)}};
      }
    }
    Indirect out;
    Sizes shape;
    for (Index v = 0; v < now_.extents.size(); ++v) {
      if (!happens(45)) continue;
      const Size shift = !is_in_sum_[v] && happens(15) ? 1 : 0;
      shape.push_back(now_.extents[v] + shift);
      out.at.push_back(alone(v, shift));
    }
    out.array = input(shape);
    out_.arrays.back().below = n;
    return out;
  }

  void statement() {
    Size points = 0;
    do {
      now_ = {};
      is_in_sum_.clear();
      to_be_read_.clear();
      const bool goes_on = !out_.statements.empty();
      Index array = goes_on ? out_.statements.back().out : 0;
      if (!goes_on) {
        out_.arrays.clear();
        Sizes shape;
        for (Index rank = std::vector<Index>{0, 1, 1, 2, 2, 2, 3, 3}[any(8)]; rank > 0; --rank) {
          shape.push_back(1 + static_cast<Size>(any(6)));
        }
        array = input(shape);
      }
      if (!read_by_new_variables(array)) continue;
      points = 1;
      for (const Size n : now_.extents) points *= n;
    } while (points == 0 || points > 120);
    while (!to_be_read_.empty() || (now_.reads.size() < 3 && happens(45))) {
      const Index way = to_be_read_.empty() ? any(5) : 0;
      if (way < 2) read_new();
      if (way == 2) read_neighbours();
      if (way == 3) read_known();
      if (way == 4) read_indirect();
    }
    write();
    body();
    out_.statements.push_back(now_);
  }
  void write() {
    if (happens(8) && now_.extents.size() < 4) {  // a variable that no array has
      now_.ranges.push_back(now_.extents.size());
      (void)fresh(1 + static_cast<Size>(any(3)));
    }
    std::vector<Index> all;
    for (Index v = 0; v < now_.extents.size(); ++v) all.push_back(v);
    std::shuffle(all.begin(), all.end(), random_);
    now_.meeting = std::vector<std::string>{"=", "+=", "+=", "max=", "min="}[any(5)];
    if (all.size() > 3 && now_.meeting == "=") now_.meeting = "+=";
    for (const Index v : all) {
      const bool stays = now_.meeting == "=" || (now_.written.size() < 3 && happens(55));
      if (stays) now_.written.push_back(v);
    }
    Sizes shape;
    for (const Index v : now_.written) shape.push_back(now_.extents[v]);
    out_.arrays.push_back({"y" + std::to_string(out_.statements.size()), shape, false});
    now_.out = out_.arrays.size() - 1;
  }
  /// Every read once, with numbers in between.
  void body() {
    std::vector<Term> leaves;
    for (Index r = 0; r < now_.reads.size(); ++r) leaves.push_back({TermKind::read, r, 0});
    if (happens(15)) leaves.push_back({TermKind::number, 0, 1 + static_cast<Size>(any(3))});
    const bool only_products = happens(50);
    Term out = std::move(leaves[0]);
    for (Index l = 1; l < leaves.size(); ++l) {
      static const std::vector<TermKind> ways = {
          TermKind::add, TermKind::sub, TermKind::add, TermKind::sub, TermKind::add,  TermKind::sub,
          TermKind::mul, TermKind::div, TermKind::max, TermKind::min, TermKind::equal};
      const TermKind kind =
          only_products ? TermKind::mul : ways[any(static_cast<Size>(ways.size()))];
      std::vector<Term> both = {std::move(out), std::move(leaves[l])};
      if (happens(30)) std::swap(both[0], both[1]);
      out = {kind, 0, 0, std::move(both)};
      static const std::vector<TermKind> functions = {
          TermKind::neg, TermKind::relu, TermKind::neg, TermKind::relu,
          TermKind::exp, TermKind::sqrt, TermKind::step};
      if (happens(20)) {
        out = {functions[any(static_cast<Size>(functions.size()))], 0, 0, {std::move(out)}};
      }
    }
    now_.body = std::move(out);
  }

  // Text.

  [[nodiscard]] std::string subscripts(const spec::thesis::Subscripts& at,
                                       const std::map<Index, Indirect>& indices = {}) const {
    std::string out;
    for (Index d = 0; d < at.size(); ++d) {
      const auto& s = at[d];
      std::string sum;
      if (const auto one = indices.find(d); one != indices.end()) {
        sum = out_.arrays[one->second.array].name + subscripts(one->second.at);
        out += (out.empty() ? "" : ",") + sum;
        continue;
      }
      for (Index v = 0; v < s.factors.size(); ++v) {
        if (s.factors[v] == 0) continue;
        const std::string factor = s.factors[v] == 1 ? "" : std::to_string(s.factors[v]) + "*";
        sum += (sum.empty() ? "" : "+") + factor + variable_names.substr(v, 1);
      }
      if (sum.empty()) {
        sum = std::to_string(s.constant);
      } else if (s.constant > 0) {
        sum += "+" + std::to_string(s.constant);
      }
      out += (out.empty() ? "" : ",") + sum;
    }
    return "[" + out + "]";
  }
  std::string term(const Statement& statement, const Term& t) {
    const auto arg = [&](Index k) {
      const std::string out = term(statement, t.args[k]);
      const bool is_leaf = t.args[k].args.empty();
      return is_leaf ? out : "(" + out + ")";
    };
    switch (t.kind) {
      case TermKind::number:
        return std::to_string(t.number);
      case TermKind::read: {
        const Read& read = statement.reads[t.read];
        return out_.arrays[read.array].name + subscripts(read.at, read.indices);
      }
      case TermKind::neg:
        return happens(50) ? "neg(" + term(statement, t.args[0]) + ")" : "-" + arg(0);
      case TermKind::exp:
        return "exp(" + term(statement, t.args[0]) + ")";
      case TermKind::sqrt:
        return "sqrt(" + term(statement, t.args[0]) + ")";
      case TermKind::step:
        return "step(" + term(statement, t.args[0]) + ")";
      case TermKind::max:
      case TermKind::min:
      case TermKind::equal:
        return std::string(t.kind == TermKind::max   ? "max("
                           : t.kind == TermKind::min ? "min("
                                                     : "equal(") +
               term(statement, t.args[0]) + ", " + term(statement, t.args[1]) + ")";
      case TermKind::div:
        return arg(0) + " / " + arg(1);
      case TermKind::relu:
        return "relu(" + term(statement, t.args[0]) + ")";
      case TermKind::add:
        return arg(0) + " + " + arg(1);
      case TermKind::sub:
        return arg(0) + " - " + arg(1);
      default:
        return arg(0) + " * " + arg(1);
    }
  }
  std::string text() {
    const std::string work = happens(20) ? tactics() : schedules();
    std::string declared = "array", lines;
    for (const Array& array : out_.arrays) {
      if (!array.is_input) continue;
      std::string shape;
      for (const Size n : array.shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
      declared += " " + array.name + "[" + shape + "]" + end(array);
    }
    for (const Statement& s : out_.statements) {
      std::string left;
      for (const Index v : s.written)
        left += (left.empty() ? "" : ",") + variable_names.substr(v, 1);
      lines += out_.arrays[s.out].name + "[" + left + "] " + s.meeting + " " + term(s, s.body);
      for (const Index v : s.ranges) {
        lines += (v == s.ranges[0] ? " for " : ",") + variable_names.substr(v, 1) + ":" +
                 std::to_string(s.extents[v]);
      }
      lines += "\n";
    }
    const Array& last = out_.arrays[out_.statements.back().out];
    const std::string returned = "return " + last.name + end(last) + "\n";
    const bool behind = work.rfind("tactic", 0) == 0;
    return declared + "\n" + lines + (behind ? returned + work : work + returned);
  }
  /// Nothing, `at root`, or a type over the axes.
  std::string end(const Array& array) {
    if (happens(80)) return "";
    if (happens(50) && !array.shape.empty()) return " at root";
    std::string out;
    auto axes = axes_;
    for (const Size n : array.shape) {
      out += out.empty() ? "" : ", ";
      if (!axes.empty() && happens(50)) {
        const auto [axis, size] = axes.back();
        axes.pop_back();
        out += std::to_string(n / size + (n % size != 0 ? 1 : 0)) + "{" + axis + "}";
      }
      out += std::to_string(n);
    }
    return " : [" + out + "]";
  }
  std::string schedules() {
    std::string out;
    Size devices = 0;
    for (const Statement& s : out_.statements) {
      std::vector<Index> order;
      for (Index v = 0; v < s.extents.size(); ++v) order.push_back(v);
      std::shuffle(order.begin(), order.end(), random_);
      std::string line;
      Size left = devices == 0 ? 12 : devices, all = 1;
      for (const Index v : order) {
        Size pieces = 1 + static_cast<Size>(any(4));
        while (devices == 0 ? pieces > left : left % pieces != 0) --pieces;
        left /= pieces;
        all *= pieces;
        const std::string name = variable_names.substr(v, 1);
        line += (line.empty() ? "" : ",") + name + ":" + std::to_string(pieces);
        if (devices == 0 && pieces > 1) axes_.emplace_back(name, pieces);
      }
      if (!line.empty()) out += "schedule " + out_.arrays[s.out].name + " " + line + "\n";
      if (devices == 0 && all > 1) devices = all;
    }
    return out;
  }
  std::string tactics() {
    std::string out;
    for (const char* const axis : {"r", "s"}) {
      const Array& array = out_.arrays[any(static_cast<Size>(out_.arrays.size()))];
      if (array.shape.empty()) continue;
      const Size size = 2 + static_cast<Size>(any(2));
      out += "tactic tile " + array.name + " " +
             std::to_string(any(static_cast<Size>(array.shape.size()))) + " by " + axis + ":" +
             std::to_string(size) + "\n";
      axes_.emplace_back(axis, size);
    }
    return out + "tactic propagate\n";
  }

  Random& random_;
  Program out_;
  Statement now_;
  std::vector<bool> is_in_sum_;    // by variable: it stands in a sum with another one
  std::vector<Index> to_be_read_;  // variables that stand in a sum alone so far
  std::vector<std::pair<std::string, Size>> axes_;
};

/// x[i, c[j]] is the sum of all x[i, m] [c[j] = m], here over all dimensions that are indirect.
inline Polynomial read_at(const Read& read, const std::vector<PolynomialTensor>& arrays,
                          const Sizes& point, Variables& variables) {
  const auto element = [&](Index array, const Sizes& at) {
    return arrays[array].elements[spec::position(arrays[array].shape, at)];
  };
  Sizes extents;
  for (const auto& [d, index] : read.indices) extents.push_back(arrays[read.array].shape[d]);
  Polynomial out;
  spec::for_each_index(extents, [&](const Sizes& m) {
    Sizes at = spec::thesis::index_at(read.at, point);
    Polynomial is_it(1);
    Index next = 0;
    for (const auto& [d, index] : read.indices) {
      at[d] = m[next++];
      const Polynomial c = element(index.array, spec::thesis::index_at(index.at, point));
      is_it = is_it * variables.indicator(spec::spmd::Function::is_zero, c + Polynomial(-at[d]));
    }
    out += element(read.array, at) * is_it;
  });
  return out;
}

inline Polynomial value_at(const Program& program, const Statement& statement, const Term& t,
                           const std::vector<PolynomialTensor>& arrays, const Sizes& point,
                           Variables& variables) {
  const auto arg = [&](Index k) {
    return value_at(program, statement, t.args[k], arrays, point, variables);
  };
  switch (t.kind) {
    case TermKind::number:
      return Polynomial(t.number);
    case TermKind::read: {
      return read_at(statement.reads[t.read], arrays, point, variables);
    }
    case TermKind::neg:
      return -arg(0);
    case TermKind::relu:
      return variables.max(arg(0), Polynomial());
    case TermKind::exp:
      return variables.function(spec::spmd::Function::exponential, arg(0));
    case TermKind::sqrt:
      return variables.function(spec::spmd::Function::square_root, arg(0));
    case TermKind::step:
      return variables.indicator(spec::spmd::Function::above_zero, arg(0));
    case TermKind::equal:
      return variables.indicator(spec::spmd::Function::is_zero, arg(0) + -arg(1));
    case TermKind::max:
      return variables.max(arg(0), arg(1));
    case TermKind::min:
      return -variables.max(-arg(0), -arg(1));
    case TermKind::div:
      return arg(0) * variables.function(spec::spmd::Function::reciprocal, arg(1));
    case TermKind::add:
      return arg(0) + arg(1);
    case TermKind::sub:
      return arg(0) + -arg(1);
    default:
      return arg(0) * arg(1);
  }
}

/// What the last array is, where inputs are these.
/// \param arrays  by array; those that are written are made here
inline PolynomialTensor meaning(const Program& program, std::vector<PolynomialTensor> arrays,
                                Variables& variables) {
  for (const Statement& s : program.statements) {
    Sizes shape;
    for (const Index v : s.written) shape.push_back(s.extents[v]);
    PolynomialTensor out = spec::spmd::zeros(shape);
    std::vector<bool> is_met(out.elements.size(), false);
    spec::for_each_index(s.extents, [&](const Sizes& point) {
      Sizes at;
      for (const Index v : s.written) at.push_back(point[v]);
      const Index e = spec::position(shape, at);
      Polynomial value = value_at(program, s, s.body, arrays, point, variables);
      if (is_met[e] && s.meeting == "max=") value = variables.max(out.elements[e], value);
      if (is_met[e] && s.meeting == "min=") value = -variables.max(-out.elements[e], -value);
      if (is_met[e] && s.meeting == "+=") value += out.elements[e];
      out.elements[e] = value;
      is_met[e] = true;
    });
    arrays[s.out] = out;
  }
  return arrays[program.statements.back().out];
}

}  // namespace retile::array::drawn
