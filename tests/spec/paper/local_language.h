/// A small local array language for Fig. 9: variables, elementwise + and *, matrix product.
#pragma once

#include "spec/paper/fig09_spmd.h"

namespace spec {

struct Expression {
  enum class Kind { variable, add, multiply, matmul };
  Kind kind = Kind::variable;
  Name x;                        // of a variable
  std::vector<Expression> args;  // of an operation, two
};
inline Expression variable(const Name& x) { return {Expression::Kind::variable, x, {}}; }
inline Expression matmul(const Expression& a, const Expression& b) {
  return {Expression::Kind::matmul, "", {a, b}};
}
inline Expression add(const Expression& a, const Expression& b) {
  return {Expression::Kind::add, "", {a, b}};
}
inline Expression multiply(const Expression& a, const Expression& b) {
  return {Expression::Kind::multiply, "", {a, b}};
}

inline std::optional<Sizes> shape_of(const std::map<Name, Sizes>& shapes, const Expression& e) {
  if (e.kind == Expression::Kind::variable) {
    const auto x = shapes.find(e.x);
    return x == shapes.end() ? std::nullopt : std::optional(x->second);
  }
  const auto a = shape_of(shapes, e.args[0]), b = shape_of(shapes, e.args[1]);
  if (!a || !b) return std::nullopt;
  if (e.kind != Expression::Kind::matmul) return *a == *b ? a : std::nullopt;
  if (a->size() != 2 || b->size() != 2 || (*a)[1] != (*b)[0]) return std::nullopt;
  return Sizes{(*a)[0], (*b)[1]};
}

inline Array matrix_product(const Array& a, const Array& b) {
  const auto at = [](Size i) { return static_cast<Index>(i); };
  const Index rows = at(a.shape[0]), inner = at(a.shape[1]), columns = at(b.shape[1]);
  Array out = {{a.shape[0], b.shape[1]}, std::vector<std::int64_t>(rows * columns)};
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < inner; ++k) {
      const std::int64_t a_ik = a.elements[i * inner + k];
      const std::int64_t* const b_k = &b.elements[k * columns];
      std::int64_t* const out_i = &out.elements[i * columns];
      for (Index j = 0; j < columns; ++j) out_i[j] += a_ik * b_k[j];
    }
  }
  return out;
}

inline std::optional<Array> value_of(const std::map<Name, Array>& arrays, const Expression& e) {
  if (e.kind == Expression::Kind::variable) {
    const auto x = arrays.find(e.x);
    return x == arrays.end() ? std::nullopt : std::optional(x->second);
  }
  auto a = value_of(arrays, e.args[0]);
  const auto b = value_of(arrays, e.args[1]);
  if (!a || !b ||
      !shape_of({{"a", a->shape}, {"b", b->shape}}, {e.kind, "", {variable("a"), variable("b")}})) {
    return std::nullopt;
  }
  if (e.kind == Expression::Kind::matmul) return matrix_product(*a, *b);
  for (Index k = 0; k < a->elements.size(); ++k) {
    if (e.kind == Expression::Kind::add) a->elements[k] += b->elements[k];
    if (e.kind == Expression::Kind::multiply) a->elements[k] *= b->elements[k];
  }
  return a;
}

inline const LocalLanguage<Expression>& local_language() {
  static const LocalLanguage<Expression> xla = {shape_of, value_of};
  return xla;
}

}  // namespace spec
