/// Types over lists of axes, with symbolic sizes, and the rules of Fig. 8 over several axes at once
/// (Sec. 7.1) on them.
///
/// A dimension is c{x̄, ȳ, ..}s: a tile size and lists of axes, of any length. A list may be empty;
/// its product is then 1, and a step over it is left out. What two lists have in common is said at
/// one axis that is arbitrary: a premise about all axes is used there, and what is proved there
/// holds for all. Dimensions that a statement does not touch are left out. A rule returns the
/// formula under which it applies and the type after it.
#pragma once

#include <string>
#include <vector>

#include "obligation.h"
#include "spec/paper/sec7_multi_axis.h"
#include "spec/program/type_text.h"

namespace proofs {

/// x̄: whether the arbitrary axis is in it, the product of its sizes, and of which lists it is made.
struct List {
  std::string name;
  expr has, k;
  std::vector<List> parts;
};

struct ListDim {
  expr c;
  std::vector<List> lists;  // minor to major
  expr s;
};

using ListType = std::vector<ListDim>;

struct ListStep {
  expr applies;
  ListType to;
};

class SymbolicLists {
 public:
  explicit SymbolicLists(Obligation& o) : o_(o) {}

  /// A list of axes of the mesh, distinct ones.
  List list(const std::string& name) {
    const List x = {name, o_.constant("in_" + name, o_.z().bool_sort()), o_.size("k_" + name), {}};
    mesh_.push_back(x);
    return x;
  }
  /// x̄, ȳ; that they are disjoint is a premise of the type in which it stands.
  static List both(const std::string& name, const List& x, const List& y) {
    return {name, x.has || y.has, x.k * y.k, {x, y}};
  }

  /// No axis is in two of the lists.
  expr disjoint(const std::vector<List>& lists) const {
    expr all = o_.z().bool_val(true);
    for (std::size_t a = 0; a < lists.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) all = all && !(lists[a].has && lists[b].has);
    }
    return all;
  }

  static std::vector<List> axes(const ListType& tau) {
    std::vector<List> all;
    for (const ListDim& d : tau) all.insert(all.end(), d.lists.begin(), d.lists.end());
    return all;
  }

  /// H |- t
  expr well_formed(const ListType& tau) const {
    expr all = disjoint(axes(tau));
    for (const ListDim& d : tau) {
      expr n = d.c;
      for (const List& x : d.lists) n = n * x.k;
      all = all && d.c >= 1 && n == d.s;
    }
    return all;
  }

  /// T-ALLGATHER over the first list of dimension i.
  ListStep allgather(std::size_t i, const ListType& tau) const {
    ListType to = tau;
    to[i].c = tau[i].c * tau[i].lists.front().k;
    to[i].lists.erase(to[i].lists.begin());
    return {o_.z().bool_val(true), to};
  }

  /// T-DYNSLICE over x̄; q = c_i / n.
  ListStep dynslice(std::size_t i, const List& x, const expr& q, const ListType& tau) const {
    expr free = o_.z().bool_val(true);
    for (const List& y : axes(tau)) free = free && !(x.has && y.has);
    ListType to = tau;
    to[i].c = q;
    to[i].lists.insert(to[i].lists.begin(), x);
    return {free && tau[i].c == x.k * q, to};
  }

  /// T-ALLTOALL over the first list of dimension i; q = c_j / n.
  ListStep alltoall(std::size_t i, std::size_t j, const expr& q, const ListType& tau) const {
    const List x = tau[i].lists.front();
    ListType to = allgather(i, tau).to;
    to[j].c = q;
    to[j].lists.insert(to[j].lists.begin(), x);
    return {tau[j].c == x.k * q, to};
  }

  /// T-PERMUTE to `to`: localtypes and globaltypes agree, and H |- to.
  ListStep allpermute(const ListType& tau, const ListType& to) const {
    expr all = well_formed(to);
    for (std::size_t i = 0; i < tau.size(); ++i) {
      all = all && tau[i].c == to[i].c && tau[i].s == to[i].s;
    }
    return {all, to};
  }

  /// The same lists in the same order, the same tiles.
  expr same(const ListType& tau, const ListType& sigma) const {
    expr all = o_.z().bool_val(true);
    for (std::size_t i = 0; i < tau.size(); ++i) {
      all = all && tau[i].c == sigma[i].c && tau[i].s == sigma[i].s;
      std::vector<List> x = flat(tau[i].lists), y = flat(sigma[i].lists);
      if (x.size() != y.size()) return o_.z().bool_val(false);
      for (std::size_t a = 0; a < x.size(); ++a) {
        if (x[a].name != y[a].name) return o_.z().bool_val(false);
      }
    }
    return all;
  }

  /// localsize, without the dimensions that are left out.
  expr localsize(const ListType& tau) const {
    expr size = o_.value(1);
    for (const ListDim& d : tau) size = size * d.c;
    return size;
  }

  /// The mesh that a model says: each list is one axis, or none where its product is 1.
  spec::Mesh mesh(const Model& v) const {
    spec::Mesh H;
    for (const List& x : mesh_) {
      if (v(x.k) > 1) H.push_back({x.name, v(x.k)});
    }
    return H;
  }
  static spec::Names names(const Model& v, const List& x) {
    spec::Names out;
    for (const List& part : flat({x})) {
      if (v(part.k) > 1) out.push_back(part.name);
    }
    return out;
  }
  static spec::Type type(const Model& v, const ListType& tau) {
    spec::Type out;
    for (const ListDim& d : tau) {
      out.push_back({v(d.c), {}, v(d.s)});
      for (const List& x : d.lists) out.back().xs = spec::append(out.back().xs, names(v, x));
    }
    return out;
  }

 private:
  static std::vector<List> flat(const std::vector<List>& lists) {
    std::vector<List> out;
    for (const List& x : lists) {
      const std::vector<List> in = x.parts.empty() ? std::vector<List>{x} : flat(x.parts);
      out.insert(out.end(), in.begin(), in.end());
    }
    return out;
  }

  Obligation& o_;
  std::vector<List> mesh_;
};

/// "{x:2}: t_0 -> t_1 -> ..", where `denied` holds of the model's mesh and well-formed types.
inline Counterexample shown(
    const SymbolicLists& lists, const Model& v, const std::vector<ListType>& sequence,
    const std::function<bool(const spec::Mesh&, const std::vector<spec::Type>&)>& denied) {
  const spec::Mesh H = lists.mesh(v);
  std::string text = "{" + spec::to_text(H) + "}: ";
  std::vector<spec::Type> taus;
  bool well_formed = true;
  for (const ListType& sigma : sequence) {
    taus.push_back(SymbolicLists::type(v, sigma));
    well_formed = well_formed && spec::wf_type(H, taus.back());
    text += (taus.size() > 1 ? " -> " : "") + spec::to_text(taus.back());
  }
  return {text, well_formed && denied(H, taus)};
}

}  // namespace proofs
