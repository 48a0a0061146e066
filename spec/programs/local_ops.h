/// Operations on whole tensors: what the body of an spmd op and the clause `denotes` are made of.
///
///   einsum "ik,kj->ij" x y   add x y ..   sub x y   mul x y ..   div x y   max x y ..   min x y ..   neg x
///   relu x   exp x   sqrt x   step x   equal x y   scale INT x   reduce_sum D x   reduce_max D x
///   transpose [..] x   trim D LO HI x   fill INT x   take D x c
///
/// A subscript of einsum is a label or a sum of labels with factors: x at 2i+k. Dimension k of transpose is the old
/// numbers[k]. trim leaves out LO first and HI last indices of dimension D. fill has INT everywhere.
/// div x y is x times the function 1/y. step x is 1 where x > 0, and equal x y where x - y = 0; else they are 0.
/// take D x c has the dimensions of c in the place of dimension D of x: out[i, j, l] = x[i, c[j], l], which is
/// Σ_m x[i, m, l] [c[j] = m] as long as c[j] is an index of x there. [p = 0] is the function that equal has, too.
#pragma once

#include <string>

#include "einsum.h"
#include "tensor.h"
#include "variables.h"

namespace spec::spmd {

enum class LocalOp {
  name,
  einsum,
  add,
  sub,
  mul,
  div,
  neg,
  max,
  min,
  relu,
  exp,
  sqrt,
  step,
  equal,
  scale,
  reduce_sum,
  reduce_max,
  transpose,
  trim,
  fill,
  take
};

struct LocalExpression {
  LocalOp op = LocalOp::name;
  Name x = {};         // of a name; of einsum the subscripts
  Sizes numbers = {};  // those behind the operation
  std::vector<LocalExpression> args = {};
  bool operator==(const LocalExpression&) const = default;
};

/// The shape of an operation on tensors of these shapes; nullopt where there is none.
inline std::optional<Sizes> shape_of(const LocalExpression& e, const std::vector<Sizes>& shapes) {
  const auto& k = e.numbers;
  if (e.op == LocalOp::einsum) {
    const auto einsum = einsum_of(e.x);
    const auto n = einsum ? label_extents(*einsum, shapes) : std::nullopt;
    if (!n) return std::nullopt;
    Sizes out;
    for (const Subscript& s : einsum->out) out.push_back(n->at(s[0]));
    return out;
  }
  Sizes s = shapes[0];
  const auto at = [&](Size d) { return static_cast<Index>(d); };
  switch (e.op) {
    case LocalOp::add:
    case LocalOp::sub:
    case LocalOp::mul:
    case LocalOp::div:
    case LocalOp::max:
    case LocalOp::min:
    case LocalOp::equal:
      return std::count(shapes.begin(), shapes.end(), s) ==
                     static_cast<std::ptrdiff_t>(shapes.size())
                 ? std::optional(s)
                 : std::nullopt;
    case LocalOp::reduce_sum:
    case LocalOp::reduce_max:
      if (at(k[0]) >= s.size()) return std::nullopt;
      if (e.op == LocalOp::reduce_max && s[at(k[0])] == 0) return std::nullopt;
      s.erase(s.begin() + k[0]);
      return s;
    case LocalOp::transpose: {
      Sizes sorted = k, out;
      std::sort(sorted.begin(), sorted.end());
      if (k.size() != s.size()) return std::nullopt;
      for (Index d = 0; d < s.size(); ++d) {
        if (sorted[d] != static_cast<Size>(d)) return std::nullopt;
      }
      for (Index d = 0; d < s.size(); ++d) out.push_back(s[at(k[d])]);
      return out;
    }
    case LocalOp::take:
      if (at(k[0]) >= s.size()) return std::nullopt;
      s.erase(s.begin() + k[0]);
      s.insert(s.begin() + k[0], shapes[1].begin(), shapes[1].end());
      return s;
    case LocalOp::trim:
      if (at(k[0]) >= s.size()) return std::nullopt;
      s[at(k[0])] = s[at(k[0])] < k[1] || s[at(k[0])] - k[1] < k[2] ? 0 : s[at(k[0])] - k[1] - k[2];
      return s;
    default:
      return s;
  }
}

/// The shape of an expression in which names have these shapes.
inline std::optional<Sizes> shape_of(const LocalExpression& e, const std::map<Name, Sizes>& names) {
  if (e.op == LocalOp::name) {
    const auto x = names.find(e.x);
    return x == names.end() ? std::nullopt : std::optional(x->second);
  }
  std::vector<Sizes> shapes;
  for (const LocalExpression& arg : e.args) {
    const auto shape = shape_of(arg, names);
    if (!shape) return std::nullopt;
    shapes.push_back(*shape);
  }
  return shape_of(e, shapes);
}

/// How many whole numbers from 0 on the elements of an array may be; nullopt where they may be any numbers.
using Below = std::optional<Size>;

/// T-TAKE. The indices of take are whole numbers below the extent of the dimension: names of which that is
/// known, what is taken of them, parts of them, and a dimension less of those that have one index in it. What
/// an expression is below; throws NoIndices where a take has others. The expression has a shape.
struct NoIndices {};
inline Below indices_of(const LocalExpression& e, const std::map<Name, Sizes>& names,
                        const std::map<Name, Size>& below) {
  if (e.op == LocalOp::name) {
    const auto x = below.find(e.x);
    return x == below.end() ? std::nullopt : Below(x->second);
  }
  std::vector<Below> args;
  for (const LocalExpression& arg : e.args) args.push_back(indices_of(arg, names, below));
  const auto extent = [&] {
    return shape_of(e.args[0], names).value()[static_cast<Index>(e.numbers[0])];
  };
  switch (e.op) {
    case LocalOp::take:
      if (!args[1] || *args[1] > extent()) throw NoIndices();
      return args[0];
    case LocalOp::trim:
    case LocalOp::transpose:
      return args[0];
    case LocalOp::reduce_sum:
      return extent() <= 1 ? args[0] : std::nullopt;
    default:
      return std::nullopt;
  }
}

using PolynomialTensor = Tensor<Polynomial>;

inline PolynomialTensor zeros(const Sizes& shape) {
  const auto count = product(shape);
  if (!count || *count > Polynomial::terms_left) throw too_many_terms;  // a term for each
  return tensor_of<Polynomial>(shape, [](const Sizes&) { return Polynomial(); });
}

/// out[i, j] = Σ_k x[i, k] y[k, j], as the subscripts say.
inline PolynomialTensor einsum_value(const Einsum& e, const std::vector<PolynomialTensor>& args,
                                     const Sizes& shape) {
  std::vector<Sizes> shapes;
  for (const PolynomialTensor& x : args) shapes.push_back(x.shape);
  const auto n = label_extents(e, shapes).value();
  Sizes all;
  std::map<char, Index> number;
  for (const auto& [label, extent] : n) {
    number[label] = all.size();
    all.push_back(extent);
  }
  PolynomialTensor out = zeros(shape);
  for_each_index(all, [&](const Sizes& i) {
    const auto element = [&](const std::vector<Subscript>& subscripts, const Sizes& of) {
      Sizes at;
      for (const Subscript& s : subscripts) {
        at.push_back(0);
        for (const char label : s) at.back() += i[number.at(label)];
      }
      return position(of, at);
    };
    Polynomial term(1);
    for (Index a = 0; a < args.size(); ++a) {
      term = term * args[a].elements[element(e.in[a], args[a].shape)];
    }
    out.elements[element(e.out, shape)] += term;
  });
  return out;
}

/// out[i, j, l] = Σ_m x[i, m, l] [c[j] = m].
inline PolynomialTensor taken(Index d, const PolynomialTensor& x, const PolynomialTensor& c,
                              const Sizes& shape, Variables& variables) {
  const auto rank = static_cast<std::ptrdiff_t>(c.shape.size());
  (void)zeros(shape);  // not too many
  return tensor_of<Polynomial>(shape, [&](const Sizes& i) {
    const auto begin = i.begin() + static_cast<std::ptrdiff_t>(d);
    const Polynomial& index = c.elements[position(c.shape, Sizes(begin, begin + rank))];
    Polynomial out;
    for (Size m = 0; m < x.shape[d]; ++m) {
      Sizes at(i.begin(), begin);
      at.push_back(m);
      at.insert(at.end(), begin + rank, i.end());
      out += x.elements[position(x.shape, at)] *
             variables.indicator(Function::is_zero, index + Polynomial(-m));
    }
    return out;
  });
}

/// The value of an operation on tensors for which it has a shape.
inline PolynomialTensor value_of(const LocalExpression& e,
                                 const std::vector<PolynomialTensor>& args, const Sizes& shape,
                                 Variables& variables) {
  if (e.op == LocalOp::einsum) return einsum_value(*einsum_of(e.x), args, shape);
  const PolynomialTensor& x = args[0];
  const auto d = e.numbers.empty() ? 0 : static_cast<Index>(e.numbers[0]);
  if (e.op == LocalOp::take) return taken(d, x, args[1], shape, variables);
  const auto element = [&](const PolynomialTensor& y, const Sizes& i) -> const Polynomial& {
    return y.elements[position(y.shape, i)];
  };
  return tensor_of<Polynomial>(shape, [&](Sizes i) -> Polynomial {
    switch (e.op) {
      case LocalOp::add:
      case LocalOp::sub:
      case LocalOp::mul:
      case LocalOp::div:
      case LocalOp::max:
      case LocalOp::min: {
        Polynomial out = element(x, i);
        for (Index a = 1; a < args.size(); ++a) {
          const Polynomial& next = element(args[a], i);
          out = e.op == LocalOp::add   ? out + next
                : e.op == LocalOp::sub ? out + -next
                : e.op == LocalOp::mul ? out * next
                : e.op == LocalOp::div ? out * variables.function(Function::reciprocal, next)
                : e.op == LocalOp::min ? -variables.max(-out, -next)
                                       : variables.max(out, next);
        }
        return out;
      }
      case LocalOp::neg:
        return -element(x, i);
      case LocalOp::relu:
        return variables.max(element(x, i), Polynomial());
      case LocalOp::exp:
        return variables.function(Function::exponential, element(x, i));
      case LocalOp::sqrt:
        return variables.function(Function::square_root, element(x, i));
      case LocalOp::step:
        return variables.indicator(Function::above_zero, element(x, i));
      case LocalOp::equal:
        return variables.indicator(Function::is_zero, element(x, i) + -element(args[1], i));
      case LocalOp::scale:
        return Polynomial(e.numbers[0]) * element(x, i);
      case LocalOp::fill:
        return Polynomial(e.numbers[0]);
      case LocalOp::transpose: {
        Sizes old(i.size());
        for (Index k = 0; k < i.size(); ++k) old[static_cast<Index>(e.numbers[k])] = i[k];
        return element(x, old);
      }
      case LocalOp::trim:
        i[d] += e.numbers[1];
        return element(x, i);
      default: {  // reduce_sum, reduce_max
        i.insert(i.begin() + e.numbers[0], 0);
        const bool is_sum = e.op == LocalOp::reduce_sum;
        std::optional<Polynomial> out;
        for (; i[d] < x.shape[d]; ++i[d]) {
          const Polynomial& next = element(x, i);
          out = !out ? next : is_sum ? *out + next : variables.max(*out, next);
        }
        return out.value_or(Polynomial());
      }
    }
  });
}

/// The value of an expression that has a shape.
inline PolynomialTensor value_of(const LocalExpression& e,
                                 const std::map<Name, PolynomialTensor>& names,
                                 Variables& variables) {
  if (e.op == LocalOp::name) return names.at(e.x);
  std::vector<PolynomialTensor> args;
  std::vector<Sizes> shapes;
  for (const LocalExpression& arg : e.args) {
    args.push_back(value_of(arg, names, variables));
    shapes.push_back(args.back().shape);
  }
  return value_of(e, args, shape_of(e, shapes).value(), variables);
}

}  // namespace spec::spmd
