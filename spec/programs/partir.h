/// PartIR: expressions that slice, tile and sum, their types, what they denote, and the rewrite rules.
///
///   e ::= x | op(ē) | slice d e[r] | tile d (\r:range<n,w> -> e) | sum (\r:range<n,w> -> e)
///
/// The talk "PartIR: Declarative abstractions for tensor program partitioning" (Vytiniotis et al.,
/// PPDP 2020), in its words. Its base dialect is matmul, add and relu here. Widths need not divide:
/// a body has a type when it has one for each width that its ranges have ("specialization").
/// Errata: R1 (range<16,5> begins with [0..5)), R3 (pulling out: one width, and y does not mention
/// r), R4 (fuse: s has the same range type). Left out: nested ranges as a monoid.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "tensor.h"

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

enum class Kind { variable, matmul, add, relu, slice, tile, sum };

struct Expression {
  Kind kind = Kind::variable;
  Name x = {};       // of a variable its name; of slice, tile and sum the name r of the range value
  Index d = 0;       // of slice and tile
  Range range = {};  // of tile and sum
  std::vector<Expression> args = {};
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
  Tensor<Number> x = value_of(env, e.args[0]);
  if (e.kind == Kind::slice) {  // ⟦e⟧ restricted to r in dimension d
    Sizes lo(x.shape.size(), 0), hi = x.shape;
    lo[e.d] = env.ranges.at(e.x).lo;
    hi[e.d] = env.ranges.at(e.x).hi;
    return part(x, lo, hi);
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

// The rewrite rules. Each takes the expression on its left side to that on its right side; nullopt
// where it does not apply. r is a name that nothing in the expression has.

/// What range values are in scope, and the tensors.
struct Scope {
  std::map<Name, Sizes> tensors;
  std::map<Name, Range> ranges;
};

/// Γ at every choice of the widths of the ranges in scope.
inline std::vector<Gamma> specializations(const Scope& scope) {
  std::vector<Gamma> out = {{scope.tensors, {}}};
  for (const auto& [r, range] : scope.ranges) {
    std::vector<Gamma> longer;
    for (const Gamma& gamma : out) {
      for (const Size width : widths(range)) {
        longer.push_back(gamma);
        longer.back().ranges[r] = {range, width};
      }
    }
    out = longer;
  }
  return out;
}

/// s_d of e : s, where it is one number at all widths of the ranges in scope.
inline std::optional<Size> extent(const Scope& scope, const Expression& e, Index d) {
  std::optional<Size> out;
  for (const Gamma& gamma : specializations(scope)) {
    const auto s = type_of(gamma, e);
    if (!s || d >= s->size() || (out && out != (*s)[d])) return std::nullopt;
    out = (*s)[d];
  }
  return out;
}

inline bool is_fresh(const Expression& e, const Name& r) {
  return !mentions(e, r) && !binds_inside(e, r);
}

/// matmul-tile-0: matmul(x, y) <~~> tile 0 (\r:range(n,nw) -> matmul(slice 0 x[r], y))
inline std::optional<Expression> matmul_tile_0(const Scope& scope, const Expression& e,
                                               const Name& r, Size nw) {
  if (e.kind != Kind::matmul || !is_fresh(e, r)) return std::nullopt;
  const auto n = extent(scope, e.args[0], 0);  // x : tensor<nxm>
  if (!n) return std::nullopt;
  return tile(0, r, {*n, nw}, matmul(slice(0, e.args[0], r), e.args[1]));
}

/// matmul-tile-1: matmul(x, y) <~~> tile 1 (\r:range(o,ow) -> matmul(x, slice 1 y[r]))
inline std::optional<Expression> matmul_tile_1(const Scope& scope, const Expression& e,
                                               const Name& r, Size ow) {
  if (e.kind != Kind::matmul || !is_fresh(e, r)) return std::nullopt;
  const auto o = extent(scope, e.args[1], 1);  // y : tensor<mxo>
  if (!o) return std::nullopt;
  return tile(1, r, {*o, ow}, matmul(e.args[0], slice(1, e.args[1], r)));
}

/// matmul-sum: matmul(x, y) <~~> sum (\r:range(m,mw) -> matmul(slice 1 x[r], slice 0 y[r]))
inline std::optional<Expression> matmul_sum(const Scope& scope, const Expression& e, const Name& r,
                                            Size mw) {
  if (e.kind != Kind::matmul || !is_fresh(e, r)) return std::nullopt;
  const auto m = extent(scope, e.args[0], 1);  // x : tensor<nxm>
  if (!m) return std::nullopt;
  return sum(r, {*m, mw}, matmul(slice(1, e.args[0], r), slice(0, e.args[1], r)));
}

/// "Dumb tiling": x <~~> tile d (\r:range(n,w) -> slice d x[r])
inline std::optional<Expression> dumb_tiling(const Scope& scope, const Expression& e, Index d,
                                             const Name& r, Size w) {
  const auto n = extent(scope, e, d);
  if (!n || !is_fresh(e, r)) return std::nullopt;
  return tile(d, r, {*n, w}, slice(d, e, r));
}

/// The other direction of the four rules above: the left side of which e is the right side, if the
/// rule says so of what e is made of.
inline std::optional<Expression> backwards(const Scope& scope, const Expression& e) {
  if (!binds(e)) return std::nullopt;
  const Expression& body = e.args[0];
  const auto is = [&](const std::optional<Expression>& right) { return right == e; };
  const auto bare = [](const Expression& arg) {
    return arg.kind == Kind::slice ? arg.args[0] : arg;
  };
  if (body.kind == Kind::slice) {
    const Expression& x = body.args[0];
    return is(dumb_tiling(scope, x, e.d, e.x, e.range.w)) ? std::optional(x) : std::nullopt;
  }
  if (body.kind != Kind::matmul) return std::nullopt;
  const Expression &x = body.args[0], &y = body.args[1];
  for (const Expression& left :
       {matmul(bare(x), y), matmul(x, bare(y)), matmul(bare(x), bare(y))}) {
    if (is(matmul_tile_0(scope, left, e.x, e.range.w)) ||
        is(matmul_tile_1(scope, left, e.x, e.range.w)) ||
        is(matmul_sum(scope, left, e.x, e.range.w))) {
      return left;
    }
  }
  return std::nullopt;
}

/// fuse: slice d (tile d (\r:range<n,w> -> expr))[s] ~~> expr{s/r}, with s : range<n,w>
/// Errata: R4.
inline std::optional<Expression> fuse(const Scope& scope, const Expression& e) {
  if (e.kind != Kind::slice || e.args[0].kind != Kind::tile) return std::nullopt;
  const Expression& tiled = e.args[0];
  const auto s = scope.ranges.find(e.x);
  if (tiled.d != e.d || s == scope.ranges.end()) return std::nullopt;
  if (s->second != tiled.range) return std::nullopt;          // s : range<n,w>
  if (binds_inside(tiled.args[0], e.x)) return std::nullopt;  // {s/r} captures nothing
  return substitute(tiled.args[0], e.x, tiled.x);
}

/// Pushing slicing in: slice 0 (matmul(x, y))[r] ~~> matmul(slice 0 x[r], y)
///                     slice 1 (matmul(x, y))[r] ~~> matmul(x, slice 1 y[r])
inline std::optional<Expression> push_slice(const Expression& e) {
  if (e.kind != Kind::slice || e.args[0].kind != Kind::matmul) return std::nullopt;
  const Expression &x = e.args[0].args[0], &y = e.args[0].args[1];
  if (e.d == 0) return matmul(slice(0, x, e.x), y);
  return matmul(x, slice(1, y, e.x));
}

/// Pulling tiling out: matmul(tile 0 (\r:range(n,nw) -> expr), y) ~~>
///                       tile 0 (\r:range(n,nw) -> matmul(expr, y))
/// Errata: R3 (y does not mention r).
inline std::optional<Expression> pull_tile_0(const Expression& e) {
  if (e.kind != Kind::matmul) return std::nullopt;
  const Expression &tiled = e.args[0], &y = e.args[1];
  if (tiled.kind != Kind::tile || tiled.d != 0) return std::nullopt;
  if (mentions(y, tiled.x)) return std::nullopt;  // y does not mention r
  return tile(0, tiled.x, tiled.range, matmul(tiled.args[0], y));
}

/// Pulling tiling out: matmul(x, tile 1 (\r:range(o,ow) -> expr)) ~~>
///                       tile 1 (\r:range(o,ow) -> matmul(x, expr))
/// Errata: R3 (one width; x does not mention r).
inline std::optional<Expression> pull_tile_1(const Expression& e) {
  if (e.kind != Kind::matmul) return std::nullopt;
  const Expression &x = e.args[0], &tiled = e.args[1];
  if (tiled.kind != Kind::tile || tiled.d != 1) return std::nullopt;
  if (mentions(x, tiled.x)) return std::nullopt;  // x does not mention r
  return tile(1, tiled.x, tiled.range, matmul(x, tiled.args[0]));
}

// Rules inside expressions.

/// From the whole expression down: which argument, and which of that, ..
using Path = std::vector<Index>;

using Rule = std::function<std::optional<Expression>(const Scope&, const Expression&)>;

/// e with the part at `path` rewritten; nullopt where the rule does not apply there.
inline std::optional<Expression> rewrite(Scope scope, Expression e, const Path& path,
                                         const Rule& rule) {
  if (path.empty()) return rule(scope, e);
  if (binds(e)) scope.ranges[e.x] = e.range;
  const auto arg = rewrite(scope, e.args[path[0]], Path(path.begin() + 1, path.end()), rule);
  if (!arg) return std::nullopt;
  e.args[path[0]] = *arg;
  return e;
}

}  // namespace spec::partir
