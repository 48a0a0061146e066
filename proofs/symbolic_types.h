/// Types with symbolic sizes and arbitrary axis lists, and Fig. 8's rules on them.
///
/// A dimension is c{x, y, X}s: a tile size, finitely many named axes in front, an arbitrary rest X.
/// Dimensions that a statement does not touch are left out, so the rank is arbitrary. A rule
/// returns the formula under which it applies and the type after it; quotients are arguments, so
/// that no query divides.
#pragma once

#include <string>
#include <vector>

#include "obligation.h"
#include "spec/paper/fig08_typing.h"

namespace proofs {

struct SymbolicDim {
  expr c;
  std::vector<expr> front;  // names, minor to major
  std::size_t rest;         // which X follows
  expr s;
};

using SymbolicType = std::vector<SymbolicDim>;

struct SymbolicStep {
  expr applies;
  SymbolicType to;
};

/// A mesh of arbitrary axes, with the rests X_0, X_1, .. of the dimensions.
class SymbolicTypes {
 public:
  SymbolicTypes(Obligation& o, std::size_t rank)
      : o_(o), axis_(o.sort("Axis")), k_(o.function("k", {axis_}, o.z().int_sort())) {
    for (std::size_t i = 0; i < rank; ++i) {
      in_.push_back(o.function("in_X" + std::to_string(i), {axis_}, o.z().bool_sort()));
      product_.push_back(o.size("K" + std::to_string(i)));  // product of the sizes of X_i
    }
  }

  /// An axis of the mesh, of size at least 2.
  expr axis(const std::string& name) {
    const expr x = o_.constant(name, axis_);
    o_.range(k_(x) >= 2);
    names_.push_back(name);
    axes_.push_back(x);
    return x;
  }

  expr k(const expr& x) { return k_(x); }

  /// x is in no X_i.
  expr free_of_rests(const expr& x) {
    expr all = o_.z().bool_val(true);
    for (z3::func_decl& in : in_) all = all && !in(x);
    return all;
  }

  /// H |- t, for the axes that are named.
  expr well_formed(const SymbolicType& tau) {
    expr all = o_.z().bool_val(true);
    std::vector<expr> seen;
    for (const SymbolicDim& d : tau) {
      expr n = d.c * product_[d.rest];
      for (const expr& x : d.front) {
        for (const expr& y : seen) all = all && x != y;
        for (z3::func_decl& in : in_) all = all && !in(x);
        n = n * k_(x);
        seen.push_back(x);
      }
      all = all && d.c >= 1 && n == d.s;
    }
    return all;
  }

  /// T-ALLGATHER; the removed axis is the first one.
  SymbolicStep allgather(std::size_t i, const SymbolicType& tau) {
    SymbolicType to = tau;
    to[i].c = tau[i].c * k_(tau[i].front.front());
    to[i].front.erase(to[i].front.begin());
    return {o_.z().bool_val(true), to};
  }

  /// T-DYNSLICE; q = c_i / k(x).
  SymbolicStep dynslice(std::size_t i, const expr& x, const expr& q, const SymbolicType& tau) {
    expr applies = tau[i].c == k_(x) * q;
    for (const SymbolicDim& d : tau) {
      for (const expr& y : d.front) applies = applies && x != y;
      applies = applies && !in_[d.rest](x);
    }
    SymbolicType to = tau;
    to[i].c = q;
    to[i].front.insert(to[i].front.begin(), x);
    return {applies, to};
  }

  /// T-ALLTOALL; q = c_j / k(x).
  SymbolicStep alltoall(std::size_t i, std::size_t j, const expr& q, const SymbolicType& tau) {
    const expr x = tau[i].front.front();
    SymbolicType to = allgather(i, tau).to;
    to[j].c = q;
    to[j].front.insert(to[j].front.begin(), x);
    return {tau[j].c == k_(x) * q, to};
  }

  /// T-PERMUTE to the type with these fronts.
  SymbolicStep allpermute(const SymbolicType& tau, const std::vector<std::vector<expr>>& fronts) {
    SymbolicType to = tau;
    for (std::size_t i = 0; i < tau.size(); ++i) to[i].front = fronts[i];
    return {well_formed(to), to};
  }

  expr same(const SymbolicType& tau, const SymbolicType& sigma) {
    expr all = o_.z().bool_val(true);
    for (std::size_t i = 0; i < tau.size(); ++i) {
      all = all && tau[i].c == sigma[i].c && tau[i].s == sigma[i].s;
      if (tau[i].front.size() != sigma[i].front.size() || tau[i].rest != sigma[i].rest) {
        return o_.z().bool_val(false);
      }
      for (std::size_t a = 0; a < tau[i].front.size(); ++a) {
        all = all && tau[i].front[a] == sigma[i].front[a];
      }
    }
    return all;
  }

  /// localsize, without the dimensions that are left out: they multiply all localsizes alike.
  expr localsize(const SymbolicType& tau) {
    expr size = o_.value(1);
    for (const SymbolicDim& d : tau) size = size * d.c;
    return size;
  }

  /// For controls: the rests are empty, so that a model is a type.
  std::vector<expr> no_rests() {
    std::vector<expr> out;
    for (const expr& K : product_) out.push_back(K == 1);
    return out;
  }

  /// The mesh and type that a model says, where the rests are empty.
  spec::Mesh mesh(const Model& v) const {
    spec::Mesh H;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (first_equal(v, axes_[a]) == a) H.push_back({names_[a], v(k_(axes_[a]))});
    }
    return H;
  }

  spec::Type type(const Model& v, const SymbolicType& tau) const {
    spec::Type out;
    for (const SymbolicDim& d : tau) {
      spec::Names xs;
      for (const expr& x : d.front) xs.push_back(names_[first_equal(v, x)]);
      out.push_back({v(d.c), xs, v(d.s)});
    }
    return out;
  }

 private:
  std::size_t first_equal(const Model& v, const expr& x) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (v.holds(axes_[a] == x)) return a;
    }
    return 0;
  }

  Obligation& o_;
  z3::sort axis_;
  mutable z3::func_decl k_;
  std::vector<z3::func_decl> in_;
  std::vector<expr> product_, axes_;
  std::vector<std::string> names_;
};

}  // namespace proofs
