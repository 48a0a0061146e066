/// PartIR: expressions that slice, tile and sum, their types, and what they denote.
///
///   e ::= x | op(ē) | slice d e[r] | tile d (\r:range<n,w> -> e) | sum (\r:range<n,w> -> e)
///
/// The talk "PartIR: Declarative abstractions for tensor program partitioning" (Vytiniotis et al.,
/// PPDP 2020), in its words. Its base dialect is matmul, add and relu here, and the operations of modules
/// (local_ops.h), which an environment gives a meaning. Widths need not divide:
/// a body has a type when it has one for each width that its ranges have ("specialization").
/// Errata: R1 (range<16,5> begins with [0..5)). Left out: nested ranges as a monoid.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "local_ops.h"

namespace spec::partir {

// Ranges.

/// range<n,w>
struct Range {
  Size n = 1, w = 1;
  bool operator==(const Range&) const = default;
};

/// [lo..hi)
struct Interval {
  Size lo = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};

/// The values of range<n,w>: contiguous intervals of n, each of width w but the last, which has
/// what is left. Errata: R1.
inline std::vector<Interval> intervals(const Range& range) {
  std::vector<Interval> out;
  for (Size lo = 0; lo < range.n; lo += range.w) {
    out.push_back({lo, std::min(lo + range.w, range.n)});
  }
  return out;
}

/// The different widths of these, one or two.
inline Sizes widths(const Range& range) {
  Sizes out;
  for (const Interval& r : intervals(range)) out.push_back(r.hi - r.lo);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Expressions.

enum class Kind { variable, matmul, add, relu, slice, tile, sum, operation };

struct Expression {
  Kind kind = Kind::variable;
  Name x = {};       // of a variable its name; of slice, tile and sum the name r of the range value
  Index d = 0;       // of slice and tile
  Range range = {};  // of tile and sum
  std::vector<Expression> args = {};
  std::vector<spmd::LocalExpression> op = {};  // of operation one, without its operands
  bool operator==(const Expression&) const = default;
};

inline Expression variable(const Name& x) { return {Kind::variable, x}; }
inline Expression matmul(const Expression& x, const Expression& y) {
  return {Kind::matmul, "", 0, {}, {x, y}};
}
inline Expression add(const Expression& x, const Expression& y) {
  return {Kind::add, "", 0, {}, {x, y}};
}
inline Expression relu(const Expression& x) { return {Kind::relu, "", 0, {}, {x}}; }
inline Expression slice(Index d, const Expression& e, const Name& r) {
  return {Kind::slice, r, d, {}, {e}};
}
inline Expression tile(Index d, const Name& r, const Range& range, const Expression& e) {
  return {Kind::tile, r, d, range, {e}};
}
inline Expression sum(const Name& r, const Range& range, const Expression& e) {
  return {Kind::sum, r, 0, range, {e}};
}

inline Expression operation(const spmd::LocalExpression& op, const std::vector<Expression>& args) {
  return {Kind::operation, "", 0, {}, args, {op}};
}

inline bool binds(const Expression& e) { return e.kind == Kind::tile || e.kind == Kind::sum; }

/// Whether the range value r is free in e.
inline bool mentions(const Expression& e, const Name& r) {
  if (e.kind == Kind::slice && e.x == r) return true;
  if (binds(e) && e.x == r) return false;
  const auto here = [&](const Expression& arg) { return mentions(arg, r); };
  return std::any_of(e.args.begin(), e.args.end(), here);
}

/// Whether e binds r anywhere inside.
inline bool binds_inside(const Expression& e, const Name& r) {
  const auto here = [&](const Expression& arg) { return binds_inside(arg, r); };
  return (binds(e) && e.x == r) || std::any_of(e.args.begin(), e.args.end(), here);
}

/// e{s/r}, where e does not bind s.
inline Expression substitute(Expression e, const Name& s, const Name& r) {
  if (binds(e) && e.x == r) return e;
  if (e.kind == Kind::slice && e.x == r) e.x = s;
  for (Expression& arg : e.args) arg = substitute(arg, s, r);
  return e;
}

// Types.

/// A range value in scope, at one of its widths.
struct Width {
  Range range;
  Size width = 1;
};

/// Γ, at one width of each range.
struct Gamma {
  std::map<Name, Sizes> tensors;
  std::map<Name, Width> ranges;
};

inline std::optional<Sizes> type_of(const Gamma& gamma, const Expression& e);

/// The type of a body at every width of r, when extent d is the width, or (sum) when it is anything.
inline std::optional<Sizes> type_of_body(Gamma gamma, const Expression& e) {
  std::optional<Sizes> out;
  for (const Size width : widths(e.range)) {
    gamma.ranges[e.x] = {e.range, width};  // Γ, r : range<n,w>
    auto s = type_of(gamma, e.args[0]);
    if (!s) return std::nullopt;
    if (e.kind == Kind::tile) {
      if (e.d >= s->size() || (*s)[e.d] != width) return std::nullopt;  // s_d = width(r)
      (*s)[e.d] = e.range.n;                                            // s with s_d := n
    }
    if (out && out != s) return std::nullopt;  // r is nowhere else in s
    out = s;
  }
  return out;
}

/// Γ ⊢ e : s. Result: s, or nullopt when a premise fails.
inline std::optional<Sizes> type_of(const Gamma& gamma, const Expression& e) {
  if (e.kind == Kind::variable) {
    const auto x = gamma.tensors.find(e.x);
    return x == gamma.tensors.end() ? std::nullopt : std::optional(x->second);  // x : s ∈ Γ
  }
  if (binds(e)) {
    const bool is_range = e.range.n >= 1 && e.range.w >= 1;
    return is_range ? type_of_body(gamma, e) : std::nullopt;
  }
  if (e.kind == Kind::operation) {
    std::vector<Sizes> all;
    for (const Expression& arg : e.args) {
      const auto s = type_of(gamma, arg);
      if (!s) return std::nullopt;
      all.push_back(*s);
    }
    return spmd::shape_of(e.op[0], all);
  }
  auto s = type_of(gamma, e.args[0]);
  if (!s || e.kind == Kind::relu) return s;
  if (e.kind == Kind::slice) {
    const auto r = gamma.ranges.find(e.x);
    if (r == gamma.ranges.end() || e.d >= s->size()) return std::nullopt;
    if ((*s)[e.d] != r->second.range.n) return std::nullopt;  // s_d = n, r : range<n,w> ∈ Γ
    (*s)[e.d] = r->second.width;                              // s with s_d := width(r)
    return s;
  }
  const auto t = type_of(gamma, e.args[1]);
  if (!t) return std::nullopt;
  if (e.kind == Kind::add) return s == t ? s : std::nullopt;
  if (s->size() != 2 || t->size() != 2 || (*s)[1] != (*t)[0]) return std::nullopt;
  return Sizes{(*s)[0], (*t)[1]};
}

// What expressions denote.

template <class Number>
struct Environment {
  std::map<Name, Tensor<Number>> tensors;
  std::map<Name, Interval> ranges;
  /// What operations of modules denote, relu among them; nothing where relu alone is needed, of numbers.
  std::function<Tensor<Number>(const spmd::LocalExpression&, const std::vector<Tensor<Number>>&)>
      operation = {};
};

template <class Number>
Tensor<Number> product_of(const Tensor<Number>& x, const Tensor<Number>& y) {
  const Size n = x.shape[0], m = x.shape[1], o = y.shape[1];
  Tensor<Number> out = {{n, o}, {}};
  out.elements.resize(static_cast<Index>(n * o));
  for (Size i = 0; i < n; ++i) {
    for (Size k = 0; k < m; ++k) {
      for (Size j = 0; j < o; ++j) {
        out.elements[static_cast<Index>(i * o + j)] +=
            x.elements[static_cast<Index>(i * m + k)] * y.elements[static_cast<Index>(k * o + j)];
      }
    }
  }
  return out;
}

template <class Number>
Tensor<Number> value_of(const Environment<Number>& env, const Expression& e);

/// ⟦tile⟧: the values for all r, one behind the other in dimension d. ⟦sum⟧: their sum.
template <class Number>
Tensor<Number> value_over_range(Environment<Number> env, const Expression& e) {
  std::optional<Tensor<Number>> out;
  for (const Interval& r : intervals(e.range)) {
    env.ranges[e.x] = r;
    const Tensor<Number> value = value_of(env, e.args[0]);
    if (!out) {
      Sizes shape = value.shape;
      if (e.kind == Kind::tile) shape[e.d] = e.range.n;
      out = tensor_of<Number>(shape, [](const Sizes&) { return Number{}; });
    }
    if (e.kind == Kind::tile) {
      Sizes lo(value.shape.size(), 0);
      lo[e.d] = r.lo;
      put(*out, lo, value);
    } else {
      for (Index k = 0; k < value.elements.size(); ++k) out->elements[k] += value.elements[k];
    }
  }
  return *out;
}

/// ⟦e⟧. The expression has a type in the Γ of these tensors and ranges.
template <class Number>
Tensor<Number> value_of(const Environment<Number>& env, const Expression& e) {
  if (e.kind == Kind::variable) return env.tensors.at(e.x);
  if (binds(e)) return value_over_range(env, e);
  if (e.kind == Kind::operation) {
    std::vector<Tensor<Number>> all;
    for (const Expression& arg : e.args) all.push_back(value_of(env, arg));
    return env.operation(e.op[0], all);
  }
  Tensor<Number> x = value_of(env, e.args[0]);
  if (e.kind == Kind::slice) {  // ⟦e⟧ restricted to r in dimension d
    Sizes lo(x.shape.size(), 0), hi = x.shape;
    lo[e.d] = env.ranges.at(e.x).lo;
    hi[e.d] = env.ranges.at(e.x).hi;
    return part(x, lo, hi);
  }
  if (e.kind == Kind::relu && env.operation) {
    return env.operation({spmd::LocalOp::relu, "", {}, {}}, {x});
  }
  if (e.kind == Kind::relu) {
    for (Number& element : x.elements) element = std::max(element, Number{});
    return x;
  }
  const Tensor<Number> y = value_of(env, e.args[1]);
  if (e.kind == Kind::matmul) return product_of(x, y);
  for (Index k = 0; k < x.elements.size(); ++k) x.elements[k] += y.elements[k];
  return x;
}

}  // namespace spec::partir
