#include "expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace retile::spmd {

namespace {

using operations::Id;

struct Row {
  LocalOp op;
  std::string_view name;
  std::size_t numbers;
  std::size_t operands;
  std::optional<Id> id = {};
};

constexpr std::array<Row, 21> op_rows = {{{LocalOp::value, "", 0, 0},
                                          {LocalOp::einsum, "einsum", 0, 0},
                                          {LocalOp::add, "add", 0, 0, Id::add},
                                          {LocalOp::sub, "sub", 0, 2, Id::subtract},
                                          {LocalOp::mul, "mul", 0, 0, Id::multiply},
                                          {LocalOp::div, "div", 0, 2, Id::divide},
                                          {LocalOp::max, "max", 0, 0, Id::maximum},
                                          {LocalOp::min, "min", 0, 0, Id::minimum},
                                          {LocalOp::neg, "neg", 0, 1, Id::negate},
                                          {LocalOp::relu, "relu", 0, 1},
                                          {LocalOp::exp, "exp", 0, 1, Id::exponential},
                                          {LocalOp::sqrt, "sqrt", 0, 1, Id::sqrt},
                                          {LocalOp::step, "step", 0, 1},
                                          {LocalOp::equal, "equal", 0, 2},
                                          {LocalOp::scale, "scale", 1, 1},
                                          {LocalOp::fill, "fill", 1, 1},
                                          {LocalOp::reduce_sum, "reduce_sum", 1, 1},
                                          {LocalOp::reduce_max, "reduce_max", 1, 1},
                                          {LocalOp::transpose, "transpose", 0, 1},
                                          {LocalOp::trim, "trim", 3, 1},
                                          {LocalOp::take, "take", 1, 2}}};

const Row& row_of(LocalOp op) { return op_rows[static_cast<std::size_t>(op)]; }

bool is_label(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }

constexpr std::size_t most_factor = 4096;

/// "2i+kj": {"iik", "j"}.
std::optional<std::vector<std::string>> dims_of(std::string_view text) {
  std::vector<std::string> out;
  bool joins = false;
  std::size_t factor = 0;  // 0: none is written
  for (const char c : text) {
    if (c == '+' && !joins && factor == 0 && !out.empty()) {
      joins = true;
      continue;
    }
    if ('0' <= c && c <= '9') {
      factor = 10 * factor + static_cast<std::size_t>(c - '0');
      if (factor == 0 || factor > most_factor) return std::nullopt;
      continue;
    }
    if (!is_label(c)) return std::nullopt;
    if (!joins) out.emplace_back();
    out.back().append(std::max<std::size_t>(factor, 1), c);
    joins = false;
    factor = 0;
  }
  if (joins || factor > 0) return std::nullopt;
  return out;
}

/// Works out label_extents() dimension by dimension, until nothing more is learnt.
class Extents {
 public:
  /// False where a dimension disagrees with what is known.
  bool learn(const std::string& labels, Size extent) {
    Size rest = extent;
    std::string unknown;
    bool is_empty = false;
    for (const char label : labels) {
      const auto known = found.find(label);
      if (known == found.end()) {
        unknown += label;
        continue;
      }
      if (__builtin_sub_overflow(rest, known->second - 1, &rest)) return false;
      is_empty = is_empty || known->second == 0;
    }
    if (unknown.empty()) {
      // Where a label of a sum takes no value nothing is read.
      if (is_empty) return labels.size() > 1 || extent == 0;
      return rest == 1;
    }
    if (unknown.find_first_not_of(unknown[0]) == std::string::npos) {
      const auto factor = static_cast<Size>(unknown.size());
      found[unknown[0]] = rest > 0 ? (rest - 1) / factor + 1 : 0;
      learnt = true;  // the next round looks whether the dimension is just that long
    }
    return true;
  }

  std::map<char, Size> found;
  bool learnt = false;
};

std::optional<Shape> transposed(const Shape& shape, const std::vector<Size>& order) {
  std::vector<Size> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Size> all(shape.size());
  std::iota(all.begin(), all.end(), Size{0});
  if (sorted != all) return std::nullopt;
  Shape out;
  for (const Size dim : order) out.push_back(shape[static_cast<std::size_t>(dim)]);
  return out;
}

std::optional<Shape> einsum_shape(const Einsum& einsum, const std::vector<Shape>& operands) {
  const auto extents = label_extents(einsum, operands);
  if (!extents) return std::nullopt;
  Shape out;
  for (const char label : einsum.out) out.push_back(extents->at(label));
  return out;
}

std::optional<Shape> reduced(Shape shape, Size dim, bool is_maximum) {
  const auto d = static_cast<std::size_t>(dim);
  if (d >= shape.size() || (is_maximum && shape[d] == 0)) return std::nullopt;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  return shape;
}

std::optional<Shape> trimmed(Shape shape, const std::vector<Size>& numbers) {
  const auto d = static_cast<std::size_t>(numbers[0]);
  if (d >= shape.size()) return std::nullopt;
  const Size behind = shape[d] - std::min(shape[d], numbers[1]);
  shape[d] = behind - std::min(behind, numbers[2]);
  return shape;
}

std::optional<Shape> taken(Shape shape, const Shape& indices, Size dim) {
  const auto d = static_cast<std::size_t>(dim);
  if (d >= shape.size()) return std::nullopt;
  const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  shape.insert(place, indices.begin(), indices.end());
  return shape;
}

}  // namespace

std::string_view name_of(LocalOp op) { return row_of(op).name; }

std::optional<LocalOp> op_of(std::string_view name) {
  for (const Row& row : op_rows) {
    if (row.op != LocalOp::value && row.name == name) return row.op;
  }
  return std::nullopt;
}

std::size_t numbers_of(LocalOp op) { return row_of(op).numbers; }
std::size_t operands_of(LocalOp op) { return row_of(op).operands; }
std::optional<Id> id_of(LocalOp op) { return row_of(op).id; }

bool is_maximum(LocalOp op) {
  if (op == LocalOp::relu || op == LocalOp::reduce_max || is_indicator(op)) return true;
  const auto id = id_of(op);
  return id && operations::row_of(*id).in_field == operations::InField::ordered;
}
bool is_indicator(LocalOp op) { return op == LocalOp::step || op == LocalOp::equal; }
bool is_function(LocalOp op) {
  const auto id = id_of(op);
  if (!id) return false;
  // Whole programs divide in a field, where x / x is 1. Here nothing is known of 1 / 0.
  return *id == Id::divide || operations::row_of(*id).in_field == operations::InField::unknown;
}

std::optional<Einsum> einsum_of(std::string_view text) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  Einsum out;
  for (std::size_t begin = 0; begin <= arrow;) {
    const std::size_t end = std::min(text.find(',', begin), arrow);
    auto dims = dims_of(text.substr(begin, end - begin));
    if (!dims) return std::nullopt;
    out.in.push_back(*std::move(dims));
    begin = end + 1;
  }
  out.out = text.substr(arrow + 2);
  for (const char c : out.out) {
    if (!is_label(c) || std::count(out.out.begin(), out.out.end(), c) != 1) return std::nullopt;
  }
  return out;
}

std::optional<std::map<char, Size>> label_extents(const Einsum& einsum,
                                                  const std::vector<Shape>& operands) {
  Extents extents;
  if (operands.size() != einsum.in.size()) return std::nullopt;
  do {
    extents.learnt = false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (operands[k].size() != einsum.in[k].size()) return std::nullopt;
      for (std::size_t d = 0; d < operands[k].size(); ++d) {
        if (!extents.learn(einsum.in[k][d], operands[k][d])) return std::nullopt;
      }
    }
  } while (extents.learnt);
  for (const auto& dims : einsum.in) {
    for (const std::string& labels : dims) {
      for (const char label : labels) {
        if (extents.found.count(label) == 0) return std::nullopt;
      }
    }
  }
  for (const char label : einsum.out) {
    if (extents.found.count(label) == 0) return std::nullopt;
  }
  return extents.found;
}

std::optional<Shape> shape_of(const Expression& expression, const std::vector<Shape>& operands) {
  switch (expression.op) {
    case LocalOp::einsum:
      return einsum_shape(expression.einsum, operands);
    case LocalOp::add:
    case LocalOp::sub:
    case LocalOp::mul:
    case LocalOp::div:
    case LocalOp::max:
    case LocalOp::min:
    case LocalOp::equal:
      for (const Shape& shape : operands) {
        if (shape != operands[0]) return std::nullopt;
      }
      return operands[0];
    case LocalOp::reduce_sum:
    case LocalOp::reduce_max:
      return reduced(operands[0], expression.numbers[0], expression.op == LocalOp::reduce_max);
    case LocalOp::transpose:
      return transposed(operands[0], expression.numbers);
    case LocalOp::trim:
      return trimmed(operands[0], expression.numbers);
    case LocalOp::take:
      return taken(operands[0], operands[1], expression.numbers[0]);
    default:
      return operands[0];
  }
}

Shape typed(const Expression& expression, const std::vector<Shape>& values,
            std::string_view where) {
  if (expression.op == LocalOp::value) return values[expression.value];
  std::vector<Shape> operands;
  for (const Expression& operand : expression.operands) {
    operands.push_back(typed(operand, values, where));
  }
  if (auto shape = shape_of(expression, operands)) return *std::move(shape);
  std::vector<std::string> shown;
  for (const Shape& shape : operands) shown.push_back(fmt::format("[{}]", fmt::join(shape, ", ")));
  text::fail(expression.place,
             {.code = Code::inapplicable,
              .message = fmt::format("the operands of {}, {}, do not fit{}", name_of(expression.op),
                                     fmt::join(shown, " and "), where),
              .rule = "T-SPMD"});
}

Below indices_of(const Expression& expression, const std::vector<Shape>& values,
                 const std::vector<Below>& below, std::string_view where) {
  if (expression.op == LocalOp::value) return below[expression.value];
  std::vector<Below> operands;
  for (const Expression& operand : expression.operands) {
    operands.push_back(indices_of(operand, values, below, where));
  }
  const auto extent = [&] {
    return typed(expression.operands[0], values)[static_cast<std::size_t>(expression.numbers[0])];
  };
  switch (expression.op) {
    case LocalOp::trim:
    case LocalOp::transpose:
      return operands[0];
    case LocalOp::reduce_sum:
      return operands[0] && extent() <= 1 ? operands[0] : std::nullopt;
    case LocalOp::take:
      break;
    default:
      return std::nullopt;
  }
  const Size n = extent();
  if (operands[1] && *operands[1] <= n) return operands[0];
  text::fail(
      expression.place,
      {.code = Code::inapplicable,
       .message = operands[1]
                      ? fmt::format("indices below {} are taken of a dimension of {}{}",
                                    *operands[1], n, where)
                      : fmt::format("the indices of take are no parameter that is said to be "
                                    "below {}, and no part of one",
                                    n),
       .rule = "T-TAKE"});
}

Dependence dependence_of(const Expression& expression, const std::vector<Dependence>& values) {
  if (expression.op == LocalOp::value) return values[expression.value];
  std::size_t linear = 0;
  for (const Expression& operand : expression.operands) {
    const Dependence part = dependence_of(operand, values);
    if (part == Dependence::other) return part;
    linear += part == Dependence::linear ? 1U : 0U;
  }
  if (linear == 0 || expression.op == LocalOp::fill) return Dependence::none;
  const bool all = linear == expression.operands.size();
  switch (expression.op) {
    case LocalOp::mul:
    case LocalOp::einsum:
      return linear == 1 ? Dependence::linear : Dependence::other;
    case LocalOp::div:
    case LocalOp::take:
      return dependence_of(expression.operands[1], values) == Dependence::none ? Dependence::linear
                                                                               : Dependence::other;
    default:
      if (is_maximum(expression.op) || is_function(expression.op)) return Dependence::other;
      return all ? Dependence::linear : Dependence::other;
  }
}

bool has_maxima(const Expression& expression) {
  return is_maximum(expression.op) ||
         std::any_of(expression.operands.begin(), expression.operands.end(), has_maxima);
}

bool has_functions(const Expression& expression) {
  return is_function(expression.op) ||
         std::any_of(expression.operands.begin(), expression.operands.end(), has_functions);
}

bool has_takes(const Expression& expression) {
  return expression.op == LocalOp::take ||
         std::any_of(expression.operands.begin(), expression.operands.end(), has_takes);
}

}  // namespace retile::spmd
