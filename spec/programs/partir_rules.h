/// The rewrite rules of PartIR: each keeps the type of an expression, and what it denotes.
///
/// A rule takes the expression on its left side to that on its right side, and none where it does not
/// apply. r is a name that nothing in the expression has. The talk, in its words. Errata: R3 (pulling
/// out: one width, and y does not mention r), R4 (fuse: s has the same range type).
#pragma once

#include <functional>

#include "partir.h"

namespace spec::partir {

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
